// The samples of one epoch after another, drawn from several corpora.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gyre/data/batch/document_plan.h"
#include "gyre/data/batch/sample_mix.h"

namespace gyre {

// The samples of several corpora, numbered one corpus after another.

// Samples that also keep their store alive.
using SharedSamples = std::shared_ptr<const DocumentSamples>;

class CorpusSamples final : public SampleSource {
 public:
  // At least one corpus, all cut with the same options from stores of the same vocabulary.
  explicit CorpusSamples(std::vector<SharedSamples> corpora);

  const std::vector<SharedSamples>& corpora() const { return corpora_; }
  std::string_view name() const override { return corpora_.front()->name(); }
  const SampleOptions& options() const override { return corpora_.front()->options(); }
  int bos() const override { return corpora_.front()->bos(); }
  size_t size() const override { return ends_.back(); }
  int rows(size_t sample) const override;
  void append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const override;

  uint64_t documents() const;
  uint64_t tokens() const;  // without <s> and </s>
  // Throws an Error if the file of a store was truncated after it was opened.
  void require_untruncated() const;

 private:
  struct Place {
    const DocumentSamples& samples;
    size_t sample;
  };
  Place place_of(size_t sample) const;

  std::vector<SharedSamples> corpora_;
  std::vector<size_t> ends_;  // number of samples up to the end of each corpus
};

// Numbers the samples of the current epoch from 0, in the order of SampleMix::draw(). A sample that the epoch has more
// than once has a number for each time, so that its masks differ.
class DrawnSamples final : public SampleSource {
 public:
  // weights: as for SampleMix. Begins with epoch 0.
  DrawnSamples(CorpusSamples samples, const std::vector<double>& weights, uint64_t seed);

  void start_epoch(uint64_t epoch) { drawn_ = mix_.draw(epoch); }

  const CorpusSamples& all() const { return all_; }
  const SampleMix& mix() const { return mix_; }
  std::string_view name() const override { return all_.name(); }
  const SampleOptions& options() const override { return all_.options(); }
  int bos() const override { return all_.bos(); }
  size_t size() const override { return drawn_.size(); }
  int rows(size_t sample) const override { return all_.rows(drawn_[sample]); }
  void append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const override {
    all_.append(drawn_[sample], ids, ends);
  }

 private:
  CorpusSamples all_;
  SampleMix mix_;
  std::vector<uint32_t> drawn_;
};

}  // namespace gyre
