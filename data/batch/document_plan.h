// Cuts the documents of a token store (document_store.h) into training samples for language models. A sample is a range
// of the store's tokens. batch_plan.h groups samples into batches and orders them by (seed, epoch).
// Memory: 12 bytes per sample and 8 bytes per document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/data/store/store_part.h"

namespace gyre {

// Training samples of language models: how documents are cut into them, and the interface to read them by number. They
// come from one store (document_plan.h) or from several (drawn_samples.h).

struct SampleOptions {
  // Modes of filling samples with sentences. All three cut a sentence that is longer than a sample.
  //   full: cuts sentences so that every sample except the last of a document is full. One row stays free if a
  //     document's last token would otherwise be separated from its </s>.
  //   sentences: as many whole sentences of a document as fit.
  //   segment: one sentence per sample.
  enum class Fill : uint8_t { full, sentences, segment };
  // masked: <s> x </s>, like BERT's [CLS] x [SEP].
  // next: the targets are x, and the inputs are <s> and x without its last id. x has a final </s> only if it ends a
  //   document (with Fill::segment: a sentence).
  enum class Task : uint8_t { masked, next };

  Task task = Task::masked;
  Fill fill = Fill::full;
  bool across_documents = false;  // a sample may continue into the next document, with </s> between the two
  // The documents of a sample are segments of their own: no row attends to another document, and positions begin at 0
  // in each. Each has its own <s>, which adds a row per further document to Task::masked; Task::next has it as the
  // first input of the document, in place of the </s> before it.
  bool documents_apart = false;
  int max_length = 512;  // maximum rows of a sample, including <s> and </s>
  // Share of the documents held out for validation. A random draw that depends only on the number of a document selects
  // it, so both parts have the same mix and no seed changes them. (The last documents would all come from the last
  // source.) If there is a single document, this share of its tokens is held out at its end.
  double validation_share = 0;
};

template <>
inline constexpr std::pair<SampleOptions::Fill, std::string_view> kEnumNames<SampleOptions::Fill>[] = {
    {SampleOptions::Fill::full, "full"},
    {SampleOptions::Fill::sentences, "sentences"},
    {SampleOptions::Fill::segment, "segment"}};

class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual std::string_view name() const = 0;  // name of the source in messages
  virtual const SampleOptions& options() const = 0;
  virtual int bos() const = 0;  // id of <s>
  virtual size_t size() const = 0;
  virtual int rows(size_t sample) const = 0;
  // Appends rows(sample) ids: <s> x </s> for Task::masked, the targets x or x </s> for Task::next. Appends to `ends`
  // the number of ids at the end of each segment: of the sample or, with documents_apart, of each of its documents.
  virtual void append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const = 0;
};

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
