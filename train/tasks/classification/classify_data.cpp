#include "gyre/train/tasks/classification/classify_data.h"

#include <spdlog/spdlog.h>

#include <numeric>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/train/tasks/labeled_input.h"

namespace gyre {

LabeledIds read_labeled_rows(const Path& file, const ClassifyOptions& options, const Vocabulary& vocabulary) {
  const LabeledText text(file, options.format, parse_on_bad_line(options.data.on_bad_line));
  LabeledIds rows(text, vocabulary, options.data.max_length);
  spdlog::info("{}; {} truncated to {} tokens", text.describe(), counted(rows.truncated(), "row"),
               options.data.max_length);
  return rows;
}

ClassifyData::ClassifyData(const ClassifyOptions& options, const EncoderOnlyConfig& encoder,
                           const Vocabulary& vocabulary, LossFunction<LabeledInput> loss, int micro_batches)
    : name_(options.data.train_sets.at(0).string()),
      rows_(read_labeled_rows(options.data.train_sets.at(0), options, vocabulary)),
      encoder_(encoder),
      batches_({name_, rows_.size(), 1, [this](size_t row, int) { return uint64_t(rows_.length(row)); }}, options.batch,
               options.seed, micro_batches),
      loss_(std::move(loss)) {}

std::string ClassifyData::describe() const {
  uint64_t ids = 0;
  for (size_t row = 0; row < rows_.size(); ++row) ids += uint64_t(rows_.length(row));
  return concat(counted(rows_.size(), "row"), ", ", counted(ids, "token"));
}

RankBatch ClassifyData::batch(size_t i, MicroBatchRange own) const {
  const std::span<const uint32_t> indices = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = batch.predictions = indices.size();
  for (const uint32_t row : indices) batch.target_tokens += uint64_t(rows_.length(row));
  const std::vector<std::vector<uint32_t>> micro_batches = batches_.micro_batches(indices);
  for (int s = own.begin; s < own.end; ++s) {
    const std::vector<uint32_t>& rows = micro_batches[size_t(s)];
    batch.micro_batches.push_back(make_micro_batch(loss_, labeled_input(rows_.batch(rows), encoder_), rows.size()));
  }
  return batch;
}

}  // namespace gyre
