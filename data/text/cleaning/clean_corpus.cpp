#include "gyre/data/text/cleaning/clean_corpus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/cleaning/corpus_reader.h"
#include "gyre/data/text/cleaning/text_comparison.h"
#include "gyre/data/text/cleaning/whitespace.h"
#include "gyre/data/text/document_text.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

void CleaningOptions::validate(int sides) const {
  if (max_length > 0)
    expect(min_length <= max_length, "--min-length", concat("at most --max-length ", max_length), min_length);
  if (max_ratio != 0) expect_finite_at_least(1, "--max-ratio", max_ratio);
  near_duplicates.validate();
  expect_between<uint64_t>(2, 1000, "--exclude-words", excluded_words);
  if (sides == 2 && documents) throw UsageError("--documents needs a corpus without --target");
  if (sides == 2) return;
  if (max_ratio != 0) throw UsageError("--max-ratio needs --target");
  if (drop_same_text) throw UsageError("--same-text needs --target");
  if (drop_unpaired) throw UsageError("--unpaired needs --target");
}

namespace {

// The documents of validation and test sets, whose text a training corpus must not contain.
class ExcludedDocuments {
 public:
  struct Place {
    size_t file = 0;  // index of the file of the first document that has the words
    uint64_t line = 0;
    uint64_t words = 0;  // number of words that both have in this order
  };

  // words: the length of the runs that are looked for (NgramIndex). Throws Error if a file cannot be read, is not UTF-8
  // or has JSON lines without a text.
  ExcludedDocuments(const std::vector<Path>& files, const DocumentFormat& format, size_t words);
  bool empty() const { return places_.empty(); }
  // The place of the first run of words (compared_words()) that is excluded. Thread-safe.
  std::optional<Place> find(std::span<const uint64_t> words) const;

 private:
  NgramIndex index_;
  std::vector<Place> places_;  // place of each text of the index
};

// The lines of test sets, which a training corpus must not contain. Compares lines by fold_line(). Blank lines are
// ignored.
class ExcludedLines {
 public:
  struct Place {
    size_t file = 0;  // index of the first file that has the line
    uint64_t line = 0;
  };

  // remove_pipes: deletes every '|' of the files, for texts that have lost theirs. Throws Error if a file cannot be
  // read or is not UTF-8.
  ExcludedLines(std::vector<Path> files, bool remove_pipes);
  bool empty() const { return places_.empty(); }
  const std::vector<Path>& files() const { return files_; }
  // The place of an equal line. The text must be valid UTF-8. Thread-safe.
  std::optional<Place> find(std::string_view text) const;

 private:
  void read(size_t file);

  std::vector<Path> files_;
  bool remove_pipes_;
  std::unordered_map<std::string, Place> places_;
};

struct FilteredPair {
  std::optional<DropReason> reason;     // empty: the pair stays, unless it is a duplicate
  bool ends_document = false;           // the line is a boundary of documents, and no line to filter
  int side = 0;                         // the side at fault, where it is only one
  std::string detail;                   // text of the report: "target 260 words"
  size_t excluded_file = 0;             // index of the test set, if the reason is `excluded`
  TextHash hash;                        // hash of the pair as it is written, if duplicates are removed
  std::vector<uint64_t> words;          // words of a document that stays (compared_words()), if they are compared
  NearDuplicates::Signature signature;  // signature of a document, if near-duplicates are removed
};

// Decides for each pair of lines, or for each document, whether it stays in a corpus.
class PairFilter {
 public:
  // sides: 2, or 1 for a monolingual corpus. documents: that of its rows, or nullopt for lines. Reads the test sets.
  PairFilter(const CleaningOptions& options, int sides, const std::optional<DocumentFormat>& documents);

  // Replaces the lines by the form in which they are written, and applies all filters but those of whole files
  // (unpaired, duplicate, near_duplicate). Thread-safe.
  FilteredPair apply(std::array<std::string, 2>& text) const;
  // The form in which a line or a document is written.
  std::string written(std::string text) const;

