#include "gyre/data/text/cleaning/clean_corpus.h"

#include <algorithm>
#include <memory>

#include "gyre/core/error.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/cleaning/corpus_reader.h"
#include "gyre/data/text/cleaning/pair_filter.h"

namespace gyre {

namespace {

constexpr size_t kBlockRows = 16384;
constexpr uint64_t kBlockBytes = uint64_t{32} << 20;

// Keeps the columns of the report apart, whatever a file is called.
std::string one_column(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

// The outputs of all sides, which appear together.
class Outputs {
 public:
  explicit Outputs(const CleaningFiles& files)
      : kept_{open(files.output_source), open(files.output_target)},
        held_out_{open(files.holdout_source), open(files.holdout_target)},
        report_(open(files.report)) {
    if (report_) report_->write("pair\tfile\tline\treason\tdetail\n");
  }
  void keep(const std::array<std::string, 2>& text) { write(kept_, text); }
  void hold_out(const std::array<std::string, 2>& text) { write(held_out_, text); }
  void report(const CorpusRow& row, const Path& path, const FilteredPair& filtered) {
    if (!report_) return;
    report_->write(concat(row.pair == 0 ? "-" : std::to_string(row.pair), "\t", one_column(path.string()), "\t",
                          row.line, "\t", enum_name(*filtered.reason), "\t", one_column(filtered.detail), "\n"));
  }
  void commit() {
    const auto for_each = [&](auto&& call) {
      for (const auto* files : {&kept_, &held_out_}) {
        for (const auto& file : *files) {
          if (file) call(*file);
        }
      }
      if (report_) call(*report_);
    };
    for_each([](AtomicFile& file) { file.flush(); });
    for_each([](AtomicFile& file) { file.commit(); });
  }

 private:
  using Sides = std::array<std::unique_ptr<AtomicFile>, 2>;

  static std::unique_ptr<AtomicFile> open(const Path& path) {
    return path.empty() ? nullptr : std::make_unique<AtomicFile>(path);
  }
  static void write(Sides& files, const std::array<std::string, 2>& text) {
    for (size_t side = 0; side < 2; ++side) {
      if (!files[side]) continue;
      files[side]->write(text[side]);
      files[side]->write("\n");
    }
  }

  Sides kept_, held_out_;
  std::unique_ptr<AtomicFile> report_;
};

class Cleaner {
 public:
  Cleaner(const CleaningFiles& files, const CleaningOptions& options)
      : options_(options),
        reader_(files.sources, files.targets, options.drop_unpaired),
        filter_(options, files.sides()),
        outputs_(files) {
    summary_.excluded.resize(options.excluded.size());
  }

  CleaningSummary run() {
    std::vector<CorpusRow> rows;
    std::vector<FilteredPair> filtered;
    while (reader_.next(rows, kBlockRows, kBlockBytes)) {
      filtered.resize(rows.size());
      parallel_for(rows.size(), 64, [&](size_t i) { filtered[i] = filter(rows[i]); });
      for (size_t i = 0; i < rows.size(); ++i) finish(rows[i], filtered[i]);
    }
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

  FilteredPair filter(CorpusRow& row) const {
    if (row.pair == 0) {
      FilteredPair unpaired;
      unpaired.reason = DropReason::unpaired;
      unpaired.side = row.unpaired_side;
      return unpaired;
    }
    if (!is_held_out(row)) return filter_.apply(row.text);
    for (std::string& line : row.text) line = filter_.written(std::move(line));
    return {};
  }

  // Takes rows in the order of the input.
  void finish(const CorpusRow& row, FilteredPair& filtered) {
    if (is_held_out(row)) {
      outputs_.hold_out(row.text);
      ++summary_.held_out;
      return;
    }
    if (!filtered.reason && options_.remove_duplicates) {
      if (const uint64_t first = seen_.find_or_add(filtered.hash, row.pair)) {
        filtered.reason = DropReason::duplicate;
        filtered.detail = concat("of pair ", first);
      }
    }
    if (!filtered.reason) {
      outputs_.keep(row.text);
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
