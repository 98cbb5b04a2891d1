// gyre encode and gyre decode: convert lines of text to pieces or ids of a vocabulary, and back.
#include <memory>

#include "gyre/data/text/line_stream.h"
#include "gyre/data/tokenizer/piece_notation.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "tools/command_line/messages.h"
#include "tools/commands/line_filter.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PiecesArgs {
  Path vocabulary;
  TokenizerChoice tokenizer;
  bool ids = false, targets = false;
  LineFilter filter;
};

// The vocabulary of the file, or of a pair the side that --targets chooses.
const Vocabulary& side_of(const PiecesArgs& args, const Vocabulary& all) {
  require(!args.targets || all.kind() == "pair", "[--targets] expected a pair of vocabularies, got ", all.kind());
  return all.side(args.targets ? 1 : 0);
}

int encode(const PiecesArgs& args) {
  const auto loaded = load_vocabulary(args.vocabulary, args.tokenizer);
  const Vocabulary& vocabulary = side_of(args, *loaded);
  if (const std::string note = vocabulary.note(); !note.empty()) print_message(note);
  const PieceNotation notation(vocabulary);
  const auto written = [&](const std::string& line) {
    const std::vector<int32_t> ids = vocabulary.encode(line);
    return args.ids ? write_ids(ids) : notation.write(ids);
  };
  args.filter.run(written, {args.vocabulary, args.tokenizer.dictionary});
  return 0;
}

int decode(const PiecesArgs& args) {
  const auto loaded = load_vocabulary(args.vocabulary);
  const Vocabulary& vocabulary = side_of(args, *loaded);
  const PieceNotation notation(vocabulary);
  const auto text = [&](const std::string& line) {
    return one_line(vocabulary.decode(args.ids ? read_ids(line, vocabulary.size()) : notation.read(line)));
  };
  args.filter.run(text, {args.vocabulary});
  return 0;
}

void add_vocabulary_row(OptionTable& table, PiecesArgs& args, const char* help) {
  table.add("--vocab,--vocabs,-v", args.vocabulary, "FILE", help);
  table.required("vocab");
  table.add_flag("--targets", args.targets, "of a pair of vocabularies, use that of the targets");
}

}  // namespace

void add_encode_command(Program& program) {
  auto args = std::make_shared<PiecesArgs>();
  OptionTable& table =
      program.command("encode", "show the pieces or ids of lines of text", [args] { return encode(*args); });
  add_vocabulary_row(table, *args, "vocabulary from gyre vocab");
  table.add_options(args->tokenizer);
  table.add_flag("--ids", args->ids, "write ids instead of pieces");
  args->filter.add_rows(table, "text, one sentence per line", "pieces separated by spaces");
}

void add_decode_command(Program& program) {
  auto args = std::make_shared<PiecesArgs>();
  OptionTable& table =
      program.command("decode", "join lines of pieces or ids to text", [args] { return decode(*args); });
  add_vocabulary_row(table, *args, "vocabulary that encoded the lines");
  table.add_flag("--ids", args->ids, "read ids instead of pieces");
  args->filter.add_rows(table, "pieces as gyre encode writes them", "text");
}

}  // namespace gyre
