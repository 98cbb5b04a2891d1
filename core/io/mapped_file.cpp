#include "gyre/core/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/file_status.h"

namespace gyre {
namespace {

size_t size_of(int descriptor, const Path& path) {
  const struct stat status = status_of(descriptor, path);
  require(S_ISREG(status.st_mode), "[file] ", path.string(), ": expected a regular file to map");
  return static_cast<size_t>(status.st_size);
}

// The address range and the file name of a map, for the SIGBUS handler. This memory is never freed.
struct MapRecord {
  std::atomic<const std::byte*> data{nullptr};
  std::atomic<size_t> size{0};
  std::array<char, 512> name{};
};
std::array<MapRecord, 64> records;  // further maps are not reported by name
std::mutex records_mutex;
struct sigaction before {};

void write_stderr(const char* text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void on_bus_error(int, siginfo_t* info, void*) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  for (const MapRecord& record : records) {
    const std::byte* data = record.data;
    if (data == nullptr || at < data || at >= data + record.size) continue;
    write_stderr("gyre: [file] ");
    write_stderr(record.name.data());
    write_stderr(": was truncated while being read, or its disk failed\n");
    _exit(1);
  }
  ::sigaction(SIGBUS, &before, nullptr);  // the access is repeated and handled by the previous handler
}

void add_record(const Path& path, const std::byte* data, size_t size) {
  const std::lock_guard lock(records_mutex);
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &before) == 0;
  }();
  for (MapRecord& record : records) {
    if (!installed || record.data != nullptr) continue;
    path.string().copy(record.name.data(), record.name.size() - 1);
    record.size = size;
    record.data = data;
    return;
  }
}

void remove_record(const std::byte* data) {
  const std::lock_guard lock(records_mutex);
  for (MapRecord& record : records) {
    if (record.data != data) continue;
    record.data = nullptr;
    record.name = {};
  }
}

}  // namespace

MappedFile::MappedFile(const Path& path) : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail(path, "open");
  try {
    const size_t size = size_of(descriptor_, path);
    if (size == 0) return;  // mmap rejects an empty range
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (address == MAP_FAILED) fail(path, "map into memory");
    data_ = static_cast<const std::byte*>(address);
    size_ = size;
    add_record(path, data_, size);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    remove_record(data_);
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

void MappedFile::require_untruncated() const {
  if (descriptor_ < 0) return;
  const size_t now = size_of(descriptor_, path_);
  require(now >= size_, "[file] ", path_.string(), ": was truncated while in use: expected ", size_, " bytes, got ",
          now);
}

}  // namespace gyre
