#include "gyre/train/checkpoint/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "gyre/core/error.h"

namespace gyre {

namespace {

std::string holder() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return concat("process ", static_cast<long>(::getpid()), " on ", host.data(), "\n");
}

}  // namespace

RunLock::RunLock(const Path& run) {
  const Path path = run / ".lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  require(descriptor_ >= 0, "[lock] ", path.string(), ": cannot open: ", std::strerror(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(std::exchange(descriptor_, -1));
    require(error == EWOULDBLOCK, "[lock] ", path.string(), ": cannot lock: ", std::strerror(error));
    std::string other = read_file(path);
    while (!other.empty() && other.back() == '\n') other.pop_back();
    throw Error("[lock] ", run.string(), ": another job uses this run directory: ", other);
  }
  // The text is used only in the error message above.
  const std::string text = holder();
  if (::ftruncate(descriptor_, 0) != 0 || ::write(descriptor_, text.data(), text.size()) < 0) {
    const int error = errno;
    ::close(std::exchange(descriptor_, -1));
    throw Error("[lock] ", path.string(), ": cannot write: ", std::strerror(error));
  }
}

RunLock::~RunLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RunLock::RunLock(RunLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

}  // namespace gyre
