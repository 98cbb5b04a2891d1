#include "gyre/train/analysis/language_score.h"

#include <doctest/doctest.h>

#include <cmath>

#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/errors.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {
namespace {

const std::vector<std::string> kScoredDocuments{"the cat", "a", "on the mat, all day"};

TokenStore make_store() {
  TokenStoreWriter writer = TokenStoreWriter::in_memory(ByteVocabulary(), 1, "documents");
  for (const std::string& text : kScoredDocuments) {
    const std::vector<int32_t> ids = ByteVocabulary().encode(text);
    writer.add({ids.begin(), ids.begin() + 1});  // two sentences if there is more than one byte
    writer.add({ids.begin() + 1, ids.end()});
    if (ids.size() > 1) writer.add({});
  }
  return writer.finish();
}

class CausalModel {
 public:
  explicit CausalModel(bool causal = true) : network(config(causal)) {
    network.parameters().allocate(1);
    for (Parameter& p : network.parameters()) {
      for (float& x : std::span(p.value.data<float>(), size_t(p.value.size()))) x *= 4;  // far from uniform
    }
  }
  LanguageScore score(const ScoreOptions& options) const {
    const TokenStore store = make_store();
    return score_documents(network, cpu_kernels(), StorePart(store, 0, Part::training), options);
  }
  // The negative log-likelihood of the last of `ids` given the others, in nats.
  double nll(const std::vector<int32_t>& ids) const {
    const auto n = int64_t(ids.size()) - 1;
    Tape tape(cpu_kernels(), {.record = false});
    const Tensor inputs = Tensor::from({n}, std::vector<int32_t>(ids.begin(), ids.end() - 1));
    const auto logits =
        network.logits(network.encode(tape, inputs, Segments::from_lengths({int32_t(n)}))).value().to_vector<float>();
    const size_t width = logits.size() / size_t(n), row = logits.size() - width;
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += std::exp(double(logits[row + i]));
    return std::log(sum) - double(logits[row + size_t(ids.back())]);
  }

  EncoderOnly network;

 private:
  static EncoderOnlyConfig config(bool causal) {
    EncoderOnlyConfig c;
    set_tiny_layers(c, 0);
    c.layers = 1;
    c.causal = causal;
    c.vocab_size = ByteVocabulary().size();
    return c;
  }
};

TEST_CASE("perplexity: a loss that is not finite is an error") {
  CausalModel model;
  model.network.parameters().begin()->value.data<float>()[40] = NAN;
  CHECK(error_of([&] { model.score({.max_length = 8}); }).find("[perplexity] expected a finite loss, got") == 0);
}

// The reference: scores one token at a time, after <s> and the earlier tokens of its window.
double slow_nll(const CausalModel& model, size_t length, size_t context) {
  const ByteVocabulary vocabulary;
  double sum = 0;
  for (const std::string& text : kScoredDocuments) {
    std::vector<int32_t> ids = vocabulary.encode(text);
    ids.push_back(vocabulary.eos());
    for (size_t i = 0; i < ids.size(); ++i) {
      const size_t step = length - context, window = i < length ? 0 : (i - context) / step * step;
      std::vector<int32_t> seen{vocabulary.bos()};
      seen.insert(seen.end(), ids.begin() + ptrdiff_t(window), ids.begin() + ptrdiff_t(i) + 1);
      sum += model.nll(seen);
    }
  }
  return sum;
}

TEST_CASE("language score: every token is scored once, with the context in its window") {
  const CausalModel model;
  for (const auto& [length, context] : {std::pair(512, 0), std::pair(5, 0), std::pair(6, 2), std::pair(4, 3)}) {
    CAPTURE(length);
    for (int64_t rows : {1, 9, 4096}) {
      const LanguageScore score = model.score({.max_length = length, .context = context, .batch_rows = rows});
      CHECK(score.documents == 3);
      CHECK(score.tokens == 7 + 1 + 19 + 3);
      CHECK(score.correct <= score.tokens);
      CHECK(score.nll == doctest::Approx(slow_nll(model, size_t(length), size_t(context))).epsilon(1e-5));
    }
  }
}

TEST_CASE("language score: models and options that cannot be scored are errors") {
  const auto message = [](const CausalModel& model, const ScoreOptions& options) {
    return error_of([&] { model.score(options); });
  };
  CHECK(message(CausalModel(false), {}) == "[perplexity] expected a causal language model, got a bidirectional one");
  CHECK(message(CausalModel(), {.max_length = 4, .context = 4}) ==
        "[perplexity] --context-window: expected at least 0 and less than --max-length 4, got 4");
}

}  // namespace
}  // namespace gyre::test
