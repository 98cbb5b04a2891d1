#include "gyre/core/io/file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include "gyre/core/random.h"
#include "tests/core/io/file_size_limit.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

size_t entries(const Path& directory) {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator()));
}

bool names(const std::string& message, const Path& path, const char* reason) {
  return message.find(path.string()) != std::string::npos && message.find(reason) != std::string::npos;
}

}  // namespace

TEST_CASE("crc32c: values of RFC 3720 and of an independent bitwise computation") {
  CHECK(crc32c("123456789", 9) == 0xE3069283);
  CHECK(crc32c("", 0) == 0);
  CHECK(crc32c(std::string(32, '\0').data(), 32) == 0x8A9136AA);
  CHECK(crc32c(std::string(32, '\xff').data(), 32) == 0x62A8AB43);

  std::string bytes(1000, ' ');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(random_u32(1, 2, i));
  for (const size_t length : {1, 7, 8, 9, 63, 1000}) {
    for (const size_t start : {0, 1, 3}) {
      if (start + length > bytes.size()) continue;
      uint32_t crc = ~0U;
      for (size_t i = start; i < start + length; ++i) {
        crc ^= static_cast<unsigned char>(bytes[i]);
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78U : 0U);
      }
      CHECK(crc32c(bytes.data() + start, length) == ~crc);
    }
  }
  CHECK(crc32c(bytes.data() + 333, 667, crc32c(bytes.data(), 333)) == crc32c(bytes.data(), 1000));
}

TEST_CASE("files: written, replaced, and read back") {
  const TemporaryDirectory directory;
  const Path path = directory / "file";
  write_file(path, "first");
  CHECK(read_file(path) == "first");
  write_file(path, "");
  CHECK(read_file(path).empty());
  const std::string large(5'000'000, 'x');
  write_file(path, large);
  CHECK(read_file(path) == large);
  CHECK(MappedFile(path).text() == large);
  CHECK(entries(directory.path()) == 1);
}

TEST_CASE("atomic file: pieces of all sizes keep their order") {
  const TemporaryDirectory directory;
  const Path path = directory / "file";
  std::string expected;
  AtomicFile file(path);
  for (size_t i = 0; i < 40; ++i) {
    const std::string piece(i * i * i * 40, static_cast<char>('a' + i % 26));  // up to 2.3 MB
    file.write(piece);
    expected += piece;
  }
  CHECK(file.written() == expected.size());
  CHECK(!std::filesystem::exists(path));
  file.commit();
  CHECK(read_file(path) == expected);
}

TEST_CASE("atomic file: without commit, nothing remains and the old file is unchanged") {
  const TemporaryDirectory directory;
  write_file(directory / "file", "old");
  {
    AtomicFile file(directory / "file");
    file.write(std::string(3'000'000, 'n'));
    CHECK(entries(directory.path()) == 2);
  }
  CHECK(entries(directory.path()) == 1);
  CHECK(read_file(directory / "file") == "old");
}

TEST_CASE("atomic file: two writers of one path do not interfere") {
  const TemporaryDirectory directory;
  AtomicFile a(directory / "file"), b(directory / "file");
  a.write("a");
  b.write("b");
  b.commit();
  a.commit();
  CHECK(read_file(directory / "file") == "a");
}

TEST_CASE("a full disk: the error contains the path, and the old file remains") {
  const TemporaryDirectory directory;
  const Path path = directory / "file";
  write_file(path, "old");
  const FileSizeLimit limit(100'000);
  CHECK(names(error_of([&] { write_file(path, std::string(200'000, 'x')); }), path, "File too large"));
  CHECK(read_file(path) == "old");
  CHECK(entries(directory.path()) == 1);
}

TEST_CASE("errors contain the path and the reason") {
  const TemporaryDirectory directory;
  const Path missing = directory / "missing", below_file = directory / "file" / "x";
  write_file(directory / "file", "a file, no directory");
  CHECK(names(error_of([&] { read_file(missing); }), missing, "No such file"));
  CHECK(names(error_of([&] { MappedFile{missing}; }), missing, "No such file"));
  CHECK(names(error_of([&] { write_file(below_file, "x"); }), below_file, "Not a directory"));
  CHECK(names(error_of([&] { read_file(directory.path()); }), directory.path(), "Is a directory"));
  CHECK(names(error_of([&] { MappedFile{directory.path()}; }), directory.path(), "regular file"));
  CHECK(names(error_of([&] { flush_to_disk(missing); }), missing, "No such file"));
  std::filesystem::create_directories(directory / "full" / "inner");
  CHECK(names(error_of([&] { write_file(directory / "full", "x"); }), directory / "full", "Is a directory"));
  CHECK(entries(directory.path()) == 2);
}

TEST_CASE("read_file: pipes have no size") {
  const TemporaryDirectory directory;
  const Path pipe = directory / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string content(300'000, 'p');
  const std::string command = "head -c 300000 /dev/zero | tr '\\0' p > '" + pipe.string() + "' &";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(read_file(pipe) == content);
}
