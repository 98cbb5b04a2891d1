// gyre inspect page: writes an HTML page that shows a training step with its numbers. Under mpirun the page also shows
// the all-reduce of the gradients.
#include "tools/page/page.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/tensor.h"
#include "gyre/data/batch/masking.h"
#include "gyre/data/batch/pair_batch.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/options.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/inputs.h"
#include "tools/inspect/inspect_target.h"
#include "tools/options/computing_options.h"
#include "tools/options/model_choice.h"
#include "tools/page/tape/rank_step.h"
#include "tools/page/tape/step_data.h"
#include "tools/page/tape/step_recorder.h"
#include "tools/program.h"
#include "tools/workload/workload.h"

namespace gyre {
namespace {

// The data of the page of a training step (gyre inspect page).
struct TrainingStepOptions {
  Precision precision = Precision::fp32;
  int64_t differences = 0;  // most elements of gradients to compare with finite differences
  double bucket_mb = 0;     // buckets of the all-reduce, with several ranks
};

// ---- The data of a data-parallel step of several ranks (gyre inspect page under mpirun) ----------------------------

// The step that this rank has run alone: its part of the sums.
struct OwnStep {
  CrossEntropySums sums;
  std::map<std::string, int> nodes;  // nodes of the parameters
  std::map<std::string, const TensorSample*>
      gradients;  // gradients by parameter; none if the loss does not depend on it
};

Json times_json(const RankStep& step) {
  Json backward = Json::array(), buckets = Json::array(), lookups = Json::array();
  for (const RankStep::Op& op : step.backward) backward.push_back({op.node, op.time.begin, op.time.end});
  for (const RankStep::Bucket& bucket : step.buckets) {
    Json& object = buckets.emplace_back(Json{{"leaves", bucket.leaves}});
    if (bucket.messages) object.update({{"begin", bucket.messages->begin}, {"end", bucket.messages->end}});
  }
  for (const Exchange& e : step.lookups)
    lookups.push_back({{"name", e.name}, {"bytes", e.bytes}, {"begin", e.begin}, {"end", e.end}});
  return {{"backward", backward},
          {"end_of_backward", step.end_of_backward},
          {"end", step.end},
          {"buckets", buckets},
          {"lookups", lookups}};
}

Json gradients_json(const OwnStep& own) {
  Json gradients = Json::object();
  for (const auto& [name, gradient] : own.gradients) gradients[name] = sample_json(*gradient);
  return gradients;
}

std::vector<const Parameter*> trainable(const Parameters& parameters) {
  std::vector<const Parameter*> chosen;
  for (const Parameter& p : parameters)
    if (p.trainable) chosen.push_back(&p);
  return chosen;
}

// ranks: the objects of all ranks. Moves their gradients to the parameters.
Json parameters_json(const Parameters& parameters, const OwnStep& own, const SampleLimits& limits,
                     std::vector<Json>& ranks) {
  Json list = Json::array();
  for (const Parameter* p : trainable(parameters)) {
    Json& object = list.emplace_back(Json{{"name", p->name}, {"elements", p->shape.elements()}});
    if (own.nodes.contains(p->name)) object["node"] = own.nodes.at(p->name);
    if (p->is_table) object["is_table"] = true;
    if (!own.gradients.contains(p->name)) continue;
    object["sum"] = sample_json(sample_tensor(p->gradient, limits));
    Json& gradients = object["gradients"] = Json::array();
    for (size_t rank = 1; rank < ranks.size(); ++rank)
      gradients.push_back(std::move(ranks[rank].at("gradients").at(p->name)));
  }
  for (Json& rank : ranks) rank.erase("gradients");
  return list;
}

Json buckets_json(const RankStep& step, const Parameters& parameters) {
  const std::vector<const Parameter*> all = trainable(parameters);
  Json buckets = Json::array();
  for (const RankStep::Bucket& bucket : step.buckets) {
    Json parts = Json::array();
    for (size_t i = 0; i < all.size(); ++i) {
      const ElementRange own = element_range(*all[i]);
      if (!overlap(own, bucket.range)) continue;
      const int64_t begin = std::max(own.begin, bucket.range.begin), end = std::min(own.end, bucket.range.end);
      parts.push_back({i, begin - own.begin, end - own.begin});
    }
    Json& object = buckets.emplace_back(Json{{"elements", bucket.range.size()}, {"parts", parts}});
    if (bucket.node >= 0) object["node"] = bucket.node;
  }
  return buckets;
}

// Collective. Runs the step of the batches drawn last with all-reduce of the gradients. Returns an object on rank 0,
// and null on the others. Times are seconds.
// - parameters, the trainable ones: name, node, elements, is_table, sum, and the gradients of all ranks except rank 0,
//   whose gradients are in the nodes
// - buckets, in the order in which they are reduced: elements, node after whose backward it leaves, and parts:
//   [number of the parameter, first element, end]
// - ranks: loss, predictions, backward [node, begin, end], end_of_backward, end, buckets {leaves, begin, end}, lookups
//   {name, bytes, begin, end}
Json ranks_page_data(Workload& work, Kernels& kernels, Precision precision, Communicator& ranks, double bucket_mb,
                     const OwnStep& own, const SampleLimits& limits) {
  const RankStep step = run_rank_step(work, kernels, precision, ranks, bucket_mb);
  Json rank{{"loss", own.sums.loss}, {"predictions", own.sums.tokens}};
  rank.update(times_json(step));
  if (ranks.rank() > 0) rank["gradients"] = gradients_json(own);
  std::vector<Json> all;
  for (const std::string& text : ranks.gather(rank.dump(), 0))
    all.push_back(parse_ordered_json(text, kMaxJsonDepth, "[ranks] ", "the data of a rank"));
  if (ranks.rank() > 0) return nullptr;
  const Parameters& parameters = work.parameters();
  Json list = parameters_json(parameters, own, limits, all);
  return {{"parameters", std::move(list)}, {"buckets", buckets_json(step, parameters)}, {"ranks", std::move(all)}};
}

OwnStep own_step(const StepData& step, const CrossEntropySums& sums) {
  OwnStep own{.sums = sums, .nodes = {}, .gradients = {}};
  for (const TapeRow& row : step.rows) {
    if (row.parameter.empty()) continue;
    own.nodes[row.parameter] = row.id;
    const RecordedNode& record = step.nodes[size_t(row.id)];
    if (record.gradient) own.gradients[row.parameter] = &*record.gradient;
  }
  return own;
}

// Collective. Runs a training step of the batch drawn last. Returns on rank 0 the object of step_json() with the loss,
// which is a sum, and the number of predictions, and with several ranks that of ranks_page_data(). Returns null on the
// others. Finite differences convert the parameters to f64.
Json training_step_json(Workload& work, Kernels& kernels, const TrainingStepOptions& options, Communicator& ranks) {
  CrossEntropySums sums;
  const auto record = [&](Tape& tape) {
    const LossResult result = work.loss(tape);
    sums = result.sums();
    return result.loss;
  };
  const StepFunction function{.record = record, .tape = page_tape_options(options.precision, ranks.rank())};
  StepData step = record_step(function, kernels, ranks.size());  // before others add to the gradients of the parameters
  Json of_ranks;
  if (ranks.size() > 1)
    of_ranks =
        ranks_page_data(work, kernels, options.precision, ranks, options.bucket_mb, own_step(step, sums), step.limits);
  if (ranks.rank() > 0) return nullptr;
  step.costs = measure_nodes(function, kernels);
  step.differences = gradient_differences(work, kernels, step.rows, step.nodes, options.differences);
  Json data{{"loss", sums.loss}, {"predictions", sums.tokens}};
  data.update(step_json(step));
  if (!of_ranks.is_null()) data["ranks"] = std::move(of_ranks);
  return data;
}

// A training step on a given text, for gyre inspect page.
struct StepText {
  std::string text;
  std::string target;  // target text of a translation model
};

using Ids = std::vector<int32_t>;

LossResult loss_of(const EncoderDecoder& model, Tape& tape, const PairInput& batch) {
  constexpr double kLabelSmoothing = 0.1;
  return model.loss(tape, batch, kLabelSmoothing);
}

LossResult loss_of(const EncoderOnly& model, Tape& tape, const MaskedInput& batch) { return model.loss(tape, batch); }

// A model with one batch.
template <class Model, class Batch>
class TextWorkload final : public Workload {
 public:
  TextWorkload(std::unique_ptr<Model> model, Batch batch, std::string text, int64_t tokens)
      : model_(std::move(model)), batch_(std::move(batch)), text_(std::move(text)), tokens_(tokens) {}

