// Files: whole reads, atomic writes, checksums. Every failure throws an Error that names the path and the system's
// reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gyre {

using Path = std::filesystem::path;

std::string read_file(const Path& path);

// Writes to a temporary name beside `path`, flushes to disk, renames: the file exists whole or not at all. A symbolic
// link stays, and the file that it names is replaced. A device, a pipe or a socket is written to as it is.
void write_file(const Path& path, std::string_view content);

// Flushes a file or directory that was already written (fsync).
void flush_to_disk(const Path& path);

// The same for a file that is written piece by piece (small pieces are gathered): a regular file changes at commit(),
// and not before.
class AtomicFile {
 public:
  explicit AtomicFile(Path path);
  ~AtomicFile();  // without commit(): removes the temporary file
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  uint64_t written() const { return written_; }
  void flush();  // what was gathered goes out now
  void commit();

 private:
  void create_temporary();
  void write_through(const char* data, size_t bytes);

  Path path_;
  Path target_, temporary_;  // of a regular file, behind all links; both empty where `path` is a device or a pipe
  int descriptor_ = -1;
  uint64_t written_ = 0;
  std::string pending_;
};

// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78): checkpoints, token stores, TensorBoard records.
uint32_t crc32c(const void* data, size_t bytes, uint32_t crc = 0);

}  // namespace gyre
