#include "gyre/data/text/cleaning/clean_corpus.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "gyre/core/error.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/cleaning/corpus_reader.h"
#include "gyre/data/text/cleaning/pair_filter.h"

namespace gyre {

namespace {

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

  // Whether a line of a corpus without targets ends a document in training.
  bool ends_document(const CorpusRow& row) const {
    if (reader_.sides() == 2 || reader_.has_documents()) return false;
    return is_blank(row.text[0]) || is_document_separator(row.text[0]);
  }

  FilteredPair filter(CorpusRow& row) const {
    if (row.pair == 0) {
      FilteredPair unpaired;
      unpaired.reason = DropReason::unpaired;
      unpaired.side = row.unpaired_side;
      return unpaired;
    }
    if (is_held_out(row)) {
      for (std::string& line : row.text) line = filter_.written(std::move(line));
      return {};
    }
    FilteredPair filtered = filter_.apply(row.text);
    if (!filtered.reason && finds_near_duplicates()) filtered.signature = near_.signature(filtered.words);
    filtered.words = {};
    return filtered;
  }

  // Takes rows in the order of the input.
  void finish(const CorpusRow& row, FilteredPair& filtered) {
    if (is_held_out(row)) {
      outputs_.hold_out(row);
      ++summary_.held_out;
      return;
    }
    if (ends_document(row)) {
      outputs_.end_document(is_blank(row.text[0]) ? "" : row.text[0]);
      ++summary_.boundaries;
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

}  // namespace gyre
