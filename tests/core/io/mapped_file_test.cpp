#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "gyre/core/io/file.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"

using namespace gyre;

TEST_CASE("mapped file: empty files, moves") {
  const TemporaryDirectory directory;
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

TEST_CASE("mapped file: require_untruncated() throws for a truncated file") {
  const TemporaryDirectory directory;
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
