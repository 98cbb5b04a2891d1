#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "gyre/core/io/file.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"

using namespace gyre;

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

TEST_CASE("output: a pipe receives the bytes and remains a pipe") {
  const TemporaryDirectory directory;
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

TEST_CASE("output: a device is written to and remains a device") {
  const TemporaryDirectory directory;
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

TEST_CASE("output: a link remains, and the file that it names is replaced atomically") {
  const TemporaryDirectory directory;
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

TEST_CASE("output: writing to a dangling link creates the file that it names") {
  const TemporaryDirectory directory;
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

TEST_CASE("output: names of one file are one output, also before it exists") {
  const TemporaryDirectory directory;
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

TEST_CASE("output: a descriptor of the process keeps its position and the content before it") {
  const TemporaryDirectory directory;
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

TEST_CASE("output: a socket and a directory are rejected and remain") {
  const TemporaryDirectory directory;
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

TEST_CASE("output: a replaced file keeps its permissions") {
  const TemporaryDirectory directory;
  write_file(directory / "file", "old");
  for (const mode_t mode : {mode_t{0600}, mode_t{0640}, mode_t{0755}}) {
    REQUIRE(::chmod((directory / "file").c_str(), mode) == 0);
    write_file(directory / "file", "new");
    CHECK(permissions(directory / "file") == mode);
  }
}

TEST_CASE("output: formats that are read back require a regular file") {
  const TemporaryDirectory directory;
  REQUIRE(mkfifo((directory / "pipe").c_str(), 0600) == 0);
  CHECK(contains(error_of([&] { require_file_output(directory / "pipe", "token store"); }),
                 "[token store] " + (directory / "pipe").string() + ": expected a regular file"));
  CHECK(error_of([&] { require_file_output(directory / "new", "token store"); }) == "no error");
}
