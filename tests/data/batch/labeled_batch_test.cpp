// Compares rows [CLS] a [SEP] b [SEP] with Hugging Face's tokenizers. golden/make_sequence_pairs.py makes the expected
// ids in golden/sequence_pairs.json.
#include "gyre/data/batch/labeled_batch.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "gyre/data/text/text_tasks.h"
#include "tests/data/text_files.h"
#include "tests/shared_data.h"

using namespace gyre;
using nlohmann::json;

namespace {

json read_golden(const std::string& name) { return json::parse(read_file(golden(name))); }

// The vocabulary and the texts of the golden file. rows.tsv has the columns text, second text, class and number.
struct GoldenRows {
  json expected = read_golden("sequence_pairs.json");
  TemporaryDirectory directory;
  std::shared_ptr<const Vocabulary> vocabulary = load_vocabulary(
      write_text(directory, "vocab.txt", read_golden("wordpiece.json")["vocabulary"].get<std::string>()));
  Path path;
  LabeledFormat pairs{false, Column{"", 0}, Column{"", 1}, Column{"", 2}, {"even", "odd"}};

  GoldenRows() {
    std::string text;
    size_t row = 0;
    for (const json& pair : expected["texts"]) {
      text += concat(pair[0].get<std::string>(), '\t', pair[1].get<std::string>(),
                     row % 2 == 0 ? "\teven\t" : "\todd\t", double(row) / 2, '\n');
      ++row;
    }
    path = write_text(directory, "rows.tsv", text);
  }
  LabeledIds ids(const LabeledFormat& format, int length) const {
    return {LabeledText(path, format, OnBadLine::error), *vocabulary, length};
  }
};

void check_rows(const LabeledIds& ids, const json& expected) {
  REQUIRE(ids.size() == expected.size());
  std::vector<uint32_t> order(ids.size());
  std::iota(order.rbegin(), order.rend(), 0);  // in reverse order
  const LabeledBatch batch = ids.batch(order);
  REQUIRE(batch.rows.count() == int(order.size()));
  CHECK(batch.rows.tokens() == int(batch.ids.size()));
  CHECK(batch.token_types.size() == batch.ids.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto begin = batch.rows.begin(int(i)), end = batch.rows.end(int(i));
    CAPTURE(order[i]);
    CHECK(ids.length(order[i]) == end - begin);
    CHECK(std::vector(batch.ids.begin() + begin, batch.ids.begin() + end) ==
          expected[order[i]]["ids"].get<std::vector<int32_t>>());
    CHECK(std::vector(batch.token_types.begin() + begin, batch.token_types.begin() + end) ==
          expected[order[i]]["types"].get<std::vector<int32_t>>());
  }
}

}  // namespace

TEST_CASE("labeled rows are truncated like Hugging Face's tokenizers do") {
  const GoldenRows rows;
  LabeledFormat singles = rows.pairs;
  singles.second_text.reset();
  REQUIRE(rows.expected["lengths"].size() > 10);
  for (const json& expected : rows.expected["lengths"]) {
    const int length = expected["length"];
    CAPTURE(length);
    check_rows(rows.ids(rows.pairs, length), expected["pairs"]);
    check_rows(rows.ids(singles, length), expected["singles"]);
  }
}

TEST_CASE("truncate_longest_first: all short lengths") {
  const json expected = read_golden("sequence_pairs.json")["kept"];
  REQUIRE(expected.size() == 8 * 8 * 14);
  for (const json& row : expected) {
    CAPTURE(row.dump());
    const auto [first, second] = truncate_longest_first(row[0], row[1], row[2]);
    CHECK(first == row[3].get<size_t>());
    CHECK(second == row[4].get<size_t>());
  }
}

TEST_CASE("labeled batches: classes or numbers as labels, any number of rows in any order") {
  const GoldenRows rows;
  const std::vector<uint32_t> order{3, 0, 3};
  const LabeledBatch classes = rows.ids(rows.pairs, 64).batch(order);
  CHECK(classes.labels == std::vector<int32_t>{1, 0, 1});
  CHECK(classes.scores.empty());
  CHECK(classes.rows.count() == 3);
  LabeledFormat numbers = rows.pairs;
  numbers.label = Column{"", 3};
  numbers.classes.clear();
  const LabeledBatch scores = rows.ids(numbers, 64).batch(order);
  CHECK(scores.scores == std::vector<float>{1.5F, 0, 1.5F});
  CHECK(scores.labels.empty());
  CHECK(rows.ids(rows.pairs, 64).batch({}).rows.count() == 0);
  CHECK_THROWS_WITH_AS(rows.ids(rows.pairs, 64).batch(std::vector<uint32_t>{7}),
                       "[data] expected a row in [0, 7), got 7", Error);
}

