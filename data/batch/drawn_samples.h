// The samples of one epoch after another, drawn from several corpora.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/data/batch/corpus_samples.h"
#include "gyre/data/batch/sample_mix.h"

namespace gyre {

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