 private:
  bool is_invalid(const std::array<std::string, 2>& text, FilteredPair& result) const;
  bool has_bad_lengths(const std::array<std::string, 2>& text, FilteredPair& result) const;
  bool has_same_text(const std::array<std::string, 2>& text, FilteredPair& result) const;
  bool is_excluded(const std::array<std::string, 2>& text, FilteredPair& result) const;
  bool is_excluded_document(FilteredPair& result) const;

  CleaningOptions options_;
  size_t sides_;
  ExcludedLines excluded_;
  std::optional<ExcludedDocuments> excluded_documents_;  // documents that a corpus of documents must not contain
};

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
  lines.input().require_documents();
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

constexpr std::array<const char*, 2> kSideNames{"source", "target"};

bool drop(FilteredPair& result, DropReason reason, size_t side, std::string detail) {
  result.reason = reason;
  result.side = int(side);
  result.detail = std::move(detail);
  return true;
}

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

constexpr size_t kCleanedRows = 16384;
constexpr uint64_t kCleanedBytes = uint64_t{32} << 20;

// Keeps the columns of the report apart, whatever a file is called.
std::string one_column(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

// How rows are written.
struct RowFormat {
  bool is_json = false;
  std::string text_field;
  std::optional<std::string> between{};  // the line between documents: blank, or a separator
};

RowFormat format_of(const CorpusReader& reader, const CleaningFiles& files, const CleaningOptions& options) {
  const DocumentFormat documents = options.documents.value_or(DocumentFormat());
  RowFormat format{.text_field = documents.text_field};
  format.is_json = reader.has_json() || (reader.has_documents() && files.output_source.extension() == ".jsonl");
  if (reader.has_documents() && !format.is_json && !(documents.end == DocumentEnd::line))
    format.between = documents.end.text();
  return format;
}

// The outputs of all sides, which appear together.
class Outputs {
 public:
  Outputs(const CleaningFiles& files, RowFormat format)
      : format_(std::move(format)),
        kept_{{open(files.output_source), open(files.output_target)}},
        held_out_{{open(files.holdout_source), open(files.holdout_target)}},
        report_(open(files.report)) {
    if (report_) report_->write("pair\tfile\tline\treason\tdetail\n");
  }
  void keep(const CorpusRow& row) { write(kept_, row); }
  void hold_out(const CorpusRow& row) { write(held_out_, row); }
  // Writes the line that ends a document, blank or a separator, between the last kept line and the next one.
  void end_document(const std::string& line) {
    if (kept_.is_begun && (!kept_.due || kept_.due->empty())) kept_.due = line;
  }
  void report(const CorpusRow& row, const Path& path, const FilteredPair& filtered) {
    if (!report_) return;
    report_->write(concat(row.pair == 0 ? "-" : std::to_string(row.pair), "\t", one_column(path.string()), "\t",
                          row.line, "\t", enum_name(*filtered.reason), "\t", one_column(filtered.detail), "\n"));
  }
  void commit() {
    const auto for_each = [&](auto&& call) {
      for (const auto* side : {&kept_, &held_out_}) {
        for (const auto& file : side->files) {
          if (file) call(*file);
        }
      }
      if (report_) call(*report_);
    };
    for (Sides* sides : {&kept_, &held_out_}) {
      const bool is_separator = sides->due && !sides->due->empty();
      if (is_separator && sides->files[0]) sides->files[0]->write(*sides->due + "\n");
    }
    for_each([](AtomicFile& file) { file.flush(); });
    for_each([](AtomicFile& file) { file.commit(); });
  }

 private:
  struct Sides {
    std::array<std::unique_ptr<AtomicFile>, 2> files{};
    bool is_begun = false;             // whether a row was written
    std::optional<std::string> due{};  // a line before the next row
  };

  static std::unique_ptr<AtomicFile> open(const Path& path) {
    return path.empty() ? nullptr : std::make_unique<AtomicFile>(path);
  }
  void write(Sides& sides, const CorpusRow& row) {
    for (size_t side = 0; side < 2; ++side) {
      const auto& file = sides.files[side];
      if (!file) continue;
      if (sides.due) file->write(*sides.due + "\n");
      file->write(format_.is_json ? json_of(row) : row.text[side]);
      file->write("\n");
    }
    sides.is_begun = true;
    sides.due = format_.between;
  }
  std::string json_of(const CorpusRow& row) const {
    return row.json.empty() ? json_line_of(format_.text_field, row.text[0])
                            : with_text(row.json, format_.text_field, row.text[0]);
  }

  RowFormat format_;
  Sides kept_, held_out_;
  std::unique_ptr<AtomicFile> report_;
};

class Cleaner {
 public:
  Cleaner(const CleaningFiles& files, const CleaningOptions& options)
      : options_(options),
        reader_(files.sources, files.targets, options.drop_unpaired, options.documents),
        filter_(options, files.sides(), documents()),
        near_(options.near_duplicates),
        outputs_(files, format_of(reader_, files, options)) {
    if (!reader_.has_documents() && finds_near_duplicates())
      throw UsageError("--near-duplicates compares documents: it needs --documents or JSON lines");
    summary_.excluded.resize(options.excluded.size());
    summary_.has_documents = reader_.has_documents();
  }

  CleaningSummary run() {
    std::vector<CorpusRow> rows;
    std::vector<FilteredPair> filtered;
    while (reader_.next(rows, kCleanedRows, kCleanedBytes)) {
      filtered.resize(rows.size());
      parallel_for(rows.size(), reader_.has_documents() ? 1 : 64, [&](size_t i) { filtered[i] = filter(rows[i]); });
      for (size_t i = 0; i < rows.size(); ++i) finish(rows[i], filtered[i]);
    }
    if (reader_.has_documents()) take_reports();
    outputs_.commit();
    summary_.bytes = reader_.bytes();
    summary_.pairs = reader_.pairs();
    for (size_t file = 0; file < reader_.pairs_of_files().size(); ++file) {
      summary_.inputs.push_back({reader_.path(file, 0), reader_.sides() == 2 ? reader_.path(file, 1) : Path(),
                                 reader_.pairs_of_files()[file]});
    }
    return std::move(summary_);
  }

 private:
  bool is_held_out(const CorpusRow& row) const {
    return options_.holdout_every > 0 && row.pair > 0 && row.pair % options_.holdout_every == 0;
  }

  std::optional<DocumentFormat> documents() const {
    if (!reader_.has_documents()) return std::nullopt;
    return options_.documents.value_or(DocumentFormat());
  }

  bool finds_near_duplicates() const { return options_.near_duplicates.similarity > 0; }

  // Throws an Error if no document could be read.
  void take_reports() {
    summary_.reports = reader_.reports();
    for (const LineReport& report : summary_.reports) {
      if (reader_.pairs() == 0) report.require_clean(OnBadLine::error, "; no document is left");
    }
  }

  // Whether a line of a corpus without targets ends a document in training; its pipes belong to the separator.
  bool ends_document(CorpusRow& row) const {
    std::string& line = row.text[0];
    if (reader_.sides() == 2 || reader_.has_documents() || first_invalid_utf8(line)) return false;
    std::string separator = options_.normalize_whitespace ? squeeze_whitespace(line) : line;
    if (!is_blank(separator) && !is_document_separator(separator)) return false;
    line = std::move(separator);
    return true;
  }

  FilteredPair filter(CorpusRow& row) const {
    if (row.pair == 0) {
      FilteredPair unpaired;
      unpaired.reason = DropReason::unpaired;
      unpaired.side = row.unpaired_side;
      return unpaired;
    }
    FilteredPair filtered;
    filtered.ends_document = ends_document(row);
    if (filtered.ends_document) return filtered;
    if (is_held_out(row)) {
      for (std::string& line : row.text) line = filter_.written(std::move(line));
      return filtered;
    }
    filtered = filter_.apply(row.text);
    if (!filtered.reason && finds_near_duplicates()) filtered.signature = near_.signature(filtered.words);
    filtered.words = {};
    return filtered;
  }

  // Takes rows in the order of the input.
  void finish(const CorpusRow& row, FilteredPair& filtered) {
    if (filtered.ends_document) {
      outputs_.end_document(is_blank(row.text[0]) ? "" : row.text[0]);
      ++summary_.boundaries;
      return;
    }
    if (is_held_out(row)) {
      outputs_.hold_out(row);
      ++summary_.held_out;
      return;
    }
    if (!filtered.reason && options_.remove_duplicates) {
      if (const uint64_t first = seen_.find_or_add(filtered.hash, row.pair)) {
        filtered.reason = DropReason::duplicate;
        filtered.detail = concat("of ", reader_.has_documents() ? "document " : "pair ", first);
      }
    }
    if (!filtered.reason && finds_near_duplicates()) {
      if (const auto match = near_.find_or_add(filtered.signature, row.pair)) {
        filtered.reason = DropReason::near_duplicate;
        filtered.detail =
            concat("similarity ", std::round(match->similarity * 100) / 100, " to document ", match->number);
      }
    }
    if (!filtered.reason) {
      outputs_.keep(row);
      ++summary_.kept;
      return;
    }
    ++summary_.dropped[size_t(*filtered.reason)];
    if (*filtered.reason == DropReason::unpaired) ++summary_.unpaired;
    if (*filtered.reason == DropReason::excluded) ++summary_.excluded[filtered.excluded_file];
    outputs_.report(row, reader_.path(row.file, filtered.side), filtered);
  }

  CleaningOptions options_;
  CorpusReader reader_;
  PairFilter filter_;
  NearDuplicates near_;
  Outputs outputs_;
  TextHashTable seen_;
  CleaningSummary summary_;
};

}  // namespace

CleaningSummary clean_corpus(const CleaningFiles& files, const CleaningOptions& options) {
  options.validate(files.sides());
  files.validate(options);
  return Cleaner(files, options).run();
}

// ---- Checks of the files of clean_corpus() -------------------------------------------------------------------------

namespace {

void require_given(const Path& path, bool is_needed, const char* flag, const char* needed_by) {
  if (is_needed && path.empty()) throw UsageError(flag, " is required with ", needed_by);
  if (!is_needed && !path.empty()) throw UsageError(flag, " needs ", needed_by);
}

}  // namespace

void CleaningFiles::validate(const CleaningOptions& options) const {
  const bool holds_out = options.holdout_every > 0;
  require_given(output_source, true, "--output-source", "--source");
  require_given(output_target, sides() == 2, "--output-target", "--target");
  require_given(holdout_source, holds_out, "--holdout-source", "--holdout-every");
  if (holds_out || sides() == 1) require_given(holdout_target, sides() == 2, "--holdout-target", "--target");
  if (!holds_out) require_given(holdout_target, false, "--holdout-target", "--holdout-every");
  const std::pair<const char*, const Path&> outputs[] = {{"--output-source", output_source},
                                                         {"--output-target", output_target},
                                                         {"--holdout-source", holdout_source},
                                                         {"--holdout-target", holdout_target},
                                                         {"--report", report}};
  for (const auto& [flag, path] : outputs) {
    if (path.empty()) continue;
    for (const auto* inputs : {&sources, &targets, &options.excluded}) require_no_input(path, *inputs, flag);
    for (const auto& [other_flag, other] : outputs) {
      if (&other == &path) break;
      if (!other.empty() && is_same_output(path, other))
        throw UsageError(flag, ": expected another file than ", other_flag, ", got ", path.string(), " for both");
    }
  }
}

}  // namespace gyre
