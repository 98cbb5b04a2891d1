#include "tools/lines.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "tools/command_line/messages.h"

namespace gyre {

bool is_standard(const Path& path) { return path.empty() || path == "-"; }

void BadLineChoice::add_row(OptionTable& table, const std::string& what) {
  table.add({"--on-bad-line", one_of(&policy, {OnBadLine::error, OnBadLine::skip}), "",
             concat("handling of lines that are ", what,
                    "; skip: write a blank line as the result, and say at the end which lines were skipped; "
                    "error: end, after the results of the lines before")});
}

InputLines::InputLines(const Path& path, OnBadLine policy)
    : policy_(policy), is_terminal_(is_standard(path) && isatty(STDIN_FILENO) != 0) {
  if (!is_terminal_) open(path);
  report_.files = name();
}

void InputLines::open(const Path& path) {
  const Stopwatch clock;
  if (is_standard(path))
    stream_.emplace();
  else
    stream_.emplace(path);
  require(stream_->input().kind() != TextKind::token_store, stream_->name(),
          ": expected lines of text, got a token store");
  seconds_ += clock.seconds();
}

const std::string& InputLines::name() const {
  static const std::string kTerminal = "standard input";
  return stream_ ? stream_->name() : kTerminal;
}

bool InputLines::next(std::string& line) {
  if (!read(line)) return false;
  is_skipped_ = false;
  ++report_.kept;
  if (const auto bad = first_invalid_utf8(line)) {
    reject(BadLine::bad_utf8, concat("not UTF-8 from byte ", *bad + 1, " on"));
    line.clear();
  }
  note_json(line);
  return true;
}

// A string without an escape may be a sentence in quotes.
void InputLines::note_json(const std::string& line) {
  if (has_noted_json_) return;
  const JsonLine kind = json_in(line);
  if (kind == JsonLine::none || (kind == JsonLine::string && line.find('\\') == std::string::npos)) return;
  has_noted_json_ = true;
  print_message(concat(name(), ":", this->line(),
                       ": the line is JSON and is read as text; jq -r .text writes the texts of JSON lines"));
}

bool InputLines::read(std::string& line) {
  if (is_terminal_) {
    if (isatty(STDERR_FILENO) != 0) std::fputs("> ", stderr);
    if (!stream_) open({});
  }
  const Stopwatch clock;
  const bool found = stream_->next(line);
  seconds_ += clock.seconds();
  if (is_terminal_ && !found) std::fputc('\n', stderr);  // a new line after the prompt
  return found;
}

void InputLines::reject(BadLine kind, const std::string& reason) {
  const std::string place = concat(name(), ":", line(), ": ", reason);
  if (policy_ == OnBadLine::error) throw Error(place);
  if (is_terminal_) print_message(place);
  is_skipped_ = true;
  --report_.kept;
  report_.skip(kind, line(), place);
}

void InputLines::print_report() const {
  if (skipped() > 0 || report_.cropped > 0) print_message(report_.describe());
  const LineReport::Skipped& columns = report_.of(BadLine::bad_columns);
  require(report_.kept > 0 || columns.count == 0, columns.first_place, " in all lines");
}

std::vector<std::string> read_lines(const Path& path) {
  InputLines input(path);
  std::vector<std::string> lines;
  for (std::string line; input.next(line);) lines.push_back(line);
  return lines;
}

OutputLines::OutputLines(const Path& path) {
  if (!is_standard(path)) file_ = std::make_unique<AtomicFile>(path);
}

void OutputLines::write(const std::string& line) {
  if (file_) {
    file_->write(line);
    file_->write("\n");
  } else {
    std::cout << line << '\n';
  }
}

void OutputLines::write_part(const std::string& text) {
  if (file_) return file_->write(text);
  std::cout << text;
  flush();
}

void OutputLines::flush() {
  if (file_) return file_->flush();
  require(bool(std::cout.flush()), "standard output: writing failed");
}

void OutputLines::commit() {
  flush();
  if (file_) file_->commit();
}

std::unique_ptr<WorkProgress> line_progress(const Path& output) {
  if (is_standard(output) && isatty(STDOUT_FILENO) != 0) return nullptr;
  return std::make_unique<WorkProgress>("lines");
}

}  // namespace gyre
