// Compares token-by-token decoding with caches with teacher forcing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gyre/core/random.h"
#include "gyre/models/decode/generate.h"
#include "gyre/models/position/rope.h"
#include "tests/emulated_bf16.h"
#include "tests/models/tiny_encoder.h"
#include "tests/models/tiny_model.h"
#include "tests/threads_in_scope.h"

namespace gyre {

using test::Sentences;

namespace {

// Decodes given tokens with caches, one hypothesis per row.
class Stepper {
 public:
  Stepper(const EncoderDecoder& model, const Sentences& sources, Precision precision = Precision::fp32)
      : model_(model),
        tape_(cpu_kernels(), {.record = false, .precision = precision}),
        cache_(int(model.config().decoder_layers), int(sources.size())) {
    const PairInput batch = test::make_batch(sources, Sentences(sources.size()));
    sources_ = model.project_sources(model.encode(tape_, batch.source_ids, batch.source), batch.source);
  }

  // Decodes one token per row; the rows of segment i of `by_sentence` belong to sentence i. Returns log-probabilities
  // (rows, vocab).
  Tensor step(const std::vector<int32_t>& tokens, const Segments& by_sentence) {
    const Tensor ids = Tensor::from({int64_t(tokens.size())}, tokens);
    const Var states = model_.decode_step(tape_, ids, by_sentence, sources_, cache_);
    const Tensor log_probs = Tensor::empty({ids.size(), model_.config().vocab_size});
    model_.log_probabilities(log_probs, states);
    return log_probs;
  }

  KeyValueCache& cache() { return cache_; }

 private:
  const EncoderDecoder& model_;
  Tape tape_;
  KeyValueCache cache_;
  std::vector<AttentionMemory> sources_;
};

void check_row(const Tensor& got, int64_t row, const Tensor& expected, int64_t expected_row) {
  for (int64_t j = 0; j < got.cols(); ++j)
    CHECK(got.data<float>()[row * got.cols() + j] ==
          doctest::Approx(expected.data<float>()[expected_row * got.cols() + j]).epsilon(1e-4));
}

}  // namespace

TEST_CASE("incremental decoding gives the log-probabilities of teacher forcing") {
  const Sentences sources = {{4, 7, 3, 9}, {}, {10, 6, 8}};
  Sentences targets = test::random_sentences(3, 0, 11, 4);
  RandomStream random(8, 0);
  for (auto& t : targets)
    for (int i = 0; i < 35; ++i) t.push_back(int32_t(3 + random.below(8)));
  for (const std::string& position : position_encoding_names()) {
    CAPTURE(position);
    EncoderDecoderConfig config = test::tiny_config(position);
    config.position.get<RopeOptions>().rotate_cross = true;
    EncoderDecoder model(config);
    test::allocate_nonzero(model.parameters(), 5);
    const Tensor expected = test::teacher_forced(model, sources, targets);
    Stepper stepper(model, sources);
    for (int64_t t = 0; t < 36; ++t) {
      std::vector<int32_t> tokens;
      for (const auto& target : targets) tokens.push_back(t == 0 ? test::kBos : target[size_t(t - 1)]);
      const Tensor got = stepper.step(tokens, Segments::from_lengths({1, 1, 1}));
      for (int64_t i = 0; i < 3; ++i) check_row(got, i, expected, i * 36 + t);
    }
  }
}

// Hypotheses branch, end and move between rows at random, and a sentence finishes. Every row must continue with the
// history of its hypothesis.
TEST_CASE("caches follow hypotheses between rows") {
  const ThreadsInScope one_thread(1);
  EncoderDecoder model(test::tiny_config());
  test::allocate_nonzero(model.parameters(), 5);
  const Sentences sources = {{4, 7, 3, 9}, {5}};
  Stepper stepper(model, sources);
  std::vector<int> sentence{0, 1};
  Sentences history(2);
  RandomStream random(9, 0);
  for (int step = 0; step < 20; ++step) {
    std::vector<int32_t> tokens, counts(2);
    for (size_t row = 0; row < history.size(); ++row) {
      tokens.push_back(history[row].empty() ? test::kBos : history[row].back());
      ++counts[size_t(sentence[row])];
    }
    const Tensor got = stepper.step(tokens, Segments::from_lengths(counts));
    for (size_t row = 0; row < history.size(); ++row) {
      const Tensor expected = test::teacher_forced(model, {sources[size_t(sentence[row])]}, {history[row]});
      check_row(got, int64_t(row), expected, expected.rows() - 1);
    }
    std::vector<int> parents, next_sentence;
    Sentences next;
    for (int s = step < 12 ? 0 : 1; s < 2; ++s) {  // sentence 0 finishes after 12 steps
      std::vector<int> own;
      for (size_t row = 0; row < history.size(); ++row)
        if (sentence[row] == s) own.push_back(int(row));
      for (int i = 0; i < 3; ++i) {
        const int parent = own[random.below(own.size())];
        parents.push_back(parent);
        next_sentence.push_back(s);
        next.push_back(history[size_t(parent)]);
        next.back().push_back(int32_t(3 + random.below(8)));
      }
    }
    stepper.cache().gather(parents);
    CHECK(stepper.cache().rows() == int(parents.size()));
    history = next;
    sentence = next_sentence;
  }
}

// Forward has about thirty roundings, each independent and at most 2^-8. encoder_decoder_test.cpp explains the bound.
TEST_CASE("bf16: decoding gives the log-probabilities of fp32 up to rounding") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const Sentences sources = {{4, 7, 3, 9}, {10, 6, 8}};
  const Segments by_sentence = Segments::from_lengths({1, 1});
  for (const std::string& position : position_encoding_names()) {
    CAPTURE(position);
    EncoderDecoderConfig config = test::tiny_config(position);
    config.activation = Activation::gelu;
    EncoderDecoder model(config);
    model.parameters().allocate(5);
    Stepper exact(model, sources), rounded(model, sources, Precision::bf16);
    for (const int32_t token : {test::kBos, 5, 9, 3}) {
      const Tensor expected = exact.step({token, token}, by_sentence), got = rounded.step({token, token}, by_sentence);
      double difference = 0, largest = 0;
      for (int64_t i = 0; i < got.size(); ++i) {
        difference = std::max(difference, std::abs(double(got.data<float>()[i]) - expected.data<float>()[i]));
        largest = std::max(largest, std::abs(double(expected.data<float>()[i])));
      }
      CHECK_LE(difference, 6 * 0x1p-8 * largest);
    }
  }
}

}  // namespace gyre

