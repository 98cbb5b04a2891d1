#include "gyre/data/chat/answer_store.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gyre/data/batch/answer_batch.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/data/text_files.h"

using namespace gyre;
using Ids = std::vector<int32_t>;

namespace {

const ByteVocabulary& bytes() {
  static const ByteVocabulary vocabulary;
  return vocabulary;
}

SampleOptions answers(int max_length) { return {.task = SampleOptions::Task::answers, .max_length = max_length}; }

Ids text(const std::string& letters) { return bytes().encode(letters); }

Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::string kLines =
    "{\"prompt\": \"ab\", \"completion\": \"cd\"}\n"
    "\n"
    "{\"completion\": \"\", \"prompt\": \"efghi\", \"other\": 1}\r\n";

TEST_CASE("answers: a batch predicts completions only, each sample by itself") {
  const TemporaryDirectory directory;
  const AnswerStore read =
      read_answers(bytes(), {write_text(directory, "a.jsonl", kLines)}, nullptr, OnBadLine::by_kind);
  CHECK(read.samples.report->documents == 2);
  CHECK(read.samples.report->files[0].describe() == concat((directory / "a.jsonl").string(), ": 2 samples"));
  const AnswerSamples samples(read.samples.store, answers(100), Part::training);
  CHECK(samples.size() == 2);
  CHECK(samples.cut() == 0);
  const MaskedBatch batch = make_answer_batch(samples, std::vector<uint32_t>{1, 0});
  const Ids bos{bytes().bos()};
  CHECK(batch.ids == bos + text("efghi") + bos + text("abcd"));  // without the last ids, </s>
  CHECK(batch.segments.count() == 2);
  CHECK(batch.segments.begin(1) == 6);
  CHECK(batch.rows == Ids{5, 8, 9, 10});
  CHECK(batch.targets == Ids{bytes().eos()} + text("cd") + Ids{bytes().eos()});
}

TEST_CASE("answers: long samples are cut, and left out if that leaves no answer") {
  const TemporaryDirectory directory;
  const AnswerStore read =
      read_answers(bytes(), {write_text(directory, "a.jsonl", kLines)}, nullptr, OnBadLine::by_kind);
  const AnswerSamples samples(read.samples.store, answers(4), Part::training);
  CHECK(samples.size() == 1);
  CHECK(samples.cut() == 1);
  CHECK(samples.left_out() == 1);
  const MaskedBatch batch = make_answer_batch(samples, std::vector<uint32_t>{0});
  CHECK(batch.ids == Ids{bytes().bos()} + text("ab"));
  CHECK(batch.rows == Ids{2});
  CHECK(batch.targets == text("c"));
  CHECK(contains(error_of([&] { AnswerSamples(read.samples.store, answers(3), Part::training); }),
                 "none of its 2 samples is for training with an answer in its first 3 tokens"));
}

TEST_CASE("answers: lines that are refused or skipped") {
  const TemporaryDirectory directory;
  const auto error = [&](const std::string& line, const ChatTemplate* chat = nullptr) {
    const Path file = write_text(directory, "b.jsonl", kLines + line);
    return error_of([&] { read_answers(bytes(), {file}, chat, OnBadLine::by_kind); });
  };
  CHECK(contains(error("{\"prompt\": \"a\"}\n"),
                 "b.jsonl:4: expected {\"prompt\": \"..\", \"completion\": \"..\"}, got"));
  CHECK(contains(error("{\"prompt\": \"a\", \"completion\": 5}\n"), "b.jsonl:4: expected {\"prompt\": "));
  CHECK(contains(error("{\"prompt\"\n"), "b.jsonl:4: "));
  CHECK(contains(error("{\"prompt\": \"\xff\", \"completion\": \"\"}\n"), "b.jsonl:4: byte 13 (0xFF)"));
  const ChatTemplate chat("zephyr", ChatTemplate::built_in("zephyr"), bytes());
  CHECK(contains(error("", &chat), "b.jsonl:1: expected {\"messages\": "));
  const Path file = write_text(directory, "c.jsonl", kLines + "{\"text\": \"a\"}\n");
  CHECK(read_answers(bytes(), {file}, nullptr, OnBadLine::skip).samples.store.size() == 2);
  const Path user = write_text(directory, "d.jsonl", R"({"messages": [{"role": "user", "content": "a"}]})");
  CHECK(contains(error_of([&] { read_answers(bytes(), {user}, &chat, OnBadLine::by_kind); }), "no sample in"));
}

}  // namespace
