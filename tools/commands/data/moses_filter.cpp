#include "tools/commands/data/moses_filter.h"

#include "gyre/train/log/stopwatch.h"
#include "tools/commands/data/text_rate.h"

namespace gyre {

void MosesFilter::add_language_row(OptionTable& table) {
  table.add_choice("--language,-l", language, {"en", "de"}, "language of the text");
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

LineTransform NormalizationOptions::transform(const std::string& language, bool normalizes_punctuation) const {
  const PunctuationNormalizer normalizer(language, punctuation);
  return [normalizer, normalizes_punctuation, removes = removes_non_printing](const std::string& line) {
    std::string text = normalizes_punctuation ? normalizer.normalize(line) : line;
    return removes ? remove_non_printing(text) : text;
  };
}

}  // namespace gyre
