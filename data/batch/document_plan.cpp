#include "gyre/data/batch/document_plan.h"

#include <algorithm>

#include "gyre/core/error.h"

namespace gyre {
namespace {

using Fill = SampleOptions::Fill;
using Task = SampleOptions::Task;

}  // namespace

// Cuts the sentences of a part, given one by one, into samples of at most max_length rows. A sample has one row for
// each token and one for the </s> of each document that ends in it. Task::masked adds a <s> row and, if the sample ends
// inside a document, a </s> row, and documents apart a <s> row for each further document. Task::next adds no rows,
// because <s> replaces the last target among the inputs.
class DocumentSamples::Sampler {
 public:
  explicit Sampler(DocumentSamples& samples)
      : samples_(samples), options_(samples.options_), extra_rows_(options_.task == Task::masked ? 1 : 0) {}

  // starts: whether the sentence is the first of its document. ends: whether </s> must follow it.
  void add(uint64_t begin, uint64_t end, bool starts, bool ends) {
    while (begin < end) {
      const int64_t bos = starts && is_open() && options_.documents_apart ? extra_rows_ : 0;
      const int64_t left = int64_t(end - begin), room = options_.max_length - rows() - bos;
      if (left + (ends ? 1 : extra_rows_) <= room) {
        take(begin, bos + left + ends);
        ends_with_eos_ = ends;
        return;
      }
      // Leave at least one token for the next sample, so that </s> never begins a sample.
      const int64_t part = is_open() && options_.fill == Fill::sentences ? 0 : std::min(room - extra_rows_, left - 1);
      if (part > 0) {
        take(begin, bos + part);
        ends_with_eos_ = false;
        begin += uint64_t(part);
      }
      close();
    }
  }

  void close() {
    if (!is_open()) return;
    samples_.begins_.push_back(begin_);
    samples_.rows_.push_back(int32_t(extra_rows_ + open_rows_ + (ends_with_eos_ ? 0 : extra_rows_)));
    open_rows_ = 0;
  }

 private:
  bool is_open() const { return open_rows_ > 0; }
  int64_t rows() const { return extra_rows_ + open_rows_; }
  void take(uint64_t begin, int64_t rows) {
    if (!is_open()) begin_ = begin;
    open_rows_ += rows;
  }

  DocumentSamples& samples_;
  const SampleOptions& options_;
  int64_t extra_rows_;          // rows of <s>; also of a </s> that ends no document or sentence
  uint64_t begin_ = 0;          // first token of the open sample
  int64_t open_rows_ = 0;       // rows of the open sample without <s> and the extra </s>; 0: no sample is open
  bool ends_with_eos_ = false;  // whether the last of these rows is </s>
};

DocumentSamples::DocumentSamples(const TokenStore& store, const SampleOptions& options, Part part)
    : part_(store, options.validation_share, part), options_(options) {
  require(options.max_length >= 3, "[documents] expected a length of at least 3, got ", options.max_length);
  Sampler sampler(*this);
  bool is_first = true;
  for (size_t i = 0; i < store.size(); ++i) {
    const uint64_t begin = store.first_token(i), end = begin + store.length(i, 0);
    if (begin == end) {
      is_first = true;
      continue;
    }
    if (is_first) document_begins_.push_back(begin);
    const bool is_last = i + 1 == store.size() || store.length(i + 1, 0) == 0;
    const bool is_ours = part_.has(document_begins_.size() - 1);
    documents_ += is_ours && is_first;
    is_first = false;
    const TokenRange own = part_.clip({begin, end});
    if (!is_ours || own.empty()) continue;
    sampler.add(own.begin, own.end, own.begin == document_begins_.back(),
                own.end == end && (is_last || options.fill == Fill::segment));
    if (options.fill == Fill::segment || (is_last && !options.across_documents)) sampler.close();
    tokens_ += own.end - own.begin;
    end_ = own.end;
  }
  sampler.close();
  require(size() > 0, "[documents] ", store.name(), ": none of its ", document_begins_.size(), " documents is for ",
          part == Part::training ? "training" : "validation", ", with a validation share of ",
          options.validation_share);
}

void DocumentSamples::append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const {
  require(sample < size(), "[documents] ", store().name(), ": expected a sample below ", size(), ", got ", sample);
  const size_t first_id = ids.size();
  if (options_.task == Task::masked) ids.push_back(store().bos());
  const uint64_t begin = begins_[sample], end = sample + 1 < size() ? begins_[sample + 1] : end_;
  const auto after = std::upper_bound(document_begins_.begin(), document_begins_.end(), begin);
  bool is_first = true;
  for (size_t document = size_t(after - document_begins_.begin()) - 1;
       document < document_begins_.size() && document_begins_[document] < end; ++document) {
    if (!part_.has(document)) continue;
    if (!is_first) {
      ids.push_back(store().eos());
      if (options_.documents_apart) begin_document(ids, ends);
    }
    is_first = false;
    const uint64_t next = document + 1 < document_begins_.size() ? document_begins_[document + 1] : end;
    store().append_tokens(std::max(begin, document_begins_[document]), std::min(end, next), ids);
  }
  if (ids.size() - first_id < size_t(rows(sample))) ids.push_back(store().eos());
  ends.push_back(int32_t(ids.size()));
}

// Ends the segment of the document before.
void DocumentSamples::begin_document(std::vector<int32_t>& ids, std::vector<int32_t>& ends) const {
  ends.push_back(int32_t(ids.size()));
  if (options_.task == Task::masked) ids.push_back(store().bos());
}

}  // namespace gyre
