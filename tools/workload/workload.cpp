#include "tools/workload/workload.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/random.h"
#include "gyre/data/synthetic/embedded_corpus.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/tasks/inputs.h"
#include "tools/lines.h"

namespace gyre {

namespace {

constexpr size_t kEmbeddedPairs = 20000;  // the default of `gyre data generate`
constexpr int64_t kBatchTokens = 4096;

int32_t tokens_of(const std::string& line) {
  int32_t tokens = 1;
  bool inside = false;
  for (char c : line) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    tokens += !space && !inside;
    inside = !space;
  }
  return tokens;
}

}  // namespace

std::vector<PairLengths> read_lengths(const Path& prefix) {
  std::vector<PairLengths> lengths;
  if (prefix.empty()) {
    for (const SentencePair& pair : generate_corpus(1, Split::train, kEmbeddedPairs))
      lengths.push_back({tokens_of(pair.source), tokens_of(pair.target)});
    return lengths;
  }
  const auto sources = read_lines(prefix.string() + ".en"), targets = read_lines(prefix.string() + ".de");
  require(sources.size() == targets.size(), "[text] ", prefix.string(), ".en has ", sources.size(), " lines, ",
          prefix.string(), ".de ", targets.size());
  for (size_t i = 0; i < sources.size(); ++i) lengths.push_back({tokens_of(sources[i]), tokens_of(targets[i])});
  return lengths;
}

std::string describe_text(const Path& prefix) {
  return prefix.empty() ? "lengths of the synthetic corpus" : "lengths of " + prefix.string() + ".en and .de";
}

std::vector<TokenBatch> token_batches(std::vector<PairLengths> pairs) {
  std::sort(pairs.begin(), pairs.end());
  std::vector<TokenBatch> batches(1);
  int64_t longest = 0;
  for (const PairLengths& pair : pairs) {
    batches.back().push_back(pair);
    longest = std::max<int64_t>({longest, pair.source, pair.target});
    if (longest * int64_t(batches.back().size()) < kBatchTokens) continue;
    batches.emplace_back();
    longest = 0;
  }
  batches.pop_back();
  require(!batches.empty(), "[text] ", pairs.size(), " pairs do not fill a batch of ", kBatchTokens, " tokens");
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < batches.size(); ++i) order.emplace_back(mix(0, i), i);
  std::sort(order.begin(), order.end());
  std::vector<TokenBatch> shuffled;
  for (const auto& [key, i] : order) shuffled.push_back(std::move(batches[i]));
  return shuffled;
}

std::vector<TokenBatch> random_batches(size_t batches, size_t pairs) {
  std::vector<TokenBatch> all(batches, TokenBatch(pairs));
  const auto length = [](size_t batch, size_t side) { return int32_t(25 + mix(batch, side) % 11); };
  for (size_t b = 0; b < batches; ++b)
    for (size_t i = 0; i < pairs; ++i) all[b][i] = {length(b, 2 * i), length(b, 2 * i + 1)};
  return all;
}

namespace {

constexpr uint64_t kBatchSeed = 1;
constexpr int32_t kBos = 1, kEos = 2, kMask = 3, kFirstWord = 4;

int32_t random_word(RandomStream& random, int64_t vocabulary) {
  return kFirstWord + int32_t(random.below(uint64_t(vocabulary - kFirstWord)));
}

OptimizerOptions decaying_adamw() {
  OptimizerOptions o = constant_rate("adamw", 0.999);
  o.weight_decay = 0.01;
  return o;
}

// A model with its initial weights, and batches of type Batch.
template <class Model, class Batch>
class ModelWorkload : public Workload {
 public:
  Parameters& parameters() override { return model_.parameters(); }

  int64_t draw(uint64_t step) override {
    current_ = step < ahead_.size() ? ahead_[step] : make_batch(step);
    return current_.tokens;
  }
  void draw_ahead(uint64_t steps) override {
    while (ahead_.size() < steps) ahead_.push_back(make_batch(ahead_.size()));
  }

 protected:
  struct Drawn {
    Batch batch;
    int64_t tokens = 0;  // tokens on all sides
  };
  virtual Drawn make_batch(uint64_t step) const = 0;
  const Batch& batch() const { return current_.batch; }

  ModelWorkload(const typename Model::Config& config, const OptimizerOptions& optimizer,
                ParameterOptions parameter_options)
      : model_(config) {
    optimizer_ = optimizer;
    model_.parameters().allocate(kBatchSeed, parameter_options.dtype, parameter_options.device);
  }

  Model model_;

 private:
  Drawn current_;
  std::vector<Drawn> ahead_;
};

class Translation final : public ModelWorkload<EncoderDecoder, PairInput> {
 public:
  Translation(const EncoderDecoderConfig& config, const OptimizerOptions& optimizer, std::vector<TokenBatch> batches,
              std::string text, ParameterOptions parameter_options, double r_drop)
      : ModelWorkload(config, optimizer, parameter_options),
        batches_(std::move(batches)),
        text_(std::move(text)),
        r_drop_(r_drop) {}

  std::string batches() const override { return text_; }
  bool varies() const override { return batches_.size() > 1; }

