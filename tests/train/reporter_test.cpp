// Reports of a training run: log lines by updates and by time, metrics by updates only.
#include "gyre/train/reporter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gyre/train/log/console.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/log/logger_guard.h"

using namespace gyre;

namespace {

// A run whose updates have durations chosen by the test.
struct LoggedRun {
  explicit LoggedRun(const TrainOptions& options, uint64_t updates_before = 0) : options(options) {
    set_up_logging({.file = run.log(), .quiet = true});
    start_job(updates_before);
  }

  // Starts a job that continues from the checkpoint of an update.
  void start_job(uint64_t updates_before, std::vector<RunStage> stages = {}) {
    state.progress.updates = updates_before;
    reporter.emplace(&run, options.log, options.stop, options.validation.metrics.front(), state,
                     Reporter::Task{10, "pair", "cross-entropy", std::move(stages), limit}, [this] { return now; });
  }

  // An update with one token and its `loss`.
  void update(double seconds, double loss = 1) {
    now += seconds;
    advance(state.progress, {.micro_batches = {}, .sentences = 2, .source_tokens = 3, .target_tokens = 4}, 10);
    StepResult result;
    result.sums = {.loss = loss, .nll = loss, .correct = 0, .tokens = 1};
    result.update.accepted = true;
    result.flops = 2e12;
    reporter->updated(state, state.progress.epoch + 1, result, 7, seconds);
    reporter->progress(state, state.progress.updates % options.log.every.amount == 0);
  }

  // Returns the text between `begin` and the next " :" of each progress line.
  std::vector<std::string> logged(const std::string& begin) const {
    std::vector<std::string> found;
    const std::string text = read_file(run.log());
    for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
      const size_t from = at + begin.size();
      found.push_back(text.substr(from, std::min(text.find(" :", from), text.find('\n', from)) - from));
    }
    return found;
  }

  std::vector<uint64_t> measured() const {
    std::vector<uint64_t> updates;
    for (const auto& entry : read_metrics(run.metrics()))
      if (entry["event"] == "train") updates.push_back(entry["updates"].get<uint64_t>());
    return updates;
  }

  test::LoggerGuard kept;
  TemporaryDirectory directory;
  TrainOptions options;
  RunDirectory run{directory / "run"};
  TrainState state;
  double now = 1000;
  ProductsLimit limit{.flops = 4e12, .source = "data sheet"};
  std::optional<Reporter> reporter;
};

TrainOptions quiet_options() {
  TrainOptions options;
  options.log.quiet = true;
  return options;
}

using Words = std::vector<std::string>;

// The fields of a protocol buffer, by number: varints as numbers, others as bytes.
struct Message {
  std::map<uint64_t, uint64_t> numbers;
  std::map<uint64_t, std::string> bytes;
};

Message parse_message(const std::string& text) {
  Message message;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = uint8_t(text.at(at++));
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < text.size()) {
    const uint64_t key = varint(), type = key & 7;
    if (type == 0) {
      message.numbers[key >> 3] = varint();
    } else {
      const size_t size = type == 1 ? 8 : type == 5 ? 4 : varint();
      message.bytes[key >> 3] = text.substr(at, size);
      at += size;
    }
  }
  return message;
}