TEST_CASE("labeled rows: truncated rows are counted, and too short a length is rejected") {
  const GoldenRows rows;
  CHECK(rows.ids(rows.pairs, 64).truncated() == 0);
  CHECK(rows.ids(rows.pairs, 4).truncated() == rows.expected["texts"].size());
  CHECK_THROWS_WITH_AS(rows.ids(rows.pairs, 3),
                       "[data] expected room for more than the 3 special ids of a row, got a length of 3", UsageError);
  LabeledFormat singles = rows.pairs;
  singles.second_text.reset();
  CHECK(rows.ids(singles, 3).length(0) == 3);
  CHECK_THROWS_AS(rows.ids(singles, 2), UsageError);
}

TEST_CASE("labeled rows: the checksum depends on ids and labels") {
  const GoldenRows rows;
  CHECK(rows.ids(rows.pairs, 64).checksum() == rows.ids(rows.pairs, 64).checksum());
  CHECK(rows.ids(rows.pairs, 64).checksum() != rows.ids(rows.pairs, 8).checksum());
  LabeledFormat turned = rows.pairs;
  std::swap(turned.classes[0], turned.classes[1]);
  CHECK(rows.ids(rows.pairs, 64).checksum() != rows.ids(turned, 64).checksum());
}

TEST_CASE("pairs of triplets: the nearer one first, and texts that trade places") {
  const GoldenRows rows;
  const Path path = write_text(rows.directory, "triplets",
                               "A\tB\tC\tlabel\n"
                               "the\tthe the\tthe the the\tC\n");
  const LabeledIds ids(TripletText(path, OnBadLine::error), *rows.vocabulary, 64);
  REQUIRE(ids.size() == 2);
  CHECK(ids.labels()[0] == 1);
  CHECK(ids.labels()[1] == 0);
  const int32_t cls = rows.vocabulary->bos(), sep = rows.vocabulary->eos(), the = rows.vocabulary->encode("the").at(0);
  const LabeledBatch plain = ids.batch(std::vector<uint32_t>{0, 1});
  CHECK(plain.ids == std::vector{cls, the, sep, the, the, the, sep, cls, the, sep, the, the, sep});
  CHECK(plain.token_types == std::vector{0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1});
  const LabeledBatch swapped = ids.batch(std::vector<uint32_t>{0, 1}, [](uint32_t row) { return row == 0; });
  CHECK(swapped.ids == std::vector{cls, the, the, the, sep, the, sep, cls, the, sep, the, the, sep});
  CHECK(swapped.token_types == std::vector{0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1});
  CHECK(swapped.labels == plain.labels);
  CHECK(swapped.rows.length(0) == 7);
}

TEST_CASE("labeled rows: MRPC with BERT's vocabulary") {
  const char *pairs = "glue/MRPC/msr_paraphrase_test.txt", *vocabulary = "vocab/bert-base-uncased-vocab.txt";
  if (!require_shared_data({pairs, vocabulary})) return;
  LabeledFormat format = text_task("glue-mrpc").format;
  format.has_header = false;
  const LabeledIds ids(LabeledText(shared_data() / pairs, format, OnBadLine::error),
                       *load_vocabulary(shared_data() / vocabulary), 64);
  std::vector<uint32_t> all(ids.size());
  std::iota(all.begin(), all.end(), 0);
  const LabeledBatch batch = ids.batch(all);
  CHECK(batch.rows.count() == 1725);
  CHECK(batch.rows.longest() == 64);
  CHECK(std::accumulate(batch.labels.begin(), batch.labels.end(), 0) == 1147);
  // Results of Hugging Face's tokenizers for the same file.
  CHECK(ids.truncated() == 352);
  CHECK(batch.ids.size() == 88816);
  CHECK(std::accumulate(batch.token_types.begin(), batch.token_types.end(), 0) == 43602);
}
