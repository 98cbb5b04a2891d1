#include "gyre/core/io/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>
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

TEST_CASE_FIXTURE(InDirectory, "files: written, replaced, and read back") {
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

TEST_CASE_FIXTURE(InDirectory, "atomic file: pieces of all sizes keep their order") {
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

TEST_CASE_FIXTURE(InDirectory, "atomic file: without commit, nothing remains and the old file is unchanged") {
  write_file(directory / "file", "old");
  {
    AtomicFile file(directory / "file");
    file.write(std::string(3'000'000, 'n'));
    CHECK(entries(directory.path()) == 2);
  }
  CHECK(entries(directory.path()) == 1);
  CHECK(read_file(directory / "file") == "old");
}

TEST_CASE_FIXTURE(InDirectory, "atomic file: two writers of one path do not interfere") {
  AtomicFile a(directory / "file"), b(directory / "file");
  a.write("a");
  b.write("b");
  b.commit();
  a.commit();
  CHECK(read_file(directory / "file") == "a");
}

TEST_CASE_FIXTURE(InDirectory, "a full disk: the error contains the path, and the old file remains") {
  const Path path = directory / "file";
  write_file(path, "old");
  const FileSizeLimit limit(100'000);
  CHECK(names(error_of([&] { write_file(path, std::string(200'000, 'x')); }), path, "File too large"));
  CHECK(read_file(path) == "old");
  CHECK(entries(directory.path()) == 1);
}

TEST_CASE_FIXTURE(InDirectory, "errors contain the path and the reason") {
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

TEST_CASE_FIXTURE(InDirectory, "read_file: pipes have no size") {
  const Path pipe = directory / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string content(300'000, 'p');
  const std::string command = "head -c 300000 /dev/zero | tr '\\0' p > '" + pipe.string() + "' &";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(read_file(pipe) == content);
}

TEST_CASE_FIXTURE(InDirectory, "mapped file: empty files, moves") {
  write_file(directory / "empty", "");
  CHECK(MappedFile(directory / "empty").text().empty());
  write_file(directory / "file", "content");
  MappedFile a(directory / "file");
  MappedFile b(std::move(a));
  CHECK(b.text() == "content");
  MappedFile c;
  c = std::move(b);
  CHECK(c.text() == "content");
}

TEST_CASE_FIXTURE(InDirectory, "mapped file: require_untruncated() throws for a truncated file") {
  const Path path = directory / "store";
  write_file(path, std::string(20'000, 'x'));
  const MappedFile map(path);
  map.require_untruncated();
  write_file(path, "another file of the same name");
  map.require_untruncated();  // the map still refers to the old file
  const MappedFile again(path);
  std::filesystem::resize_file(path, 10);
  CHECK(contains(error_of([&] { again.require_untruncated(); }), "store: was truncated while in use: expected 29"));
}

TEST_CASE("mapped file: reading beyond the end of a truncated file exits with a message that contains the path") {
  const TemporaryDirectory directory;
  const Path path = directory / "store", said = directory / "said";
  write_file(path, std::string(20'000, 'x'));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    REQUIRE(std::freopen(said.c_str(), "w", stderr) != nullptr);
    const MappedFile map(path);
    std::filesystem::resize_file(path, 10);
    const volatile std::byte* data = map.data();
    _exit(data[19'000] == std::byte('x') ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(contains(read_file(said), "gyre: [file] " + path.string() + ": was truncated while being read"));
}

namespace {

namespace fs = std::filesystem;

// Writes to a pipe, and returns the bytes that another thread reads until the end of the pipe.
std::string written_to_pipe(const Path& pipe, const std::string& content) {
  std::string got;
  std::thread reader([&] { got = read_file(pipe); });
  write_file(pipe, content);
  reader.join();
  return got;
}

mode_t permissions(const Path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

// An open file descriptor, closed by the destructor.
class OpenFile {
 public:
  OpenFile(const Path& path, int flags) : number_(::open(path.c_str(), flags, 0600)) { REQUIRE(number_ >= 0); }
  ~OpenFile() { ::close(number_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  Path path() const { return "/dev/fd/" + std::to_string(number_); }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "output: a pipe receives the bytes and remains a pipe") {
  const Path pipe = directory / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string content(3'000'000, 'p');
  CHECK(written_to_pipe(pipe, content) == content);
  CHECK(fs::is_fifo(pipe));
  fs::create_symlink("pipe", directory / "link");
  CHECK(written_to_pipe(directory / "link", "through a link") == "through a link");
  CHECK(fs::is_symlink(directory / "link"));
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE_FIXTURE(InDirectory, "output: a device is written to and remains a device") {
  const Path device = directory / "null";
  if (mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    MESSAGE("skipped: creating a device node needs root");
    return;
  }
  if (const int probe = ::open(device.c_str(), O_WRONLY); probe >= 0) {
    ::close(probe);
    write_file(device, "gone");
  } else {
    MESSAGE("skipped: this file system does not open devices");
  }
  CHECK(fs::is_character_file(device));
}

TEST_CASE_FIXTURE(InDirectory, "output: a link remains, and the file that it names is replaced atomically") {
  fs::create_directory(directory / "there");
  write_file(directory / "there/file", "old");
  fs::create_symlink("there/file", directory / "near");
  fs::create_symlink(directory / "near", directory / "far");
  {
    AtomicFile file(directory / "far");
    file.write("new");
    file.flush();
    CHECK(read_file(directory / "there/file") == "old");
    file.commit();
  }
  CHECK(read_file(directory / "there/file") == "new");
  CHECK(fs::is_symlink(directory / "far"));
  CHECK(fs::is_symlink(directory / "near"));
  CHECK(!fs::is_symlink(directory / "there/file"));
}

TEST_CASE_FIXTURE(InDirectory, "output: writing to a dangling link creates the file that it names") {
  fs::create_directory(directory / "there");
  fs::create_symlink("there/file", directory / "link");
  CHECK(is_file_output(directory / "link"));
  write_file(directory / "link", "made");
  CHECK(fs::is_symlink(directory / "link"));
  CHECK(read_file(directory / "there/file") == "made");
  fs::create_symlink("absent/file", directory / "lost");
  CHECK(contains(error_of([&] { write_file(directory / "lost", "x"); }), "No such file"));
  fs::create_symlink("loop", directory / "loop");
  CHECK(contains(error_of([&] { write_file(directory / "loop", "x"); }), "symbolic links"));
}

TEST_CASE_FIXTURE(InDirectory, "output: names of one file are one output, also before it exists") {
  const Path name = directory / "new";
  CHECK(is_same_output(name, directory / "." / "new"));
  CHECK(!is_same_output(name, directory / "other"));
  fs::create_symlink("new", directory / "link");
  CHECK(is_same_output(name, directory / "link"));
  write_file(name, "made");
  CHECK(is_same_output(name, directory / "link"));
  fs::create_hard_link(name, directory / "twin");
  CHECK(is_same_output(name, directory / "twin"));
  CHECK(!is_same_output("/dev/null", "/dev/null"));
}

TEST_CASE_FIXTURE(InDirectory, "output: a descriptor of the process keeps its position and the content before it") {
  write_file(directory / "log", "before\n");
  {
    const OpenFile appended(directory / "log", O_WRONLY | O_APPEND);
    CHECK(!is_file_output(appended.path()));
    write_file(appended.path(), "first\n");
    write_file("/proc/self/fd/" + std::to_string(appended.number()), "second\n");
    fs::create_symlink(appended.path(), directory / "link");
    write_file(directory / "link", "third\n");
  }
  CHECK(read_file(directory / "log") == "before\nfirst\nsecond\nthird\n");
  CHECK(contains(error_of([] { write_file("/dev/fd/987654", "x"); }), "Bad file descriptor"));
}

TEST_CASE_FIXTURE(InDirectory, "output: a socket and a directory are rejected and remain") {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (directory / "socket").string();
  REQUIRE(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(contains(error_of([&] { write_file(path, "x"); }), "cannot open"));
  CHECK(fs::is_socket(path));
  ::close(socket);
  CHECK(contains(error_of([&] { write_file(directory.path(), "x"); }), "Is a directory"));
}

TEST_CASE_FIXTURE(InDirectory, "output: a replaced file keeps its permissions") {
  write_file(directory / "file", "old");
  for (const mode_t mode : {mode_t{0600}, mode_t{0640}, mode_t{0755}}) {
    REQUIRE(::chmod((directory / "file").c_str(), mode) == 0);
    write_file(directory / "file", "new");
    CHECK(permissions(directory / "file") == mode);
  }
}

TEST_CASE_FIXTURE(InDirectory, "output: formats that are read back require a regular file") {
  REQUIRE(mkfifo((directory / "pipe").c_str(), 0600) == 0);
  CHECK(contains(error_of([&] { require_file_output(directory / "pipe", "token store"); }),
                 "[token store] " + (directory / "pipe").string() + ": expected a regular file"));
  CHECK(error_of([&] { require_file_output(directory / "new", "token store"); }) == "no error");
}
