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
    if (row.is_measured) row.sides[side].ids = vocabulary_.encode(text.text[side]);
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

}  // namespace gyre
