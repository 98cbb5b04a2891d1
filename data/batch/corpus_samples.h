// The samples of several corpora, numbered one corpus after another.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gyre/data/batch/document_plan.h"

namespace gyre {

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
  uint64_t tokens() const;  // count without <s> and </s>
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

}  // namespace gyre
