#include "tools/plots/external_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"

namespace gyre {
namespace {

// A temporary file with the given content; the destructor removes it.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& topic, const std::string& content) {
    path_ = (std::filesystem::temp_directory_path() / "gyre-XXXXXX").string();
    const int descriptor = mkstemp(path_.data());
    require(descriptor >= 0, "[", topic, "] cannot create a file in ", std::filesystem::temp_directory_path().string());
    close(descriptor);
    write_file(path_, content);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Quotes a word for a shell command.
std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace

void run_on_text(const ExternalProgram& call, const std::string& text) {
  const TemporaryFile file(call.topic, text);
  std::string command = shell_word(call.program);
  for (const std::string& argument : call.arguments) command += " " + shell_word(argument);
  command += " " + shell_word(file.path()) + " 2>&1";
  std::FILE* output = popen(command.c_str(), "r");
  require(output != nullptr, "[", call.topic, "] cannot start a shell to run ", call.program);
  std::string message;
  std::array<char, 4096> buffer;
  while (const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), output)) message.append(buffer.data(), bytes);
  const int status = pclose(output);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  // Exit codes of the shell: 126 not executable, 127 not found.
  require(code != 126 && code != 127, "[", call.topic, "] cannot run the program ", call.program, ": ", call.remedy);
  require(code == 0, "[", call.topic, "] ", call.program, " failed: ", message);
}

}  // namespace gyre
