// gyre plot position: draws the contribution of a position encoding to attention scores over distance. The curves are
// the bias of each head; for a table that is multiplied by queries or keys, its contribution for random queries or keys
// of unit variance; for absolute positions, the mean product of all pairs at each distance.
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/options/model_choice.h"
#include "tools/plots/charts.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PlotPositionArgs {
  Path model, output = "position.png", data;
  std::string checkpoint;
  EncoderOnlyConfig config;  // configuration of an untrained encoding
  int layer = 0, distance = 256;
  bool table_rows = false;
  OptionTable* table = nullptr;
};

struct PositionCurve {
  std::string name;
  std::vector<double> values;  // values by distance, starting with the most negative
};

double norm(const float* row, int64_t width) {
  double sum = 0;
  for (int64_t j = 0; j < width; ++j) sum += double(row[j]) * double(row[j]);
  return std::sqrt(sum);
}

// Evaluates an encoding through the hooks that it overrides, over distances [-distance, 0], or [-distance, distance] if
// the model is not causal.
class PositionReader {
 public:
  PositionReader(const PositionEncoding& encoding, const EncoderOnlyConfig& config, int layer, int distance)
      : encoding_(encoding),
        config_(config),
        distance_(distance),
        width_(config.dim / config.heads),
        tape_(cpu_kernels(), {.record = false}),
        terms_(encoding.terms(tape_, {layer, distance + 1, config.causal})),
        scale_(terms_.score_scale(width_)) {
    for (int t = -distance; t <= (config.causal ? 0 : distance); ++t) distances_.push_back(t);
  }

  const std::vector<double>& distances() const { return distances_; }

  std::vector<PositionCurve> curves() const {
    std::vector<PositionCurve> all;
    add_bias(all);
    add_norms(all, "queries . table", terms_.query_table, scale_);
    add_norms(all, "keys . table", terms_.key_table, scale_);
    add_norms(all, "added to the values", terms_.value_table, 1);
    add_absolute_positions(all);
    add_rotation(all);
    add_embeddings(all);
    return all;
  }

  // The first head's rows of the table that is multiplied by the queries: (distances, features).
  Heatmap query_table() const {
    require(bool(terms_.query_table), "[plot] ", config_.position.encoding, " has no table for queries");
    Heatmap map{"", distances_.size(), size_t(width_), {}, int(distances_.front())};
    for (const double t : distances_) {
      const float* row = row_of(terms_.query_table, t);
      map.values.insert(map.values.end(), row, row + width_);
    }
    return map;
  }

 private:
  const float* row_of(const Var& table, double t) const {
    return table.value().data<float>() + (terms_.zero_offset + int64_t(t)) * table.shape()[1];
  }

  template <class Value>
  PositionCurve curve(std::string name, const Value& value) const {
    PositionCurve made{std::move(name), {}};
    for (const double t : distances_) made.values.push_back(value(t));
    return made;
  }

  void add_bias(std::vector<PositionCurve>& all) const {
    if (!terms_.bias) return;
    for (int64_t h = 0; h < config_.heads; ++h)
      all.push_back(curve(concat("bias, head ", h), [&](double t) { return double(row_of(terms_.bias, t)[h]); }));
  }

  void add_norms(std::vector<PositionCurve>& all, const std::string& name, const Var& table, double factor) const {
    if (!table) return;
    const int64_t heads = table.shape()[1] / width_;
    for (int64_t h = 0; h < heads; ++h) {
      all.push_back(curve(heads == 1 ? name : concat(name, ", head ", h),
                          [&](double t) { return factor * norm(row_of(table, t) + h * width_, width_); }));
    }
  }

  // The mean over all pairs of positions at a distance.
  void add_absolute_positions(std::vector<PositionCurve>& all) const {
    if (!terms_.pos_queries) return;
    const int64_t columns = terms_.pos_queries.shape()[1], width = columns / config_.heads;
    for (int64_t h = 0; h < config_.heads; ++h) {
      all.push_back(curve(concat("positions, head ", h), [&](double t) {
        return scale_ * mean_product(terms_.pos_queries.value(), terms_.pos_keys.value(), h * width, width, t);
      }));
    }
  }

  double mean_product(const Tensor& q, const Tensor& k, int64_t first, int64_t width, double t) const {
    const int64_t positions = distance_ + 1;
    double sum = 0;
    int64_t pairs = 0;
    for (int64_t i = 0; i < positions; ++i) {
      const int64_t j = i + int64_t(t);
      if (j < 0 || j >= positions) continue;
      for (int64_t c = first; c < first + width; ++c)
        sum += double(q.data<float>()[i * q.cols() + c]) * double(k.data<float>()[j * k.cols() + c]);
      ++pairs;
    }
    return sum / double(pairs);
  }

