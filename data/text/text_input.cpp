#include "gyre/data/text/text_input.h"

#include <fcntl.h>
#include <glob.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/file_status.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_stream.h"

namespace gyre {

namespace {

using namespace std::string_view_literals;

constexpr size_t kRawBytes = size_t{256} << 10;
constexpr size_t kPeekedBytes = 4096;
constexpr std::string_view kStoreMagic = "GYRETOKS"sv;
constexpr std::string_view kBlank = " \t\r\n\v\f"sv;

// The beginning of a kind of file that is not text, and what to tell its owner.
struct NoText {
  std::string_view magic;
  std::string_view what, advice;
  size_t offset = 0;
};

constexpr std::string_view kConvert = "convert it to UTF-8, for example with iconv -t UTF-8";
constexpr std::string_view kExtract = "extract its files";
constexpr std::string_view kRecompress = "decompress it, or compress it with gzip, zstd or xz";
constexpr std::string_view kJsonPipe =
    "write its texts as JSON lines into a pipe, as tools/docs/data.md shows for Parquet";
constexpr std::string_view kNoText = "expected text";

// Longer beginnings come first where one begins with another.
constexpr NoText kNoTexts[] = {
    {"\xFF\xFE\0\0"sv, "UTF-32 text", kConvert},
    {"\0\0\xFE\xFF"sv, "UTF-32 text", kConvert},
    {"\xFF\xFE"sv, "UTF-16 text", kConvert},
    {"\xFE\xFF"sv, "UTF-16 text", kConvert},
    {"PK\x03\x04"sv, "a zip archive", kExtract},
    {"PK\x05\x06"sv, "an empty zip archive", kExtract},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7z archive", kExtract},
    {"Rar!\x1A\x07"sv, "a RAR archive", kExtract},
    {"ustar"sv, "a tar archive", kExtract, 257},
    {"BZh"sv, "compressed with bzip2", kRecompress},
    {"\x04\x22\x4D\x18"sv, "compressed with lz4", kRecompress},
    {"\xFF\x06\0\0sNaPpY"sv, "compressed with snappy", kRecompress},
    {"LZIP"sv, "compressed with lzip", kRecompress},
    {"\x5D\0\0"sv, "compressed with lzma", kRecompress},
    {"\x1F\x9D"sv, "compressed with compress", kRecompress},
    {"\x1F\x8B"sv, "compressed twice", kRecompress},
    {"\x28\xB5\x2F\xFD"sv, "compressed twice", kRecompress},
    {"\xFD\x37zXZ\0"sv, "compressed twice", kRecompress},
    {"PAR1"sv, "a Parquet file", kJsonPipe},
    {"ARROW1\0\0"sv, "an Arrow file", kJsonPipe},
    {"\xFF\xFF\xFF\xFF"sv, "an Arrow stream or other binary data", kJsonPipe},
    {"ORC"sv, "an ORC file", kJsonPipe},
    {"Obj\x01"sv, "an Avro file", kJsonPipe},
    {"SQLite format 3\0"sv, "an SQLite database", kJsonPipe},
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file", kNoText},
    {"\x93NUMPY"sv, "a NumPy array", kNoText},
    {"MMIDIDX\0\0"sv, "an index of Megatron", kNoText},
    {"GGUF"sv, "a GGUF model", kNoText},
    {"\x7F"
     "ELF"sv,
     "a program", kNoText},
    {"%PDF-"sv, "a PDF document", "expected text; pdftotext extracts it"},
    {"{\\rtf"sv, "an RTF document", kNoText},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "an Office document", kNoText},
    {"\x89PNG\r\n"sv, "an image", kNoText},
    {"\xFF\xD8\xFF"sv, "an image", kNoText},
    {"GIF8"sv, "an image", kNoText},
};

// Some magic numbers are words; a text may begin with them.
bool matches(const NoText& kind, std::string_view beginning) {
  if (beginning.size() < kind.offset || !beginning.substr(kind.offset).starts_with(kind.magic)) return false;
  const std::string_view rest = beginning.substr(kind.offset + kind.magic.size());
  if (kind.magic == "BZh"sv)
    return rest.size() >= 7 && rest[0] >= '1' && rest[0] <= '9' && rest.substr(1, 6) == "1AY&SY"sv;
  if (kind.magic == "LZIP"sv) return !rest.empty() && uint8_t(rest[0]) <= 1;
  if (kind.magic == "ORC"sv || kind.magic == "GGUF"sv || kind.magic == "PAR1"sv)
    return std::any_of(rest.begin(), rest.begin() + ptrdiff_t(std::min<size_t>(rest.size(), 16)),
                       [](char c) { return uint8_t(c) < 9; });
  return true;
}

// Text of mostly Latin letters in UTF-16 without a byte order mark has a zero byte in every other place.
bool is_like_utf16(std::string_view beginning) {
  if (beginning.size() < 16) return false;
  size_t zeros[2] = {0, 0};
  for (size_t i = 0; i < beginning.size(); ++i) zeros[i % 2] += beginning[i] == '\0';
  const size_t half = beginning.size() / 2;
  return (zeros[0] > half * 2 / 3 && zeros[1] <= half / 20) || (zeros[1] > half * 2 / 3 && zeros[0] <= half / 20);
}

// Whether the text begins as a JSON object: "{", a string and a colon. An empty object is alone on its line.
bool begins_object(std::string_view text) {
  if (!text.starts_with('{')) return false;
  size_t at = text.find_first_not_of(kBlank, 1);
  if (at == text.npos) return false;
  if (text[at] == '}') {
    const size_t rest = text.find_first_not_of(" \t\r", at + 1);
    return rest == text.npos || text[rest] == '\n';
  }
  if (text[at] != '"') return false;
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at) at += text[at] == '\\';
  if (at >= text.size() || text[at] != '"') return false;
  at = text.find_first_not_of(kBlank, at + 1);
  return at != text.npos && text[at] == ':';
}

