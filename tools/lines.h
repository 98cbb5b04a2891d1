// Line-by-line text input and output of the commands.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/train/log/console.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Whether a path of an option means standard input or standard output: it is empty or "-".
bool is_standard(const Path& path);

// --on-bad-line of the commands that write a result for each line.
struct BadLineChoice {
  OnBadLine policy = OnBadLine::skip;

  // `what` names the fault of a line, as in "too long".
  void add_row(OptionTable& table, const std::string& what);
};

// Reads the lines of a file or of standard input, which must be UTF-8, without line ends (LF or CRLF) and without a
// byte order mark. The last line may have no line end. On a terminal it prompts for each line. A line that is JSON is
// text like any other, and a message says so once.
class InputLines {
 public:
  // policy: error or skip, for lines that are not UTF-8 and for those that the caller rejects.
  explicit InputLines(const Path& path, OnBadLine policy = OnBadLine::error);
  // Returns false at the end. A line that is skipped is read as an empty one.
  bool next(std::string& line);
  // Says that the line that was read last cannot be used, and why. Throws an Error with the name of the input and the
  // number of the line, or skips the line.
  void reject(BadLine kind, const std::string& reason);
  bool is_skipped() const { return is_skipped_; }  // whether the line that was read last is skipped
  void expect_json() { has_noted_json_ = true; }   // the lines are JSON, which is no text
  void crop() { ++report_.cropped; }               // counts a line that the caller crops
  // limit: of over-long lines, for the report: "1000 tokens".
  void set_limit(std::string limit) { report_.limit = std::move(limit); }
  uint64_t skipped() const { return line() - report_.kept; }
  // Prints to standard error how many lines were read and which were skipped or cropped, if there are any. Throws an
  // Error if no line has the right number of columns: the input is meant for something else.
  void print_report() const;

  uint64_t line() const { return stream_ ? stream_->line() : 0; }  // number of the line that was read last, from 1
  const std::string& name() const;                                 // name for messages: the path, or "standard input"
  // The number of lines to read before the first result: 1 on a terminal, where somebody waits for it, else `lines`.
  size_t window(size_t lines) const { return is_terminal_ ? 1 : lines; }
  bool is_terminal() const { return is_terminal_; }
  double seconds() const { return seconds_; }  // spent waiting for lines

 private:
  bool read(std::string& line);
  void open(const Path& path);
  void note_json(const std::string& line);

  // Opening waits for the first bytes, so a terminal, which needs a prompt before them, is opened at the first read.
  std::optional<LineStream> stream_;
  OnBadLine policy_;
  LineReport report_;
  bool is_terminal_, is_skipped_ = false, has_noted_json_ = false;
  double seconds_ = 0;
};

std::vector<std::string> read_lines(const Path& path);

// Writes lines to standard output, a device or a pipe at once, or to a file that appears complete at commit() or not at
// all.
class OutputLines {
 public:
  explicit OutputLines(const Path& path);
  void write(const std::string& line);
  void write_part(const std::string& text);  // passes a part of a line on to the reader
  void flush();                              // passes the written lines on to the reader
  void commit();

 private:
  std::unique_ptr<AtomicFile> file_;
};

// Progress for standard error, or nullptr if the results themselves appear on the terminal.
std::unique_ptr<WorkProgress> line_progress(const Path& output);

// Reads items with next(item), which returns false at the end, and passes at most `window` of them at a time to
// process(items, first), where `first` counts the items before them. Flushes the output before it reads on. If next()
// throws, the items before are processed first, so that no result is lost. Returns the number of items.
template <class Item, class Next, class Process>
uint64_t for_each_window(size_t window, OutputLines& output, const Next& next, const Process& process) {
  uint64_t count = 0;
  std::vector<Item> items;
  std::exception_ptr failure;
  do {
    items.clear();
    try {
      for (Item item; items.size() < window && next(item);) items.push_back(std::move(item));
    } catch (const Error&) {
      failure = std::current_exception();
    }
    process(items, count);
    count += items.size();
    output.flush();
  } while (items.size() == window && !failure);
  if (failure) std::rethrow_exception(failure);
  return count;
}

}  // namespace gyre
