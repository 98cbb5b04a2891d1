// gyre plot position: what a position encoding adds to the score of a query and a key, over their distance.
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/encoder_only.h"
#include "tools/layer_options.h"
#include "tools/model_choice.h"
#include "tools/plots/heatmaps.h"
#include "tools/plots/lines.h"
#include "tools/program.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

struct PlotPosition {
  Path model, output = "position.png", data;
  std::string checkpoint;
  EncoderOnlyConfig config;  // of a fresh encoding
  int layer = 0, distance = 256;
  bool table_rows = false;
  OptionTable* table = nullptr;
};

struct Curve {
  std::string name;
  std::vector<double> values;  // by distance, the furthest before first
};

double norm(const float* row, int64_t width) {
  double sum = 0;
  for (int64_t j = 0; j < width; ++j) sum += double(row[j]) * double(row[j]);
  return std::sqrt(sum);
}

// Reads an encoding by its hooks: whichever it has, for distances -distance .. 0, or to distance where keys lie ahead.
class Reader {
 public:
  Reader(const PositionEncoding& encoding, const EncoderOnlyConfig& config, int layer, int distance)
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

  std::vector<Curve> curves() const {
    std::vector<Curve> all;
    add_bias(all);
    add_norms(all, "queries . table", terms_.query_table, scale_);
    add_norms(all, "keys . table", terms_.key_table, scale_);
    add_norms(all, "added to the values", terms_.value_table, 1);
    add_places(all);
    add_rotation(all);
    add_embeddings(all);
    return all;
  }

  // The first head's rows of the table that queries meet: (distances, features).
  Heatmap query_table() const {
    require(bool(terms_.query_table), "[plot] ", config_.position.encoding, " has no table that queries meet");
    Heatmap map{"", distances_.size(), size_t(width_), {}, int(distances_.front())};
    for (const double t : distances_) {
      const float* row = row_of(terms_.query_table, t);
      map.values.insert(map.values.end(), row, row + width_);
    }
    return map;
  }

 private:
  const float* row_of(const Var& table, double t) const {
    return table.value().data<float>() + (terms_.zero + int64_t(t)) * table.shape()[1];
  }

  template <class Value>
  Curve curve(std::string name, const Value& value) const {
    Curve made{std::move(name), {}};
    for (const double t : distances_) made.values.push_back(value(t));
    return made;
  }

  void add_bias(std::vector<Curve>& all) const {
    if (!terms_.bias) return;
    for (int64_t h = 0; h < config_.heads; ++h)
      all.push_back(curve(concat("bias, head ", h), [&](double t) { return double(row_of(terms_.bias, t)[h]); }));
  }

  void add_norms(std::vector<Curve>& all, const std::string& name, const Var& table, double factor) const {
    if (!table) return;
    const int64_t heads = table.shape()[1] / width_;
    for (int64_t h = 0; h < heads; ++h) {
      all.push_back(curve(heads == 1 ? name : concat(name, ", head ", h),
                          [&](double t) { return factor * norm(row_of(table, t) + h * width_, width_); }));
    }
  }

  // The mean over all pairs of places at a distance.
  void add_places(std::vector<Curve>& all) const {
    if (!terms_.query_places) return;
    const int64_t columns = terms_.query_places.shape()[1], width = columns / config_.heads;
    for (int64_t h = 0; h < config_.heads; ++h) {
      all.push_back(curve(concat("places, head ", h), [&](double t) {
        return scale_ * mean_product(terms_.query_places.value(), terms_.key_places.value(), h * width, width, t);
      }));
    }
  }

  double mean_product(const Tensor& q, const Tensor& k, int64_t first, int64_t width, double t) const {
    const int64_t places = distance_ + 1;
    double sum = 0;
    int64_t pairs = 0;
    for (int64_t i = 0; i < places; ++i) {
      const int64_t j = i + int64_t(t);
      if (j < 0 || j >= places) continue;
      for (int64_t c = first; c < first + width; ++c)
        sum += double(q.data<float>()[i * q.cols() + c]) * double(k.data<float>()[j * k.cols() + c]);
      ++pairs;
    }
    return sum / double(pairs);
  }

  // Angles begin with the cosines of all features that turn.
  void add_rotation(std::vector<Curve>& all) const {
    const Rotation rotation = encoding_.rotation(tape_, DType::f32, distance_ + 1);
    if (!rotation) return;
    all.push_back(curve("mean cosine of the angles", [&](double t) {
      const float* row = rotation.angles.data<float>() + int64_t(std::abs(t)) * rotation.angles.cols();
      double sum = 0;
      for (int j = 0; j < rotation.rotary.dims; ++j) sum += double(row[j]);
      return sum / rotation.rotary.dims;
    }));
  }