  Drawn make_batch(uint64_t step) const override {
    RandomStream random(kBatchSeed, step);
    PairPacker packer(kBos, kEos);
    std::vector<int32_t> source, target;
    for (const PairLengths& lengths : batches_[step % batches_.size()]) {
      source.resize(size_t(lengths.source - 1));  // the end of the sentence is left out
      target.resize(size_t(lengths.target - 1));
      for (int32_t& id : source) id = random_word(random, model_.config().vocab_size);
      for (int32_t& id : target) id = random_word(random, model_.config().output_size());
      packer.add(source, target);
    }
    PairInput batch = pair_input(packer.finish());
    const int64_t tokens = batch.source.tokens() + batch.target.tokens();
    return {std::move(batch), tokens};
  }

  LossResult loss(Tape& tape) const override {
    return r_drop_ > 0 ? model_.r_drop_loss(tape, batch(), 0.1, r_drop_) : model_.loss(tape, batch(), 0.1);
  }

 private:
  std::vector<TokenBatch> batches_;
  std::string text_;
  double r_drop_;
};

// Masked language modeling, or causal language modeling if the model is causal.
class Language final : public ModelWorkload<EncoderOnly, MaskedInput> {
 public:
  Language(const EncoderOnlyConfig& config, int32_t segments, int32_t length, ParameterOptions parameter_options)
      : ModelWorkload(config, decaying_adamw(), parameter_options), segments_(segments), length_(length) {}

  std::string batches() const override {
    return concat(counted(segments_, "segment"), " of ", length_, " random tokens",
                  model_.config().causal ? "" : ", 15 % of them masked");
  }
  bool varies() const override { return false; }

  Drawn make_batch(uint64_t step) const override {
    RandomStream random(kBatchSeed, step);
    std::vector<int32_t> ids, rows, targets;
    for (int32_t row = 0; row < segments_ * length_; ++row) {
      ids.push_back(random_word(random, model_.config().vocab_size));
      const bool predicted =
          model_.config().causal || random.uniform() < 0.15 || row == 0;  // a sample has at least one
      if (!predicted) continue;
      rows.push_back(row);
      targets.push_back(ids.back());
      if (!model_.config().causal) ids.back() = kMask;
    }
    const Segments segments = Segments::from_lengths(std::vector<int32_t>(size_t(segments_), length_));
    return {{to_tensor(ids), segments, to_tensor(rows), to_tensor(targets)}, segments_ * length_};
  }

  LossResult loss(Tape& tape) const override { return model_.loss(tape, batch()); }

 private:
  int32_t segments_, length_;
};

// Texts with a class each, or with a number each if the model has a single output.
class Classification final : public ModelWorkload<SequenceClassifier, LabeledInput> {
 public:
  Classification(const ClassifierConfig& config, int32_t texts, int32_t length, ParameterOptions parameter_options)
      : ModelWorkload(config, decaying_adamw(), parameter_options), texts_(texts), length_(length) {}

  std::string batches() const override {
    return concat(counted(texts_, "text"), " of ", length_, " random tokens, each with a label");
  }
  bool varies() const override { return false; }

  Drawn make_batch(uint64_t step) const override {
    RandomStream random(kBatchSeed, step);
    const int64_t classes = model_.config().classes;
    std::vector<int32_t> ids, labels;
    std::vector<float> numbers;
    for (int32_t text = 0; text < texts_; ++text) {
      for (int32_t i = 0; i < length_; ++i) ids.push_back(random_word(random, model_.config().encoder.vocab_size));
      labels.push_back(int32_t(random.below(uint64_t(classes))));
      numbers.push_back(float(random.uniform()));
    }
    const Segments rows = Segments::from_lengths(std::vector<int32_t>(size_t(texts_), length_));
    return {{to_tensor(ids), rows, classes == 1 ? to_tensor(numbers) : to_tensor(labels)}, texts_ * length_};
  }

  LossResult loss(Tape& tape) const override { return model_.loss(tape, batch()); }

 private:
  int32_t texts_, length_;
};

}  // namespace

void expect_vocabulary(int64_t pieces) { expect_at_least(kFirstWord + 1, "--vocab-size", pieces); }

OptimizerOptions constant_rate(const std::string& kind, double beta2) {
  OptimizerOptions o;
  o.kind = kind;
  o.schedule.learning_rate = 1e-4;
  o.beta2 = beta2;
  o.clip_norm = 1;
  o.schedule.kind = "constant";
  o.schedule.warmup = 0;
  return o;
}

std::unique_ptr<Workload> translation_workload(const EncoderDecoderConfig& config, const OptimizerOptions& optimizer,
                                               std::vector<TokenBatch> batches, std::string text,
                                               ParameterOptions parameter_options) {
  return std::make_unique<Translation>(config, optimizer, std::move(batches), std::move(text), parameter_options, 0);
}

std::unique_ptr<Workload> translation_workload(const EncoderDecoderConfig& config, int pairs, int length,
                                               ParameterOptions parameter_options, double r_drop) {
  std::vector<TokenBatch> batches{TokenBatch(size_t(pairs), {length, length})};
  return std::make_unique<Translation>(config, constant_rate("adam", 0.98), std::move(batches),
                                       concat(counted(pairs, "pair"), " of ", length, " + ", length, " random tokens"),
                                       parameter_options, r_drop);
}

std::unique_ptr<Workload> language_workload(const EncoderOnlyConfig& config, int segments, int length,
                                            ParameterOptions parameter_options) {
  return std::make_unique<Language>(config, segments, length, parameter_options);
}

std::unique_ptr<Workload> classification_workload(const ClassifierConfig& config, int texts, int length,
                                                  ParameterOptions parameter_options) {
  return std::make_unique<Classification>(config, texts, length, parameter_options);
}

}  // namespace gyre
