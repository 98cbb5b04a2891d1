#include <doctest/doctest.h>

#include <cmath>

#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/analysis/language_score.h"
#include "gyre/train/tasks/inputs.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {
namespace {

const std::vector<std::string> kJoinedDocuments{"on the mat, all day", "a", "the cat sat"};

TokenStore make_store(size_t documents) {
  TokenStoreWriter writer = TokenStoreWriter::in_memory(ByteVocabulary(), 1, "documents");
  for (size_t i = 0; i < documents; ++i) {
    writer.add(ByteVocabulary().encode(kJoinedDocuments[i]));
    if (i + 1 < documents) writer.add({});
  }
  return writer.finish();
}

std::unique_ptr<EncoderOnly> make_model(const std::string& position, bool causal = true) {
  EncoderOnlyConfig c;
  set_tiny_layers(c, 0);
  c.layers = 2;
  c.causal = causal;
  c.vocab_size = ByteVocabulary().size();
  c.position.encoding = position;
  c.position.get<PositionTableOptions>().max_positions = 12;
  auto model = std::make_unique<EncoderOnly>(c);
  model->parameters().allocate(1);
  for (Parameter& p : model->parameters()) {
    for (float& x : std::span(p.value.data<float>(), size_t(p.value.size()))) x *= 4;  // far from uniform
  }
  return model;
}

LengthScore score(const EncoderOnly& model, std::span<const int32_t> tokens, int length, LengthProtocol protocol,
                  const ExtrapolationOptions& options = {}) {
  int64_t scored = 0;
  LengthScorer scorer(model, cpu_kernels(), {tokens, ByteVocabulary().bos(), ByteVocabulary().eos()}, options,
                      [&](int64_t n) { scored += n; });
  const LengthScore result = scorer.run(length, protocol);
  if (options.bos) CHECK(result.tokens == tokens.size());
  CHECK(scored == int64_t(protocol == LengthProtocol::sliding ? result.tokens : tokens.size()));
  return result;
}

}  // namespace

TEST_CASE("extrapolation: documents are joined with </s> after each") {
  const ByteVocabulary v;
  const std::vector<int32_t> tokens = concatenate_documents(make_store(3), 1000);
  std::vector<int32_t> wanted;
  for (const std::string& text : kJoinedDocuments) {
    const std::vector<int32_t> ids = v.encode(text);
    wanted.insert(wanted.end(), ids.begin(), ids.end());
    wanted.push_back(v.eos());
  }
  CHECK(tokens == wanted);
  wanted.resize(7);
  CHECK(concatenate_documents(make_store(3), 7) == wanted);
}

TEST_CASE("extrapolation: without BOS the first token of each block is not scored") {
  const auto model = make_model("rope");
  const TokenStore store = make_store(1);
  const std::vector<int32_t> tokens = concatenate_documents(store, 1000);
  for (const int length : {1, 3, 8, 50}) {
    CAPTURE(length);
    const size_t blocks = (tokens.size() + size_t(length) - 1) / size_t(length);
    const double wanted = score_documents(*model, cpu_kernels(), StorePart(store, 0, Part::training),
                                          {.max_length = length, .bos = false})
                              .nll;
    for (const LengthProtocol protocol : {LengthProtocol::cut, LengthProtocol::full}) {
      const LengthScore got = score(*model, tokens, length, protocol, {.trained_length = length, .bos = false});
      CHECK(got.nll == doctest::Approx(wanted));
      CHECK(got.tokens == tokens.size() - blocks);
    }
    CHECK(score(*model, tokens, length, LengthProtocol::sliding, {.bos = false}).tokens == tokens.size() - 1);
  }
}