  // Rows of angles begin with the cosines of all rotated features.
  void add_rotation(std::vector<PositionCurve>& all) const {
    const Rope rotation = encoding_.rotation(tape_, DType::f32, distance_ + 1);
    if (!rotation) return;
    all.push_back(curve("mean cosine of the angles", [&](double t) {
      const float* row = rotation.angles.data<float>() + int64_t(std::abs(t)) * rotation.angles.cols();
      double sum = 0;
      for (int j = 0; j < rotation.shape.dims; ++j) sum += double(row[j]);
      return sum / rotation.shape.dims;
    }));
  }

  void add_embeddings(std::vector<PositionCurve>& all) const {
    const Var zeros = tape_.constant(Tensor::zeros({distance_ + 1, config_.dim}));
    const Tensor rows =
        encoding_.add_to_embeddings(zeros, segment_positions(Segments::from_lengths({distance_ + 1}))).value();
    if (rows.shares_storage(zeros.value())) return;
    all.push_back(curve("mean product of the embeddings of two positions",
                        [&](double t) { return mean_product(rows, rows, 0, config_.dim, t); }));
  }

  const PositionEncoding& encoding_;
  const EncoderOnlyConfig& config_;
  int distance_;
  int64_t width_;
  mutable Tape tape_;
  PositionTerms terms_;
  double scale_;
  std::vector<double> distances_;
};

void draw_table(const PlotPositionArgs& args, const PositionReader& reader) {
  HeatmapsPlot plot;
  plot.title = "table for queries";
  plot.x_label = "feature";
  plot.y_label = "distance";
  plot.colors = HeatmapColors::signs;
  plot.panel = 800;
  plot.panels.push_back(reader.query_table());
  draw_heatmaps(plot, args.output);
}

void draw_curves(const PlotPositionArgs& args, const PositionReader& reader, const std::vector<PositionCurve>& curves) {
  LinesPlot plot;
  plot.x_label = "distance: key position - query position";
  plot.y_label = "contribution to the score";
  for (const PositionCurve& curve : curves) plot.lines.push_back({curve.name, reader.distances(), curve.values});
  draw_lines(plot, args.output);
}

void draw(const PlotPositionArgs& args, const EncoderOnly& model) {
  const PositionEncoding& encoding = model.positions();
  require(args.distance < encoding.longest(), "[plot] --distance: ", model.config().position.encoding,
          " has positions up to ", encoding.longest(), ", got ", args.distance);
  const PositionReader reader(encoding, model.config(), args.layer, args.distance);
  const std::vector<PositionCurve> curves = reader.curves();
  require(!curves.empty(), "[plot] ", model.config().position.encoding, " contributes nothing to a score");
  if (!args.data.empty()) {
    Json json{{"position", model.config().position.encoding}, {"distances", reader.distances()}};
    for (const PositionCurve& curve : curves)
      json["curves"].push_back({{"name", curve.name}, {"values", curve.values}});
    write_file(args.data, json_text(json) + "\n");
  }
  if (args.table_rows) {
    draw_table(args, reader);
  } else {
    draw_curves(args, reader, curves);
  }
}

int run(PlotPositionArgs& args) {
  expect_at_least(1, "--distance", args.distance);
  if (args.model.empty()) {
    args.table->reject_unused();
    args.table->reject_unused("checkpoint", false, "there is no --model");
    args.config.layers = args.layer + 1;
    EncoderOnly fresh(args.config);
    fresh.parameters().allocate(1);
    draw(args, fresh);
    return 0;
  }
  for (const char* group : {"Position encoding", "Untrained encoding"})
    args.table->reject_group(group, "--model defines the encoding");
  print_model_choice(args.model, args.checkpoint);
  const auto model = load_model<EncoderOnly>(args.model, args.checkpoint, Device{});
  const int64_t layers = model->config().layers;
  if (args.layer < 0 || args.layer >= layers)
    throw UsageError("--layer: expected 0 to ", layers - 1, ", got ", args.layer);
  draw(args, *model);
  return 0;
}

}  // namespace

void add_plot_position_command(Program& program) {
  auto args = std::make_shared<PlotPositionArgs>();
  args->config.vocab_size = 1;
  args->config.causal = true;
  OptionTable& table =
      program.command("plot position", "draw the contribution of a position encoding to attention scores",
                      [args] { return run(*args); });
  args->table = &table;
  table.add("--model,-m", args->model, "PATH",
            "run of gyre train lm or mlm whose encoding to draw; default: an untrained one");
  add_checkpoint_row(table, args->checkpoint);
  table.add("--layer", args->layer, "NUMBER", "layer, from 0, for encodings that differ between layers");
  table.add("--distance", args->distance, "TOKENS", "maximum distance");
  table.add_flag("--rows", args->table_rows, "draw the table for queries itself, one row per distance");
  table.add_picture("--output,--out,-o", args->output, "output picture");
  table.add("--data", args->data, "FILE", "also write the curves as JSON");
  table.group("Untrained encoding");
  table.add("--dim-emb", args->config.dim, "NUMBER", "width of the model");
  table.add("--transformer-heads", args->config.heads, "HEADS", "number of attention heads");
  table.add_flag("--causal,!--both-sides", args->config.causal, "keys precede the query, or are on both sides of it");
  table.add_options(args->config.position);
}

}  // namespace gyre
