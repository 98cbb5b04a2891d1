#include "gyre/train/metrics/moses_bleu.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>

#include "gyre/data/text/moses/moses_tokenizer.h"
#include "gyre/train/metrics/code_points.h"

namespace gyre {
namespace {

constexpr std::u32string_view kSpaces = U" \t\n\v\f\r";  // white space of perl in text without an encoding

bool is_ascii_space(char c) { return kSpaces.find(char32_t(uint8_t(c))) != std::u32string_view::npos; }

std::vector<std::u32string> words(const std::string& line, bool lowercase) {
  std::u32string text = code_points(line);
  for (char32_t& c : text) {
    if (lowercase && c >= U'A' && c <= U'Z') c += U'a' - U'A';
  }
  std::vector<std::u32string> result;
  size_t begin = 0;
  while ((begin = text.find_first_not_of(kSpaces, begin)) != std::u32string::npos) {
    const size_t end = std::min(text.find_first_of(kSpaces, begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

void refuse_split_hyphens(const std::string& side, const Lines& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const auto& word : words(lines[i], false)) {
      require(word != U"@-@", "[compound-split] ", side, ", line ", i + 1,
              ": expected text whose hyphens are not split, got the token @-@ of tokenizer.perl -a; use the protocol "
              "multi-bleu, or detokenize the text");
    }
  }
}

// Brings lines into the form whose words are counted.
Lines prepare(const std::string& side, Lines lines, const MosesBleuOptions& options) {
  if (options.split_compounds) refuse_split_hyphens(side, lines);
  std::optional<MosesTokenizer> tokenizer;
  if (!options.tokenized) tokenizer.emplace(options.language);
  for (std::string& line : lines) {
    if (tokenizer) line = tokenizer->tokenize(options.split_compounds ? ascii_quotes(line) : line);
    if (options.split_compounds) line = split_compounds(line);
  }
  return lines;
}

}  // namespace

std::string split_compounds(std::string_view line) {
  std::string result;
  for (size_t i = 0; i < line.size(); ++i) {
    result += line[i];
    if (i + 2 >= line.size() || line[i + 1] != '-' || is_ascii_space(line[i]) || is_ascii_space(line[i + 2])) continue;
    result += " ##AT##-##AT## ";
    result += line[i += 2];
  }
  return result;
}

std::string ascii_quotes(std::string_view line) {
  std::u32string text = code_points(line);
  for (char32_t& c : text) {
    if (std::u32string_view(U"„“”‟«»").find(c) != std::u32string_view::npos) c = U'"';
    if (std::u32string_view(U"‚‘’‛‹›").find(c) != std::u32string_view::npos) c = U'\'';
  }
  return to_utf8(text);
}

SentenceStatistics moses_bleu_statistics(const Lines& hypotheses, const std::vector<Lines>& references,
                                         const MosesBleuOptions& options) {
  std::vector<Lines> prepared;
  for (size_t k = 0; k < references.size(); ++k) {
    prepared.push_back(prepare(concat("reference ", k + 1), references[k], options));
  }
  return bleu_statistics(prepare("hypotheses", hypotheses, options), prepared,
                         [&](const std::string& line) { return words(line, options.lowercase); });
}

BleuOptions moses_bleu_scoring() {
  BleuOptions options;
  options.smoothing = BleuSmoothing::none;
  return options;
}

std::string moses_bleu_signature(size_t references, const MosesBleuOptions& options) {
  std::string split;
  if (options.split_compounds) split = options.tokenized ? "|quotes:asis|split:atat" : "|quotes:ascii|split:atat";
  return fmt::format("nrefs:{}|case:{}|eff:no|tok:{}{}|smooth:none|impl:gyre", references,
                     options.lowercase ? "lc-ascii" : "mixed", options.tokenized ? "asis" : "moses-" + options.language,
                     split);
}

BleuScore corpus_moses_bleu(const Lines& hypotheses, const std::vector<Lines>& references,
                            const MosesBleuOptions& options) {
  BleuScore result = bleu_score(moses_bleu_statistics(hypotheses, references, options).sum(), moses_bleu_scoring());
  result.signature = moses_bleu_signature(references.size(), options);
  return result;
}

}  // namespace gyre
