// gyre data normalize | tokenize | detokenize: the text processing of Moses.
#include <memory>
#include <optional>
#include <string>

#include "gyre/core/clock.h"
#include "gyre/data/text/moses/moses_tokenizer.h"
#include "gyre/data/text/moses/punctuation.h"
#include "tools/commands/line_filter.h"
#include "tools/commands/text_progress.h"
#include "tools/program.h"

namespace gyre {
namespace {

struct MosesFilter {
  std::optional<MosesLanguage> language;
  LineFilter lines;

  void add_language_row(OptionTable& table);
  void add_rows(OptionTable& table);  // rows of LineFilter

  // Writes the transformed lines of the input to the output, and the speed to standard error.
  void run(const LineTransform& transform) const;
};

struct NormalizationOptions {
  PunctuationOptions punctuation;
  bool removes_non_printing = false;

  void add_rows(OptionTable& table);

  // Returns the normalization of one line: punctuation, if asked for, then unprintable characters.
  LineTransform transform(MosesLanguage language, bool normalizes_punctuation) const;
};

void MosesFilter::add_language_row(OptionTable& table) {
  table.add({"--language,-l", one_of(&language, ""), "", "language of the text"});
  table.required("language");
}

void MosesFilter::add_rows(OptionTable& table) {
  lines.add_rows(table, "text, one sentence per line", "file to write");
}

void MosesFilter::run(const LineTransform& transform) const {
  const Stopwatch clock;
  const FilterCounts counts = lines.run(transform);
  print_text_rate(counts.bytes, clock.seconds());
}

void NormalizationOptions::add_rows(OptionTable& table) {
  table.add_flag("--perl-quotes", punctuation.perl_quotes,
                 "convert quotes exactly as normalize-punctuation.perl does, like perl_parity of sacremoses: a right "
                 "single quote that is no apostrophe within a word becomes a double quote");
  table.add_flag("--remove-non-printing", removes_non_printing,
                 "then replace control, format, private and unassigned characters by spaces, like "
                 "remove-non-printing-char.perl");
}

LineTransform NormalizationOptions::transform(MosesLanguage language, bool normalizes_punctuation) const {
  const PunctuationNormalizer normalizer(language, punctuation);
  return [normalizer, normalizes_punctuation, removes = removes_non_printing](const std::string& line) {
    std::string text = normalizes_punctuation ? normalizer.normalize(line) : line;
    return removes ? remove_non_printing(text) : text;
  };
}

// ---- gyre data normalize: normalizes punctuation as normalize-punctuation.perl does --------------------------------

struct NormalizeArgs {
  MosesFilter filter;
  NormalizationOptions normalization;
};

int normalize(const NormalizeArgs& args) {
  args.filter.run(args.normalization.transform(*args.filter.language, true));
  return 0;
}

}  // namespace

void add_data_normalize_command(Program& program) {
  auto args = std::make_shared<NormalizeArgs>();
  OptionTable& table =
      program.command("data normalize", "normalize punctuation, like Moses", [args] { return normalize(*args); });
  args->filter.add_language_row(table);
  args->normalization.add_rows(table);
  args->filter.add_rows(table);
}

namespace {

// ---- gyre data tokenize: splits text into the tokens of the Moses tokenizer ----------------------------------------

struct TokenizeArgs {
  MosesFilter filter;
  NormalizationOptions normalization;
  MosesOptions moses;
  bool normalizes_punctuation = false;
  const OptionTable* table = nullptr;
};

int tokenize(const TokenizeArgs& args) {
  args.table->reject_unused("perl-quotes", args.normalizes_punctuation, "--normalize-punctuation is not given");
  const LineTransform normalize = args.normalization.transform(*args.filter.language, args.normalizes_punctuation);
  const MosesTokenizer tokenizer(*args.filter.language, args.moses);
  args.filter.run([&](const std::string& line) { return tokenizer.tokenize(normalize(line)); });
  return 0;
}

}  // namespace

void add_data_tokenize_command(Program& program) {
  auto args = std::make_shared<TokenizeArgs>();
  OptionTable& table = program.command("data tokenize", "split text into the tokens of the Moses tokenizer",
                                       [args] { return tokenize(*args); });
  args->table = &table;
  args->filter.add_language_row(table);
  table.add_flag("--escape,!--no-escape", args->moses.escape,
                 "write & | < > ' \" [ ] as entities; --no-escape: as they are");
  table.add_flag("--aggressive-hyphens,-a", args->moses.aggressive_hyphens,
                 "split hyphens within words: well @-@ known");
  table.add_flag("--normalize-punctuation", args->normalizes_punctuation,
                 "normalize punctuation first, like gyre data normalize");
  args->normalization.add_rows(table);
  args->filter.add_rows(table);
}

namespace {

// ---- gyre data detokenize: joins the tokens of the Moses tokenizer to text -----------------------------------------

int detokenize(const MosesFilter& filter) {
  const MosesDetokenizer detokenizer(*filter.language);
  filter.run([&](const std::string& line) { return detokenizer.detokenize(line); });
  return 0;
}

}  // namespace

void add_data_detokenize_command(Program& program) {
  auto filter = std::make_shared<MosesFilter>();
  OptionTable& table = program.command("data detokenize", "join the tokens of the Moses tokenizer to text",
                                       [filter] { return detokenize(*filter); });
  filter->add_language_row(table);
  filter->add_rows(table);
}

}  // namespace gyre
