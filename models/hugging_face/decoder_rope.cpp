#include "gyre/models/hugging_face/decoder_rope.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config_json.h"
#include "gyre/models/hugging_face/json_fields.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"

namespace gyre {
namespace {

RopeScaling scaling_of(const Json& scaling, const std::string& context) {
  // Both names are read because older files have "type", which transformers prefers if there are both.
  const Json type = scaling.value("type", scaling.value("rope_type", Json()));
  const bool names_no_type = type.is_null() && !scaling.contains("factor");
  if (type == "default" || names_no_type) return RopeScaling::none;
  for (const RopeScaling one : {RopeScaling::linear, RopeScaling::yarn, RopeScaling::llama3})
    if (type == enum_name(one)) return one;
  throw Error(context, "rope_scaling: expected the type default, linear, yarn or llama3, got ",
              cut_for_message(type.dump()));
}

void require_keys(const Json& scaling, RopeScaling type, const std::string& context) {
  std::vector<const char*> keys;
  if (type != RopeScaling::none) keys.push_back("factor");
  if (type == RopeScaling::llama3)
    keys.insert(keys.end(), {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
  for (const char* key : keys) {
    require(scaling.contains(key) && !scaling[key].is_null(), context, "rope_scaling: expected a ", key,
            " for the type ", enum_name(type), ", found none");
  }
}

// Reads the scaling, and returns the share of a head's features that is rotated, `rotated` if the scaling has none.
double read_scaling(const Json& scaling, EncoderOnlyConfig& c, double rotated, const std::string& context) {
  RopeOptions& options = c.position.get<RopeOptions>();
  require(scaling.is_object(), context, "rope_scaling: expected an object, got ", cut_for_message(scaling.dump()));
  require_fixed(scaling,
                {{"beta_fast", 32.0},
                 {"beta_slow", 1.0},
                 {"truncate", true},
                 {"attention_factor", nullptr},
                 {"mscale", nullptr},
                 {"mscale_all_dim", nullptr}},
                context + "rope_scaling.");
  options.scaling = scaling_of(scaling, context);
  require_keys(scaling, options.scaling, context);
  const Json given = without_nulls(scaling);
  ConfigReader reader(given, "config.rope_scaling");
  reader("rope_theta", options.base);
  reader("partial_rotary_factor", rotated);
  reader("factor", options.scaling_factor);
  reader("original_max_position_embeddings", options.original_length);
  reader("low_freq_factor", options.low_freq_factor);
  reader("high_freq_factor", options.high_freq_factor);
  return rotated;
}

}  // namespace

void read_decoder_rope(const Json& json, DecoderFamily family, EncoderOnlyConfig& c, const std::string& context) {
  const bool neox = family == DecoderFamily::gpt_neox;
  RopeOptions& options = c.position.get<RopeOptions>();
  options.original_length = c.position.get<PositionTableOptions>().max_positions;
  double rotated = neox ? 0.25 : 1;
  ConfigReader reader(json, "config");
  reader(neox ? "rotary_emb_base" : "rope_theta", options.base);
  reader(neox ? "rotary_pct" : "partial_rotary_factor", rotated);
  const Json scaling = json.value("rope_parameters", json.value("rope_scaling", Json()));
  if (!scaling.is_null()) rotated = read_scaling(scaling, c, rotated, context);
  require(neox || rotated == 1, context, "partial_rotary_factor: expected 1, the only supported value, got ", rotated);
  const auto dims = int64_t(double(c.head_width()) * rotated);
  require(dims >= 2, context, "rotary_pct: expected at least 2 rotated features of the ", c.head_width(),
          " of a head, got ", rotated);
  options.rotary_dims = dims == c.head_width() ? 0 : dims;
}

void write_decoder_rope(const EncoderOnlyConfig& c, DecoderFamily family, Json& json) {
  const auto& options = c.position.get<RopeOptions>();
  const int64_t dims = options.rotary_dims > 0 ? options.rotary_dims : c.head_width();
  json["rope_theta"] = options.base;
  if (family == DecoderFamily::gpt_neox) {
    json["rotary_emb_base"] = options.base;  // GPT-NeoX's own name
    double share = double(dims) / double(c.head_width());
    while (int64_t(double(c.head_width()) * share) < dims) share = std::nextafter(share, 1.0);  // readers truncate
    json["rotary_pct"] = share;
  }
  if (options.scaling == RopeScaling::none) return;
  Json& scaling = json["rope_scaling"];
  scaling = {{"rope_type", enum_name(options.scaling)}, {"factor", options.scaling_factor}};
  if (options.scaling == RopeScaling::llama3) {
    scaling["low_freq_factor"] = options.low_freq_factor;
    scaling["high_freq_factor"] = options.high_freq_factor;
  }
  if (options.scaling != RopeScaling::linear) scaling["original_max_position_embeddings"] = options.original_length;
}

std::string decoder_rope_differences(const EncoderOnlyConfig& c, DecoderFamily family) {
  const auto& options = c.position.get<RopeOptions>();
  RopeOptions needed = options;
  needed.learnable = needed.rotate_values = false;
  needed.step = 1;
  if (family != DecoderFamily::gpt_neox && options.rotary_dims != c.head_width()) needed.rotary_dims = 0;
  std::string lines = differences(json_of(options), json_of(needed));
  if (options.scaling == RopeScaling::ntk) lines += "\n  rope_scaling: expected none, linear, yarn or llama3, got ntk";
  return lines;
}

}  // namespace gyre
