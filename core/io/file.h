// Files: whole reads, atomic writes, checksums. Every function throws Error on failure, with the path and the reason of
// the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gyre {

using Path = std::filesystem::path;

// The whole content of a file or a pipe.
std::string read_file(const Path& path);

// Writes a file atomically: writes a temporary file in the same directory, flushes it to disk and renames it to `path`.
// A symbolic link is kept, and the file that it names is replaced. A device, a pipe or a socket is written to directly.
void write_file(const Path& path, std::string_view content);

// Flushes an existing file or directory to disk (fsync).
void flush_to_disk(const Path& path);

// Writes a file atomically in several pieces: a regular file changes only at commit(). Small pieces are buffered.
class AtomicFile {
 public:
  explicit AtomicFile(Path path);
  ~AtomicFile();  // removes the temporary file if commit() was not called
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  uint64_t written() const { return written_; }  // bytes so far
  void flush();                                  // writes the buffer to the operating system
  void commit();                                 // flushes to disk and replaces the file

 private:
  void create_temporary();
  void write_through(const char* data, size_t bytes);

  Path path_;
  Path target_, temporary_;  // paths of a regular file, with links resolved; both empty if `path` is a device or a pipe
  int descriptor_ = -1;
  uint64_t written_ = 0;
  std::string pending_;
};

// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), used by checkpoints, token stores and TensorBoard records.
// `crc` is the checksum of the preceding bytes.
uint32_t crc32c(const void* data, size_t bytes, uint32_t crc = 0);

}  // namespace gyre