// The steps of the points that TensorBoard shows under this tag: files in the order of their names; a session that
// starts at a step removes the points at this step and later (event_accumulator.py, _Purge).
std::vector<uint64_t> shown_steps(const RunDirectory& run, const std::string& tag) {
  std::vector<Path> files;
  for (const auto& entry : std::filesystem::directory_iterator(run.path())) {
    if (entry.path().filename().string().starts_with("events.")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<uint64_t> steps;
  for (const Path& file : files) {
    const std::string records = read_file(file);
    for (size_t at = 0; at < records.size();) {
      uint64_t length = 0;
      std::memcpy(&length, records.data() + at, sizeof length);
      const Message event = parse_message(records.substr(at + 12, length));
      at += 16 + length;
      const uint64_t step = event.numbers.contains(2) ? event.numbers.at(2) : 0;
      if (event.bytes.contains(7)) std::erase_if(steps, [step](uint64_t earlier) { return earlier >= step; });
      if (event.bytes.contains(5) && parse_message(parse_message(event.bytes.at(5)).bytes.at(1)).bytes.at(1) == tag)
        steps.push_back(step);
    }
  }
  return steps;
}

}  // namespace

TEST_CASE("slow updates are logged from the first one on, and written to the metrics by --disp-freq") {
  TrainOptions options = quiet_options();
  options.stop.after = Period::parse("1000u");
  options.log.every = Period::parse("20u");
  LoggedRun logged_run(options);
  for (int i = 0; i < 45; ++i) logged_run.update(5, i < 20 ? 2.0 : 4.0);
  // At 5, 10, 20, 40, 70 and 100 s, where update 20 is also due; then every 30 s or when due.
  CHECK(logged_run.logged("Up. ") == Words{"1", "2", "4", "8", "14", "20", "26", "32", "38", "40"});
  CHECK(logged_run.logged("Cost ") ==
        Words{"2.0000", "2.0000", "2.0000", "2.0000", "2.0000", "2.0000", "4.0000", "4.0000", "4.0000", "4.0000"});
  CHECK(logged_run.measured() == std::vector<uint64_t>{20, 40});
}

TEST_CASE("log lines by time do not change the means of --disp-freq") {
  TrainOptions options = quiet_options();
  options.stop.after = Period::parse("1000u");
  options.log.every = Period::parse("4u");
  std::vector<std::string> losses;
  for (const double seconds : {0.0, 100.0}) {
    options.log.seconds = seconds > 0 ? 30 : 0;
    LoggedRun logged_run(options);
    for (int i = 1; i <= 8; ++i) logged_run.update(seconds, i);
    CHECK(logged_run.logged("Up. ").size() == (seconds > 0 ? 8 : 2));
    std::string loss;
    for (const auto& entry : read_metrics(logged_run.run.metrics()))
      if (entry["event"] == "train") loss += entry["loss"].dump() + " ";
    losses.push_back(loss);
  }
  CHECK(losses == Words{"2.5 6.5 ", "2.5 6.5 "});
}

TEST_CASE("every entry of the metrics has the time, the number of updates and the training time") {
  LoggedRun logged_run(quiet_options());
  logged_run.state.seconds = 12.5;
  for (int i = 0; i < 100; ++i) logged_run.update(1);
  logged_run.reporter->validated(logged_run.state, {.loss = 3, .metrics = {{"perplexity", 20}}, .seconds = 0.5}, true);
  logged_run.reporter->ended(logged_run.state, "done", {});
  const auto entries = read_metrics(logged_run.run.metrics());
  Words events;
  for (const auto& entry : entries) {
    events.push_back(entry["event"]);
    const std::string time = entry["time"];  // "2026-01-31T12:00:00.250Z"
    CHECK(time.size() == 24);
    CHECK(time[10] == 'T');
    CHECK(time.back() == 'Z');
    CHECK(entry["updates"] == (events.size() == 1 ? 0 : 100));
    CHECK(entry["seconds"] == (events.size() == 1 ? 0 : 12.5));
  }
  CHECK(events == Words{"start", "train", "valid", "end"});
  CHECK(entries[2]["validation_seconds"] == 0.5);
}

TEST_CASE("reports have the FLOP/s with their share of the limit, and the memory") {
  TrainOptions options = quiet_options();
  options.log.every = Period::parse("2u");
  options.log.seconds = 0;
  for (const double limit : {4e12, 0.0}) {
    LoggedRun logged_run(options);
    logged_run.limit.flops = limit;
    logged_run.start_job(0);
    for (int i = 0; i < 4; ++i) logged_run.update(i < 2 ? 1 : 4);
    logged_run.reporter->ended(logged_run.state, "done", {});
    const std::vector<Json> entries = read_metrics(logged_run.run.metrics());
    const Json& start = entries[1];  // start of the second job, whose entries follow
    CHECK(start["limit_source"] == "data sheet");
    CHECK(start.contains("limit_tflops") == (limit > 0));
    CHECK(entries[2]["tflops"] == 2);
    CHECK(entries[3]["tflops"] == 0.5);
    CHECK(entries[4]["tflops"] == 0.8);  // mean of the whole job: 8e12 FLOPs in 10 s
    for (const auto& [entry, share] : {std::pair(2, 0.5), {3, 0.125}, {4, 0.2}}) {
      CHECK(entries[size_t(entry)].contains("share") == (limit > 0));
      if (limit > 0) CHECK(entries[size_t(entry)]["share"].get<double>() == doctest::Approx(share));
      CHECK(entries[size_t(entry)]["memory_mb"] > 0.1);
      CHECK_FALSE(entries[size_t(entry)].contains("gpu_memory_mb"));
    }
    CHECK(logged_run.logged(" TFLOP/s").size() == 3);
    CHECK(contains(read_file(logged_run.run.log()),
                   limit > 0 ? " : 0.5 TFLOP/s (12.5 %) : RAM " : " : 0.5 TFLOP/s : RAM "));
    for (const char* tag : {"train/tflops", "train/memory_mb"})
      CHECK(shown_steps(logged_run.run, tag) == std::vector<uint64_t>{2, 4});
    CHECK(shown_steps(logged_run.run, "train/share").size() == (limit > 0 ? 2 : 0));
  }
}

TEST_CASE("the log gives the remaining time, in every unit of --after") {
  for (const auto& [after, left] : std::vector<std::pair<std::string, Words>>{
           {"4u", {"30s left", "20s left", "10s left", "0s left"}},
           {"1e", {"1m 30s left", "1m 20s left", "1m 10s left", "1m 00s left"}},   // epochs of 10 batches
           {"40t", {"1m 30s left", "1m 20s left", "1m 10s left", "1m 00s left"}},  // updates of 4 tokens
           {"0", {}}}) {
    CAPTURE(after);
    TrainOptions options = quiet_options();
    options.stop.after = Period::parse(after);
    options.log.every = Period::parse("1u");
    LoggedRun logged_run(options);
    for (int i = 0; i < 4; ++i) logged_run.update(10);
    Words ends;
    for (const std::string& rate : logged_run.logged("GiB : ")) ends.push_back(rate);
    CHECK(ends == left);
  }
}

TEST_CASE("the remaining time of a resumed run counts from its resumption, but --stop-after-minutes over all jobs") {
  TrainOptions options = quiet_options();
  options.stop.after = Period::parse("1000u");
  options.log.every = Period::parse("1u");
  LoggedRun continued(options, 990);
  continued.update(10);
  CHECK(continued.logged("GiB : ") == Words{"1m 30s left"});
  options.stop.minutes = 1;
  LoggedRun timed(options, 990);
  timed.update(10);
  CHECK(timed.logged("GiB : ") == Words{"50s left"});
}

TEST_CASE("a validation names the deciding metric, and warns once about a BLEU below 1") {
  TrainOptions options = quiet_options();
  options.validation.metrics = {"bleu", "cross-entropy"};
  options.stop.early_stopping = 5;
  LoggedRun logged_run(options);
  logged_run.reporter->validated(logged_run.state, {.loss = 3, .metrics = {{"bleu", 0.4}, {"cross-entropy", 3}}}, true);
  logged_run.state.validations_without_improvement = 2;
  logged_run.reporter->validated(logged_run.state, {.loss = 2, .metrics = {{"bleu", 0.3}, {"cross-entropy", 2}}},
                                 false);
  const std::string log = read_file(logged_run.run.log());
  CHECK(contains(log, "bleu 0.4000 : cross-entropy 3.0000 : 0.0s : new best bleu\n"));
  CHECK(contains(log, "bleu 0.3000 : cross-entropy 2.0000 : 0.0s : bleu stalled 2 of 5 times\n"));
  CHECK(logged_run.logged("bleu selects the best checkpoint, but below 1 it is noise").size() == 1);
  options.validation.metrics = {"cross-entropy", "bleu"};
  options.stop.early_stopping = 0;
  LoggedRun by_loss(options);
  by_loss.state.validations_without_improvement = 3;
  by_loss.reporter->validated(by_loss.state, {.loss = 3, .metrics = {{"bleu", 0.4}, {"cross-entropy", 3}}}, false);
  CHECK(contains(read_file(by_loss.run.log()), "cross-entropy stalled 3 times\n"));
  CHECK(!contains(read_file(by_loss.run.log()), "is noise"));
}

TEST_CASE("TensorBoard keeps the points of a checkpoint from which a run continues, and replaces later ones") {
  TrainOptions options = quiet_options();
  options.log.every = Period::parse("2u");
  LoggedRun logged_run(options);
  const auto validate = [&logged_run](double value) {
    logged_run.reporter->validated(logged_run.state, {.loss = 3, .metrics = {{"perplexity", value}}, .seconds = 0.5},
                                   true);
  };
  for (int i = 0; i < 8; ++i) logged_run.update(1);
  validate(20);
  for (int i = 0; i < 4; ++i) logged_run.update(1);
  logged_run.start_job(8);
  CHECK(shown_steps(logged_run.run, "valid/perplexity") == std::vector<uint64_t>{8});
  for (int i = 0; i < 4; ++i) logged_run.update(1);
  validate(19);
  CHECK(shown_steps(logged_run.run, "valid/perplexity") == std::vector<uint64_t>{8, 12});
  CHECK(shown_steps(logged_run.run, "train/loss") == std::vector<uint64_t>{2, 4, 6, 8, 10, 12});
}

TEST_CASE("a resumed run repeats no entry of a stage, unless the stage has changed") {
  TrainOptions options = quiet_options();
  LoggedRun logged_run(options);
  const auto stages_of_metrics = [&logged_run] {
    std::vector<uint64_t> found;
    for (const auto& entry : read_metrics(logged_run.run.metrics())) {
      if (entry["event"] != "stage") continue;
      found.push_back(entry["stage"]);
      found.push_back(entry["updates"]);
    }
    return found;
  };
  using Numbers = std::vector<uint64_t>;
  std::vector<RunStage> stages(2);
  stages[0].updates = 10;
  stages[1].begin = 10;
  stages[1].updates = 20;
  logged_run.start_job(0, stages);
  CHECK(stages_of_metrics() == Numbers{1, 0});
  logged_run.start_job(4, stages);
  CHECK(stages_of_metrics() == Numbers{1, 0});
  logged_run.start_job(10, stages);  // a job that ended between the checkpoint and the entry
  CHECK(stages_of_metrics() == Numbers{1, 0, 2, 10});
  logged_run.start_job(12, stages);
  logged_run.start_job(12, stages);
  CHECK(stages_of_metrics() == Numbers{1, 0, 2, 10});
  stages[1].updates = 30;
  logged_run.start_job(12, stages);
  CHECK(stages_of_metrics() == Numbers{1, 0, 2, 10, 2, 12});
  logged_run.start_job(4, stages);  // returns to an earlier checkpoint
  CHECK(stages_of_metrics() == Numbers{1, 0});
}
