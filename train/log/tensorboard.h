// TensorBoard event files. A file is a row of records: u64 length, u32 masked CRC-32C of the length, the Event (a
// protocol buffer), u32 masked CRC-32C of the Event; all little-endian. Fields written: Event{wall_time=1, step=2,
// file_version=3, summary=5, session_log=7}, Summary{value=1}, Value{tag=1, simple_value=2}, SessionLog{status=1}.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/file.h"
#include "train/log/appended_file.h"
#include "train/log/wall_clock.h"

namespace gyre {

class EventWriter {
 public:
  using Clock = std::function<double()>;  // seconds since 1970

  // Opens a new file events.out.tfevents.<time>.<host>.<pid>.<n> in `directory`, which is created when it is missing.
  explicit EventWriter(const Path& directory, Clock clock = wall_clock);
  ~EventWriter() { flush(); }
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // A run continues at `step` in a new file: TensorBoard then hides what the earlier files hold from that step on.
  void session_start(int64_t step);

  void scalar(std::string_view tag, double value, int64_t step);

  void flush();

  const Path& path() const { return file_.path(); }

 private:
  void write_event(std::string_view fields);

  Clock clock_;
  AppendedFile file_;
  std::string records_;  // that are not in the file yet
};

}  // namespace gyre
