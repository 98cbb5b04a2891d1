#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "core/file_status.h"

namespace gyre {
namespace {

size_t size_of(int descriptor, const Path& path) {
  const struct stat status = status_of(descriptor, path);
  require(S_ISREG(status.st_mode), "[file] ", path.string(), ": expected a regular file to map");
  return static_cast<size_t>(status.st_size);
}

// What the handler of SIGBUS may read: a map's place and its name, in memory that is never freed.
struct Place {
  std::atomic<const std::byte*> data{nullptr};
  std::atomic<size_t> size{0};
  std::array<char, 512> name{};
};
std::array<Place, 64> places;  // more maps than that go without a name
std::mutex places_mutex;
struct sigaction before {};

void say(const char* text) { [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text)); }

void on_bus_error(int, siginfo_t* info, void*) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  for (const Place& place : places) {
    const std::byte* data = place.data;
    if (data == nullptr || at < data || at >= data + place.size) continue;
    say("gyre: [file] ");
    say(place.name.data());
    say(": was cut short while it was read, or its disk fails\n");
    _exit(1);
  }
  ::sigaction(SIGBUS, &before, nullptr);  // the access is made again, and ends the process as before
}

void remember(const Path& path, const std::byte* data, size_t size) {
  const std::lock_guard lock(places_mutex);
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &before) == 0;
  }();
  for (Place& place : places) {
    if (!installed || place.data != nullptr) continue;
    path.string().copy(place.name.data(), place.name.size() - 1);
    place.size = size;
    place.data = data;
    return;
  }
}

void forget(const std::byte* data) {
  const std::lock_guard lock(places_mutex);
  for (Place& place : places) {
    if (place.data != data) continue;
    place.data = nullptr;
    place.name = {};
  }
}

}  // namespace

MappedFile::MappedFile(const Path& path) : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail(path, "open");
  try {
    const size_t size = size_of(descriptor_, path);
    if (size == 0) return;  // mmap refuses an empty range
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (address == MAP_FAILED) fail(path, "map into memory");
    data_ = static_cast<const std::byte*>(address);
    size_ = size;
    remember(path, data_, size);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    forget(data_);
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MappedFile::require_whole() const {
  if (descriptor_ < 0) return;
  const size_t now = size_of(descriptor_, path_);
  require(now >= size_, "[file] ", path_.string(), ": was cut short while it was used: expected ", size_,
          " bytes, got ", now);
}

}  // namespace gyre
