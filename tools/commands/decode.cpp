// gyre decode: joins lines of pieces or ids to plain text.
#include <memory>

#include "gyre/core/io/output_target.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/data/tokenizer/piece_notation.h"
#include "tools/line_filter.h"
#include "tools/options/cpu_threads.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct DecodeArgs {
  Path vocabulary, input, output;
  bool ids = false;
  CpuThreads threads;
};

int decode(const DecodeArgs& args) {
  require_no_input(args.output, {args.vocabulary});
  args.threads.use();
  const auto vocabulary = load_vocabulary(args.vocabulary);
  const PieceNotation notation(*vocabulary);
  filter_lines(args.input, args.output, [&](const std::string& line) {
    return one_line(vocabulary->decode(args.ids ? read_ids(line, vocabulary->size()) : notation.read(line)));
  });
  return 0;
}

}  // namespace

void add_decode_command(Program& program) {
  auto args = std::make_shared<DecodeArgs>();
  OptionTable& table =
      program.command("decode", "join lines of pieces or ids to text", [args] { return decode(*args); });
  table.add("--vocab,--vocabs,-v", args->vocabulary, "FILE", "vocabulary that encoded the lines");
  table.required("vocab");
  table.add_flag("--ids", args->ids, "read ids instead of pieces");
  table.add("--input,-i", args->input, "FILE", "pieces as gyre encode writes them; default: standard input");
  table.add("--output,-o", args->output, "FILE", "text; default: standard output");
  args->threads.add_row(table);
}

}  // namespace gyre
