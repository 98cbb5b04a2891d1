// Line-by-line text input and output of the commands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/line_stream.h"

namespace gyre {

// Whether a path of an option means standard input or standard output: it is empty or "-".
bool is_standard(const Path& path);

// Reads the lines of a file or of standard input, which must be UTF-8, without line ends (LF or CRLF) and without a
// byte order mark. The last line may have no line end.
class InputLines {
 public:
  explicit InputLines(const Path& path);
  // Returns false at the end. Throws Error with the name of the input and the line number.
  bool next(std::string& line);
  uint64_t line() const { return stream_.line(); }            // number of the line that was read last, from 1
  const std::string& name() const { return stream_.name(); }  // for messages: the path, or "standard input"

 private:
  LineStream stream_;
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

// Reads items with next(item), which returns false at the end, and passes at most `window` of them at a time to
// process(items, first), where `first` counts the items before them. Flushes the output before it reads on. Returns the
// number of items.
template <class Item, class Next, class Process>
uint64_t for_each_window(size_t window, OutputLines& output, const Next& next, const Process& process) {
  uint64_t count = 0;
  std::vector<Item> items;
  do {
    items.clear();
    for (Item item; items.size() < window && next(item);) items.push_back(std::move(item));
    process(items, count);
    count += items.size();
    output.flush();
  } while (items.size() == window);
  return count;
}

}  // namespace gyre
