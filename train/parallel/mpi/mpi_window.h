// Memory that the ranks of one machine share: a shared window of MPI-3.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gyre/train/parallel/mpi/mpi.h"
#include "gyre/train/parallel/shared_memory.h"

namespace gyre {

class MpiWindow {
 public:
  // Collective over `machine`, whose ranks must be able to share memory; blocks inside MPI. Each rank gets a segment of
  // this many bytes, all zero. Returns null on all ranks if there is no such memory; rank 0 then knows the `obstacle`.
  static std::unique_ptr<MpiWindow> allocate(MPI_Comm machine, int64_t bytes, std::string& obstacle);
  ~MpiWindow();  // collective
  MpiWindow(const MpiWindow&) = delete;
  MpiWindow& operator=(const MpiWindow&) = delete;

  // The part of each segment that begins at `offset`.
  SharedSegments segments(int64_t offset) const;

 private:
  MpiWindow(MPI_Comm machine, MPI_Win window);

  MPI_Win window_;
  SharedSegments all_;
};

}  // namespace gyre
