#include "gyre/core/io/output_target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/file_status.h"

namespace gyre {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // limit of the Linux kernel

// The number N of /dev/fd/N and equivalent names, which stand for an open descriptor of this process. Such a descriptor
// is duplicated. Opening it by name would truncate its file and lose the position.
std::optional<int> own_descriptor(const Path& path) {
  const std::string name = path.filename().string();
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  std::error_code ignored;
  const Path mine = fs::canonical("/proc/self/fd", ignored);
  if (mine.empty() || fs::canonical(parent_of(path), ignored) != mine) return std::nullopt;
  return number;
}

// Follows symbolic links to the last name. Also returns the descriptor, if that name stands for one.
std::pair<Path, std::optional<int>> follow_links(const Path& path) {
  Path at = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    if (const auto number = own_descriptor(at)) return {at, number};
    struct stat status {};
    if (::lstat(at.c_str(), &status) != 0) {
      if (errno == ENOENT) return {at, std::nullopt};
      fail(path, "open");
    }
    if (!S_ISLNK(status.st_mode)) return {at, std::nullopt};
    std::error_code error;
    const Path next = fs::read_symlink(at, error);
    if (error) fail(path, "read the link", error.value());
    at = next.is_absolute() ? next : parent_of(at) / next;
  }
  fail(path, "open", ELOOP);
}

// The mode of a path, with links resolved; 0 if it does not exist.
mode_t mode_of(const Path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode : 0;
}

bool is_stream_mode(mode_t mode) { return mode != 0 && !S_ISREG(mode) && !S_ISDIR(mode); }

}  // namespace

OutputTarget::OutputTarget(const Path& path) {
  const auto [target, number] = follow_links(path);
  const mode_t mode = mode_of(path);
  if (S_ISDIR(mode)) fail(path, "write", EISDIR);
  if (number) {
    descriptor_ = ::fcntl(*number, F_DUPFD_CLOEXEC, 0);
  } else if (is_stream_mode(mode)) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } else {
    file_ = target;
    return;
  }
  if (descriptor_ < 0) fail(path, "open");
}

OutputTarget::~OutputTarget() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int OutputTarget::release() { return std::exchange(descriptor_, -1); }

bool is_file_output(const Path& path) { return !is_stream_mode(mode_of(path)) && !follow_links(path).second; }

bool is_same_output(const Path& a, const Path& b) {
  if (!is_file_output(a) || !is_file_output(b)) return false;
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  // weakly_canonical() returns a relative path for a relative name that does not exist, so make it absolute first.
  const auto full_name = [&](const Path& path) {
    return fs::weakly_canonical(fs::absolute(follow_links(path).first), error);
  };
  return full_name(a) == full_name(b);
}

void require_no_input(const Path& output, const std::vector<Path>& inputs, std::string_view flag) {
  if (is_stream_mode(mode_of(output))) return;
  for (const Path& input : inputs) {
    std::error_code missing;
    if (fs::equivalent(output, input, missing))
      throw UsageError(flag, ": ", output.string(), " is also an input of this command and would be overwritten");
  }
}

void require_file_output(const Path& path, std::string_view topic) {
  require(is_file_output(path), "[", topic, "] ", path.string(),
          ": expected a regular file to write to, got a device, a pipe or a socket");
}

}  // namespace gyre
