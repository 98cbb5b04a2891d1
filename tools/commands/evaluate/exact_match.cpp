// gyre evaluate exact-match: the share of lines that equal the reference.
#include "gyre/train/metrics/exact_match.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "tools/lines.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct ExactMatchArgs {
  std::vector<Path> references;
  Path input;
  bool json = false;
};

int evaluate_exact_match(const ExactMatchArgs& args) {
  if (args.references.size() != 1) throw UsageError("--reference: expected one file, got ", args.references.size());
  if (is_standard(args.input) && is_standard(args.references.front()))
    throw UsageError("--reference: expected standard input (-) at most once, and not for --input too");
  const Lines hypotheses = read_lines(args.input), references = read_lines(args.references.front());
  const double percent = exact_match(hypotheses, references);
  const Json result{{"exact_match", percent}, {"lines", hypotheses.size()}};
  std::cout << (args.json ? json_text(result)
                          : concat("exact match = ", percent, " % of ", hypotheses.size(), " lines"))
            << '\n';
  return 0;
}

}  // namespace

void add_evaluate_exact_match_command(Program& program) {
  const auto args = std::make_shared<ExactMatchArgs>();
  OptionTable& table = program.command("evaluate exact-match", "share of lines that equal the reference byte for byte",
                                       [args] { return evaluate_exact_match(*args); });
  table.add("--reference,--references,-r", args->references, "FILE", "reference, aligned line by line");
  table.required("reference");
  table.add("--input,-i", args->input, "FILE", "hypotheses; default: standard input");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
