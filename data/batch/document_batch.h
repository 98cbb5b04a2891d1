// Training samples of language models: how documents are cut into them, how they are drawn from several corpora, and
// their packed batches without padding. batch_plan.h groups samples into batches and orders them by (seed, epoch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/segments.h"
#include "gyre/data/batch/masking.h"
#include "gyre/data/store/document_store.h"

namespace gyre {

// How documents are cut into samples.
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
  // answers: the inputs are the ids of a sample without its last one, and the targets its answers (answer_batch.h).
  enum class Task : uint8_t { masked, next, answers };

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

// Samples by number. They come from one store (StoreSamples) or from several (CorpusSamples, DrawnSamples).
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual std::string_view name() const = 0;  // name of the source in messages
  virtual const SampleOptions& options() const = 0;
  virtual int bos() const = 0;  // id of <s>
  virtual size_t size() const = 0;
  virtual int rows(size_t sample) const = 0;
  // Appends rows(sample) ids: <s> x </s> for Task::masked, the targets x or x </s> for Task::next, the inputs for
  // Task::answers. Appends to `ends` the number of ids at the end of each segment: of the sample or, with
  // documents_apart, of each of its documents.
  virtual void append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const = 0;
  // Appends the rows of a sample of Task::answers to predict, whose first row has the number `first_row`, and the
  // targets of these rows. Throws an Error for another task.
  virtual void append_answers(size_t sample, int32_t first_row, std::vector<int32_t>& rows,
                              std::vector<int32_t>& targets) const;
};

// The samples of one store, or of a part of it.
class StoreSamples : public SampleSource {
 public:
  virtual uint64_t documents() const = 0;  // number of documents in the part
  virtual uint64_t tokens() const = 0;     // number of tokens in these documents, without <s> and </s>
  virtual const TokenStore& store() const = 0;

  std::string_view name() const override { return store().name(); }
  int bos() const override { return store().bos(); }
};

// Cuts the documents of a token store (document_store.h) into samples. A sample is a range of the store's tokens.
// Memory: 12 bytes per sample and 8 bytes per document.
class DocumentSamples final : public StoreSamples {
 public:
  // Cuts the documents of one part. The store must have one side and outlive this object. Throws an Error if the part
  // is empty or max_length is below 3.
  DocumentSamples(const TokenStore& store, const SampleOptions& options, Part part);

  const SampleOptions& options() const override { return options_; }
  size_t size() const override { return begins_.size(); }
  int rows(size_t sample) const override { return rows_[sample]; }
  void append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const override;

  uint64_t documents() const override { return documents_; }
  uint64_t tokens() const override { return tokens_; }
  const TokenStore& store() const override { return part_.store(); }

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

// Draws the samples of an epoch from several corpora in given shares. An epoch has as many samples as all corpora
// together. Each corpus gives its share of them, rounded so that they add up, and goes through its samples in rounds:
// it gives each sample once before it gives any twice, and continues in the next epoch where it stopped. Every round
// has an order of its own. All is a pure function of (sizes, weights, seed, epoch).
class SampleMix {
 public:
  // sizes: number of samples of each corpus, at least 1. weights: one per corpus, above 0, of any sum; or empty: an
  // epoch has every sample once.
  SampleMix(std::vector<uint64_t> sizes, std::vector<double> weights, uint64_t seed);

  uint64_t size() const { return total_; }                         // samples of an epoch
  const std::vector<uint64_t>& shares() const { return shares_; }  // samples of an epoch from each corpus

  // The numbers of the samples of an epoch, counted over all corpora one after another.
  std::vector<uint32_t> draw(uint64_t epoch) const;

 private:
  std::vector<uint32_t> round(size_t corpus, uint64_t number) const;

  std::vector<uint64_t> sizes_, shares_;
  uint64_t total_ = 0;
  bool is_weighted_;
  uint64_t seed_;
};

// Samples that also keep their store alive.
using SharedSamples = std::shared_ptr<const StoreSamples>;

// The samples of several corpora, numbered one corpus after another.
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
  void append_answers(size_t sample, int32_t first_row, std::vector<int32_t>& rows,
                      std::vector<int32_t>& targets) const override;

  uint64_t documents() const;
  uint64_t tokens() const;  // number of tokens, without <s> and </s>
  // Throws an Error if the file of a store was truncated after it was opened.
  void require_untruncated() const;

 private:
  struct Place {
    const StoreSamples& samples;
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
  void append_answers(size_t sample, int32_t first_row, std::vector<int32_t>& rows,
                      std::vector<int32_t>& targets) const override {
    all_.append_answers(drawn_[sample], first_row, rows, targets);
  }

 private:
  CorpusSamples all_;
  SampleMix mix_;
  std::vector<uint32_t> drawn_;
};

struct MaskedBatch {
  std::vector<int32_t> ids;      // <s> x </s> of each sample after masking, concatenated
  Segments segments;             // range of each sample in ids or, with documents apart, of each document of a sample
  std::vector<int32_t> rows;     // rows of ids to predict, in ascending order
  std::vector<int32_t> targets;  // original id of each of these rows
};

// Masks and packs samples of Task::masked. The mask of a sample depends on its number, not on the batch or micro-batch
// that contains it.
MaskedBatch make_masked_batch(const SampleSource& samples, const Masking& masking, uint64_t epoch,
                              std::span<const uint32_t> indices);

// Appends the input of a causal model for each target: <s>, then all targets but the last. There is at least one
// target.
void append_next_token_inputs(std::vector<int32_t>& inputs, int32_t bos, std::span<const int32_t> targets);

struct NextTokenBatch {
  std::vector<int32_t> inputs;   // <s> and x without its last id for each segment, concatenated
  std::vector<int32_t> targets;  // x of each segment: the id that follows each input
  Segments segments;             // range in inputs and targets of each sample, or of each document of a sample
};

// Packs samples of Task::next. x contains </s> after the last token of each document.
NextTokenBatch make_next_token_batch(const SampleSource& samples, std::span<const uint32_t> indices);

}  // namespace gyre
