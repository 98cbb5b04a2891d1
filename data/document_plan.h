// The samples that a language model is trained on: documents of a token store (document_store.h) cut to length. A
// sample is a range of the store's tokens; batch_plan.h puts samples into batches and orders them by (seed, epoch).
// In memory: 12 bytes a sample, 8 a document.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/batch_plan.h"
#include "data/store_part.h"

namespace gyre {

struct SampleOptions {
  // full: every sample but a document's last is full, and sentences are cut to that end (a row stays free where a
  // document's last token and its </s> would be parted). sentences: as many whole
  // sentences of a document as fit. segment: a sentence each. A sentence over the length is cut in all three.
  enum class Fill : uint8_t { full, sentences, segment };
  // masked: <s> x </s>, as BERT's [CLS] x [SEP]. next: the inputs <s> x against the targets x </s>, where </s> is there
  // only if x ends a document (with Fill::segment: a sentence).
  enum class Task : uint8_t { masked, next };

  Task task = Task::masked;
  Fill fill = Fill::full;
  bool across_documents = false;  // a sample runs on into the next document, with </s> between the two
  int max_length = 512;           // rows of the model, with <s> and </s>
  // Of the documents, held out: each by a draw from its number alone, so that the two parts are mixed alike and no seed
  // changes them. (The last documents would be those of the last source only.) Of a single document: this share of its
  // tokens, at its end.
  double validation_share = 0;

  static Fill parse_fill(std::string_view text);  // "full", "sentences" or "segment"; else UsageError
};

class DocumentSamples {
 public:
  // Cuts the documents of a part, which must not be empty. The store has one side and outlives this.
  DocumentSamples(const TokenStore& store, const SampleOptions& options, Part part);

  size_t size() const { return begins_.size(); }
  uint64_t documents() const { return documents_; }  // of the part
  uint64_t tokens() const { return tokens_; }        // of its documents, without <s> and </s>
  int rows(size_t sample) const { return rows_[sample]; }
  const SampleOptions& options() const { return options_; }
  const TokenStore& store() const { return part_.store(); }

  // rows(sample) ids: <s> x </s> for Task::masked, the targets x or x </s> for Task::next.
  void append(size_t sample, std::vector<int32_t>& ids) const;

  // For plan_epoch and cut_into_shards: one side, a sample's tokens are its rows.
  BatchItems items() const;

 private:
  class Cutter;

  StorePart part_;
  SampleOptions options_;
  std::vector<uint64_t> begins_;  // of each sample: it ends where the next begins, less the other part's documents
  std::vector<int32_t> rows_;     // of each sample
  std::vector<uint64_t> document_begins_;  // of both parts
  uint64_t end_ = 0;                       // of the last sample
  uint64_t documents_ = 0, tokens_ = 0;
};

}  // namespace gyre
