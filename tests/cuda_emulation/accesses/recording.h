// A record of the emulated GPU's work, for tests: kernels, copies and memsets with the bytes that each reads and
// writes, and the calls in which the program waits.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cuda_emulation {

enum class WorkKind { kernel, product, copy, memset };  // product: of cublasLt

// `bytes_read` and `bytes_written` are numbers of different bytes of device memory: a byte that a kernel reads twice
// counts once.
struct RecordedWork {
  WorkKind kind;
  std::string name;  // name of a kernel: "scan_kernel<float>"
  size_t bytes_read = 0, bytes_written = 0;
};

struct Recording {
  std::vector<RecordedWork> work;  // in the order in which it ran
  size_t waits = 0;                // calls that wait for the GPU, also copies from and to memory that is not pinned
  size_t drains = 0;               // waits for the last kernel of a stream, after which the stream has nothing to do

  size_t count(WorkKind kind) const;
  size_t launches() const { return count(WorkKind::kernel) + count(WorkKind::product); }
  size_t bytes_read() const;  // sums over all work
  size_t bytes_written() const;
};

// Records what the program queues between these calls. Both run everything that is queued. Memsets to NaN are left out,
// because they are those of GYRE_CUDA_POISON.
void start_recording();
Recording stop_recording();

bool is_recording();
void record_work(RecordedWork work);  // ignored if nothing is recorded
void record_wait(bool drains);

}  // namespace cuda_emulation
