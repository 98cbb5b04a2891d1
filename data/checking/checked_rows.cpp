#include "gyre/data/checking/checked_rows.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/cleaning/whitespace.h"

namespace gyre {
namespace {

constexpr size_t kCheckedRows = 8192, kChunkRows = 32;
constexpr uint64_t kCheckedBytes = uint64_t{16} << 20;

TextHash key_of(const std::vector<int32_t>& ids) {
  return hash_text({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof ids[0]});
}

}  // namespace

CheckedRows::CheckedRows(const std::vector<Path>& files, const Vocabulary& vocabulary, RowKeys keys, uint64_t every)
    : vocabulary_(vocabulary), keys_(keys), every_(every) {
  if (files.size() == 1) {
    store_.emplace(files[0]);
    store_->require_vocabulary(vocabulary);
    require(store_->sides() == 2, "[data] ", files[0].string(), ": expected a store of pairs, got one side");
    require(keys == RowKeys::ids, "[data] a store has no text to compare");
    return;
  }
  require(files.size() == 2, "[data] expected a source and a target file, or one token store, got ", files.size(),
          " files");
  text_ = std::make_unique<CorpusReader>(std::vector<Path>{files[0]}, std::vector<Path>{files[1]}, true);
}

bool CheckedRows::next(std::vector<CheckedRow>& rows) {
  if (store_) {
    rows.resize(std::min(kCheckedRows, store_->size() - sentence_));
    parallel_for(rows.size(), kChunkRows, [&](size_t i) { examine_store(sentence_ + i, rows[i]); });
    sentence_ += rows.size();
    return !rows.empty();
  }
  if (!text_->next(block_, kCheckedRows, kCheckedBytes)) return false;
  rows.resize(block_.size());
  parallel_for(rows.size(), kChunkRows, [&](size_t i) { examine_text(block_[i], rows[i]); });
  return true;
}

void CheckedRows::examine_text(const CorpusRow& text, CheckedRow& row) const {
  row = {};
  row.line = text.line;
  row.is_unpaired = text.pair == 0;
  row.is_usable = !row.is_unpaired;
  for (size_t side = 0; side < 2; ++side) {
    if (row.is_unpaired && int(side) != text.unpaired_side) continue;
    row.sides[side].faults = find_line_faults(text.text[side]);
    row.is_usable = row.is_usable && !row.sides[side].faults.is_unusable();
  }
  if (!row.is_usable) return;
  row.is_measured = keys_ == RowKeys::ids || row.line % every_ == 0;
  for (size_t side = 0; side < 2; ++side) {
    if (row.is_measured) row.sides[side].ids = vocabulary_.side(int(side)).encode(text.text[side]);
    row.sides[side].key = keys_ == RowKeys::ids ? key_of(row.sides[side].ids) : hash_text(fold_line(text.text[side]));
  }
}

void CheckedRows::examine_store(size_t sentence, CheckedRow& row) const {
  row = {};
  row.line = sentence + 1;
  row.is_usable = row.is_measured = true;
  for (int side = 0; side < 2; ++side) {
    row.sides[size_t(side)].ids = store_->sentence(sentence, side);
    row.sides[size_t(side)].key = key_of(row.sides[size_t(side)].ids);
  }
}

namespace {

uint64_t count_lines(const Path& path) {
  require(std::filesystem::is_regular_file(path), "--sample-lines: ", path.string(),
          ": expected a regular file, because it is read twice");
  LineStream lines(path);
  for (std::string line; lines.next(line);) continue;
  return lines.line();
}

class SetMeasurer {
 public:
  SetMeasurer(const DataSet& set, const Vocabulary& vocabulary, const MeasureOptions& options)
      : options_(options), unk_(vocabulary.unk()) {
    set_.role = set.role;
    set_.name = set.name;
    set_.is_store = set.files.size() == 1;
    if (options.sample_lines > 0 && options.keys == RowKeys::text) {
      const uint64_t lines = count_lines(set.files[0]);
      set_.every = std::max<uint64_t>(1, (lines + options.sample_lines - 1) / options.sample_lines);
    }
    for (size_t side = 0; side < 2; ++side) {
      set_.sides[side].path = set.files[set_.is_store ? 0 : side];
      set_.sides[side].frequencies.resize(size_t(vocabulary.size()));
    }
  }

