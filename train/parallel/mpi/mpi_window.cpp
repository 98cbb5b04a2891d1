#include "gyre/train/parallel/mpi/mpi_window.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "gyre/core/error.h"

namespace gyre {
namespace {

// Why there is no room for shared memory, empty if there is. MPI libraries map files in /dev/shm, whose pages exist
// when they are written: a rank that finds no page gets SIGBUS. Open MPI 4.1 hangs if it cannot create its file.
std::string lack_of_room(int64_t bytes) {
  const int file = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return concat("/dev/shm: ", std::strerror(errno));
  const int error = posix_fallocate(file, 0, bytes);
  close(file);
  return error == 0
             ? ""
             : concat("/dev/shm has no room for ", (bytes + (1 << 20) - 1) >> 20, " MiB: ", std::strerror(error));
}

// MPI does not align segments. All ranks map the window at the same offset in a page.
std::byte* aligned(void* data) {
  constexpr auto kLine = uintptr_t(WindowPipeline::kCacheLine);
  return static_cast<std::byte*>(data) + (kLine - reinterpret_cast<uintptr_t>(data) % kLine) % kLine;
}

// The bytes of /dev/shm that the MPI library may need for a window: Open MPI 4.1 rounds segments to pages, adds its own
// state, and wants 5 % of the size to remain free.
int64_t needed_room(int64_t bytes, int ranks) {
  constexpr int64_t kPage = 65536, kState = int64_t{1} << 20;
  const int64_t segments = ranks * (bytes + kPage);
  return segments + segments / 10 + kState;
}

bool on_all_ranks(MPI_Comm machine, bool success) {
  int all = success ? 1 : 0;
  GYRE_MPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, machine));
  return all == 1;
}

// Returns MPI's error code.
int allocate_window(MPI_Comm machine, int64_t bytes, MPI_Win& window) {
  MPI_Info info = MPI_INFO_NULL;
  void* own = nullptr;
  GYRE_MPI(MPI_Info_create(&info));
  GYRE_MPI(MPI_Info_set(info, "alloc_shared_noncontig", "true"));  // each segment near its rank
  const int code = MPI_Win_allocate_shared(MPI_Aint(bytes), 1, info, machine, &own, &window);
  GYRE_MPI(MPI_Info_free(&info));
  if (code == MPI_SUCCESS) std::memset(own, 0, size_t(bytes));  // each rank places its segment on its NUMA node
  return code;
}

}  // namespace

std::unique_ptr<MpiWindow> MpiWindow::allocate(MPI_Comm machine, int64_t bytes, std::string& obstacle) {
  int rank = 0, ranks = 0;
  GYRE_MPI(MPI_Comm_rank(machine, &rank));
  GYRE_MPI(MPI_Comm_size(machine, &ranks));
  obstacle = rank == 0 ? lack_of_room(needed_room(bytes, ranks)) : "";
  if (!on_all_ranks(machine, obstacle.empty())) return nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const int code = allocate_window(machine, bytes + WindowPipeline::kCacheLine, window);
  if (!on_all_ranks(machine, code == MPI_SUCCESS)) {  // a window that only some ranks have cannot be freed
    obstacle = "MPI_Win_allocate_shared failed";
    return nullptr;
  }
  return std::unique_ptr<MpiWindow>(new MpiWindow(machine, window));
}

MpiWindow::MpiWindow(MPI_Comm machine, MPI_Win window) : window_(window) {
  int ranks = 0;
  GYRE_MPI(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN));
  GYRE_MPI(MPI_Comm_rank(machine, &all_.rank));
  GYRE_MPI(MPI_Comm_size(machine, &ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    MPI_Aint size = 0;
    int unit = 0;
    void* data = nullptr;
    GYRE_MPI(MPI_Win_shared_query(window_, rank, &size, &unit, &data));
    all_.segments.push_back(aligned(data));
  }
  GYRE_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_));
  all_.synchronize = [window] { GYRE_MPI(MPI_Win_sync(window)); };
  all_.synchronize();
  GYRE_MPI(MPI_Barrier(machine));  // all segments are zero
  all_.synchronize();
}

MpiWindow::~MpiWindow() {
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

SharedSegments MpiWindow::segments(int64_t offset) const {
  SharedSegments part = all_;
  for (std::byte*& segment : part.segments) segment += offset;
  return part;
}

}  // namespace gyre
