// Opens text as people keep it: a file, a pipe or standard input, plain or compressed with gzip, zstd or xz. Every text
// of the program is opened here, and every reader (LineStream, TextFile, DocumentText) reads through it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

// The kind of an input, recognized by its first bytes after decompression. A corpus of json_lines has a document in
// every line (DocumentText); json is an array or an object over several lines. Both may also be lines of text, such as
// sentences to translate, for readers that do not ask.
enum class TextKind : uint8_t { text, json_lines, json, token_store };

// The bytes of one input, decompressed while they are read. The path is opened once, and the first bytes are looked at
// without losing them, so a pipe is read completely: /dev/stdin, <(zcat FILE), a named pipe.
class TextInput {
 public:
  // Throws an Error if the path cannot be opened or is a directory, and for what is not text, with what it is and what
  // to do: archives, Parquet, UTF-16, images and other files that are recognized by their first bytes.
  explicit TextInput(Path path);
  static TextInput standard();  // standard input
  // Makes the next TextInput of this path read `content`, decompressed text, instead of opening the path. For pipes,
  // which only one rank of a job can read.
  static void preload(const Path& path, std::string content);
  ~TextInput();
  TextInput(TextInput&&) noexcept;
  TextInput& operator=(TextInput&&) noexcept;

  const Path& path() const { return path_; }
  const std::string& name() const { return name_; }  // name for messages: the path, or "standard input"
  TextKind kind() const { return kind_; }
  // Throws an Error for what has no documents: a token store and json, with the command that makes JSON lines of it.
  void require_documents() const;
  bool is_compressed() const { return compression_ != Compression::none; }
  // Whether it is a regular file or preloaded; a pipe can be read only once.
  bool can_rewind() const { return is_regular_ || is_preloaded_; }

  // Reads at most `bytes` bytes. Returns at least one unless the input ends: data of a pipe are passed on as they come.
  // Throws an Error if reading fails, and if compressed data are damaged or end early.
  size_t read(char* to, size_t bytes);
  std::string read_all();
  // Returns to the beginning. The file is closed until it is read again. Throws an Error for a pipe.
  void rewind();

  uint64_t bytes() const { return bytes_; }  // bytes read so far, after decompression
  // For progress: bytes of the file that were read so far, and all of them. Both count compressed bytes; file_bytes()
  // is 0 for a pipe.
  uint64_t file_bytes_read() const;
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  enum class Compression : uint8_t { none, gzip, zstd, xz };
  class Raw;      // the bytes of the file
  class Decoder;  // decompresses them
  class GzipDecoder;
  class ZstdDecoder;
  class XzDecoder;

  struct Standard {};
  explicit TextInput(Standard);
  bool take_preloaded();
  void start();
  size_t read_decoded(char* to, size_t bytes);
  void find_compression();
  void peek();
  void recognize();
  static Compression compression_of(std::string_view beginning);

  Path path_;
  std::string name_;
  std::unique_ptr<Raw> raw_;          // null while a regular file is closed
  std::unique_ptr<Decoder> decoder_;  // null unless compressed
  std::string peeked_;                // first bytes, decompressed, that have not been read yet
  TextKind kind_ = TextKind::text;
  std::string_view json_;  // fault of the kind json, for messages
  Compression compression_ = Compression::none;
  std::string content_;  // content of a preloaded input
  bool is_regular_ = false, is_preloaded_ = false;
  size_t position_ = 0;  // place in content_
  uint64_t bytes_ = 0, file_bytes_ = 0;
};

// The files of an option, in the given order. A folder stands for the files in it and its subfolders, sorted by path,
// without those whose name begins with a period and those that are empty. A path that does not exist and contains *, ?
// or [ is a pattern (glob(7)) and stands for the files that match, sorted; ** between slashes is any number of folders,
// also none. Throws an Error if there are none, and for a link in a folder that leads nowhere or in a circle.
std::vector<Path> expand_paths(const std::vector<Path>& paths);

// The opened inputs of an option. Regular files are closed again until they are read, so there may be many.
class TextInputs : public std::vector<TextInput> {
 public:
  TextInputs() = default;
  TextInputs(const std::vector<Path>& paths);  // NOLINT: every list of paths is a list of inputs
  TextInputs(std::initializer_list<Path> paths) : TextInputs(std::vector<Path>(paths)) {}

  bool can_rewind() const;
  std::string describe() const;  // "a.txt" or "a.txt and the other files"
};

}  // namespace gyre
