#include <doctest/doctest.h>

#include "gyre/data/store/document_store.h"
#include "gyre/data/synthetic/embedded_corpus.h"
#include "gyre/data/text/core_limit.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

struct Texts {
  TemporaryDirectory directory;
  std::vector<Path> files;
  std::vector<SentencePair> pairs = generate_corpus(1, Split::train, 400);

  Texts() {
    std::string english, german;
    for (const auto& pair : pairs) {
      english += pair.source + "\n";
      german += pair.target + "\n";
    }
    files = {write_text(directory, "train.en", english), write_text(directory, "train.de", german)};
  }

  std::shared_ptr<const Vocabulary> train(const SentencePieceOptions& options) {
    train_sentencepiece(files, options, directory / "model");
    return load_vocabulary(directory / "model");
  }
};

}  // namespace

TEST_CASE("SentencePiece: vocabularies of every type train and decode to the original text") {
  Texts texts;
  for (const std::string type : {"unigram", "bpe", "char", "word"}) {
    CAPTURE(type);
    const auto vocabulary = texts.train({.type = type, .size = type == "word" ? 5000 : 200, .character_coverage = 1});
    CHECK(vocabulary->kind() == type);
    if (type == "unigram" || type == "bpe") CHECK(vocabulary->size() == 200);
    CHECK(vocabulary->unk() == 0);
    CHECK(vocabulary->bos() == 1);
    CHECK(vocabulary->eos() == 2);
    CHECK(vocabulary->pad() == -1);
    CHECK(vocabulary->piece(2) == "</s>");
    CHECK(can_write_hugging_face(*vocabulary) == (type == "unigram" || type == "bpe"));
    size_t wrong = 0;
    for (const auto& pair : texts.pairs) {
      for (const std::string& text : {pair.source, pair.target}) {
        auto ids = vocabulary->encode(text);
        ids.insert(ids.begin(), vocabulary->bos());
        ids.push_back(vocabulary->eos());
        wrong += vocabulary->decode(ids) != text;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("SentencePiece: a model without a token that ends a text encodes, and eos() says what is missing") {
  Texts texts;
  const auto whole = texts.train({.type = "bpe", .size = 200});
  // Names another piece in the settings of the trainer, which the model does not have.
  write_file(texts.directory / "model", whole->content() + "\x12\x09\xFA\x02\x06<none>");
  const auto vocabulary = load_vocabulary(texts.directory / "model");
  CHECK(vocabulary->encode("the cat") == whole->encode("the cat"));
  CHECK(!vocabulary->has_ends());
  CHECK(contains(error_of([&] { (void)vocabulary->eos(); }), "expected a token that ends a text"));
}

TEST_CASE("SentencePiece: with byte fallback, any text decodes to itself") {
  Texts texts;
  const auto vocabulary = texts.train({.type = "bpe", .size = 600, .normalization = "identity", .byte_fallback = true});
  for (const std::string text : {"Größe 快速的棕色狐狸 😀 ξένος", "e\u0301 \u00bd", "a\tb"}) {
    CHECK(vocabulary->decode(vocabulary->encode(text)) == text);
  }
  const std::string nul("a\0b", 3), long_text(100000, 'e');
  CHECK(vocabulary->decode(vocabulary->encode(nul)) == nul);
  CHECK(vocabulary->decode(vocabulary->encode(long_text)) == long_text);
  CHECK(vocabulary->encode("").empty());
}

TEST_CASE("SentencePiece: with byte fallback and white space kept, whole files can be documents") {
  Texts texts;
  const std::string text = " two  spaces\n\n\tand a \xE2\x82\xAC\r\n ";
  const Path stream = write_text(texts.directory, "stream", text);
  for (const std::string type : {"char", "bpe"}) {
    CAPTURE(type);
    const auto vocabulary = texts.train(
        {.type = type, .size = 400, .normalization = "identity", .byte_fallback = true, .keep_whitespace = true});
    CHECK(vocabulary->decode(vocabulary->encode(text)) == text);
    const Documents documents = open_documents(*vocabulary, {stream}, {.end = DocumentEnd::whole});
    CHECK(vocabulary->decode(documents.store.sentence(0, 0)) == text);
  }
}

TEST_CASE("SentencePiece: the same text, options and seed give the same bytes; a sample depends on the seed") {
  Texts texts;
  SentencePieceOptions options{.size = 150, .sample_lines = 100, .seed = 3};
  const auto first = texts.train(options)->fingerprint();
  CHECK(texts.train(options)->fingerprint() == first);
  const auto reports = train_sentencepiece(texts.files, options, texts.directory / "model");
  options.seed = 4;
  CHECK(texts.train(options)->fingerprint() != first);
  REQUIRE(reports.size() == 2);
}

TEST_CASE("SentencePiece: the model does not depend on the number of threads") {
  Texts texts;
  for (const std::string type : {"unigram", "bpe"}) {
    CAPTURE(type);
    std::string model;
    for (const int n : {1, 2, 3}) {
      const ThreadsInScope scope(n);
      const auto vocabulary = texts.train({.type = type, .size = 400});
      if (n == 1) model = vocabulary->content();
      CHECK(vocabulary->content() == model);
    }
  }
}

TEST_CASE("core limit: at most the given number of cores, and all of them afterward") {
  const auto cores = [] {
    cpu_set_t set;
    REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
    return CPU_COUNT(&set);
  };
  const int before = cores();
  for (const int n : {1, 2, 1000}) {
    const CoreLimit limit(n);
    CHECK(cores() == std::min(n, before));
  }
  CHECK(cores() == before);
}

TEST_CASE_FIXTURE(InDirectory, "SentencePiece: bad lines are reported, or are errors that leave no file") {
  std::string text;
  for (const auto& pair : generate_corpus(1, Split::train, 100)) text += pair.source + "\n";
  const Path path = write_text(directory, "t", text + "bad \xFF\n\n" + std::string(5000, 'x') + "\n");
  const Path output = directory / "model";
  SentencePieceOptions options{.type = "char", .size = 100};
  CHECK(contains(error_of([&] { train_sentencepiece({path}, options, output); }), path.string() + ":101: byte 5"));
  CHECK(!std::filesystem::exists(output));
  options.text.on_bad_line = OnBadLine::skip;
  const auto reports = train_sentencepiece({path}, options, output);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].describe() ==
        path.string() +
            ": 100 lines, skipped 1 with invalid UTF-8 (line 101), 1 empty (line 102), 1 over 4192 "
            "bytes (line 103)");
  CHECK(std::filesystem::exists(output));
}

TEST_CASE("SentencePiece: user symbols are found in text, also with spaces, or refused") {
  Texts texts;
  for (const std::string type : {"bpe", "unigram"}) {
    const auto vocabulary =
        texts.train({.type = type, .size = 340, .byte_fallback = true, .user_symbols = {"<a b>", "<x>", "two words "}});
    const std::vector<int32_t> ids = vocabulary->encode("one<x>two <a b> and<a b>two words three");
    for (const auto& [piece, count] : {std::pair("<x>", 1), {"<a\u2581b>", 2}, {"two\u2581words\u2581", 1}}) {
      CAPTURE(piece);
      CHECK(std::ranges::count_if(ids, [&](int32_t id) { return vocabulary->piece(id) == piece; }) == count);
    }
    CHECK(vocabulary->decode(vocabulary->encode("a <a b> c")) == "a <a b> c");
  }
  CHECK(contains(error_of([&] { texts.train({.type = "bpe", .size = 300, .user_symbols = {"<a  b>"}}); }),
                 "expected user symbols that are found in text"));
}

TEST_CASE("SentencePiece: errors for impossible options contain the library's reason and leave no file") {
  Texts texts;
  const Path output = texts.directory / "model";
  const auto fails = [&](const SentencePieceOptions& options) {
    return error_of([&] { train_sentencepiece(texts.files, options, output); });
  };
  CHECK(contains(fails({.size = 100000}), "Vocabulary size too high"));
  CHECK(contains(fails({.size = 10}), "smaller than required_chars"));
  CHECK(contains(fails({.type = "bpe", .size = 10}), "[vocabulary]"));
  CHECK(contains(fails({.type = "trigram"}), "got trigram"));
  CHECK(contains(fails({.character_coverage = 1.5}), "character-coverage"));
  CHECK(contains(fails({.size = 100, .normalization = "nonsense"}), "nonsense"));
  const Path empty = write_text(texts.directory, "empty", "\n\n");
  CHECK(contains(error_of([&] { train_sentencepiece({empty}, {}, output); }), "no usable line"));
  CHECK(!std::filesystem::exists(output));
}

TEST_CASE("SentencePiece: a truncated model is loaded or rejected without a crash") {
  Texts texts;
  const std::string model = texts.train({.size = 150})->content();
  size_t refused = 0;
  for (size_t keep = 1; keep < model.size(); keep += 97) {
    const Path path = write_text(texts.directory, "cut", model.substr(0, keep));
    refused += error_of([&] { load_vocabulary(path)->encode("Anna buys three apples."); }) != "no error";
  }
  CHECK(refused > 0);
}

TEST_CASE_FIXTURE(InDirectory, "added tokens beside a tokenizer.model are a note") {
  write_file(directory / "text", "the cat sat on the mat\nthe dog sat on the log\n");
  train_sentencepiece(std::vector<Path>{directory / "text"}, {.type = "bpe", .size = 30},
                      directory / "tokenizer.model");
  CHECK(load_vocabulary(directory / "tokenizer.model")->note().empty());
  write_file(directory / "added_tokens.json", R"({"<X>": 30})");
  CHECK(load_vocabulary(directory / "tokenizer.model")->note().find("are not read") != std::string::npos);
}
