#include "gyre/models/decode/beam_search.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/option_checks.h"
#include "gyre/models/decode/beam.h"

namespace gyre {

double length_divisor(LengthPenaltyForm form, double exponent, int64_t tokens) {
  const double length = form == LengthPenaltyForm::fairseq ? double(tokens) : (5 + double(tokens)) / 6;
  return std::pow(length, exponent);
}

void DecodeOptions::validate_search(std::string_view prefix) const {
  const auto flag = [&](std::string_view name) { return concat(prefix, name); };
  expect_between(1, 1000, flag("beam-size"), beam_size);
  expect(n_best >= 1 && n_best <= beam_size, flag("n-best"), concat("1 to the beam size ", beam_size), n_best);
  expect_between(-1.0, 10.0, flag("length-penalty"), length_penalty);
  expect_between(0.0, 1000.0, flag("max-length-factor"), max_length_factor);
  expect_between(0, 100'000, flag("max-length-extra"), max_length_extra);
}

void DecodeOptions::validate(int64_t vocab_size) const {
  const auto require_id = [&](const char* name, int32_t id) {
    require(id >= 0 && id < vocab_size, "[", name, "] expected an id below ", vocab_size, ", got ", id);
  };
  validate_search();
  require_id("bos", bos);
  require_id("eos", eos);
  for (int32_t id : suppressed) {
    require_id("suppressed", id);
    require(id != eos, "[suppressed] expected ids other than the EOS, got ", eos);
  }
}

bool DecodeOptions::produces(int32_t id) const {
  if (id == bos && bos != eos) return false;
  return std::find(suppressed.begin(), suppressed.end(), id) == suppressed.end();
}

namespace {

// Decodes one batch of sources.
class BatchSearch {
 public:
  BatchSearch(const EncoderDecoder& model, Kernels& kernels, const std::vector<std::vector<int32_t>>& sources,
              const DecodeOptions& options);
  std::vector<std::vector<Hypothesis>> run();
  double flops() const { return tape_.flops(); }

 private:
  void step();
  Tensor last_tokens() const;
  NextTokens next_tokens(const Var& states) const;
  void place_rows();

  const EncoderDecoder& model_;
  const DecodeOptions& options_;
  Tape tape_;
  std::vector<AttentionMemory> sources_;
  KeyValueCache cache_;
  std::vector<Beam> beams_;
  Tensor log_probs_;  // (sources * beam_size, vocab) on the kernels' device: a buffer that all steps reuse
};

BatchSearch::BatchSearch(const EncoderDecoder& model, Kernels& kernels,
                         const std::vector<std::vector<int32_t>>& sources, const DecodeOptions& options)
    : model_(model),
      options_(options),
      tape_(kernels, {.record = false, .precision = options.precision}),
      cache_(int(model.config().decoder_layers), int(sources.size())),
      log_probs_(Tensor::empty({int64_t(sources.size()) * options.beam_size, model.config().vocab_size}, DType::f32,
                               kernels.device())) {
  std::vector<int32_t> ids, lengths;
  for (size_t i = 0; i < sources.size(); ++i) {
    require(!sources[i].empty(), "[beam search] source ", i, " is empty, expected at least its EOS");
    ids.insert(ids.end(), sources[i].begin(), sources[i].end());
    lengths.push_back(int32_t(sources[i].size()));
    // BOS also takes a position.
    const double wanted = std::floor(options.max_length_factor * lengths.back()) + options.max_length_extra;
    beams_.emplace_back(options_, std::min(int64_t(wanted), model.longest() - 1), int(i));
  }
  const Segments segments = Segments::from_lengths(lengths);
  const Var encoded = model.encode(tape_, Tensor::from({int64_t(ids.size())}, ids), segments);
  sources_ = model.project_sources(encoded, segments);
}

std::vector<std::vector<Hypothesis>> BatchSearch::run() {
  while (std::any_of(beams_.begin(), beams_.end(), [](const Beam& b) { return !b.live().empty(); })) step();
  std::vector<std::vector<Hypothesis>> results;
  for (const Beam& beam : beams_) results.push_back(beam.finished());
  return results;
}

void BatchSearch::step() {
  std::vector<int32_t> rows;  // number of rows of each sentence; 0 once it is done
  for (const Beam& beam : beams_) rows.push_back(int32_t(beam.live().size()));
  const Var states = model_.decode_step(tape_, last_tokens(), Segments::from_lengths(rows), sources_, cache_);
  const NextTokens next = next_tokens(states);
  for (Beam& beam : beams_)
    if (!beam.live().empty()) beam.advance(next);
  place_rows();
}

Tensor BatchSearch::last_tokens() const {
  Tensor ids = Tensor::empty({cache_.rows()}, DType::i32);
  for (const Beam& beam : beams_)
    for (const LiveHypothesis& h : beam.live())
      ids.data<int32_t>()[h.row] = h.ids.empty() ? options_.bos : h.ids.back();
  return ids;
}

NextTokens BatchSearch::next_tokens(const Var& states) const {
  const Tensor log_probs = log_probs_.slice(0, cache_.rows());
  model_.log_probabilities(log_probs, states);
  const int64_t never = int64_t(options_.suppressed.size()) + 1;  // including BOS
  const int64_t k = std::min(log_probs.cols(), 2 * options_.beam_size + never);
  NextTokens next{Tensor::empty({log_probs.rows(), k + 1}), Tensor::empty({log_probs.rows(), k}, DType::i32)};
  states.kernels().topk(next.log_probs, next.ids, log_probs, options_.eos);
  return next;
}

// Assigns each live hypothesis a row of the next step. The rows of a sentence are contiguous.
void BatchSearch::place_rows() {
  std::vector<int> parents;
  for (Beam& beam : beams_)
    for (LiveHypothesis& h : beam.live()) {
      parents.push_back(h.row);
      h.row = int(parents.size()) - 1;
    }
  cache_.gather(parents);
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(const EncoderDecoder& model, Kernels& kernels,
                                                 const std::vector<std::vector<int32_t>>& sources,
                                                 const DecodeOptions& options, double* flops) {
  options.validate(model.config().vocab_size);
  if (sources.empty()) return {};
  BatchSearch search(model, kernels, sources, options);
  auto results = search.run();
  if (flops) *flops += search.flops();
  return results;
}

}  // namespace gyre
