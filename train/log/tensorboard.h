// Writes TensorBoard event files. A file is a sequence of records, each with u64 length, u32 masked CRC-32C of the
// length, the Event (a protocol buffer), u32 masked CRC-32C of the Event; all are little-endian. Fields written:
// Event{wall_time=1, step=2, file_version=3, summary=5, session_log=7}, Summary{value=1}, Value{tag=1, simple_value=2},
// SessionLog{status=1}.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "gyre/core/io/file.h"
#include "gyre/train/log/appended_file.h"
#include "gyre/train/log/wall_clock.h"

namespace gyre {

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
