#include "gyre/data/text/cleaning/pair_filter.h"

#include <algorithm>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/data/text/cleaning/compared_words.h"
#include "gyre/data/text/cleaning/whitespace.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"

namespace gyre {
ExcludedDocuments::ExcludedDocuments(const std::vector<Path>& files, const DocumentFormat& format, size_t words)
    : index_(words) {
  for (size_t file = 0; file < files.size(); ++file) {
    DocumentText text(TextInputs{files[file]}, format, OnBadLine::skip);
    for (DocumentPart part; text.next(part);) {
      index_.add(compared_words(part.text));
      places_.push_back({file, part.line, 0});
    }
    for (const LineReport& report : text.reports()) report.require_clean(OnBadLine::by_kind, "");
  }
}

std::optional<ExcludedDocuments::Place> ExcludedDocuments::find(std::span<const uint64_t> words) const {
  const std::vector<NgramIndex::Match> matches = index_.find(words, true);
  if (matches.empty()) return std::nullopt;
  Place place = places_[matches.front().text];
  place.words = matches.front().words;
  return place;
}

ExcludedLines::ExcludedLines(std::vector<Path> files, bool remove_pipes)
    : files_(std::move(files)), remove_pipes_(remove_pipes) {
  for (size_t file = 0; file < files_.size(); ++file) read(file);
}

void ExcludedLines::read(size_t file) {
  LineStream lines(files_[file]);
  require(lines.input().kind() == TextKind::text, "[data] ", lines.name(), ": expected lines of text, got JSON lines");
  for (std::string line; lines.next(line);) {
    if (const auto at = first_invalid_utf8(line))
      throw Error("[data] ", lines.name(), ":", lines.line(), ": ", name_byte(line, *at), " is not UTF-8");
    if (remove_pipes_) std::erase(line, '|');
    std::string folded = fold_line(line);
    if (!folded.empty()) places_.try_emplace(std::move(folded), Place{file, lines.line()});
  }
}

std::optional<ExcludedLines::Place> ExcludedLines::find(std::string_view text) const {
  const auto found = places_.find(fold_line(text));
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

namespace {

constexpr std::array<const char*, 2> kSideNames{"source", "target"};

bool drop(FilteredPair& result, DropReason reason, size_t side, std::string detail) {
  result.reason = reason;
  result.side = int(side);
  result.detail = std::move(detail);
  return true;
}

}  // namespace

PairFilter::PairFilter(const CleaningOptions& options, int sides, const std::optional<DocumentFormat>& documents)
    : options_(options),
      sides_(size_t(sides)),
      excluded_(documents ? std::vector<Path>() : options.excluded, options.remove_pipes) {
  if (documents) excluded_documents_.emplace(options.excluded, *documents, options.excluded_words);
}

std::string PairFilter::written(std::string text) const {
  if (options_.remove_pipes) std::erase(text, '|');
  if (!options_.normalize_whitespace) return text;
  std::string squeezed;
  std::string_view rest = text;
  for (std::string_view line; take_line(rest, line);) squeezed += squeeze_whitespace(line) + (rest.empty() ? "" : "\n");
  return squeezed;
}

FilteredPair PairFilter::apply(std::array<std::string, 2>& text) const {
  FilteredPair result;
  if (is_invalid(text, result)) return result;
  for (size_t side = 0; side < sides_; ++side) text[side] = written(std::move(text[side]));
  if (has_bad_lengths(text, result) || has_same_text(text, result) || is_excluded(text, result)) return result;
  if (options_.remove_duplicates) result.hash = pair_key(hash_text(text[0]), hash_text(text[1]));
  if (!excluded_documents_ || (excluded_documents_->empty() && options_.near_duplicates.similarity == 0)) return result;
  result.words = compared_words(text[0]);
  is_excluded_document(result);
  return result;
}

bool PairFilter::is_invalid(const std::array<std::string, 2>& text, FilteredPair& result) const {
  for (size_t side = 0; side < sides_; ++side) {
    if (const auto at = first_invalid_utf8(text[side]))
      return drop(result, DropReason::invalid_utf8, side, concat(kSideNames[side], " ", name_byte(text[side], *at)));
  }
  return false;
}

bool PairFilter::has_bad_lengths(const std::array<std::string, 2>& text, FilteredPair& result) const {
  std::array<LineWords, 2> counts;
  for (size_t side = 0; side < sides_; ++side) counts[side] = measure_words(text[side]);
  std::array<uint64_t, 2> lengths{};
  // Drops the pair if `value` of a side is bad.
  const auto check = [&](DropReason reason, std::string_view unit, auto&& value, auto&& is_bad) {
    for (size_t side = 0; side < sides_; ++side) {
      const uint64_t got = value(side);
      if (is_bad(got)) return drop(result, reason, side, concat(kSideNames[side], " ", counted(got, unit)));
    }
    return false;
  };
  const auto words = [&](size_t side) { return counts[side].words; };
  const auto over = [](uint64_t limit) { return [limit](uint64_t got) { return limit > 0 && got > limit; }; };
  const auto under = [](uint64_t limit) { return [limit](uint64_t got) { return got < limit; }; };
  if (check(DropReason::empty, "word", words, under(1))) return true;
  if (check(
          DropReason::max_bytes, "byte", [&](size_t side) { return text[side].size(); }, over(options_.max_bytes)))
    return true;
  for (size_t side = 0; side < sides_; ++side)
    lengths[side] = options_.length_of ? options_.length_of(text[side]) : counts[side].words;
  const std::string_view unit = options_.length_of ? "token" : "word";
  const auto length = [&](size_t side) { return lengths[side]; };
  if (check(DropReason::min_length, unit, length, under(options_.min_length))) return true;
  if (check(DropReason::max_length, unit, length, over(options_.max_length))) return true;
  if (sides_ == 2 && options_.max_ratio > 0) {
    const auto [shorter, longer] = std::minmax(lengths[0], lengths[1]);
    if (double(longer) > options_.max_ratio * double(shorter))
      return drop(result, DropReason::max_ratio, 0, concat(lengths[0], " : ", lengths[1], " ", unit, "s"));
  }
  return check(
      DropReason::max_characters, "character", [&](size_t side) { return counts[side].longest; },
      over(options_.max_characters));
}

bool PairFilter::is_excluded_document(FilteredPair& result) const {
  const auto place = excluded_documents_->find(result.words);
  if (!place) return false;
  result.excluded_file = place->file;
  return drop(result, DropReason::excluded, 0,
              concat(counted(place->words, "word"), " = ", options_.excluded[place->file].string(), ":", place->line));
}

bool PairFilter::has_same_text(const std::array<std::string, 2>& text, FilteredPair& result) const {
  if (!options_.drop_same_text || squeeze_whitespace(text[0]) != squeeze_whitespace(text[1])) return false;
  return drop(result, DropReason::same_text, 0, "");
}

bool PairFilter::is_excluded(const std::array<std::string, 2>& text, FilteredPair& result) const {
  if (excluded_.empty()) return false;
  std::optional<ExcludedLines::Place> first;
  size_t first_side = 0;
  for (size_t side = 0; side < sides_; ++side) {
    const auto place = excluded_.find(text[side]);
    if (!place || (first && first->file <= place->file)) continue;
    first = place;
    first_side = side;
  }
  if (!first) return false;
  result.excluded_file = first->file;
  return drop(result, DropReason::excluded, first_side,
              concat(kSideNames[first_side], " = ", excluded_.files()[first->file].string(), ":", first->line));
}

}  // namespace gyre
