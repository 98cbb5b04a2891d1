#include "tools/plots/gnuplot.h"

#include <spdlog/fmt/fmt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/data/text/utf8.h"

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

namespace {

// gnuplot takes two quotes at the beginning of a constant for an empty one, so a leading quote gets double quotes.
std::string constant_of(std::string_view text) {
  if (text.starts_with('\'')) return "\"'\"." + constant_of(text.substr(1));
  std::string constant = "'";
  for (const char c : text) constant.append(c == '\'' ? 2 : 1, c);
  return constant + "'";
}

}  // namespace

std::string gnuplot_string(std::string_view text) {
  std::string line = printable_line(text);
  for (size_t at = line.find("]]>"); at != std::string::npos; at = line.find("]]>", at)) line.insert(at + 2, " ");
  return constant_of(line);
}

std::string gnuplot_tic(std::string_view text) {
  std::string format;
  for (const char c : text) format.append(c == '%' ? 2 : 1, c);
  return gnuplot_string(format);
}

std::string gnuplot_file(const Path& path) {
  const std::string name = path.string();
  require(name.find_first_of(std::string_view("\n\0", 2)) == std::string::npos, "[plot] ", printable_line(name),
          ": expected the name of a picture without line ends");
  return constant_of(path.is_absolute() ? name : "./" + name);
}

const std::vector<std::string>& plot_colors() {
  static const std::vector<std::string> colors{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                               "#E69F00", "#56B4E9", "#666666"};
  return colors;
}

std::string gnuplot_terminal(const Path& output, int width, int height) {
  return fmt::format("set terminal {} size {},{} noenhanced font 'Sans,12' background '#ffffff'\nset output {}\n",
                     picture_format(output) == "svg" ? "svg" : "pngcairo", width, height, gnuplot_file(output));
}

void run_gnuplot(const std::string& program, const std::string& script) {
  run_on_text({.topic = "plot", .program = program, .arguments = {}, .remedy = "install gnuplot, or give its path"},
              script);
}

}  // namespace gyre