TEST_CASE("extrapolation: full blocks give the same score as evaluate perplexity") {
  const auto model = make_model("rope");
  const TokenStore store = make_store(1);
  const std::vector<int32_t> tokens = concatenate_documents(store, 1000);
  for (const int length : {3, 8, 20, 50}) {
    const double wanted =
        score_documents(*model, cpu_kernels(), StorePart(store, 0, Part::training), {.max_length = length}).nll;
    for (const int64_t rows : {1, 9, 4096}) {
      const double got = score(*model, tokens, length, LengthProtocol::full, {.batch_rows = rows}).nll;
      CHECK(got == doctest::Approx(wanted).epsilon(1e-5));
    }
  }
}

TEST_CASE("extrapolation: blocks are split into pieces of the training length") {
  const auto model = make_model("learned");
  const std::vector<int32_t> tokens = concatenate_documents(make_store(3), 1000);
  const ExtrapolationOptions options{.trained_length = 4};
  const auto nll = [&](int length, LengthProtocol p) { return score(*model, tokens, length, p, options).nll; };
  CHECK(nll(8, LengthProtocol::cut) == doctest::Approx(nll(4, LengthProtocol::full)).epsilon(1e-6));
  CHECK(nll(3, LengthProtocol::cut) == doctest::Approx(nll(3, LengthProtocol::full)).epsilon(1e-6));
  double sum = 0;  // 6 = 4 + 2
  for (size_t begin = 0; begin < tokens.size(); begin += begin % 6 == 0 ? 4 : 2) {
    const size_t count = std::min<size_t>(begin % 6 == 0 ? 4 : 2, tokens.size() - begin);
    sum += score(*model, std::span(tokens).subspan(begin, count), 6, LengthProtocol::full).nll;
  }
  CHECK(nll(6, LengthProtocol::cut) == doctest::Approx(sum).epsilon(1e-5));
}

TEST_CASE("extrapolation: a sliding window over the whole text equals one block, for any chunk size") {
  for (const char* position : {"rope", "none"}) {
    const auto model = make_model(position);
    const std::vector<int32_t> tokens = concatenate_documents(make_store(3), 1000);
    const auto nll = [&](int length, LengthProtocol protocol, int64_t rows) {
      return score(*model, tokens, length, protocol, {.batch_rows = rows}).nll;
    };
    const int all = int(tokens.size());
    const double block = nll(all, LengthProtocol::full, 4096);
    for (const int64_t rows : {1, 5, 4096})
      CHECK(nll(all, LengthProtocol::sliding, rows) == doctest::Approx(block).epsilon(1e-5));
    for (const int length : {1, 2, 9}) {
      const double sliding = nll(length, LengthProtocol::sliding, 4096);
      for (const int64_t rows : {1, 5})
        CHECK(nll(length, LengthProtocol::sliding, rows) == doctest::Approx(sliding).epsilon(1e-5));
    }
  }
}

TEST_CASE("extrapolation: no_score gives the reason for lengths without a score") {
  const auto learned = make_model("learned"), rope = make_model("rope");
  CHECK(reason_not_scored(*learned, 12, LengthProtocol::full, 4).empty());
  CHECK(reason_not_scored(*learned, 13, LengthProtocol::full, 4) == "learned has positions up to 12");
  CHECK(reason_not_scored(*learned, 13, LengthProtocol::cut, 4).empty());
  CHECK(reason_not_scored(*learned, 4, LengthProtocol::sliding, 4) == "learned positions are absolute");
  CHECK(reason_not_scored(*rope, 1 << 20, LengthProtocol::sliding, 4).empty());
  const std::vector<int32_t> tokens = concatenate_documents(make_store(3), 20);
  CHECK_THROWS_WITH_AS(score(*learned, tokens, 13, LengthProtocol::full),
                       "[extrapolation] full at length 13: learned has positions up to 12", Error);
}

