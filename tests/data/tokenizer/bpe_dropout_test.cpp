#include "gyre/data/tokenizer/bpe_dropout.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "gyre/data/synthetic/embedded_corpus.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/data/tokenizer/subword_nmt/subword_nmt_training.h"
#include "tests/data/text_files.h"

using namespace gyre;
using Ids = std::vector<int32_t>;

namespace {

// Lines of the embedded corpus, with characters that the vocabularies do not contain.
std::vector<std::string> lines() {
  std::vector<std::string> lines{"", "q\u4e2dq \u4e2d x\u4e2d", "\u4e2d", "a a a", "  two  spaces "};
  for (const auto& pair : generate_corpus(1, Split::train, 300)) {
    lines.push_back(pair.source);
    lines.push_back(pair.target);
  }
  return lines;
}

struct Trained {
  TemporaryDirectory directory;
  std::vector<std::shared_ptr<const Vocabulary>> vocabularies;  // bpe, bpe with bytes, subword-nmt

  Trained() {
    std::string text;
    for (const std::string& line : lines()) {
      if (line.find("\u4e2d") == std::string::npos) text += line + "\n";
    }
    const std::vector<Path> files{write_text(directory, "text", text)};
    const SentencePieceOptions bpe{.type = "bpe", .size = 400, .character_coverage = 1};
    SentencePieceOptions bytes = bpe;
    bytes.byte_fallback = true;
    bytes.size = 600;
    train_sentencepiece(files, bpe, directory / "bpe");
    train_sentencepiece(files, bytes, directory / "bytes");
    train_subword_nmt(files, {.merges = 300}, directory / "subword-nmt", "");
    for (const char* name : {"bpe", "bytes", "subword-nmt"}) vocabularies.push_back(load_vocabulary(directory / name));
  }
};

Ids segment(const BpeDropout& dropout, const Ids& ids, double probability, uint64_t stream) {
  MergeDrops drops(probability, 1, stream);
  return dropout.segment(ids, drops);
}

}  // namespace

TEST_CASE("BPE dropout: without dropped merges, the segmentation is the encoding") {
  const Trained trained;
  for (const auto& vocabulary : trained.vocabularies) {
    CAPTURE(vocabulary->kind());
    const auto dropout = vocabulary->bpe_dropout();
    REQUIRE(dropout != nullptr);
    size_t different = 0;
    for (const std::string& line : lines()) {
      const Ids ids = vocabulary->encode(line);
      different += segment(*dropout, ids, 0, 1) != ids;
    }
    CHECK(different == 0);
  }
}

TEST_CASE("BPE dropout: every segmentation decodes to the same text, without new unknown pieces") {
  const Trained trained;
  for (const auto& vocabulary : trained.vocabularies) {
    CAPTURE(vocabulary->kind());
    const auto dropout = vocabulary->bpe_dropout();
    size_t plain = 0, dropped = 0, wrong = 0, unknown = 0, other = 0;
    for (const std::string& line : lines()) {
      const Ids ids = vocabulary->encode(line);
      const Ids split = segment(*dropout, ids, 0.3, plain);
      wrong += vocabulary->decode(split) != vocabulary->decode(ids);
      unknown += std::count(split.begin(), split.end(), vocabulary->unk()) !=
                 std::count(ids.begin(), ids.end(), vocabulary->unk());
      CHECK(split == segment(*dropout, ids, 0.3, plain));
      other += split != segment(*dropout, ids, 0.3, plain + 1);
      plain += ids.size();
      dropped += split.size();
    }
    CHECK(wrong == 0);
    CHECK(unknown == 0);
    CHECK(other > 300);
    CHECK(dropped > plain + plain / 20);
  }
}

