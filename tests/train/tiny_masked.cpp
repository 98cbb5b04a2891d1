#include "tests/train/tiny_masked.h"

#include <nlohmann/json.hpp>

#include "core/random.h"
#include "data/byte_vocabulary.h"
#include "models/encoder_only.h"
#include "train/job.h"

namespace gyre::test {
namespace {

constexpr int kSentences = 50, kBatch = 5;
constexpr uint64_t kFewestLetters = 4, kMostLetters = 9;
constexpr uint64_t kHeldOut = 1000;  // an epoch that no run reaches

struct MaskedSentence {
  std::vector<int32_t> ids;
  std::vector<int32_t> places, targets;  // of the masked ones
};

MaskedSentence masked_sentence(const Vocabulary& vocabulary, uint64_t seed, uint64_t epoch, int number) {
  RandomStream letters(1, uint64_t(number)), masks(mix(seed, epoch), uint64_t(number));
  std::string text;
  for (uint64_t left = kFewestLetters + letters.below(kMostLetters - kFewestLetters + 1), at = letters.below(10);
       left > 0; --left, ++at)
    text += char('a' + at);
  MaskedSentence sentence{vocabulary.encode(text), {}, {}};
  const uint64_t always = masks.below(sentence.ids.size());
  for (size_t i = 0; i < sentence.ids.size(); ++i) {
    if (i != always && masks.below(8) > 0) continue;
    sentence.places.push_back(int32_t(i));
    sentence.targets.push_back(std::exchange(sentence.ids[i], vocabulary.unk()));
  }
  return sentence;
}

Shard pack(const std::vector<MaskedSentence>& sentences) {
  std::vector<int32_t> ids, lengths, rows, targets;
  for (const MaskedSentence& s : sentences) {
    for (int32_t place : s.places) rows.push_back(int32_t(ids.size()) + place);
    ids.insert(ids.end(), s.ids.begin(), s.ids.end());
    targets.insert(targets.end(), s.targets.begin(), s.targets.end());
    lengths.push_back(int32_t(s.ids.size()));
  }
  const auto tensor = [](const std::vector<int32_t>& values) { return Tensor::from({int64_t(values.size())}, values); };
  return {MaskedInput{tensor(ids), Segments::from_lengths(lengths), tensor(rows), tensor(targets)}, targets.size()};
}

class MaskedData final : public TrainingData {
 public:
  MaskedData(const Vocabulary& vocabulary, uint64_t seed, int shards)
      : vocabulary_(vocabulary), seed_(seed), shards_(shards) {}

  std::string describe() const override { return concat(kSentences, " sentences"); }
  uint64_t checksum() const override { return kSentences; }
  void start_epoch(uint64_t epoch) override { epoch_ = epoch; }
  size_t batches() const override { return kSentences / kBatch; }

  RankBatch batch(size_t i, ShardRange own) const override {
    RankBatch batch;
    std::vector<std::vector<MaskedSentence>> shards{size_t(shards_)};
    for (int k = 0; k < kBatch; ++k) {
      MaskedSentence sentence = masked_sentence(vocabulary_, seed_, epoch_, int(i) * kBatch + k);
      ++batch.sentences;
      batch.target_tokens += sentence.ids.size();
      batch.predictions += sentence.targets.size();
      shards[size_t(k * shards_ / kBatch)].push_back(std::move(sentence));
    }
    for (int s = own.begin; s < own.end; ++s) batch.shards.push_back(pack(shards[size_t(s)]));
    return batch;
  }

 private:
  const Vocabulary& vocabulary_;
  uint64_t seed_, epoch_ = 0;
  int shards_;
};

class MaskedModel final : public TrainingModel {
 public:
  explicit MaskedModel(const EncoderOnlyConfig& config) : model_(config) {}
  Parameters& parameters() override { return model_.parameters(); }
  LossResult loss(Tape& tape, const std::any& input) const override {
    return model_.loss(tape, std::any_cast<const MaskedInput&>(input));
  }
  nlohmann::ordered_json config() const override { return model_.config().to_json(); }

 private:
  EncoderOnly model_;
};

// Every rank does all of it.
class MaskedValidation final : public Validation {
 public:
  MaskedValidation(const Shard& shard, const TrainingModel& model, Kernels& kernels)
      : shard_(shard), model_(model), kernels_(kernels) {}

  ValidationResult run() override {
    Tape tape(kernels_, {.record = false});
    const CrossEntropySums sums = model_.loss(tape, shard_.input).sums;
    const auto n = double(shard_.predictions);
    return {.loss = sums.nll / n, .metrics = {{"cross-entropy", sums.nll / n}, {"accuracy", double(sums.correct) / n}}};
  }

 private:
  Shard shard_;
  const TrainingModel& model_;
  Kernels& kernels_;
};

TaskParts make_parts(const TrainOptions& options, EncoderOnlyConfig config, const JobPlace& place) {
  TaskParts parts;
  parts.vocabulary = load_vocabulary(options.vocabulary);
  config.vocab_size = parts.vocabulary->size();
  parts.data = std::make_unique<MaskedData>(*parts.vocabulary, options.seed, place.shards);
  parts.model = std::make_unique<MaskedModel>(config);
  parts.model->parameters().allocate(options.seed, DType::f32, place.kernels.device());
  parts.make_validation = [&options, place, &vocabulary = *parts.vocabulary, &model = *parts.model] {
    std::vector<MaskedSentence> sentences;
    for (int i = 0; i < kSentences; ++i) sentences.push_back(masked_sentence(vocabulary, options.seed, kHeldOut, i));
    return std::make_unique<MaskedValidation>(pack(sentences), model, place.kernels);
  };
  return parts;
}

}  // namespace

TrainOptions masked_options(const Path& data, const Path& run) {
  std::filesystem::create_directories(data);
  ByteVocabulary().save(data / "vocab.bytes");
  TrainOptions o;
  o.vocabulary = data / "vocab.bytes";
  o.model = run;
  o.batch_words = kBatch;
  o.batch_unit = "sentences";
  o.optimizer.learning_rate = 0.01;
  o.optimizer.warmup = 5;
  o.display_every = Period::parse("1u");
  o.threads = 1;
  o.quiet = true;
  return o;
}

EncoderOnlyConfig masked_config(double dropout) {
  EncoderOnlyConfig c;
  c.dim = 16;
  c.ffn = 32;
  c.heads = 2;
  c.layers = 1;
  c.dropout = dropout;
  return c;
}

int train_masked(const TrainOptions& options, const EncoderOnlyConfig& config, Communicator& ranks) {
  options.validate();
  return run_job(options, ranks, [&](const JobPlace& place) { return make_parts(options, config, place); });
}

}  // namespace gyre::test
