#include "gyre/train/tasks/language/language.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/number_text.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/tokenizer/continuation.h"
#include "gyre/models/decode/generate.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/hugging_face/decoder_config.h"
#include "gyre/models/modules/linear_attention.h"
#include "gyre/train/job.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "gyre/train/piped_text.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/initial_weights.h"
#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/language/language_data.h"
#include "gyre/train/tasks/language/language_stages.h"
#include "gyre/train/tasks/network_model.h"

namespace gyre {
namespace {

// The outputs of a language model for a few validation samples, as text: words in place of masks, or continuations.
class LanguageSamples {
 public:
  // Takes the beginnings of at most 4 samples that are spread over all.
  LanguageSamples(const SampleSource& samples, const MakeInput& make_input, const Vocabulary& vocabulary,
                  const EncoderOnly& model, const JobContext& context);

  // For a masked model, the source is the text with masks, and the output has the most likely tokens in their place.
  // For a causal model, the output is the greedy continuation of the source, and the reference the text's own
  // continuation. Returns none, with a warning, if an output has no most likely tokens.
  std::vector<ValidationSample> run() const;

 private:
  struct Excerpt {
    std::vector<int32_t> ids = {};                 // ids that the model reads
    std::vector<int32_t> rows = {}, targets = {};  // masked model: the places to predict, and the ids that belong there
    std::vector<int32_t> continuation = {};        // causal model: the ids that it writes
  };

  void add_masked(const MaskedInput& input);
  void add_prompt(const MaskedInput& input);
  std::vector<int32_t> predictions() const;  // predictions for all rows of all excerpts
  std::vector<ValidationSample> filled() const;
  std::vector<ValidationSample> continued() const;

