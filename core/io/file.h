// Files: whole reads, memory maps, atomic writes, output paths, checksums. Every function throws Error on failure, with
// the path and the reason of the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

// Read-only memory maps of whole files. If another process truncates a mapped file, access to it raises SIGBUS, which
// would terminate the program without a message. The first map installs a signal handler that reports the file.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const Path& path);  // throws Error unless `path` is a regular file that can be read
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  // Throws Error if the file is shorter than it was when it was mapped.
  void require_untruncated() const;

 private:
  Path path_;
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Classifies an output path: a regular file is replaced atomically; a device, a pipe or a socket is written to
// directly, as a stream.
class OutputTarget {
 public:
  // Follows symbolic links, including a link to a file that does not exist yet. Throws Error for a directory, a socket
  // in the file system or a loop of links. Opening a named pipe waits for its reader.
  explicit OutputTarget(const Path& path);
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

  bool is_stream() const { return descriptor_ >= 0; }
  const Path& file() const { return file_; }  // the regular file to replace or create; empty for a stream
  int release();                              // the open descriptor of a stream; the caller closes it

 private:
  Path file_;
  int descriptor_ = -1;
};

// True if the path, with links resolved, is a regular file or does not exist yet.
bool is_file_output(const Path& path);

// True if both paths, with links resolved, are one regular file or one file that does not exist yet.
bool is_same_output(const Path& a, const Path& b);

// Throws UsageError if the output is the same file as one of the inputs, under any name. Ignores missing files. `flag`
// is the option that names the output.
void require_no_input(const Path& output, const std::vector<Path>& inputs, std::string_view flag = "--output");

// Throws Error if the path is a stream, for formats that are read back after they are written. `topic` begins the
// message: "[token store] out.tok: expected a regular file to write to, ..".
void require_file_output(const Path& path, std::string_view topic);

}  // namespace gyre
