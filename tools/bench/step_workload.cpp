#include "tools/bench/step_workload.h"

#include "core/random.h"
#include "models/encoder_decoder.h"
#include "models/encoder_only.h"
#include "tools/bench/text_lengths.h"
#include "train/pair_input.h"
#include "train/to_tensor.h"

namespace gyre {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int32_t kBos = 1, kEos = 2, kMask = 3, kFirstWord = 4;

int32_t random_word(RandomStream& random, int64_t vocabulary) {
  return kFirstWord + int32_t(random.below(uint64_t(vocabulary - kFirstWord)));
}

OptimizerOptions constant_rate(const std::string& kind, double beta2) {
  OptimizerOptions o;
  o.kind = kind;
  o.learning_rate = 1e-4;
  o.beta2 = beta2;
  o.clip_norm = 1;
  o.schedule = "constant";
  o.warmup = 0;
  return o;
}

class Translation final : public StepWorkload {
 public:
  Translation(const EncoderDecoderConfig& config, const OptimizerOptions& optimizer, std::vector<TokenBatch> batches,
              std::string text, Device device)
      : model_(config), batches_(std::move(batches)), text_(std::move(text)) {
    optimizer_ = optimizer;
    model_.parameters().allocate(kSeed, DType::f32, device);
  }

  Parameters& parameters() override { return model_.parameters(); }
  std::string batches() const override { return text_; }
  bool varies() const override { return batches_.size() > 1; }

  int64_t draw(uint64_t step) override {
    RandomStream random(kSeed, step);
    PairPacker packer(kBos, kEos);
    std::vector<int32_t> source, target;
    for (const PairLengths& lengths : batches_[step % batches_.size()]) {
      source.resize(size_t(lengths.source - 1));  // without the end of the sentence
      target.resize(size_t(lengths.target - 1));
      for (std::vector<int32_t>* side : {&source, &target})
        for (int32_t& id : *side) id = random_word(random, model_.config().vocab_size);
      packer.add(source, target);
    }
    batch_ = pair_input(packer.finish());
    return batch_.source.tokens() + batch_.target.tokens();
  }

  LossResult loss(Tape& tape) const override { return model_.loss(tape, batch_, 0.1); }

 private:
  EncoderDecoder model_;
  std::vector<TokenBatch> batches_;
  std::string text_;
  PairInput batch_;
};

// Masked or, where the model is causal, foretelling.
class Language final : public StepWorkload {
 public:
  Language(const EncoderOnlyConfig& config, int32_t segments, int32_t length, Device device)
      : model_(config), segments_(segments), length_(length) {
    optimizer_ = constant_rate("adamw", 0.999);
    optimizer_.weight_decay = 0.01;
    model_.parameters().allocate(kSeed, DType::f32, device);
  }

  Parameters& parameters() override { return model_.parameters(); }
  std::string batches() const override {
    return concat(segments_, " segments of ", length_, " random tokens",
                  model_.config().causal ? "" : ", 15 % of them masked");
  }
  bool varies() const override { return false; }

  int64_t draw(uint64_t step) override {
    RandomStream random(kSeed, step);
    std::vector<int32_t> ids, rows, targets;
    for (int32_t row = 0; row < segments_ * length_; ++row) {
      ids.push_back(random_word(random, model_.config().vocab_size));
      const bool predicted = model_.config().causal || random.uniform() < 0.15;
      if (!predicted) continue;
      rows.push_back(row);
      targets.push_back(ids.back());
      if (!model_.config().causal) ids.back() = kMask;
    }
    batch_ = {to_tensor(ids), Segments::from_lengths(std::vector<int32_t>(size_t(segments_), length_)), to_tensor(rows),
              to_tensor(targets)};
    return segments_ * length_;
  }

  LossResult loss(Tape& tape) const override { return model_.loss(tape, batch_); }

