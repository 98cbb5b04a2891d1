#include "gyre/models/decode/beam_search.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/option_checks.h"
#include "gyre/models/decode/beam.h"
#include "gyre/models/decode/decoding_batch.h"

namespace gyre {

double length_divisor(LengthPenaltyForm form, double exponent, int64_t tokens) {
  const double length = form == LengthPenaltyForm::fairseq ? double(tokens) : (5 + double(tokens)) / 6;
  return std::pow(length, exponent);
}

Hypothesis make_hypothesis(std::vector<int32_t> ids, std::vector<float> token_log_probs, const DecodeOptions& options) {
  double sum = 0;
  for (const float log_prob : token_log_probs) sum += double(log_prob);
  const double divisor = length_divisor(options.form, options.length_penalty, int64_t(token_log_probs.size()));
  return {std::move(ids), sum / divisor, sum, std::move(token_log_probs)};
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

int64_t DecodeOptions::max_tokens(int64_t source_tokens, int64_t longest) const {
  const double wanted = std::floor(max_length_factor * double(source_tokens)) + max_length_extra;
  return std::min(int64_t(wanted), longest - 1);  // BOS also takes a position
}

bool DecodeOptions::produces(int32_t id) const {
  if (id == bos && bos != eos) return false;
  return std::find(suppressed.begin(), suppressed.end(), id) == suppressed.end();
}

namespace {

// Decodes one batch of sources.
class BatchSearch {
 public:
  BatchSearch(const Ensemble& ensemble, Kernels& kernels, const std::vector<std::vector<int32_t>>& sources,
              const DecodeOptions& options);
  std::vector<std::vector<Hypothesis>> run();
  double flops() const { return batch_.flops(); }

 private:
  void step();
  Tensor last_tokens() const;
  void place_rows();

  const DecodeOptions& options_;
  DecodingBatch batch_;
  int64_t candidates_;  // best next tokens that each hypothesis offers
  std::vector<Beam> beams_;
};

BatchSearch::BatchSearch(const Ensemble& ensemble, Kernels& kernels, const std::vector<std::vector<int32_t>>& sources,
                         const DecodeOptions& options)
    : options_(options), batch_(ensemble, kernels, sources, options.beam_size, options) {
  const int64_t never = int64_t(options.suppressed.size()) + 1;  // including BOS
  candidates_ = std::min(ensemble.vocab_size(), 2 * options.beam_size + never);
  for (size_t i = 0; i < sources.size(); ++i)
    beams_.emplace_back(options_, options.max_tokens(int64_t(sources[i].size()), ensemble.longest()), int(i));
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
  batch_.step(last_tokens(), Segments::from_lengths(rows));
  const NextTokens next = batch_.best(candidates_, options_.eos);
  for (Beam& beam : beams_)
    if (!beam.live().empty()) beam.advance(next);
  place_rows();
}

Tensor BatchSearch::last_tokens() const {
  Tensor ids = Tensor::empty({batch_.rows()}, DType::i32);
  for (const Beam& beam : beams_)
    for (const LiveHypothesis& h : beam.live())
      ids.data<int32_t>()[h.row] = h.ids.empty() ? options_.bos : h.ids.back();
  return ids;
}

// Assigns each live hypothesis a row of the next step. The rows of a sentence are contiguous.
void BatchSearch::place_rows() {
  std::vector<int> parents;
  for (Beam& beam : beams_)
    for (LiveHypothesis& h : beam.live()) {
      parents.push_back(h.row);
      h.row = int(parents.size()) - 1;
    }
  batch_.gather(parents);
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(const Ensemble& ensemble, Kernels& kernels,
                                                 const std::vector<std::vector<int32_t>>& sources,
                                                 const DecodeOptions& options, double* flops) {
  options.validate(ensemble.vocab_size());
  if (sources.empty()) return {};
  BatchSearch search(ensemble, kernels, sources, options);
  auto results = search.run();
  if (flops) *flops += search.flops();
  return results;
}

}  // namespace gyre