  SetStatistics run(CheckedRows& rows, const std::function<void(const CheckedRow&)>& see) {
    std::vector<CheckedRow> block;
    while (rows.next(block)) {
      for (const CheckedRow& row : block) {
        add_faults(row);
        if (!row.is_usable) continue;
        add(row);
        see(row);
      }
    }
    for (int side = 0; side < 2; ++side) finish(set_.sides[size_t(side)], rows, side);
    return std::move(set_);
  }

  uint64_t every() const { return set_.every; }

 private:
  void add_faults(const CheckedRow& row) {
    if (row.is_unpaired) set_.unpaired.add(row.line);
    for (size_t side = 0; side < 2; ++side) {
      for (size_t fault = 0; fault < kLineFaults; ++fault) {
        if (row.sides[side].faults.has(LineFault(fault))) set_.sides[side].faults[fault].add(row.line);
      }
    }
  }

  void add(const CheckedRow& row) {
    ++set_.pairs;
    const TextHash& source = row.sides[0].key;
    const TextHash& target = row.sides[1].key;
    if (source == target) set_.copies.add(row.line);
    if (seen_.find_or_add(pair_key(source, target), row.line) != 0) set_.duplicates.add(row.line);
    if (!row.is_measured) return;
    for (size_t side = 0; side < 2; ++side) add_pieces(row.sides[side].ids, set_.sides[side], row.line);
    const std::array<uint32_t, 2> tokens{uint32_t(row.sides[0].ids.size() + 1), uint32_t(row.sides[1].ids.size() + 1)};
    const auto [shorter, longer] = std::minmax(tokens[0], tokens[1]);
    if (options_.max_length > 0 && longer > uint32_t(options_.max_length)) set_.over_length.add(row.line);
    if (longer >= SetStatistics::kOutlierTokens && double(longer) > SetStatistics::kOutlierRatio * double(shorter))
      set_.ratio_outliers.add(row.line);
    set_.lengths.push_back(tokens);
  }

  void add_pieces(const std::vector<int32_t>& ids, SideStatistics& side, uint64_t line) const {
    side.pieces += ids.size();
    for (const int32_t id : ids) ++side.frequencies[size_t(id)];
    const auto unknown = std::count(ids.begin(), ids.end(), unk_);
    side.unknown += uint64_t(unknown);
    if (unknown > 0) side.with_unknown.add(line);
  }

  void finish(SideStatistics& side, const CheckedRows& rows, int number) const {
    if (rows.is_store()) {
      side.lines = set_.pairs;
      return;
    }
    const LineStream& stream = rows.text().stream(number);
    side.lines = stream.line();
    side.has_byte_order_mark = stream.has_byte_order_mark();
    side.crlf_lines = stream.crlf_lines();
  }

  MeasureOptions options_;
  int32_t unk_;
  SetStatistics set_;
  TextHashTable seen_;
};

}  // namespace

std::string SetStatistics::place(uint64_t line) const {
  return is_store ? place(0, line) : sides[0].path.string() + " + " + place(1, line);
}

std::vector<std::string> SetStatistics::places(const LineList& list) const {
  std::vector<std::string> texts;
  for (const uint64_t line : list.first) texts.push_back(place(line));
  return texts;
}

std::vector<std::string> SetStatistics::places(int side, const LineList& list) const {
  std::vector<std::string> texts;
  for (const uint64_t line : list.first) texts.push_back(place(side, line));
  return texts;
}

SetStatistics measure_set(const DataSet& set, const Vocabulary& vocabulary, const MeasureOptions& options,
                          const std::function<void(const CheckedRow&)>& see) {
  SetMeasurer measurer(set, vocabulary, options);
  CheckedRows rows(set.files, vocabulary, options.keys, measurer.every());
  return measurer.run(rows, see);
}

}  // namespace gyre
