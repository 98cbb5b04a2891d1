#include "gyre/data/batch/document_batch.h"

#include "gyre/core/error.h"

namespace gyre {

namespace {

// Appends the samples to `ids` one by one. Calls `then` after each with its number and its first row in `ids`.
template <class Then>
Segments append_samples(const SampleSource& samples, SampleOptions::Task task, std::span<const uint32_t> indices,
                        std::vector<int32_t>& ids, Then then) {
  require(samples.options().task == task, "[documents] ", samples.name(), ": the samples were cut for another task");
  std::vector<int32_t> offsets{0};
  for (const uint32_t sample : indices) {
    const size_t begin = ids.size();
    samples.append(sample, ids, offsets);
    then(sample, begin);
  }
  return Segments(std::move(offsets));
}

}  // namespace

void append_next_token_inputs(std::vector<int32_t>& inputs, int32_t bos, std::span<const int32_t> targets) {
  inputs.push_back(bos);
  inputs.insert(inputs.end(), targets.begin(), targets.end() - 1);
}

MaskedBatch make_masked_batch(const SampleSource& samples, const Masking& masking, uint64_t epoch,
                              std::span<const uint32_t> indices) {
  MaskedBatch batch;
  const auto mask = [&](uint32_t sample, size_t begin) {
    for (const MaskedRow& masked : masking.mask(std::span(batch.ids).subspan(begin), epoch, sample)) {
      batch.rows.push_back(int32_t(begin) + masked.row);
      batch.targets.push_back(masked.id);
    }
  };
  batch.segments = append_samples(samples, SampleOptions::Task::masked, indices, batch.ids, mask);
  return batch;
}

NextTokenBatch make_next_token_batch(const SampleSource& samples, std::span<const uint32_t> indices) {
  NextTokenBatch batch;
  batch.segments = append_samples(samples, SampleOptions::Task::next, indices, batch.targets, [](uint32_t, size_t) {});
  for (int i = 0; i < batch.segments.count(); ++i) {
    const auto targets =
        std::span(batch.targets).subspan(size_t(batch.segments.begin(i)), size_t(batch.segments.length(i)));
    append_next_token_inputs(batch.inputs, samples.bos(), targets);
  }
  return batch;
}

}  // namespace gyre