  std::vector<Excerpt> excerpts_;
  const Vocabulary& vocabulary_;
  const EncoderOnly& model_;
  Kernels& kernels_;
  Precision precision_;
};

using Ids = std::vector<int32_t>;

constexpr size_t kLanguageSamples = 4;  // number in each entry of metrics.jsonl

constexpr int kLeastRows = 8;  // least length of a sample: shorter ones show little

constexpr size_t kMaskedTokens = 64, kPromptTokens = 20, kContinuedTokens = 20;

Ids first_of(std::span<const int32_t> ids, size_t most) {
  return {ids.begin(), ids.begin() + ptrdiff_t(std::min(most, ids.size()))};
}

std::string text_of(const Vocabulary& vocabulary, const Ids& ids) { return one_line(vocabulary.decode(ids)); }

// With the space that separates it from the prompt, if there is one.
std::string continuation_text(const Vocabulary& vocabulary, const Ids& prompt, const Ids& ids) {
  const std::vector<std::string> no_stops;
  Continuation continuation(vocabulary, prompt, no_stops);
  continuation.set(ids);
  return one_line(continuation.text());
}

int32_t most_likely(std::span<const float> logits) {
  return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

LanguageSamples::LanguageSamples(const SampleSource& samples, const MakeInput& make_input, const Vocabulary& vocabulary,
                                 const EncoderOnly& model, const JobContext& context)
    : vocabulary_(vocabulary), model_(model), kernels_(context.kernels), precision_(context.precision) {
  const bool causal = model.config().causal;
  const size_t count = std::min(kLanguageSamples, samples.size());
  for (size_t i = 0; i < count; ++i) {
    auto index = uint32_t(i * samples.size() / count);
    const auto end = uint32_t((i + 1) * samples.size() / count);
    while (index + 1 < end && samples.rows(index) < kLeastRows) ++index;
    const MaskedInput input = make_input(samples, std::span(&index, 1), 0);
    if (causal) {
      add_prompt(input);
    } else {
      add_masked(input);
    }
  }
}

// The beginning of the first segment, if it has a place to predict.
void LanguageSamples::add_masked(const MaskedInput& input) {
  const auto rows = input.masked_rows.span<int32_t>(), targets = input.targets.span<int32_t>();
  Excerpt excerpt{.ids = first_of(input.ids.span<int32_t>().first(size_t(input.segments.length(0))), kMaskedTokens)};
  for (size_t i = 0; i < rows.size() && size_t(rows[i]) < excerpt.ids.size(); ++i) {
    excerpt.rows.push_back(rows[i]);
    excerpt.targets.push_back(targets[i]);
  }
  if (!excerpt.rows.empty()) excerpts_.push_back(std::move(excerpt));
}

// The prompt is what comes before the first answer of a sample, or at most half of the first segment.
void LanguageSamples::add_prompt(const MaskedInput& input) {
  if (input.masked_rows.defined()) {
    const auto rows = input.masked_rows.span<int32_t>(), targets = input.targets.span<int32_t>();
    size_t length = 0;
    while (length < rows.size() && rows[length] == rows[0] + int32_t(length)) ++length;
    excerpts_.push_back({.ids = first_of(input.ids.span<int32_t>(), size_t(rows[0]) + 1),
                         .continuation = first_of(targets.first(length), kContinuedTokens)});
    return;
  }
  const auto length = size_t(input.segments.length(0));
  const size_t prompt = std::min(kPromptTokens, length / 2);
  if (prompt == 0) return;
  const auto targets = input.targets.span<int32_t>().first(length);
  excerpts_.push_back({.ids = first_of(input.ids.span<int32_t>(), prompt + 1),  // <s> and the prompt
                       .continuation = first_of(targets.subspan(prompt), kContinuedTokens)});
}

std::vector<ValidationSample> LanguageSamples::run() const {
  if (excerpts_.empty()) return {};
  try {
    return model_.config().causal ? continued() : filled();
  } catch (const Error& error) {  // logits that are not finite: the next updates decide about the run
    spdlog::warn("no outputs for validation samples: {}", error.what());
    return {};
  }
}

std::vector<int32_t> LanguageSamples::predictions() const {
  Ids ids, lengths, rows;
  for (const Excerpt& excerpt : excerpts_) {
    for (const int32_t row : excerpt.rows) rows.push_back(int32_t(ids.size()) + row);
    ids.insert(ids.end(), excerpt.ids.begin(), excerpt.ids.end());
    lengths.push_back(int32_t(excerpt.ids.size()));
  }
  Tape tape(kernels_, {.record = false, .precision = precision_});
  const Var states = model_.encode(tape, to_tensor(ids), Segments::from_lengths(lengths));
  const Tensor logits = model_.logits(gather_rows(states, to_tensor(rows))).value().to_cpu().to(DType::f32);
  Ids predicted;
  for (size_t i = 0; i < rows.size(); ++i)
    predicted.push_back(most_likely(logits.span<float>().subspan(i * size_t(logits.cols()), size_t(logits.cols()))));
  return predicted;
}

std::vector<ValidationSample> LanguageSamples::filled() const {
  const Ids predicted = predictions();
  std::vector<ValidationSample> samples;
  size_t next = 0;
  for (const Excerpt& excerpt : excerpts_) {
    Ids original = excerpt.ids, output = excerpt.ids;
    for (size_t i = 0; i < excerpt.rows.size(); ++i) {
      original[size_t(excerpt.rows[i])] = excerpt.targets[i];
      output[size_t(excerpt.rows[i])] = predicted[next++];
    }
    samples.push_back({.source = text_of(vocabulary_, excerpt.ids),
                       .reference = text_of(vocabulary_, original),
                       .output = text_of(vocabulary_, output)});
  }
  return samples;
}

std::vector<ValidationSample> LanguageSamples::continued() const {
  std::vector<Prompt> prompts;
  for (const Excerpt& excerpt : excerpts_) prompts.push_back({.ids = excerpt.ids, .max_tokens = int(kContinuedTokens)});
  Generation generation(model_, kernels_, std::move(prompts),
                        {.temperature = 0, .eos = vocabulary_.eos(), .precision = precision_});
  while (!generation.done()) generation.step();
  std::vector<ValidationSample> samples;
  for (size_t i = 0; i < excerpts_.size(); ++i) {
    samples.push_back({.source = text_of(vocabulary_, excerpts_[i].ids),
                       .reference = continuation_text(vocabulary_, excerpts_[i].ids, excerpts_[i].continuation),
                       .output = continuation_text(vocabulary_, excerpts_[i].ids, generation.texts()[i].ids)});
  }
  return samples;
}

// Validation of a language model on held-out samples, which the ranks divide among themselves.
//   "cross-entropy"  nats per predicted token
//   "perplexity"     exponential of the cross-entropy
//   "accuracy"       fraction of the predictions with no token more likely than the correct one, 0..1
//   "bits-per-byte"  bits per byte of the text, if the options ask for it
// With several sets, these are the metrics of all together, and "cross-entropy/SET" and "bits-per-byte/SET" are those
// of one set. Samples are of the first set.
class LanguageValidation final : public Validation {
 public:
  // Every validation predicts the same tokens: of each set, at most options.validation_samples evenly spaced samples.
  LanguageValidation(std::vector<LanguageValidationSet> sets, MakeInput make_input, const LanguageOptions& options,
                     const Vocabulary& vocabulary, const EncoderOnly& model, const JobContext& context);

  ValidationBasis basis() const override;
  ValidationResult run() override;

 private:
  struct Chunk {
    const SampleSource* samples;
    std::vector<uint32_t> indices;
  };
  struct Sums {
    std::vector<double> nll, correct, tokens;  // sums of each chunk
  };

  void add_chunks(const LanguageValidationSet& set, const LanguageOptions& options);
  Sums sums() const;

  std::vector<LanguageValidationSet> sets_;
  MakeInput make_input_;
  std::vector<Chunk> chunks_;  // the samples of each batch, set by set
  std::vector<size_t> ends_;   // number of chunks up to the end of each set
  LanguageSamples samples_;
  const EncoderOnly& model_;
  Kernels& kernels_;
  Precision precision_;
  Communicator& ranks_;
};

// Bytes of the text that `predicted` of the set's tokens stand for.
double bytes_of(const LanguageValidationSet& set, double predicted) {
  uint64_t rows = 0;  // a causal model predicts every row
  for (size_t i = 0; i < set.samples->size(); ++i) rows += uint64_t(set.samples->rows(i));
  return double(set.bytes) * predicted / double(rows);
}

double bits_per_byte(double nll, double bytes) { return nll / std::numbers::ln2 / bytes; }

LanguageValidation::LanguageValidation(std::vector<LanguageValidationSet> sets, MakeInput make_input,
                                       const LanguageOptions& options, const Vocabulary& vocabulary,
                                       const EncoderOnly& model, const JobContext& context)
    : sets_(std::move(sets)),
      make_input_(std::move(make_input)),
      samples_(*sets_.front().samples, make_input_, vocabulary, model, context),
      model_(model),
      kernels_(context.kernels),
      precision_(context.precision),
      ranks_(context.ranks) {
  for (const LanguageValidationSet& set : sets_) add_chunks(set, options);
}

// Chooses evenly spaced samples.
void LanguageValidation::add_chunks(const LanguageValidationSet& set, const LanguageOptions& options) {
  const StoreSamples& samples = *set.samples;
  spdlog::info("{}: {} of {} to validate on", samples.store().name(), counted(samples.size(), "sample"),
               counted(samples.documents(), "document"));
  const uint64_t most = options.validation_samples;
  const uint64_t count = most == 0 ? samples.size() : std::min<uint64_t>(most, samples.size());
  const size_t first = chunks_.size();
  for (uint64_t i = 0; i < count; ++i) {
    if (i % options.validation.mini_batch == 0) chunks_.push_back({&samples, {}});
    chunks_.back().indices.push_back(uint32_t(i * samples.size() / count));
  }
  ends_.push_back(chunks_.size());
  // The masks are the same in every validation.
  const auto predicts = [&](const Chunk& chunk) { return make_input_(samples, chunk.indices, 0).targets.size() > 0; };
  require(std::any_of(chunks_.begin() + ptrdiff_t(first), chunks_.end(), predicts), "[validation] ",
          samples.store().name(),
          ": expected tokens to predict, but no token is masked; use more validation data or a higher --mask-share");
}

// One value per chunk, added in a fixed order, gives the same sums on any number of ranks.
LanguageValidation::Sums LanguageValidation::sums() const {
  const size_t n = chunks_.size();
  std::vector<double> all(3 * n);
  for (size_t c = size_t(ranks_.rank()); c < n; c += size_t(ranks_.size())) {
    const MaskedInput input = make_input_(*chunks_[c].samples, chunks_[c].indices, 0);
    if (input.targets.size() == 0) continue;
    Tape tape(kernels_, {.record = false, .precision = precision_});
    const CrossEntropySums loss = model_.loss(tape, input).sums();
    all[c] = loss.nll;
    all[n + c] = double(loss.correct);
    all[2 * n + c] = double(loss.tokens);
  }
  ranks_.all_reduce(std::span<double>(all));
  const auto third = [&](size_t i) {
    return std::vector<double>(all.begin() + ptrdiff_t(i * n), all.begin() + ptrdiff_t((i + 1) * n));
  };
  return {third(0), third(1), third(2)};
}

ValidationBasis LanguageValidation::basis() const {
  std::vector<std::string> checksums;  // sorted, because the metrics do not depend on the order of the sets
  size_t samples = 0;
  uint64_t bytes = 0;
  for (const LanguageValidationSet& set : sets_) {
    checksums.push_back(hexadecimal(set.samples->store().checksum()));
    bytes += set.bytes;
  }
  for (const Chunk& chunk : chunks_) samples += chunk.indices.size();
  std::sort(checksums.begin(), checksums.end());
  std::string all;
  for (const std::string& checksum : checksums) all += concat(all.empty() ? "" : " ", checksum);
  ValidationBasis basis{{"valid-sets", std::move(all)}, {"valid-samples", std::to_string(samples)}};
  if (bytes > 0) basis["bytes of valid-sets"] = std::to_string(bytes);
  return basis;
}

ValidationResult LanguageValidation::run() {
  const Stopwatch watch;
  const Sums all = sums();
  const double nll = tree_sum(all.nll), predicted = tree_sum(all.tokens);
  ValidationResult result;
  result.loss = nll / predicted;
  result.metrics = {{"cross-entropy", result.loss},
                    {"perplexity", std::exp(result.loss)},
                    {"accuracy", tree_sum(all.correct) / predicted}};
  double bytes = 0;
  for (size_t i = 0, begin = 0; i < sets_.size(); begin = ends_[i++]) {
    const auto sum_of_set = [&](const std::vector<double>& sums) {
      return tree_sum(std::span(sums).subspan(begin, ends_[i] - begin));
    };
    const double nll_of_set = sum_of_set(all.nll), tokens = sum_of_set(all.tokens);
    const double bytes_of_set = bytes_of(sets_[i], tokens);
    bytes += bytes_of_set;
    if (sets_.size() == 1) continue;
    result.metrics["cross-entropy/" + sets_[i].name] = nll_of_set / tokens;
    if (bytes_of_set > 0) result.metrics["bits-per-byte/" + sets_[i].name] = bits_per_byte(nll_of_set, bytes_of_set);
  }
  if (bytes > 0) result.metrics["bits-per-byte"] = bits_per_byte(nll, bytes);
  // A diverged model has no most likely tokens.
  if (ranks_.rank() == 0 && std::isfinite(result.loss)) result.samples = samples_.run();
  result.seconds = watch.seconds();
  return result;
}

constexpr uint64_t kValidationSeed = 0;  // seed of the masks: the same for runs with different seeds

class LanguageModel final : public NetworkModel<EncoderOnly> {
 public:
  explicit LanguageModel(const EncoderOnlyConfig& config) : NetworkModel(config), redraw_(config.attention) {}

  // Adapters have no random vectors: those of their base stay as they are.
  void before_update(uint64_t seed, uint64_t update) override { redraw_.before_update(parameters(), seed, update); }

 private:
  RandomVectorRedraw redraw_;
};

// The differences between masked and causal models.
struct LanguageObjective {
  SampleOptions::Task task;
  std::function<MakeInput(const Vocabulary& vocabulary, uint64_t seed)> input_maker;
};

TaskParts make_parts(const LanguageOptions& given, EncoderOnlyConfig config, const LanguageObjective& objective,
                     const JobContext& context) {
  TaskParts parts;
  parts.vocabulary = load_training_vocabulary(given, given.tokenizer);
  const Vocabulary& vocabulary = *parts.vocabulary.vocabulary;
  const auto resolved = std::make_shared<LanguageOptions>(options_of_run(given, objective.task, vocabulary));
  const LanguageOptions& options = *resolved;
  for (const LanguageStage& stage : options.stages) share_piped_text(stage.train_sets, context.ranks);
  config.vocab_size = vocabulary.size();
  auto model = std::make_unique<LanguageModel>(config);
  require_positions(options, model->network().longest());
  parts.lora = model->allocate(options, {options.pretrained_model, options.lora, has_fused_projections(config)},
                               vocabulary, context);
  const Corpora corpora = open_corpora(options, vocabulary);
  const EncoderOnly& network = model->network();
  parts.make_validation = [resolved, &objective, &network, context, corpora, &vocabulary] {
    return std::make_unique<LanguageValidation>(open_validation_sets(*resolved, objective.task, corpora, vocabulary),
                                                objective.input_maker(vocabulary, kValidationSeed), *resolved,
                                                vocabulary, network, context);
  };
  const MakeStageData make_data = [&objective, &network, &vocabulary, micro_batches = context.micro_batches](
                                      const LanguageOptions& o, const Corpora& of_stage) {
    const auto loss = [&network, z_loss = o.z_loss](Tape& tape, const MaskedInput& input) {
      return network.loss(tape, input, {.z_loss = z_loss});
    };
    return std::make_unique<LanguageData>(of_stage, objective.task, objective.input_maker(vocabulary, o.seed), loss, o,
                                          micro_batches);
  };
  const std::vector<Corpora> all_corpora = open_stage_corpora(options, corpora, vocabulary);
  parts.data = make_training_data(options, all_corpora, make_data);
  parts.stages = run_stages(options);
  parts.options = stage_run_options(options, all_corpora);
  if (options.line_ends) parts.options.of_data[std::string(kLineEndsOption)] = enum_name(*options.line_ends);
  parts.chat_template = options.chat_template_text;
  parts.model = std::move(model);
  return parts;
}

std::optional<ReplayResult> train(const LanguageOptions& options, const EncoderOnlyConfig& config,
                                  const LanguageObjective& objective, Communicator& ranks) {
  return run_job(options, ranks,
                 [&](const JobContext& context) { return make_parts(options, config, objective, context); });
}

}  // namespace

std::optional<ReplayResult> train_masked_language(const Resolved<MaskedOptions>& options,
                                                  const EncoderOnlyConfig& config, Communicator& ranks) {
  require(!config.causal, "[mlm] expected a bidirectional model, got a causal one");
  const MaskingOptions masking = options->masking();
  const LanguageObjective objective{SampleOptions::Task::masked,
                                    [masking](const Vocabulary& vocabulary, uint64_t seed) {
                                      return masked_inputs(Masking(MaskingVocabulary::of(vocabulary), masking, seed));
                                    }};
  return train(*options, config, objective, ranks);
}

std::optional<ReplayResult> train_causal_language(const Resolved<LanguageOptions>& options,
                                                  const EncoderOnlyConfig& config, Communicator& ranks) {
  require(config.causal, "[lm] expected a causal model, got a bidirectional one");
  const LanguageObjective next{SampleOptions::Task::next,
                               [](const Vocabulary&, uint64_t) { return next_token_inputs(); }},
      answers{SampleOptions::Task::answers, [](const Vocabulary&, uint64_t) { return answer_inputs(); }};
  const LanguageObjective& objective = options->has_answers() ? answers : next;
  return train(*options, config, objective, ranks);
}

}  // namespace gyre
