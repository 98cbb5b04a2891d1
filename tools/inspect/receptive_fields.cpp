#include "tools/inspect/receptive_fields.h"

#include <algorithm>

#include "gyre/core/random.h"
#include "gyre/data/store/document_store.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/analysis/extrapolation.h"
#include "gyre/train/analysis/receptive_field.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/command_line/option_values.h"
#include "tools/options/model_choice.h"
#include "tools/scored_text.h"

namespace gyre {
namespace {

constexpr int64_t kUntrainedVocabulary = 1000;

// `before`, the ids before a text, and an excerpt of the text. The excerpts of the samples are evenly spaced over it.
std::vector<int32_t> piece_of(const std::vector<int32_t>& tokens, const std::vector<int32_t>& before, int sample,
                              int samples, int64_t length) {
  const int64_t count = length - int64_t(before.size()), room = int64_t(tokens.size()) - count;
  require(count >= 0 && room >= 0, "[receptive field] expected at least ", count, " tokens of text for --length, got ",
          tokens.size());
  const auto begin = tokens.begin() + (samples == 1 ? 0 : room * sample / (samples - 1));
  std::vector<int32_t> ids = before;
  ids.insert(ids.end(), begin, begin + count);
  return ids;
}

}  // namespace

double ReceptiveField::beyond_training() const {
  if (trained_length == 0 || size_t(trained_length) >= cumulative.size()) return 0;
  return 1 - cumulative[size_t(trained_length) - 1];
}

ReceptiveField ReceptiveFields::untrained(const std::string& position) {
  EncoderOnlyConfig config = options_.untrained;
  config.position.encoding = position;
  config.position.get<PositionTableOptions>().max_positions = options_.length;
  config.vocab_size = kUntrainedVocabulary;
  as_usage_error([&] { config.validate(); });
  EncoderOnly model(config);
  ReceptiveField field{position + ", random weights", position, 0, {}};
  for (int sample = 0; sample < options_.samples; ++sample) {
    model.parameters().allocate(options_.seed + uint64_t(sample), DType::f32, kernels_.device());
    add(field, model, random_text(sample, options_.length, kUntrainedVocabulary));
  }
  return field;
}

ReceptiveField ReceptiveFields::trained(const Path& run) {
  print_model_choice(run, options_.checkpoint);
  const auto model = load_model<EncoderOnly>(run, options_.checkpoint, kernels_.device());
  require(model->config().causal, "[receptive field] ", run.string(),
          ": expected a causal language model, got a bidirectional one");
  ReceptiveField field{run.string(), model->config().position.encoding, trained_length(run, options_.checkpoint), {}};
  for (const Text& text : texts_of(run, *model)) add(field, *model, text);
  return field;
}

ReceptiveFields::Text ReceptiveFields::random_text(int sample, int64_t length, int64_t vocabulary) const {
  RandomStream random(options_.seed, mix(hash_name("receptive field"), uint64_t(sample)));
  Text ids;
  for (int64_t i = 0; i < length; ++i) ids.push_back(int32_t(random.below(uint64_t(vocabulary))));
  return ids;
}

std::vector<ReceptiveFields::Text> ReceptiveFields::texts_of(const Path& run, const EncoderOnly& model) const {
  const int64_t length = std::min<int64_t>(options_.length, model.longest()), vocabulary = model.config().vocab_size;
  std::vector<Text> texts;
  if (options_.inputs.empty()) {
    for (int sample = 0; sample < options_.samples; ++sample) texts.push_back(random_text(sample, length, vocabulary));
    return texts;
  }
  const auto pieces = load_run_vocabulary(find_run(run), {}, vocabulary);
  const Documents documents = open_scored_documents({}, run, options_.checkpoint, options_.inputs, *pieces, false);
  const Text tokens = concatenate_documents(documents.store, UINT64_MAX);
  const Text before = options_.bos.before_text(run, options_.checkpoint, *pieces);
  for (int sample = 0; sample < options_.samples; ++sample)
    texts.push_back(piece_of(tokens, before, sample, options_.samples, length));
  return texts;
}

// c_t is linear in the shares, so averaging c_t averages the shares.
void ReceptiveFields::add(ReceptiveField& field, const EncoderOnly& model, const Text& text) {
  const std::vector<double> one = cumulative_shares(gradient_shares(model, kernels_, text));
  field.cumulative.resize(one.size());
  for (size_t t = 0; t < one.size(); ++t) field.cumulative[t] += one[t] / options_.samples;
  line_.show(++done_, field.name);
}

}  // namespace gyre
