// Cuts the documents of a token store (document_store.h) into training samples for language models. A sample is a range
// of the store's tokens. batch_plan.h groups samples into batches and orders them by (seed, epoch).
// Memory: 12 bytes per sample and 8 bytes per document.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gyre/data/batch/sample_source.h"
#include "gyre/data/store/store_part.h"

namespace gyre {

class DocumentSamples final : public SampleSource {
 public:
  // Cuts the documents of one part. The store must have one side and outlive this object. Throws an Error if the part
  // is empty or max_length is below 3.
  DocumentSamples(const TokenStore& store, const SampleOptions& options, Part part);

  std::string_view name() const override { return store().name(); }
  const SampleOptions& options() const override { return options_; }
  int bos() const override { return store().bos(); }
  size_t size() const override { return begins_.size(); }
  int rows(size_t sample) const override { return rows_[sample]; }
  void append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const override;

  uint64_t documents() const { return documents_; }  // number of documents in the part
  uint64_t tokens() const { return tokens_; }        // number of tokens in these documents, without <s> and </s>
  const TokenStore& store() const { return part_.store(); }

 private:
  class Sampler;
  void begin_document(std::vector<int32_t>& ids, std::vector<int32_t>& ends) const;

  StorePart part_;
  SampleOptions options_;
  // First token of each sample. A sample ends before the next one, skipping documents of the other part between them.
  std::vector<uint64_t> begins_;
  std::vector<int32_t> rows_;              // number of rows of each sample
  std::vector<uint64_t> document_begins_;  // first token of each document of both parts
  uint64_t end_ = 0;                       // end of the last sample
  uint64_t documents_ = 0, tokens_ = 0;
};

}  // namespace gyre
