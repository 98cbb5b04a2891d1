#include "gyre/core/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/file_status.h"

namespace gyre {
namespace {

// A descriptor for reading, closed by the destructor. Errors of close() do not matter for reading.
class Descriptor {
 public:
  explicit Descriptor(const Path& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) fail(path, "open");
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }

 private:
  int number_;
};

// Gives the new file the permissions and the owner of the file that it replaces, if the file system allows it.
void take_over_permissions(int descriptor, const Path& replaced) {
  struct stat old {};
  if (::stat(replaced.c_str(), &old) != 0) return;
  const struct stat fresh = status_of(descriptor, replaced);
  const bool is_owned_alike =
      (fresh.st_uid == old.st_uid && fresh.st_gid == old.st_gid) || ::fchown(descriptor, old.st_uid, old.st_gid) == 0;
  // If the owner or group differs, the group bits are cleared: another group must not get access.
  const mode_t mode = old.st_mode & (is_owned_alike ? mode_t{0777} : mode_t{S_IRWXU | S_IRWXO});
  if ((fresh.st_mode & mode_t{0777}) != mode) std::ignore = ::fchmod(descriptor, mode);
}

constexpr size_t kBufferBytes = size_t{1} << 20;  // size of the write buffer in bytes

}  // namespace

std::string read_file(const Path& path) {
  const Descriptor file(path);
  std::string content;
  // The size is only a hint, because pipes have none. With one more byte, the last read finds the end of the file
  // without growing the buffer.
  content.resize(static_cast<size_t>(std::max<off_t>(status_of(file, path).st_size, 0)) + 1);
  size_t used = 0;
  while (true) {
    if (used == content.size()) content.resize(used * 2);
    const ssize_t got = ::read(file, content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "read");
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  content.resize(used);
  return content;
}

void write_file(const Path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

void flush_to_disk(const Path& path) {
  const Descriptor file(path);
  if (::fsync(file) == 0) return;
  const int error = errno;
  // Some network file systems cannot flush a directory and return EINVAL.
  if (error == EINVAL && S_ISDIR(status_of(file, path).st_mode)) return;
  fail(path, "flush to disk", error);
}

AtomicFile::AtomicFile(Path path) : path_(std::move(path)) {
  OutputTarget target(path_);
  target_ = target.file();
  if (target.is_stream()) {
    descriptor_ = target.release();
  } else {
    create_temporary();
  }
}

// O_EXCL and a counter prevent processes of different machines on a shared file system from using the same file.
void AtomicFile::create_temporary() {
  for (int n = 0; descriptor_ < 0; ++n) {
    temporary_ =
        parent_of(target_) / concat(".", target_.filename().string(), ".tmp-", static_cast<long>(::getpid()), "-", n);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) fail(path_, "create");
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const auto* begin = static_cast<const char*>(data);
  if (pending_.size() + bytes > kBufferBytes) flush();
  if (bytes > kBufferBytes) {
    write_through(begin, bytes);
  } else {
    pending_.append(begin, bytes);
  }
  written_ += bytes;
}

void AtomicFile::write_through(const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t put = ::write(descriptor_, data, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(path_, "write");
    data += put;
    bytes -= static_cast<size_t>(put);
  }
}

void AtomicFile::flush() {
  write_through(pending_.data(), pending_.size());
  pending_.clear();
}

void AtomicFile::commit() {
  flush();
  const bool is_stream = temporary_.empty();
  if (!is_stream) take_over_permissions(descriptor_, target_);
  if (!is_stream && ::fsync(descriptor_) != 0) fail(path_, "flush to disk");
  // Network file systems report a full disk at close().
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail(path_, "close");
  if (is_stream) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(path_, "rename the temporary file");
  temporary_.clear();
  flush_to_disk(parent_of(target_));
}

namespace {

// Slicing by eight (Kounavis & Berry 2005): table[k][b] is the CRC of byte b followed by k zero bytes.
constexpr auto kCrcTables = [] {
  std::array<std::array<uint32_t, 256>, 8> table{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78U : 0U);
    table[0][b] = crc;
  }
  for (uint32_t b = 0; b < 256; ++b) {
    for (size_t k = 1; k < 8; ++k) table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 255];
  }
  return table;
}();

}  // namespace

uint32_t crc32c(const void* data, size_t bytes, uint32_t crc) {
  static_assert(std::endian::native == std::endian::little);
  const auto* p = static_cast<const unsigned char*>(data);
  const auto& t = kCrcTables;
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= t[7 - k][(word >> (8 * k)) & 255];
  }
  for (; bytes > 0; --bytes, ++p) crc = (crc >> 8) ^ t[0][(crc ^ *p) & 255];
  return ~crc;
}

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
