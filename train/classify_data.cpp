#include "train/classify_data.h"

#include <spdlog/spdlog.h>

#include <numeric>

#include "core/counted.h"
#include "core/error.h"
#include "train/labelled_input.h"

namespace gyre {

LabelledIds read_labelled_rows(const Path& file, const ClassifyOptions& options, const Vocabulary& vocabulary) {
  const LabelledText text(file, options.format, parse_on_bad_line(options.on_bad_line));
  LabelledIds rows(text, vocabulary, options.max_length);
  spdlog::info("{}; {} cut to {} tokens", text.describe(), counted(rows.truncated(), "row"), options.max_length);
  return rows;
}

ClassifyData::ClassifyData(const ClassifyOptions& options, const EncoderOnlyConfig& encoder,
                           const Vocabulary& vocabulary, int shards)
    : name_(options.train_sets.at(0).string()),
      rows_(read_labelled_rows(options.train_sets.at(0), options, vocabulary)),
      encoder_(encoder),
      batches_({name_, rows_.size(), 1, [this](size_t row, int) { return uint64_t(rows_.length(row)); }}, options,
               shards) {}

std::string ClassifyData::describe() const {
  uint64_t ids = 0;
  for (size_t row = 0; row < rows_.size(); ++row) ids += uint64_t(rows_.length(row));
  return concat(counted(rows_.size(), "row"), ", ", counted(ids, "token"));
}

RankBatch ClassifyData::batch(size_t i, ShardRange own) const {
  const std::span<const uint32_t> indices = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = batch.predictions = indices.size();
  for (const uint32_t row : indices) batch.target_tokens += uint64_t(rows_.length(row));
  const std::vector<std::vector<uint32_t>> shards = batches_.shards(indices);
  for (int s = own.begin; s < own.end; ++s) {
    const std::vector<uint32_t>& rows = shards[size_t(s)];
    batch.shards.push_back({labelled_input(rows_.batch(rows), encoder_), rows.size()});
  }
  return batch;
}

}  // namespace gyre