  Parameters& parameters() override { return model_->parameters(); }
  std::string batches() const override { return text_; }
  bool varies() const override { return false; }
  int64_t draw(uint64_t) override { return tokens_; }
  void draw_ahead(uint64_t) override {}
  LossResult loss(Tape& tape) const override { return loss_of(*model_, tape, batch_); }

 private:
  std::unique_ptr<Model> model_;
  Batch batch_;
  std::string text_;
  int64_t tokens_;
};

Ids encode_text(const std::string& text, const char* option, const Vocabulary& vocabulary) {
  Ids ids = vocabulary.encode(text);
  if (ids.empty()) throw UsageError(option, ": expected at least one token, got none");
  return ids;
}

void expect_length(size_t tokens, int64_t longest, const char* option) {
  if (int64_t(tokens) > longest)
    throw UsageError(option, ": the model has positions for ", longest, " tokens, got ", tokens);
}

std::string joined_pieces(const Ids& ids, const Vocabulary& vocabulary) {
  std::string text;
  for (const int32_t id : ids) text += (text.empty() ? "" : " ") + vocabulary.piece(id);
  return text;
}

std::unique_ptr<Workload> translation(const Path& path, const std::string& checkpoint, const StepText& text,
                                      Device device) {
  if (text.target.empty()) throw UsageError("--text: expected --target, too, for a translation model");
  auto [vocabulary, model] = load_trained_model<EncoderDecoder>(path, checkpoint, {}, device);
  const Ids source = encode_text(text.text, "--text", vocabulary->side(0)),
            target = encode_text(text.target, "--target", vocabulary->side(1));
  expect_length(source.size() + 1, model->longest(), "--text");
  expect_length(target.size() + 1, model->longest(), "--target");
  PairPacker packer(vocabulary->bos(), vocabulary->eos());
  packer.add(source, target);
  PairInput batch = pair_input(packer.finish());
  const int64_t tokens = batch.source.tokens() + batch.target.tokens();
  const std::string pieces =
      joined_pieces(source, vocabulary->side(0)) + " -> " + joined_pieces(target, vocabulary->side(1));
  return std::make_unique<TextWorkload<EncoderDecoder, PairInput>>(std::move(model), std::move(batch), pieces, tokens);
}

// Reads all tokens but the last, and predicts the next one.
MaskedInput causal_input(const Ids& ids) {
  const Ids read(ids.begin(), ids.end() - 1), next(ids.begin() + 1, ids.end());
  return {to_tensor(read), Segments::from_lengths({int32_t(read.size())}), {}, to_tensor(next)};
}

MaskedInput masked_input(Ids& ids, const Vocabulary& vocabulary) {
  Ids rows, targets;
  for (const MaskedRow& masked : Masking(MaskingVocabulary::of(vocabulary), {}, 1).mask(ids, 0, 0)) {
    rows.push_back(masked.row);
    targets.push_back(masked.id);
  }
  if (rows.empty()) throw UsageError("--text: expected a token that may be masked, got none");
  return {to_tensor(ids), Segments::from_lengths({int32_t(ids.size())}), to_tensor(rows), to_tensor(targets)};
}

std::unique_ptr<Workload> language(const Path& path, const std::string& checkpoint, const StepText& text,
                                   Device device) {
  if (!text.target.empty()) throw UsageError("--target would have no effect: the model does not translate");
  auto [vocabulary, model] = load_trained_model<EncoderOnly>(path, checkpoint, {}, device);
  Ids ids = encode_text(text.text, "--text", *vocabulary);
  ids.insert(ids.begin(), vocabulary->bos());
  ids.push_back(vocabulary->eos());
  const bool causal = model->config().causal;
  expect_length(ids.size() - (causal ? 1 : 0), model->longest(), "--text");
  MaskedInput batch = causal ? causal_input(ids) : masked_input(ids, *vocabulary);
  return std::make_unique<TextWorkload<EncoderOnly, MaskedInput>>(std::move(model), std::move(batch),
                                                                  joined_pieces(ids, *vocabulary), int64_t(ids.size()));
}

// Loads a run with its vocabulary. A causal model predicts each token of the text, a bidirectional one the tokens that
// the defaults of MaskingOptions mask, a translation model the target with label smoothing of 0.1. Throws UsageError
// for a classifier, and unless there is a target exactly for translation models.
std::unique_ptr<Workload> text_workload(const Path& model, const std::string& checkpoint, const StepText& text,
                                        Device device) {
  const std::string kind = model_kind(find_run(model));
  if (kind == EncoderDecoderConfig::kModel) return translation(model, checkpoint, text, device);
  if (kind == EncoderOnlyConfig::kModel) return language(model, checkpoint, text, device);
  throw UsageError("--text: expected a translation or language model, ", model.string(), " is a classifier");
}

struct InspectPageArgs {
  InspectTarget target;
  DeviceChoice device;
  CpuThreads threads;
  PrecisionChoice precision;
  Path output;
  StepText text;
  int64_t differences = 512;
  ParallelOptions parallel;
  OptionTable* table = nullptr;
};

// The text of the options, or random tokens.
std::unique_ptr<Workload> make_page_workload(const InspectPageArgs& args, Device device) {
  const bool given = args.table->given("text");
  args.table->reject_unused("target", given, "there is no --text");
  args.table->reject_unused("text", !args.target.model.empty(), "there is no --model");
  if (!given) return make_target_workload(*args.table, args.target, {device});
  for (const char* name : {"segments", "length"}) args.table->reject_unused(name, false, "--text is given");
  reject_preset_options(*args.table);
  print_model_choice(args.target.model, args.target.checkpoint);
  return text_workload(args.target.model, args.target.checkpoint, args.text, device);
}

void validate_for(const InspectPageArgs& args, const Communicator& ranks) {
  args.table->reject_unused("bucket-mb", ranks.size() > 1, "there is one rank: run it by mpirun");
  args.parallel.validate();
  expect_at_least(0, "--differences", args.differences);
  if (ranks.size() > 1 && args.table->given("text"))
    throw UsageError("--text: expected one rank, got ", ranks.size(), ": each needs a batch of its own");
}

int page(InspectPageArgs& args, Communicator& ranks) {
  validate_for(args, ranks);
  if (ranks.rank() == 0) require_page_output(args.output);
  if (ranks.size() > 1) {
    args.threads.use(ranks.cores());
  } else {
    args.threads.use();
  }
  Kernels& kernels = args.device.kernels(ranks.local_rank());
  const Precision precision = args.precision.on(kernels);
  const std::unique_ptr<Workload> work = make_page_workload(args, kernels.device());
  if (ranks.size() > 1) work->draw(uint64_t(ranks.rank()));
  const double bucket_mb = args.parallel.bucket_mb_on(kernels.device());
  Json data = training_step_json(*work, kernels, {precision, args.differences, bucket_mb}, ranks);
  if (ranks.rank() > 0) return 0;
  const std::string model = args.target.model.empty() ? args.target.preset : args.target.model.string();
  data["setting"] = {{"model", model},
                     {"batch", work->batches()},
                     {"device", to_string(kernels.device())},
                     {"precision", enum_name(precision)}};
  write_page(args.output, make_page(page_asset("tape/page.html"), model + ": a training step", data));
  return 0;
}

}  // namespace

void add_inspect_page_command(Program& program) {
  auto args = std::make_shared<InspectPageArgs>();
  args->target.segments = 1;
  OptionTable& table = program.command(
      "inspect page", "web page of a training step: every op, forward and backward, with numbers",
      [args] { return with_communicator([args](Communicator& r) { return page(*args, r); }); },
      Program::Processes::ranks);
  args->table = &table;
  table.add("--output,-o", args->output, "FILE", "HTML file to write; it needs no network");
  table.required("output");
  table.add("--bucket-mb", args->parallel.bucket_mb, "MIB",
            "maximum size of a gradient bucket, with several ranks; default: 1, on GPUs 32");
  args->device.add_row(table);
  args->threads.add_row(table);
  args->precision.add_row(table);
  table.add("--differences", args->differences, "NUMBER",
            "most elements of gradients to compare with finite differences; large models get fewer");
  add_target_options(table, args->target);
  table.group("Text");
  table.add("--text", args->text.text, "TEXT", "train on this text instead of random tokens, with --model");
  table.add("--target", args->text.target, "TEXT", "its translation, for a translation model");
}

}  // namespace gyre
