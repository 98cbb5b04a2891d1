// gyre encode: shows the pieces or ids of lines of text.
#include <memory>

#include "gyre/core/io/output_target.h"
#include "gyre/data/tokenizer/piece_notation.h"
#include "tools/line_filter.h"
#include "tools/options/cpu_threads.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct EncodeArgs {
  Path vocabulary, input, output;
  bool ids = false;
  CpuThreads threads;
};

int encode(const EncodeArgs& args) {
  require_no_input(args.output, {args.vocabulary});
  args.threads.use();
  const auto vocabulary = load_vocabulary(args.vocabulary);
  const PieceNotation notation(*vocabulary);
  filter_lines(args.input, args.output, [&](const std::string& line) {
    const std::vector<int32_t> ids = vocabulary->encode(line);
    return args.ids ? write_ids(ids) : notation.write(ids);
  });
  return 0;
}

}  // namespace

void add_encode_command(Program& program) {
  auto args = std::make_shared<EncodeArgs>();
  OptionTable& table =
      program.command("encode", "show the pieces or ids of lines of text", [args] { return encode(*args); });
  table.add("--vocab,--vocabs,-v", args->vocabulary, "FILE", "vocabulary from gyre vocab");
  table.required("vocab");
  table.add_flag("--ids", args->ids, "write ids instead of pieces");
  table.add("--input,-i", args->input, "FILE", "text, one sentence per line; default: standard input");
  table.add("--output,-o", args->output, "FILE", "pieces separated by spaces; default: standard output");
  args->threads.add_row(table);
}

}  // namespace gyre