TEST_CASE("BPE dropout: without any merge, SentencePiece gives characters and bytes") {
  const Trained trained;
  for (const size_t index : {size_t{0}, size_t{1}}) {
    const Vocabulary& vocabulary = *trained.vocabularies[index];
    const auto dropout = vocabulary.bpe_dropout();
    const Ids ids = vocabulary.encode("The seven q\u4e2d.");
    std::string pieces;
    for (const int32_t id : segment(*dropout, ids, 1, 1)) pieces += vocabulary.piece(id) + " ";
    CHECK(pieces == (index == 0 ? "\u2581 T h e \u2581 s e v e n \u2581 q <unk> . "
                                : "\u2581 T h e \u2581 s e v e n \u2581 q <0xE4> <0xB8> <0xAD> . "));
  }
}

TEST_CASE("BPE dropout: subword-nmt keeps words whose new pieces are unknown, and the neighbors of unknown pieces") {
  const TemporaryDirectory directory;
  const Path codes = write_text(directory, "codes", "#version: 0.2\nl o\nlo w</w>\nlo w\ne r</w>\nlow er</w>\n");
  const Path dictionary = write_text(directory, "dict", "low\nlow@@\ner\nlower\nl@@\no@@\nw\nw@@\ne@@\nr\nab@@\n");
  write_subword_nmt_vocabulary(codes, dictionary, 0, "@@", directory / "vocab");
  const auto vocabulary = load_vocabulary(directory / "vocab");
  const auto dropout = vocabulary->bpe_dropout();
  const auto pieces = [&](std::string_view line, double probability) {
    std::string text;
    for (const int32_t id : segment(*dropout, vocabulary->encode(line), probability, 7)) {
      text += (text.empty() ? "" : " ") + vocabulary->piece(id);
    }
    return text;
  };
  CHECK(pieces("lower low", 1) == "l@@ o@@ w@@ e@@ r l@@ o@@ w");
  CHECK(pieces("lower qlow low", 1) == "l@@ o@@ w@@ e@@ r <unk> low l@@ o@@ w");
  CHECK(pieces("lower qlow low", 0) == "lower <unk> low low");
}

// The distribution over the segmentations of one word, by hand: the merges of "abc" are a b, then ab c</w>. Each step
// keeps every possible merge with probability 1 - p.
TEST_CASE_FIXTURE(InDirectory, "BPE dropout: the segmentations of a word have the probabilities of the algorithm") {
  const Path codes = write_text(directory, "codes", "#version: 0.2\na b\nb c</w>\nab c</w>\n");
  const Path dictionary = write_text(directory, "dict", "abc\nab@@\nc\na@@\nbc\nb@@\n");
  write_subword_nmt_vocabulary(codes, dictionary, 0, "@@", directory / "vocab");
  const auto vocabulary = load_vocabulary(directory / "vocab");
  const auto dropout = vocabulary->bpe_dropout();
  const Ids word = vocabulary->encode("abc");
  REQUIRE(word.size() == 1);
  constexpr int kDraws = 40000;
  const double p = 0.25;
  std::map<size_t, std::map<std::string, int>> counts;
  for (int i = 0; i < kDraws; ++i) {
    const Ids ids = segment(*dropout, word, p, uint64_t(i));
    ++counts[ids.size()][vocabulary->piece(ids.front())];
  }
  // Step 1 keeps a b (1 - p), else b c (p (1 - p)), else ends. After a b, step 2 keeps ab c (1 - p) or ends.
  const auto share = [&](size_t size, const char* first) { return double(counts[size][first]) / kDraws; };
  CHECK(share(1, "abc") == doctest::Approx((1 - p) * (1 - p)).epsilon(0.02));
  CHECK(share(2, "ab@@") == doctest::Approx((1 - p) * p).epsilon(0.04));
  CHECK(share(2, "a@@") == doctest::Approx(p * (1 - p)).epsilon(0.04));
  CHECK(share(3, "a@@") == doctest::Approx(p * p).epsilon(0.06));
}

TEST_CASE("BPE dropout: other kinds of vocabularies have no merges") {
  CHECK(ByteVocabulary().bpe_dropout() == nullptr);
  const TemporaryDirectory directory;
  write_word_vocabulary(write_text(directory, "dict", "a\nb\n"), 0, directory / "vocab");
  CHECK(load_vocabulary(directory / "vocab")->bpe_dropout() == nullptr);
}