 private:
  EncoderOnly model_;
  int32_t segments_, length_;
  MaskedInput batch_;
};

template <class Config>
Config varied(Config config, const StepVariant& variant) {
  config.position = variant.position;
  config.attention = variant.attention;
  return config;
}

std::unique_ptr<StepWorkload> mlm_small(const StepVariant& variant, Device device) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("mlm-small");
  config.vocab_size = 8192;
  return language_workload(varied(config, variant), 16, 256, device);
}

std::unique_ptr<StepWorkload> lm_small(const StepVariant& variant, Device device) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("lm-tiny");
  config.vocab_size = 8192;
  return language_workload(varied(config, variant), 8, 512, device);
}

std::unique_ptr<StepWorkload> mlm_base_32k(const StepVariant& variant, Device device) {
  EncoderOnlyConfig config;
  config.layers = 12;
  config.dim = 768;
  config.ffn = 3072;
  config.heads = 12;
  config.vocab_size = 30522;
  return language_workload(varied(config, variant), 64, 512, device);
}

std::unique_ptr<StepWorkload> nmt_base(const StepVariant& variant, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-base");
  config.vocab_size = 32768;
  return translation_workload(varied(config, variant), 16, 32, device);
}

std::unique_ptr<StepWorkload> nmt_25k(const std::string& model, const StepVariant& variant, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset(model);
  config.vocab_size = 32768;
  return std::make_unique<Translation>(varied(config, variant), constant_rate("adam", 0.98), random_batches(4, 833),
                                       "833 pairs of 25 to 35 random tokens a side", device);
}

std::unique_ptr<StepWorkload> nmt_base_25k(const StepVariant& variant, Device device) {
  return nmt_25k("transformer-base", variant, device);
}
std::unique_ptr<StepWorkload> nmt_big_25k(const StepVariant& variant, Device device) {
  return nmt_25k("transformer-big", variant, device);
}

std::unique_ptr<StepWorkload> multi30k_tiny(const StepVariant& variant, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.vocab_size = 10000;
  config.norm = NormPlacement::pre;
  config.dropout = 0.3;
  OptimizerOptions optimizer;
  optimizer.learning_rate = 4e-3;
  optimizer.warmup = 1000;
  optimizer.ema = 0.999;
  return std::make_unique<Translation>(varied(config, variant), optimizer, token_batches(read_lengths(variant.text)),
                                       "random tokens, " + describe_text(variant.text), device);
}

constexpr struct {
  const char* name;
  std::unique_ptr<StepWorkload> (*make)(const StepVariant& variant, Device device);
} kPresets[] = {{"mlm-small", mlm_small},         {"lm-small", lm_small},         {"nmt-base", nmt_base},
                {"multi30k-tiny", multi30k_tiny}, {"nmt-base-25k", nmt_base_25k}, {"nmt-big-25k", nmt_big_25k},
                {"mlm-base-32k", mlm_base_32k}};

}  // namespace

std::unique_ptr<StepWorkload> translation_workload(const EncoderDecoderConfig& config, int pairs, int length,
                                                   Device device) {
  const TokenBatch batch(size_t(pairs), {length, length});
  return std::make_unique<Translation>(config, constant_rate("adam", 0.98), std::vector<TokenBatch>(1, batch),
                                       concat(pairs, " pairs of ", length, " + ", length, " random tokens"), device);
}

std::unique_ptr<StepWorkload> language_workload(const EncoderOnlyConfig& config, int segments, int length,
                                                Device device) {
  return std::make_unique<Language>(config, segments, length, device);
}

std::vector<std::string> step_presets() {
  std::vector<std::string> names;
  for (const auto& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

std::unique_ptr<StepWorkload> make_step_workload(const std::string& preset, const StepVariant& variant, Device device) {
  for (const auto& known : kPresets)
    if (preset == known.name) return known.make(variant, device);
  throw Error("[bench] there is no preset ", preset);
}

}  // namespace gyre
