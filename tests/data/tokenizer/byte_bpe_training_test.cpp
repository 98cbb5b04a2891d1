// Compares the training of byte-level BPE with BpeTrainer of Hugging Face's package tokenizers.
#include "gyre/data/tokenizer/byte_bpe/byte_bpe_training.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

Path training_text(const TemporaryDirectory& directory) {
  std::string text;
  const IndexedJson expected = IndexedJson::parse(read_file(golden("byte_bpe/golden.json")));
  for (const IndexedJson& line : expected["training"]) text += line.get<std::string>() + "\n";
  return write_text(directory, "text", text);
}

}  // namespace

TEST_CASE("byte-level BPE training: tokenizer.json equals that of Hugging Face's trainer, on any number of threads") {
  const TemporaryDirectory directory;
  const Path text = training_text(directory), output = directory / "tokenizer.json";
  for (const auto& [name, size] : {std::pair{"gpt2", 700}, std::pair{"llama3", 640}}) {
    CAPTURE(name);
    const IndexedJson expected = IndexedJson::parse(read_file(golden(std::string("byte_bpe/") + name + ".json")));
    for (const int threads : {1, 3}) {
      const ThreadsInScope scope(threads);
      train_byte_bpe({text}, {.size = size, .pre_tokenizer = name}, output);
      const IndexedJson trained = IndexedJson::parse(read_file(output));
      CHECK(trained["model"] == expected["model"]);
      CHECK(trained["pre_tokenizer"] == expected["pre_tokenizer"]);
      CHECK(trained["post_processor"] == expected["post_processor"]);
      CHECK(trained["added_tokens"] == expected["added_tokens"]);
    }
  }
}

TEST_CASE("byte-level BPE training: symbols of the user are never split") {
  const TemporaryDirectory directory;
  const Path text = training_text(directory), output = directory / "tokenizer.json";
  uint64_t reported = 0;
  const auto on_merge = [&](uint64_t merges, uint64_t most) {
    CHECK(most == 41);
    CHECK(merges == ++reported);
  };
  train_byte_bpe({text}, {.size = 300, .user_symbols = {"<sep>", "[MASK]"}, .text = {.on_merge = on_merge}}, output);
  CHECK(reported == 41);
  const auto vocabulary = load_vocabulary(output);
  CHECK(vocabulary->size() == 300);
  CHECK(vocabulary->encode("<sep>[MASK]") == std::vector<int32_t>{1, 2});
  CHECK(contains(error_of([&] { train_byte_bpe({text}, {.size = 256}, output); }), "--size: expected 257 to"));
  CHECK(
      contains(error_of([&] { train_byte_bpe({text}, {.user_symbols = {"a"}}, output); }), "--user-symbols: expected"));
  const auto error = [&](const std::vector<std::string>& symbols) {
    return error_of([&] { train_byte_bpe({text}, {.user_symbols = symbols}, output); });
  };
  CHECK(contains(error({"<a>", "<a>"}), "got \"<a>\" again"));
  CHECK(contains(error({"<|endoftext|>"}), "none of them a special token, got \"<|endoftext|>\" again"));
  CHECK(contains(error({"\u0120a"}), "that tokenizer.json reads as other bytes"));
  CHECK(contains(error_of([&] { train_byte_bpe({text}, {.pre_tokenizer = "qwen"}, output); }),
                 "--pre-tokenizer: expected gpt2 or llama3, got qwen"));
}
