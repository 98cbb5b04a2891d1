// Samples with answers: each is a prompt or a conversation of its own, and only the ids of its answers are predicted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gyre/data/batch/document_batch.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/store/token_store.h"

namespace gyre {

// The samples of a store from data/chat/answer_store.h. One of more than max_length ids is cut at its end; one without
// an answer in what remains is left out. Its rows are its ids but the last, as a causal model reads them.
class AnswerSamples final : public StoreSamples {
 public:
  // The samples of one part. The store must outlive this object. Throws an Error if there are none.
  AnswerSamples(const TokenStore& store, const SampleOptions& options, Part part);

  const SampleOptions& options() const override { return options_; }
  size_t size() const override { return samples_.size(); }
  int rows(size_t sample) const override { return rows_[sample]; }
  void append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const override;
  void append_answers(size_t sample, int32_t first_row, std::vector<int32_t>& rows,
                      std::vector<int32_t>& targets) const override;

  uint64_t documents() const override { return samples_.size(); }
  uint64_t tokens() const override { return tokens_; }
  const TokenStore& store() const override { return *store_; }
  uint64_t cut() const { return cut_; }            // number of samples that are cut at max_length
  uint64_t left_out() const { return left_out_; }  // number of samples whose answers begin after max_length

 private:
  const TokenStore* store_;
  SampleOptions options_;
  std::vector<uint32_t> samples_;  // number of each in the store
  std::vector<int32_t> rows_;
  uint64_t tokens_ = 0, cut_ = 0, left_out_ = 0;
};

// Packs samples of Task::answers: ids are their rows, and rows those whose next id is of an answer, the target.
MaskedBatch make_answer_batch(const SampleSource& samples, std::span<const uint32_t> indices);

}  // namespace gyre
