#include "train/log/gnuplot.h"

#include <spdlog/fmt/fmt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "core/error.h"
#include "core/file.h"

namespace gyre {
namespace {

// A file with the given content, gone with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    path_ = (std::filesystem::temp_directory_path() / "gyre-plot-XXXXXX").string();
    const int descriptor = mkstemp(path_.data());
    require(descriptor >= 0, "[plot] cannot create a file in ", std::filesystem::temp_directory_path().string());
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

std::string replace_quotes(std::string_view text, std::string_view quote) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += quote;
    } else {
      result += c;
    }
  }
  return result;
}

std::string shell_string(std::string_view text) { return "'" + replace_quotes(text, "'\\''") + "'"; }

}  // namespace

std::string gnuplot_string(std::string_view text) { return "'" + replace_quotes(text, "''") + "'"; }

const std::vector<std::string>& plot_colors() {
  static const std::vector<std::string> colors{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                               "#E69F00", "#56B4E9", "#666666"};
  return colors;
}

std::string gnuplot_terminal(const Path& output, int width, int height) {
  require(output.extension() == ".png" || output.extension() == ".svg", "[plot] expected an output .png or .svg, got ",
          output.string());
  return fmt::format("set terminal {} size {},{} noenhanced font 'Sans,12' background '#ffffff'\nset output {}\n",
                     output.extension() == ".svg" ? "svg" : "pngcairo", width, height, gnuplot_string(output.string()));
}

void run_gnuplot(const std::string& program, const std::string& script) {
  const TemporaryFile file(script);
  const std::string command = shell_string(program) + " " + shell_string(file.path()) + " 2>&1";
  std::FILE* output = popen(command.c_str(), "r");
  require(output != nullptr, "[plot] cannot start a shell to run ", program);
  std::string message;
  std::array<char, 4096> buffer;
  while (const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), output)) message.append(buffer.data(), bytes);
  const int status = pclose(output);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  // The shell's own codes: 126 not executable, 127 not found.
  require(code != 126 && code != 127, "[plot] cannot run the program ", program,
          ": install gnuplot, or name it by its path");
  require(code == 0, "[plot] ", program, " failed: ", message);
}

}  // namespace gyre