// ---- Decoding with a cache gives the log-probabilities of a pass over the whole text -------------------------------

namespace gyre {
namespace {

using Ids = std::vector<int32_t>;

// Sizes that are multiples of 8 elements, so that bf16 copies of all parameters are used.
std::vector<EncoderOnlyConfig> families() {
  std::vector<EncoderOnlyConfig> all = test::tiny_decoders();
  for (EncoderOnlyConfig& config : all) {
    config.vocab_size = 24;
    config.dim = 16;
    config.ffn = 24;
    if (config.head_dim > 0) config.head_dim = 12;
  }
  all[4].output_bias = true;
  return all;
}

std::vector<AttentionConfig> attentions() {
  std::vector<AttentionConfig> all{{.kind = AttentionKind::softmax},
                                   {.kind = AttentionKind::window, .window = 1},
                                   {.kind = AttentionKind::window, .window = 4}};
  for (const FeatureMap map : {FeatureMap::elu, FeatureMap::relu, FeatureMap::softmax, FeatureMap::favor})
    all.push_back({.kind = AttentionKind::linear, .linear_map = map});
  return all;
}

// log P of the tokens of the text from `first` on, from one pass over the text.
std::vector<float> whole_log_probs(const EncoderOnly& model, const Ids& ids, size_t first, Precision precision,
                                   PackedWeights* packed) {
  Tape tape(cpu_kernels(), {.record = false, .precision = precision, .packed = packed});
  const Var states = model.encode(tape, test::ids_of(ids), Segments::from_lengths({int32_t(ids.size())}));
  const Tensor log_probs = model.logits(states).value().to(DType::f32);
  cpu_kernels().log_softmax(log_probs, log_probs);
  std::vector<float> result;
  for (size_t i = first; i < ids.size(); ++i)
    result.push_back(log_probs.data<float>()[int64_t(i - 1) * log_probs.cols() + ids[i]]);
  return result;
}

// The largest difference between decoding and whole texts, for a prompt that is longer than the window and a short one.
double worst_difference(const EncoderOnly& model, Precision precision) {
  const auto packed = precision == Precision::int8 ? packed_weights_for(cpu_kernels(), precision) : nullptr;
  const std::vector<Prompt> prompts{{{4, 7, 3, 9, 6, 12}, 0, 20}, {{5}, 1, 18}};
  GenerationOptions options{.temperature = 1, .seed = 4, .eos = -1};
  options.precision = precision;
  options.packed = packed;
  Generation generation(model, cpu_kernels(), prompts, options);
  while (!generation.done()) generation.step();
  double worst = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Generation::Text& text = generation.texts()[i];
    REQUIRE(int(text.ids.size()) == prompts[i].max_tokens);
    Ids ids = prompts[i].ids;
    ids.insert(ids.end(), text.ids.begin(), text.ids.end());
    const std::vector<float> expected = whole_log_probs(model, ids, prompts[i].ids.size(), precision, packed.get());
    for (size_t t = 0; t < expected.size(); ++t)
      worst = std::max(worst, double(std::abs(expected[t] - text.log_probs[t])));
  }
  return worst;
}

}  // namespace

TEST_CASE("cached decoding: every family, position encoding, attention and precision") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const ThreadsInScope one_thread(1);
  int decoded = 0, refused = 0;
  for (EncoderOnlyConfig config : families()) {
    for (const std::string& position : position_encoding_names()) {
      config.position = test::tiny_position(position);
      for (const AttentionConfig& attention : attentions()) {
        config.attention = attention;
        CAPTURE(config.to_json().dump());
        if (const std::string reason = test::validation_error(config); reason != "no error") {
          const bool names_the_cause = attention.kind == AttentionKind::linear
                                           ? reason.starts_with("[attention] linear ")
                                           : reason.starts_with("[head_dim] with " + position);
          CHECK_MESSAGE(names_the_cause, reason);
          ++refused;
          continue;
        }
        EncoderOnly model(config);
        test::allocate_nonzero(model.parameters(), 5);
        CHECK(worst_difference(model, Precision::fp32) < 1e-5);
        // Logits below 2, which bf16 rounds by less than 0.004.
        for (Parameter& p : model.parameters())
          if (p.shape.rank() == 2) cpu_kernels().scale(p.value, p.value, 0.25);
        CHECK(worst_difference(model, Precision::bf16) < 0.02);
        CHECK(worst_difference(model, Precision::int8) < 0.02);
        ++decoded;
      }
    }
  }
  CHECK(decoded == 276);
  CHECK(refused == 312);
}

}  // namespace gyre
