#include "tools/commands/line_filter.h"

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/parallel_for.h"

namespace gyre {

namespace {

constexpr size_t kBlockLines = 4096;
constexpr uint64_t kBlockBytes = uint64_t{8} << 20;

// Replaces every line by its result. Of several failures, the one of the first line is thrown.
void transform_block(std::vector<std::string>& lines, const LineTransform& transform, const InputLines& input) {
  const uint64_t first = input.line() - lines.size() + 1;
  std::vector<std::string> errors(lines.size());
  parallel_for(lines.size(), 32, [&](size_t i) {
    try {
      lines[i] = transform(lines[i]);
      require(lines[i].find('\n') == std::string::npos, "expected one line as the result, got a line break");
    } catch (const Error& error) {
      errors[i] = error.what();
    }
  });
  for (size_t i = 0; i < lines.size(); ++i) require(errors[i].empty(), input.name(), ":", first + i, ": ", errors[i]);
}

}  // namespace

void LineFilter::add_rows(OptionTable& table, const std::string& input_help, const std::string& output_help) {
  table.add("--input,-i", input, "FILE", input_help + "; default: standard input");
  table.add("--output,-o", output, "FILE", output_help + "; default: standard output");
  bad_lines.add_row(table, "not UTF-8");
  threads.add_row(table);
}

FilterCounts LineFilter::run(const LineTransform& transform, std::vector<Path> other_inputs) const {
  other_inputs.push_back(input);
  require_no_input(output, other_inputs);
  threads.use();
  InputLines lines(input, bad_lines.policy);
  OutputLines results(output);
  FilterCounts counts;
  std::vector<std::string> block;
  for (bool is_at_end = false; !is_at_end;) {
    block.clear();
    const uint64_t begin = counts.bytes;
    std::string line;
    while (block.size() < lines.window(kBlockLines) && counts.bytes - begin < kBlockBytes &&
           !(is_at_end = !lines.next(line))) {
      counts.bytes += line.size();
      block.push_back(std::move(line));
    }
    transform_block(block, transform, lines);
    for (const std::string& line : block) results.write(line);
    results.flush();
  }
  counts.lines = lines.line();
  results.commit();
  lines.print_report();
  return counts;
}

}  // namespace gyre
