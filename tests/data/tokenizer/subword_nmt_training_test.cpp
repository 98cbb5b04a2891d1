#include "gyre/data/tokenizer/subword_nmt/subword_nmt_training.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/random.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "tests/data/text_files.h"
#include "tests/shared_data.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

nlohmann::json read_golden() { return nlohmann::json::parse(read_file(golden("subword_nmt_learning.json"))); }

CountedWords count(const std::vector<Path>& files) {
  std::vector<LineReport> reports;
  return count_words(
      files, TrainingText{},
      [](std::string_view line, WordCounts& counts) {
        for (const std::string_view word : SubwordNmt::words(line)) counts.add(word);
      },
      reports);
}

}  // namespace

TEST_CASE("subword-nmt: learns the merges that the package learns") {
  const TemporaryDirectory directory;
  const auto cases = read_golden().at("cases");
  REQUIRE(cases.size() == 8);
  for (const auto& entry : cases) {
    CAPTURE(entry["name"].get<std::string>());
    std::string text;
    for (const auto& line : entry["lines"]) text += line.get<std::string>() + "\n";
    uint64_t reported = 0;
    const std::string codes = learn_merges(count({write_text(directory, "text", text)}), entry["merges"],
                                           entry["min_frequency"], [&](uint64_t n, uint64_t) { reported = n; });
    CHECK(codes == entry["codes"].get<std::string>());
    CHECK(reported + 1 == uint64_t(std::count(codes.begin(), codes.end(), '\n')));
  }
}

TEST_CASE("subword-nmt: learns the merges that the package learns from whole corpora") {
  const auto shared = read_golden().at("shared");
  REQUIRE(shared.size() == 3);
  for (const auto& entry : shared) {
    std::vector<Path> files;
    for (const auto& file : entry["files"]) {
      const std::string name = file;
      if (!require_shared_data({name.c_str()})) return;
      files.push_back(shared_data() / name);
    }
    CAPTURE(files.front().string());
    const std::string codes = learn_merges(count(files), entry["merges"], entry["min_frequency"]);
    CHECK(hash_name(codes) == entry["hash"].get<uint64_t>());
  }
  const Path folder = shared_data() / "subword_nmt_tests";  // of the package's own tests
  CHECK(learn_merges(count({folder / "corpus.en"}), 1000, 2) == read_file(folder / "bpe.ref"));
}

TEST_CASE("subword-nmt: a learned vocabulary does not depend on the threads, and equals one made from its files") {
  const TemporaryDirectory directory;
  const std::vector<Path> files{write_text(directory, "a", "low lower lowest\n\nnew newer\tx caf\u00e9\n"),
                                write_text(directory, "b", "wide wider widest low\r\nnewest")};
  const auto learn = [&](const std::string& name, int threads) {
    const ThreadsInScope scope(threads);
    const auto reports = train_subword_nmt(files, {.merges = 12}, directory / name, directory / (name + ".codes"));
    REQUIRE(reports.size() == 2);
    CHECK(reports[0].kept == 2);
    CHECK(reports[0].of(BadLine::empty).count == 1);
    return read_file(directory / name);
  };
  const std::string one = learn("one", 1);
  CHECK(learn("three", 3) == one);
  CHECK(read_file(directory / "one.codes") == read_file(directory / "three.codes"));
  const auto vocabulary = load_vocabulary(directory / "one");
  CHECK(vocabulary->decode(vocabulary->encode("lowest newer")) == "lowest newer");

  std::string dictionary;
  for (int id = 3; id < vocabulary->size(); ++id) dictionary += vocabulary->piece(id) + "\n";
  write_subword_nmt_vocabulary(directory / "one.codes", write_text(directory, "dict", dictionary), 0, "@@",
                               directory / "two");
  const auto converted = load_vocabulary(directory / "two");
  for (const char* line : {"low lower lowest", "new newer\tx caf\u00e9", "wide wider widest low"}) {
    CHECK(converted->encode(line) == vocabulary->encode(line));
    for (const int32_t id : vocabulary->encode(line)) CHECK(id != vocabulary->unk());
  }
}

TEST_CASE("subword-nmt: learning rejects bad options and text without merges") {
  const TemporaryDirectory directory;
  const std::vector<Path> files{write_text(directory, "text", "a b c\n")};
  const auto fails = [&](const SubwordNmtTraining& options) {
    return error_of([&] { train_subword_nmt(files, options, directory / "out", ""); });
  };
  CHECK(contains(fails({}), "no pair of characters occurs 2 times"));
  CHECK(contains(fails({.merges = 0}), "--merges: expected 1 to"));
  CHECK(contains(fails({.min_frequency = 0}), "--min-frequency: expected at least 1, got 0"));
  for (const char* separator : {"", "@ ", "\n", "\r", "\xFF"})
    CHECK(contains(fails({.separator = separator}), "--separator: expected UTF-8 text of 1 to 100 bytes"));
  CHECK(!std::filesystem::exists(directory / "out"));
}
