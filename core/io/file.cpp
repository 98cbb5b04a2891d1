#include "gyre/core/io/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/file_status.h"
#include "gyre/core/io/output_target.h"

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

}  // namespace gyre