TEST_CASE("extrapolation: a masked model predicts the same masked tokens at every length") {
  const auto learned = make_model("learned", false);
  const ByteVocabulary v;
  const std::vector<int32_t> text = concatenate_documents(make_store(3), 1000);
  std::vector<int32_t> tokens = text;
  const std::vector<MaskedRow> masked = mask_text(
      tokens, Masking({.size = v.size(), .mask = 'x', .special = {v.eos()}, .continues_word = {}}, {.share = 0.3}, 0));
  REQUIRE(masked.size() == size_t(std::lrint(0.3 * double(text.size()))));
  for (const MaskedRow& row : masked) CHECK(text[size_t(row.row)] == row.id);
  const auto run = [&](int length, LengthProtocol protocol, const ExtrapolationOptions& options) {
    int64_t read = 0;
    LengthScorer scorer(*learned, cpu_kernels(), {tokens, v.bos(), v.eos(), masked}, options,
                        [&](int64_t n) { read += n; });
    const LengthScore score = scorer.run(length, protocol);
    CHECK(score.tokens == masked.size());
    CHECK(read == int64_t(text.size()));
    return score.nll;
  };
  for (const int length : {3, 7, 12}) {
    CAPTURE(length);
    double wanted = 0;  // block by block
    for (int begin = 0; begin < int(tokens.size()); begin += length - 2) {
      const int end = std::min(begin + length - 2, int(tokens.size()));
      std::vector<int32_t> ids{v.bos()}, rows, targets;
      ids.insert(ids.end(), tokens.begin() + begin, tokens.begin() + end);
      if (ids.back() != v.eos()) ids.push_back(v.eos());
      for (const MaskedRow& row : masked) {
        if (row.row < begin || row.row >= end) continue;
        rows.push_back(row.row - begin + 1);
        targets.push_back(row.id);
      }
      if (rows.empty()) continue;
      Tape tape(cpu_kernels(), {.record = false});
      const auto segments = Segments::from_lengths({int32_t(ids.size())});
      wanted += learned->loss(tape, {to_tensor(ids), segments, to_tensor(rows), to_tensor(targets)}).sums().nll;
    }
    for (const int64_t rows : {1, 9, 4096})
      CHECK(run(length, LengthProtocol::full, {.batch_rows = rows}) == doctest::Approx(wanted).epsilon(1e-5));
    CHECK(run(12, LengthProtocol::cut, {.trained_length = length}) == doctest::Approx(wanted).epsilon(1e-5));
  }
  CHECK(reason_not_scored(*learned, 2, LengthProtocol::full, 4) == "<s> and </s> leave no room in 2 tokens");
  CHECK(reason_not_scored(*learned, 8, LengthProtocol::cut, 2) == "<s> and </s> leave no room in 2 tokens");
  CHECK(reason_not_scored(*learned, 20, LengthProtocol::cut, 13) == "learned has positions up to 12");
  CHECK(reason_not_scored(*learned, 13, LengthProtocol::full, 4) == "learned has positions up to 12");
  CHECK(reason_not_scored(*learned, 8, LengthProtocol::sliding, 4) == "a masked model predicts no next tokens");
}

TEST_CASE("extrapolation: masks of a long text do not depend on its end") {
  const ByteVocabulary v;
  const Masking masking({.size = v.size(), .mask = 'x', .special = {}, .continues_word = {}}, {}, 0);
  std::vector<int32_t> text(1500);
  for (size_t i = 0; i < text.size(); ++i) text[i] = int32_t(i % 90);
  std::vector<int32_t> whole = text, part(text.begin(), text.begin() + 1024);
  const std::vector<MaskedRow> rows = mask_text(whole, masking), first = mask_text(part, masking);
  CHECK(first.size() == 2 * 77);  // 15 % of 512, twice
  CHECK(rows.size() == first.size() + 71);
  CHECK(std::equal(first.begin(), first.end(), rows.begin()));
  CHECK(std::equal(part.begin(), part.end(), whole.begin()));
  for (size_t i = 0; i < rows.size(); ++i) {
    CHECK(text[size_t(rows[i].row)] == rows[i].id);
    if (i > 0) CHECK(rows[i].row > rows[i - 1].row);
  }
}

}  // namespace gyre::test
