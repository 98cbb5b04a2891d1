#include "gyre/data/batch/document_batch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/random.h"

namespace gyre {

namespace {

using Fill = SampleOptions::Fill;
using Task = SampleOptions::Task;

}  // namespace

void SampleSource::append_answers(size_t /*sample*/, int32_t /*first_row*/, std::vector<int32_t>& /*rows*/,
                                  std::vector<int32_t>& /*targets*/) const {
  throw Error("[documents] ", name(), ": expected samples with answers");
}

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

namespace {

// Rounds the shares of `total` so that they add up: those with the largest remainders are rounded up, the first of
// equal ones first.
std::vector<uint64_t> divide(uint64_t total, std::vector<double> weights) {
  const double largest = *std::max_element(weights.begin(), weights.end());
  for (double& weight : weights) weight /= largest;  // the sum of the weights cannot overflow
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<uint64_t> shares;
  std::vector<double> remainders;
  for (const double weight : weights) {
    const double exact = double(total) * weight / sum;
    shares.push_back(uint64_t(exact));
    remainders.push_back(exact - std::floor(exact));
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  const uint64_t given = std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  for (uint64_t i = 0; i < total - given; ++i) ++shares[order[i % order.size()]];
  return shares;
}

}  // namespace

SampleMix::SampleMix(std::vector<uint64_t> sizes, std::vector<double> weights, uint64_t seed)
    : sizes_(std::move(sizes)),
      total_(std::accumulate(sizes_.begin(), sizes_.end(), uint64_t{0})),
      is_weighted_(!weights.empty()),
      seed_(mix(seed, hash_name("corpora"))) {
  if (!is_weighted_) {
    shares_ = sizes_;
    return;
  }
  require(weights.size() == sizes_.size(), "[corpora] expected ", sizes_.size(), " weights, got ", weights.size());
  for (const double weight : weights)
    require(weight > 0 && std::isfinite(weight), "[corpora] expected weights above 0, got ", weight);
  for (const uint64_t size : sizes_) require(size > 0, "[corpora] expected samples in every corpus");
  shares_ = divide(total_, weights);
  for (size_t i = 0; i < shares_.size(); ++i)
    require(shares_[i] > 0, "[corpora] expected weights that give every corpus samples, got ", weights[i],
            " for corpus ", i + 1, ", which has none of the ", total_, " samples of an epoch");
}

std::vector<uint32_t> SampleMix::draw(uint64_t epoch) const {
  std::vector<uint32_t> drawn;
  drawn.reserve(total_);
  uint64_t first = 0;
  for (size_t corpus = 0; corpus < sizes_.size(); ++corpus) {
    const uint64_t size = sizes_[corpus];
    if (!is_weighted_) {
      for (uint64_t i = 0; i < size; ++i) drawn.push_back(uint32_t(first + i));
    }
    const uint64_t end = is_weighted_ ? (epoch + 1) * shares_[corpus] : 0;
    for (uint64_t at = epoch * shares_[corpus]; at < end;) {
      const std::vector<uint32_t> order = round(corpus, at / size);
      for (uint64_t i = at % size; i < size && at < end; ++i, ++at) drawn.push_back(uint32_t(first) + order[i]);
    }
    first += size;
  }
  return drawn;
}

std::vector<uint32_t> SampleMix::round(size_t corpus, uint64_t number) const {
  std::vector<uint32_t> order(sizes_[corpus]);
  std::iota(order.begin(), order.end(), uint32_t{0});
  RandomStream(mix(seed_, corpus), number).shuffle(order);
  return order;
}

CorpusSamples::CorpusSamples(std::vector<SharedSamples> corpora) : corpora_(std::move(corpora)) {
  require(!corpora_.empty(), "[documents] expected at least one corpus");
  size_t end = 0;
  for (const SharedSamples& corpus : corpora_) ends_.push_back(end += corpus->size());
}

CorpusSamples::Place CorpusSamples::place_of(size_t sample) const {
  require(sample < size(), "[documents] expected a sample below ", size(), ", got ", sample);
  const auto corpus = size_t(std::upper_bound(ends_.begin(), ends_.end(), sample) - ends_.begin());
  return {*corpora_[corpus], corpus == 0 ? sample : sample - ends_[corpus - 1]};
}

int CorpusSamples::rows(size_t sample) const {
  const Place place = place_of(sample);
  return place.samples.rows(place.sample);
}

void CorpusSamples::append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const {
  const Place place = place_of(sample);
  place.samples.append(place.sample, ids, ends);
}

void CorpusSamples::append_answers(size_t sample, int32_t first_row, std::vector<int32_t>& rows,
                                   std::vector<int32_t>& targets) const {
  const Place place = place_of(sample);
  place.samples.append_answers(place.sample, first_row, rows, targets);
}

uint64_t CorpusSamples::documents() const {
  uint64_t sum = 0;
  for (const SharedSamples& corpus : corpora_) sum += corpus->documents();
  return sum;
}

uint64_t CorpusSamples::tokens() const {
  uint64_t sum = 0;
  for (const SharedSamples& corpus : corpora_) sum += corpus->tokens();
  return sum;
}

void CorpusSamples::require_untruncated() const {
  for (const SharedSamples& corpus : corpora_) corpus->store().require_untruncated();
}

namespace {

std::vector<uint64_t> sizes_of(const CorpusSamples& samples) {
  std::vector<uint64_t> sizes;
  for (const SharedSamples& corpus : samples.corpora()) sizes.push_back(corpus->size());
  return sizes;
}

}  // namespace

DrawnSamples::DrawnSamples(CorpusSamples samples, const std::vector<double>& weights, uint64_t seed)
    : all_(std::move(samples)), mix_(sizes_of(all_), weights, seed), drawn_(mix_.draw(0)) {}

namespace {

// Appends the samples to `ids` one by one. Calls `then` after each with its number and its first row in `ids`.
template <class Then>
Segments append_samples(const SampleSource& samples, SampleOptions::Task task, std::span<const uint32_t> indices,
                        std::vector<int32_t>& ids, Then then) {
  require(samples.options().task == task, "[documents] ", samples.name(), ": the samples were cut for another task");
  std::vector<int32_t> offsets{0};
  for (const uint32_t sample : indices) {
    const size_t begin = ids.size();
    samples.append(sample, ids, offsets);
    then(sample, begin);
  }
  return Segments(std::move(offsets));
}

}  // namespace

void append_next_token_inputs(std::vector<int32_t>& inputs, int32_t bos, std::span<const int32_t> targets) {
  inputs.push_back(bos);
  inputs.insert(inputs.end(), targets.begin(), targets.end() - 1);
}

MaskedBatch make_masked_batch(const SampleSource& samples, const Masking& masking, uint64_t epoch,
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

NextTokenBatch make_next_token_batch(const SampleSource& samples, std::span<const uint32_t> indices) {
  NextTokenBatch batch;
  batch.segments = append_samples(samples, SampleOptions::Task::next, indices, batch.targets, [](uint32_t, size_t) {});
  for (int i = 0; i < batch.segments.count(); ++i) {
    const auto targets =
        std::span(batch.targets).subspan(size_t(batch.segments.begin(i)), size_t(batch.segments.length(i)));
    append_next_token_inputs(batch.inputs, samples.bos(), targets);
  }
  return batch;
}

}  // namespace gyre
