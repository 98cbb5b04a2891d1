#include "gyre/data/batch/answer_batch.h"

#include <algorithm>
#include <utility>

#include "gyre/core/error.h"

namespace gyre {

AnswerSamples::AnswerSamples(const TokenStore& store, const SampleOptions& options, Part part)
    : store_(&store), options_(options) {
  require(store.sides() == 2, "[answers] ", store.name(), ": expected ids and answers, got a store of one side");
  require(options.max_length >= 3, "[answers] expected a length of at least 3, got ", options.max_length);
  for (size_t i = 0; i < store.size(); ++i) {
    if (part_of_document(i, options.validation_share) != part) continue;
    const size_t length = store.length(i, 0), kept = std::min(length, size_t(options.max_length));
    const std::vector<int32_t> is_answer = store.sentence(i, 1);
    const auto end = is_answer.begin() + ptrdiff_t(kept);
    if (std::find(is_answer.begin() + 1, end, 1) == end) {
      ++left_out_;
      continue;
    }
    cut_ += kept < length;
    samples_.push_back(uint32_t(i));
    rows_.push_back(int32_t(kept) - 1);
    tokens_ += kept;
  }
  require(size() > 0, "[answers] ", store.name(), ": none of its ", store.size(), " samples is for ",
          part == Part::training ? "training" : "validation", " with an answer in its first ", options.max_length,
          " tokens");
}

void AnswerSamples::append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const {
  const size_t first = ids.size();
  store_->append(samples_[sample], 0, ids);
  ids.resize(first + size_t(rows_[sample]));
  ends.push_back(int32_t(ids.size()));
}

void AnswerSamples::append_answers(size_t sample, int32_t first_row, std::vector<int32_t>& rows,
                                   std::vector<int32_t>& targets) const {
  const std::vector<int32_t> ids = store_->sentence(samples_[sample], 0),
                             is_answer = store_->sentence(samples_[sample], 1);
  for (int32_t row = 0; row < rows_[sample]; ++row) {
    if (is_answer[size_t(row) + 1] == 0) continue;
    rows.push_back(first_row + row);
    targets.push_back(ids[size_t(row) + 1]);
  }
}

MaskedBatch make_answer_batch(const SampleSource& samples, std::span<const uint32_t> indices) {
  require(samples.options().task == SampleOptions::Task::answers, "[answers] ", samples.name(),
          ": the samples were cut for another task");
  MaskedBatch batch;
  std::vector<int32_t> offsets{0};
  for (const uint32_t sample : indices) {
    samples.append_answers(sample, int32_t(batch.ids.size()), batch.rows, batch.targets);
    samples.append(sample, batch.ids, offsets);
  }
  batch.segments = Segments(std::move(offsets));
  return batch;
}

}  // namespace gyre
