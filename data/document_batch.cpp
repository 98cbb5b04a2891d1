#include "data/document_batch.h"

#include "core/error.h"

namespace gyre {

namespace {

// Appends the samples to `ids` one by one; `then` is called with the number of each and where it begins.
template <class Then>
Segments append_samples(const DocumentSamples& samples, SampleOptions::Task task, std::span<const uint32_t> indices,
                        std::vector<int32_t>& ids, Then then) {
  require(samples.options().task == task, "[documents] ", samples.store().name(),
          ": the samples were cut for another task");
  std::vector<int32_t> offsets{0};
  for (const uint32_t sample : indices) {
    samples.append(sample, ids);
    then(sample, size_t(offsets.back()));
    offsets.push_back(int32_t(ids.size()));
  }
  return Segments(std::move(offsets));
}

}  // namespace

MaskedBatch make_masked_batch(const DocumentSamples& samples, const Masking& masking, uint64_t epoch,
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

NextTokenBatch make_next_token_batch(const DocumentSamples& samples, std::span<const uint32_t> indices) {
  NextTokenBatch batch;
  const auto shift = [&](uint32_t, size_t begin) {
    batch.inputs.push_back(samples.store().bos());
    batch.inputs.insert(batch.inputs.end(), batch.targets.begin() + ptrdiff_t(begin), batch.targets.end() - 1);
  };
  batch.segments = append_samples(samples, SampleOptions::Task::next, indices, batch.targets, shift);
  return batch;
}

}  // namespace gyre