  void add_embeddings(std::vector<Curve>& all) const {
    const Var zeros = tape_.constant(Tensor::zeros({distance_ + 1, config_.dim}));
    const Tensor rows =
        encoding_.add_to_embeddings(zeros, segment_positions(Segments::from_lengths({distance_ + 1}))).value();
    if (rows.shares_storage(zeros.value())) return;
    all.push_back(curve("mean product of the embeddings of two places",
                        [&](double t) { return mean_product(rows, rows, 0, config_.dim, t); }));
  }

  const PositionEncoding& encoding_;
  const EncoderOnlyConfig& config_;
  int distance_;
  int64_t width_;
  mutable Tape tape_;
  DistanceTerms terms_;
  double scale_;
  std::vector<double> distances_;
};

void draw_table(const PlotPosition& call, const Reader& reader) {
  HeatmapsPlot plot;
  plot.title = "the table that queries meet";
  plot.x_label = "feature";
  plot.y_label = "distance";
  plot.colors = HeatmapColors::signs;
  plot.panel = 800;
  plot.panels.push_back(reader.query_table());
  draw_heatmaps(plot, call.output);
}

void draw_curves(const PlotPosition& call, const Reader& reader, const std::vector<Curve>& curves) {
  LinesPlot plot;
  plot.x_label = "distance: the key's place less the query's";
  plot.y_label = "what order adds";
  for (const Curve& curve : curves) plot.lines.push_back({curve.name, reader.distances(), curve.values});
  draw_lines(plot, call.output);
}

void draw(const PlotPosition& call, const EncoderOnly& model) {
  const PositionEncoding& encoding = model.positions();
  require(call.distance < encoding.longest(), "[plot] --distance: ", model.config().position.encoding,
          " has positions up to ", encoding.longest(), ", got ", call.distance);
  const Reader reader(encoding, model.config(), call.layer, call.distance);
  const std::vector<Curve> curves = reader.curves();
  require(!curves.empty(), "[plot] ", model.config().position.encoding, " adds nothing to a score");
  if (!call.data.empty()) {
    nlohmann::ordered_json json{{"position", model.config().position.encoding}, {"distances", reader.distances()}};
    for (const Curve& curve : curves) json["curves"].push_back({{"name", curve.name}, {"values", curve.values}});
    write_file(call.data, json.dump() + "\n");
  }
  if (call.table_rows) {
    draw_table(call, reader);
  } else {
    draw_curves(call, reader, curves);
  }
}

int run(PlotPosition& call) {
  if (call.distance < 1) throw UsageError("--distance: expected at least 1, got ", call.distance);
  if (call.model.empty()) {
    reject_idle_position_options(*call.table, call.config.position);
    call.table->reject_idle("checkpoint", false, "there is no --model");
    call.config.layers = call.layer + 1;
    EncoderOnly fresh(call.config);
    fresh.parameters().allocate(1);
    draw(call, fresh);
    return 0;
  }
  for (const char* group : {"Position encoding", "A fresh encoding"})
    call.table->reject_group(group, "--model has its own");
  print_model_choice(call.model, call.checkpoint);
  const auto model = load_model<EncoderOnly>(call.model, call.checkpoint, Device{});
  const int64_t layers = model->config().layers;
  if (call.layer < 0 || call.layer >= layers)
    throw UsageError("--layer: expected 0 to ", layers - 1, ", got ", call.layer);
  draw(call, *model);
  return 0;
}

}  // namespace

void add_plot_position_command(Program& program) {
  auto call = std::make_shared<PlotPosition>();
  call->config.vocab_size = 1;
  call->config.causal = true;
  OptionTable& table = program.command(
      "plot position",
      "draw what a position encoding adds to a score over distance: a bias of each head; of a table that queries or "
      "keys meet, how much it adds to random ones of unit variance; of places, the mean product at each distance",
      [call] { return run(*call); });
  call->table = &table;
  table.add("--model,-m", call->model, "PATH",
            "a run of gyre train lm or mlm whose encoding is drawn; absent: a fresh one");
  table.add("--checkpoint", call->checkpoint, "NAME", "within a run: best, last, average or step-...; default best");
  table.add("--layer", call->layer, "NUMBER", "from 0, where layers differ");
  table.add("--distance", call->distance, "TOKENS", "the furthest");
  table.add_flag("--rows", call->table_rows, "the table that queries meet itself, each row a distance");
  table.add_picture("--output,--out,-o", call->output, "the picture");
  table.add("--data", call->data, "FILE", "the curves as JSON, too");
  table.group("A fresh encoding");
  table.add("--dim-emb", call->config.dim, "NUMBER", "width of the model");
  table.add("--transformer-heads", call->config.heads, "HEADS", "of its attention");
  table.add_flag("--causal,!--both-sides", call->config.causal, "keys lie before the query, or on both sides of it");
  add_position_options(table, call->config.position);
}

}  // namespace gyre
