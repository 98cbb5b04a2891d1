// The machine-readable records of a run: metrics.jsonl, the table of its stages, and event files for TensorBoard.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"

namespace gyre {

// Seconds since 1970, UTC, for records that are compared with logs of other machines.
double wall_clock();

// ISO 8601 with milliseconds: "2026-01-31T12:00:00.250Z".
std::string utc_text(double seconds_since_1970);

// An append-only file of complete records, for logs. Logging never fails a run: a record that cannot be written (the
// disk is full) is kept in memory, one error is logged, and the record is written once there is space again.
class AppendedFile {
 public:
  // Throws an Error if the file cannot be opened or created. `context`: prefix of messages, such as "[metrics]".
  AppendedFile(Path path, std::string context);

  // Hands the record to the operating system before it returns, if possible: it then survives the end of the process.
  void append(std::string_view record);
  const Path& path() const { return path_; }

 private:
  bool write_pending();

  Path path_;
  std::string context_;
  std::ofstream file_;
  uint64_t written_bytes_ = 0;  // size of the written records in bytes
  std::string pending_;         // records that are not written yet
};

// metrics.jsonl: the machine-readable metrics of a run, one JSON object per line. Every object has an "event":
//   start   a run begins: seed, ranks, shards, deterministic; limit_tflops, limit_source: the limit of the matrix
//           products of all ranks, and where it is from. limit_tflops is absent if it is unknown
//   resume  a run continues from a checkpoint; the same fields
//   train   means since the last train event: loss (nats per prediction; absent without predictions), its parts such as
//           cross-entropy, and with a cross-entropy accuracy; tokens_per_second; learning_rate, gradient_norm;
//           target_tokens: the sum since the beginning of the run; tflops: 10^12 FLOPs of forward and backward per
//           second, on all ranks (StepResult::flops), and share: relative to limit_tflops; memory_mb, gpu_memory_mb:
//           memory of rank 0 at this time in MiB (MemoryUse)
//   stage   a stage of the run begins: stage (from 1), stages; begin: the number of updates before it; stage_updates,
//           max_length, batch, batch_unit. A resumed run repeats the entries of stages whose options have changed
//   valid   loss, perplexity, bleu, ...; validation_seconds: duration of the validation; samples: the source, the
//           reference and the output of a few samples, if the validation makes text (nmt.cpp, language.cpp)
//   end     a job ends: reason, tokens_per_second, tflops and share over the whole job, best
// and the fields
//   time     time of writing: UTC, ISO 8601
//   updates  number of updates so far
//   seconds  training time so far, over all jobs of the run; includes validation and saving
//
// The file is append-only. A run that returns to an earlier checkpoint writes {"event":"resume","updates":N}: readers
// then drop the earlier entries beyond update N. A number that is not finite is written as null.
class MetricsLog {
 public:
  // Opens the file for appending. Removes an incomplete last line of an earlier process.
  explicit MetricsLog(const Path& path);
  void append(const Json& entry);  // appends one line

 private:
  AppendedFile file_;
};

// Returns all valid entries in order: those that no later resume event has dropped. Each has a string "event";
// "updates", if present, is a number. Ignores an incomplete last line, which may be being written. Throws an Error that
// names file and line if any other line is not such an object.
std::vector<Json> read_metrics(const Path& path);

// The loss and the accuracy that each stage of a run reached, from its metrics.
struct StageRow {
  uint64_t stage = 1;       // number of the stage, from 1
  uint64_t begin = 0;       // the number of updates before it
  uint64_t updates = 0;     // finished ones
  uint64_t of_updates = 0;  // updates of the whole stage
  int max_length = 0;       // limit of a sample, in tokens
  uint64_t batch = 0;
  std::string batch_unit{};
  uint64_t tokens = 0;  // tokens of the finished updates that metrics.jsonl reports
  // Cross-entropy in nats per prediction and share of correct predictions: means over the last tenth of the finished
  // updates, and those of the last validation in the stage.
  std::optional<double> loss{}, accuracy{}, valid_loss{}, valid_accuracy{};
};

// One row for each stage that has begun; none if the run has no stages. `entries`: those of read_metrics(). Throws an
// Error if the entry of a stage is incomplete.
std::vector<StageRow> stage_rows(const std::vector<Json>& entries);

// Writes TensorBoard event files. A file is a sequence of records, each with u64 length, u32 masked CRC-32C of the
// length, the Event (a protocol buffer), u32 masked CRC-32C of the Event; all are little-endian. Fields written:
// Event{wall_time=1, step=2, file_version=3, summary=5, session_log=7}, Summary{value=1}, Value{tag=1, simple_value=2},
// SessionLog{status=1}.
class EventWriter {
 public:
  using Clock = std::function<double()>;  // seconds since 1970

  // Creates a file events.out.tfevents.<time>.<host>.<pid>.<n> in `directory`, which is created if it is missing.
  // Throws an Error on failure.
  explicit EventWriter(const Path& directory, Clock clock = wall_clock);
  ~EventWriter() { flush(); }
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // Marks that the run continues in this file: TensorBoard then hides the points of the earlier files at `step` and
  // later, which the run computes again.
  void session_start(int64_t step);

  void scalar(std::string_view tag, double value, int64_t step);

  void flush();

  const Path& path() const { return file_.path(); }

 private:
  void write_event(std::string_view fields);

  Clock clock_;
  AppendedFile file_;
  std::string records_;  // not written to the file yet
};

}  // namespace gyre
