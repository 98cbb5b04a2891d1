#include "tests/cuda_emulation/accesses/recording.h"

#include <algorithm>
#include <utility>

#include "tests/cuda_emulation/streams.h"

namespace cuda_emulation {
namespace {

bool recording = false;
Recording record;

size_t sum(const std::vector<RecordedWork>& all, size_t RecordedWork::*number) {
  size_t total = 0;
  for (const RecordedWork& work : all) total += work.*number;
  return total;
}

}  // namespace

size_t Recording::count(WorkKind kind) const {
  return size_t(std::count_if(work.begin(), work.end(), [&](const RecordedWork& w) { return w.kind == kind; }));
}
size_t Recording::bytes_read() const { return sum(work, &RecordedWork::bytes_read); }
size_t Recording::bytes_written() const { return sum(work, &RecordedWork::bytes_written); }

void start_recording() {
  const auto lock = lock_gpu();
  run_everything();
  record = {};
  recording = true;
}

Recording stop_recording() {
  const auto lock = lock_gpu();
  run_everything();
  recording = false;
  return std::exchange(record, {});
}

bool is_recording() { return recording; }

void record_work(RecordedWork work) {
  if (recording) record.work.push_back(std::move(work));
}

void record_wait(bool drains) {
  if (!recording) return;
  ++record.waits;
  record.drains += drains ? 1 : 0;
}

}  // namespace cuda_emulation