// Whether the JSON object at the beginning of a text goes on after its first line.
bool is_pretty_printed(std::string_view text) {
  const size_t next_line = text.find_first_not_of(kBlank, std::min(text.find('\n'), text.size()));
  if (next_line == text.npos) return false;
  const std::string_view line = text.substr(0, text.find('\n') + 1);
  return json_prefix_bytes(line) == line.size() && json_prefix_bytes(text) > next_line;
}

// Whether the text is a JSON array of objects, of texts or of arrays, as far as it is known.
bool is_json_array(std::string_view text) {
  if (!text.starts_with('[')) return false;
  const size_t next = text.find_first_not_of(kBlank, 1);
  if (next == text.npos || (text[next] != '{' && text[next] != '"' && text[next] != '[')) return false;
  return json_prefix_bytes(text) >= text.size();
}

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(byte_order_mark_bytes(text));
  const size_t first = text.find_first_not_of(kBlank);
  return first == text.npos ? std::string_view() : text.substr(first);
}

}  // namespace

// Reads a descriptor in blocks.
class TextInput::Raw {
 public:
  Raw(int descriptor, bool owned, std::string name)
      : descriptor_(descriptor), owned_(owned), name_(std::move(name)), buffer_(kRawBytes) {}
  ~Raw() {
    if (owned_) ::close(descriptor_);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  // The bytes that are not consumed yet. Reads a block if there are none; empty at the end of the file.
  std::string_view data() {
    if (begin_ == end_ && !at_end_) fill();
    return buffered();
  }
  std::string_view buffered() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(size_t bytes) { begin_ += bytes; }
  // Reads more bytes behind those in the buffer. Returns false at the end of the file or if the buffer is full.
  bool extend() {
    if (at_end_ || end_ == buffer_.size()) return false;
    const size_t got = read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    return got > 0;
  }
  // Reads into memory of the caller; the buffer is empty.
  size_t read(char* to, size_t bytes) {
    while (true) {
      const ssize_t got = ::read(descriptor_, to, bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw Error("[text] ", name_, ": reading failed: ", std::strerror(errno));
      at_end_ = got == 0;
      total_ += uint64_t(got);
      return size_t(got);
    }
  }
  uint64_t total() const { return total_; }
  const std::string& name() const { return name_; }

 private:
  void fill() {
    begin_ = end_ = 0;
    end_ = read(buffer_.data(), buffer_.size());
  }

  int descriptor_;
  bool owned_;
  std::string name_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  uint64_t total_ = 0;
};

class TextInput::Decoder {
 public:
  explicit Decoder(Raw& raw) : raw_(raw) {}
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  // Writes at most `bytes` bytes, and at least one unless the data end.
  virtual size_t read(char* to, size_t bytes) = 0;

 protected:
  [[noreturn]] void fail_truncated() const {
    throw Error("[text] ", raw_.name(), ": the compressed data end early: expected a complete file, got a part of it");
  }
  [[noreturn]] void fail_damaged(std::string_view reason) const {
    throw Error("[text] ", raw_.name(), ": damaged compressed data near byte ",
                raw_.total() - raw_.buffered().size() + 1, ": ", reason);
  }

  Raw& raw_;
};

// A file may have several members, as pigz, bgzip and cat write them, and zero bytes after the last.
class TextInput::GzipDecoder final : public Decoder {
 public:
  explicit GzipDecoder(Raw& raw) : Decoder(raw) {
    constexpr int kGzip = 16;  // added to the size of the window: expect the header of gzip
    require(inflateInit2(&stream_, MAX_WBITS + kGzip) == Z_OK, "[text] ", raw.name(), ": zlib cannot start");
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  size_t read(char* to, size_t bytes) override {
    size_t written = 0;
    while (written == 0) {
      const std::string_view data = raw_.data();
      if (data.empty()) {
        if (is_inside_) fail_truncated();
        return 0;
      }
      if (!is_inside_ && !begin_member(data)) continue;
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
      stream_.avail_in = uInt(data.size());
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      stream_.avail_out = uInt(std::min(bytes, size_t{1} << 30));
      const uInt room = stream_.avail_out;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      raw_.consume(data.size() - stream_.avail_in);
      written = room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        is_inside_ = false;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail_damaged(stream_.msg != nullptr ? stream_.msg : "not the format of gzip");
      }
    }
    return written;
  }

 private:
  bool begin_member(std::string_view data) {
    if (data.front() == '\0' && is_second_) {
      raw_.consume(1);
      return false;
    }
    if (data.front() != '\x1F') fail_damaged("expected the end of the file or another member of gzip");
    inflateReset(&stream_);
    return is_inside_ = is_second_ = true;
  }

  z_stream stream_{};
  bool is_inside_ = false, is_second_ = false;
};

// A file may have several frames, and frames to skip.
class TextInput::ZstdDecoder final : public Decoder {
 public:
  explicit ZstdDecoder(Raw& raw) : Decoder(raw), stream_(ZSTD_createDStream()) {
    // Accept what zstd --long=31 writes.
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
  }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  size_t read(char* to, size_t bytes) override {
    ZSTD_outBuffer out{to, bytes, 0};
    while (out.pos == 0) {
      const std::string_view data = raw_.data();
      if (data.empty() && !is_inside_) return 0;
      ZSTD_inBuffer in{data.data(), data.size(), 0};
      const size_t status = ZSTD_decompressStream(stream_, &out, &in);
      raw_.consume(in.pos);
      if (ZSTD_isError(status)) fail_damaged(ZSTD_getErrorName(status));
      is_inside_ = status != 0;
      if (data.empty() && is_inside_ && out.pos == 0) fail_truncated();
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool is_inside_ = false;
};

// A file may have several streams.
class TextInput::XzDecoder final : public Decoder {
 public:
  explicit XzDecoder(Raw& raw) : Decoder(raw) {
    require(lzma_stream_decoder(&stream_, UINT64_MAX, LZMA_CONCATENATED) == LZMA_OK, "[text] ", raw.name(),
            ": liblzma cannot start");
  }
  ~XzDecoder() override { lzma_end(&stream_); }

  size_t read(char* to, size_t bytes) override {
    size_t written = 0;
    while (written == 0 && !is_done_) {
      const std::string_view data = raw_.data();
      stream_.next_in = reinterpret_cast<const uint8_t*>(data.data());
      stream_.avail_in = data.size();
      stream_.next_out = reinterpret_cast<uint8_t*>(to);
      stream_.avail_out = bytes;
      const lzma_ret status = lzma_code(&stream_, data.empty() ? LZMA_FINISH : LZMA_RUN);
      raw_.consume(data.size() - stream_.avail_in);
      written = bytes - stream_.avail_out;
      if (status == LZMA_STREAM_END) {
        is_done_ = true;
      } else if (status == LZMA_BUF_ERROR) {
        fail_truncated();
      } else if (status != LZMA_OK) {
        fail_damaged(status == LZMA_DATA_ERROR ? "a checksum does not match" : "not the format of xz");
      }
    }
    return written;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool is_done_ = false;
};

TextInput::TextInput(Path path) : path_(std::move(path)), name_(path_.string()) {
  if (!take_preloaded()) start();
  recognize();
  if (can_rewind()) rewind();
}

TextInput::TextInput(Standard) : name_("standard input") {
  raw_ = std::make_unique<Raw>(STDIN_FILENO, false, name_);
  recognize();
}

TextInput TextInput::standard() { return TextInput(Standard()); }

namespace {

std::map<Path, std::string>& preloaded() {
  static std::map<Path, std::string> contents;
  return contents;
}

}  // namespace

void TextInput::preload(const Path& path, std::string content) { preloaded()[path] = std::move(content); }

bool TextInput::take_preloaded() {
  const auto found = preloaded().find(path_);
  if (found == preloaded().end()) return false;
  content_ = std::move(found->second);
  preloaded().erase(found);
  file_bytes_ = content_.size();
  return is_preloaded_ = true;
}

TextInput::~TextInput() = default;
TextInput::TextInput(TextInput&&) noexcept = default;
TextInput& TextInput::operator=(TextInput&&) noexcept = default;

// Opens the file.
void TextInput::start() {
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = errno;
  const bool is_inherited = name_.starts_with("/dev/fd/") || name_.starts_with("/proc/self/fd/");
  require(descriptor >= 0, name_, ": cannot be opened: ", std::strerror(error),
          is_inherited ? " (mpirun does not pass the pipe of <(COMMAND) on: use /dev/stdin or a named pipe)" : "");
  raw_ = std::make_unique<Raw>(descriptor, true, name_);
  const struct stat status = status_of(descriptor, path_);
  require(!S_ISDIR(status.st_mode), name_, ": expected a file, got a directory");
  is_regular_ = S_ISREG(status.st_mode);
  file_bytes_ = is_regular_ ? uint64_t(status.st_size) : 0;
}

TextInput::Compression TextInput::compression_of(std::string_view beginning) {
  if (beginning.starts_with("\x1F\x8B"sv)) return Compression::gzip;
  if (beginning.starts_with("\x28\xB5\x2F\xFD"sv)) return Compression::zstd;
  if (beginning.starts_with("\xFD\x37zXZ\0"sv)) return Compression::xz;
  // pzstd begins with a frame to skip: 0x184D2A50 to 0x184D2A5F.
  const bool skips =
      beginning.size() >= 4 && (uint8_t(beginning[0]) & 0xF0) == 0x50 && beginning.substr(1, 3) == "\x2A\x4D\x18"sv;
  return skips ? Compression::zstd : Compression::none;
}

// Finds out how the input is compressed, and prepares to decompress it.
void TextInput::find_compression() {
  constexpr size_t kLongestMagic = 6;
  raw_->data();
  while (raw_->buffered().size() < kLongestMagic && raw_->buffered().find('\n') == std::string_view::npos &&
         raw_->extend()) {
  }
  compression_ = compression_of(raw_->buffered());
  switch (compression_) {
    case Compression::none:
      break;
    case Compression::gzip:
      decoder_ = std::make_unique<GzipDecoder>(*raw_);
      break;
    case Compression::zstd:
      decoder_ = std::make_unique<ZstdDecoder>(*raw_);
      break;
    case Compression::xz:
      decoder_ = std::make_unique<XzDecoder>(*raw_);
      break;
  }
}

void TextInput::recognize() {
  if (!is_preloaded_) find_compression();
  peek();
  if (peeked_.starts_with(kStoreMagic)) {
    require(is_regular_ && !is_compressed(), "[text] ", name_,
            ": is a token store: expected a regular file, which can be mapped into memory");
    kind_ = TextKind::token_store;
    return;
  }
  for (const NoText& kind : kNoTexts)
    require(!matches(kind, peeked_), "[text] ", name_, ": is ", kind.what, ": ", kind.advice);
  require(!is_like_utf16(peeked_), "[text] ", name_, ": looks like UTF-16 text: ", kConvert);
  const std::string_view text = without_blanks(peeked_);
  if (is_json_array(text)) {
    kind_ = TextKind::json;
    json_ = "a JSON array: expected a JSON object in each line, as jq -c '.[]' writes them";
  } else if (begins_object(text) && is_pretty_printed(text)) {
    kind_ = TextKind::json;
    json_ = "pretty-printed JSON: expected a JSON object in each line, as jq -c . FILE writes them";
  } else if (begins_object(text)) {
    kind_ = TextKind::json_lines;
  }
}

void TextInput::require_documents() const {
  require(kind_ != TextKind::token_store, "[data] ", name_,
          ": expected text, got a token store; give the text that it was built from");
  require(kind_ != TextKind::json, "[text] ", name_, ": is ", json_);
}

// Reads the first bytes. Stops at a line that is not blank, because whoever writes into a pipe may wait for the answer
// to it. A bracket alone on its line does not say yet whether it begins JSON; the line after it does.
void TextInput::peek() {
  const auto is_complete = [&](std::string_view beginning) {
    const std::string_view text = without_blanks(beginning);
    const bool is_bracket = text.starts_with('{') || text.starts_with('[');
    const size_t inside = is_bracket ? text.find_first_not_of(kBlank, 1) : 0;
    return inside != text.npos && text.find('\n', inside) != text.npos;
  };
  peeked_.resize(kPeekedBytes);
  size_t used = 0;
  while (used < kPeekedBytes && !is_complete(std::string_view(peeked_).substr(0, used))) {
    const size_t got = read_decoded(peeked_.data() + used, kPeekedBytes - used);
    if (got == 0) break;
    used += got;
  }
  peeked_.resize(used);
}

size_t TextInput::read_decoded(char* to, size_t bytes) {
  if (is_preloaded_) {
    const size_t got = content_.copy(to, bytes, position_);
    position_ += got;
    return got;
  }
  if (decoder_) return decoder_->read(to, bytes);
  if (raw_->buffered().empty()) {
    if (bytes >= kRawBytes) return raw_->read(to, bytes);
    raw_->data();
  }
  const std::string_view data = raw_->buffered().substr(0, bytes);
  std::memcpy(to, data.data(), data.size());
  raw_->consume(data.size());
  return data.size();
}

size_t TextInput::read(char* to, size_t bytes) {
  if (!raw_ && !is_preloaded_) {
    start();
    recognize();
  }
  size_t got = 0;
  if (!peeked_.empty()) {
    got = std::min(bytes, peeked_.size());
    std::memcpy(to, peeked_.data(), got);
    peeked_.erase(0, got);
  } else {
    got = read_decoded(to, bytes);
  }
  bytes_ += got;
  return got;
}

std::string TextInput::read_all() {
  std::string content;
  constexpr size_t kLeast = size_t{64} << 10;
  // With one more byte, the last read finds the end of a plain file without growing the buffer.
  content.resize(std::max(kLeast, size_t(file_bytes_) + 1));
  size_t used = 0;
  while (true) {
    if (used == content.size()) content.resize(used * 2);
    const size_t got = read(content.data() + used, content.size() - used);
    if (got == 0) break;
    used += got;
  }
  content.resize(used);
  return content;
}

void TextInput::rewind() {
  require(can_rewind(), "[text] ", name_, ": a pipe can be read only once");
  decoder_.reset();
  raw_.reset();
  peeked_.clear();
  peeked_.shrink_to_fit();
  bytes_ = position_ = 0;
}

uint64_t TextInput::file_bytes_read() const { return raw_ ? raw_->total() : position_; }

namespace {

bool is_folder(const Path& path) {
  std::error_code error;  // a path that cannot be looked up is reported when it is opened
  return std::filesystem::is_directory(path, error);
}

// Throws an Error for a link that leads to no file or folder, or to a folder that it is in.
void require_target(const std::filesystem::directory_entry& link) {
  std::error_code error;
  const Path target = std::filesystem::canonical(link.path(), error);
  require(!error, "[text] ", link.path().string(), ": the link cannot be followed: ", error.message());
  const Path folder = std::filesystem::canonical(link.path().parent_path(), error);
  const auto differs = std::mismatch(target.begin(), target.end(), folder.begin(), folder.end());
  require(differs.first != target.end(), "[text] ", link.path().string(), ": the link leads to a folder that it is in");
}

void add_folder(const Path& folder, std::vector<Path>& files) {
  const size_t first = files.size();
  Path at = folder;
  std::error_code error;
  auto entry = std::filesystem::recursive_directory_iterator(
      folder, std::filesystem::directory_options::follow_directory_symlink, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code unknown;  // the reason why an entry cannot be looked up
    at = entry->path();
    if (at.filename().string().starts_with('.')) {
      if (entry->is_directory(unknown)) entry.disable_recursion_pending();
      continue;
    }
    if (entry->is_symlink(unknown)) require_target(*entry);
    if (entry->is_regular_file(unknown) && entry->file_size(unknown) > 0) files.push_back(at);
  }
  require(!error, "[text] ", at.string(), ": cannot read the folder: ", error.message());
  require(files.size() > first, "[text] ", folder.string(), ": expected files in the folder, found none");
  std::sort(files.begin() + ptrdiff_t(first), files.end());
}

// A name as a part of a pattern that matches this name only.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (std::string_view("*?[]{}\\,").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

void add_matches_in_folder(const std::string& pattern, std::vector<Path>& matches) {
  glob_t found{};
  ::glob(pattern.c_str(), GLOB_BRACE, nullptr, &found);
  matches.insert(matches.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
}

// The folder and those below it, without hidden ones and links. The empty path is the current folder.
std::vector<Path> folders_in(const Path& folder) {
  std::vector<Path> folders{folder};
  std::error_code error;
  auto entry = std::filesystem::recursive_directory_iterator(folder.empty() ? Path(".") : folder, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    if (!entry->is_directory(unknown)) continue;
    if (entry->path().filename().string().starts_with('.'))
      entry.disable_recursion_pending();
    else if (!entry->is_symlink(unknown))
      folders.push_back(folder.empty() ? entry->path().lexically_relative(".") : entry->path());
  }
  require(!error, "[text] ", folder.string(), ": cannot read the folder: ", error.message());
  return folders;
}

// As in bash with globstar and in Python, ** between slashes stands for any number of folders, also none.
void add_recursive_matches(const std::string& pattern, std::vector<Path>& matches) {
  const size_t at = ("/" + pattern + "/").find("/**/");
  if (at == std::string::npos) return add_matches_in_folder(pattern, matches);
  std::vector<Path> tops{""};
  if (at > 0) {
    tops.clear();
    add_matches_in_folder(pattern.substr(0, at), tops);
    std::erase_if(tops, [](const Path& path) { return !is_folder(path); });
  }
  const std::string rest = at + 3 < pattern.size() ? pattern.substr(at + 3) : "";
  for (const Path& top : tops) {
    if (rest.empty()) {
      matches.push_back(top.empty() ? Path(".") : top);  // a folder stands for all files below it
      continue;
    }
    for (const Path& folder : folders_in(top))
      add_recursive_matches(folder.empty() ? rest : escaped((folder / "").string()) + rest, matches);
  }
}

void add_matches(const Path& pattern, std::vector<Path>& files) {
  std::vector<Path> matches;
  const std::string text = pattern.string();
  add_recursive_matches(text, matches);
  const size_t first = files.size();
  require(!matches.empty(), "[text] ", text, ": expected a file, found none that matches");
  for (const Path& match : matches) {
    if (is_folder(match)) {
      add_folder(match, files);
    } else {
      files.push_back(match);
    }
  }
  // A file may match in several ways, by itself and in a folder that matches.
  if (text.find("**") == std::string::npos) return;
  std::sort(files.begin() + ptrdiff_t(first), files.end());
  files.erase(std::unique(files.begin() + ptrdiff_t(first), files.end()), files.end());
}

}  // namespace

std::vector<Path> expand_paths(const std::vector<Path>& paths) {
  std::vector<Path> files;
  for (const Path& path : paths) {
    std::error_code error;
    if (is_folder(path)) {
      add_folder(path, files);
    } else if (path.string().find_first_of("*?[") != std::string::npos && !std::filesystem::exists(path, error)) {
      add_matches(path, files);
    } else {
      files.push_back(path);
    }
  }
  return files;
}

TextInputs::TextInputs(const std::vector<Path>& paths) {
  for (const Path& path : expand_paths(paths)) emplace_back(path);
}

std::string TextInputs::describe() const {
  require(!empty(), "[text] expected at least one text file");
  return front().name() + (size() > 1 ? " and the other files" : "");
}

bool TextInputs::can_rewind() const {
  return std::all_of(begin(), end(), [](const TextInput& input) { return input.can_rewind(); });
}

}  // namespace gyre
