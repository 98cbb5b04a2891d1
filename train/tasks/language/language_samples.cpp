#include "gyre/train/tasks/language/language_samples.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "gyre/autograd/ops.h"
#include "gyre/core/error.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/data/tokenizer/continuation.h"
#include "gyre/models/decode/generate.h"
#include "gyre/train/tasks/to_tensor.h"

namespace gyre {
namespace {

using Ids = std::vector<int32_t>;

constexpr size_t kLanguageSamples = 4;  // number in each entry of metrics.jsonl
constexpr int kLeastRows = 8;           // least length of a sample, if there is one: shorter ones show little
constexpr size_t kMaskedTokens = 64, kPromptTokens = 20, kContinuedTokens = 20;

Ids first_of(std::span<const int32_t> ids, size_t most) {
  return {ids.begin(), ids.begin() + ptrdiff_t(std::min(most, ids.size()))};
}

std::string text_of(const Vocabulary& vocabulary, const Ids& ids) { return one_line(vocabulary.decode(ids)); }

// The continuation with the space that separates it from the prompt, if there is one.
std::string continuation_text(const Vocabulary& vocabulary, const Ids& prompt, const Ids& ids) {
  const std::vector<std::string> no_stops;
  Continuation continuation(vocabulary, prompt, no_stops);
  continuation.set(ids);
  return one_line(continuation.text());
}

int32_t most_likely(std::span<const float> logits) {
  return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

LanguageSamples::LanguageSamples(const SampleSource& samples, const MakeInput& make_input, const Vocabulary& vocabulary,
                                 const EncoderOnly& model, const JobContext& context)
    : vocabulary_(vocabulary), model_(model), kernels_(context.kernels), precision_(context.precision) {
  const bool causal = model.config().causal;
  const size_t count = std::min(kLanguageSamples, samples.size());
  for (size_t i = 0; i < count; ++i) {
    auto index = uint32_t(i * samples.size() / count);
    const auto end = uint32_t((i + 1) * samples.size() / count);
    while (index + 1 < end && samples.rows(index) < kLeastRows) ++index;
    const MaskedInput input = make_input(samples, std::span(&index, 1), 0);
    if (causal) {
      add_prompt(input);
    } else {
      add_masked(input);
    }
  }
}

// The beginning of the first segment, if it has a place to predict.
void LanguageSamples::add_masked(const MaskedInput& input) {
  const auto rows = input.masked_rows.span<int32_t>(), targets = input.targets.span<int32_t>();
  Excerpt excerpt{.ids = first_of(input.ids.span<int32_t>().first(size_t(input.segments.length(0))), kMaskedTokens)};
  for (size_t i = 0; i < rows.size() && size_t(rows[i]) < excerpt.ids.size(); ++i) {
    excerpt.rows.push_back(rows[i]);
    excerpt.targets.push_back(targets[i]);
  }
  if (!excerpt.rows.empty()) excerpts_.push_back(std::move(excerpt));
}

// At most half of the first segment is the prompt.
void LanguageSamples::add_prompt(const MaskedInput& input) {
  const auto length = size_t(input.segments.length(0));
  const size_t prompt = std::min(kPromptTokens, length / 2);
  if (prompt == 0) return;
  const auto targets = input.targets.span<int32_t>().first(length);
  excerpts_.push_back({.ids = first_of(input.ids.span<int32_t>(), prompt + 1),  // ids with <s>
                       .continuation = first_of(targets.subspan(prompt), kContinuedTokens)});
}

std::vector<ValidationSample> LanguageSamples::run() const {
  if (excerpts_.empty()) return {};
  try {
    return model_.config().causal ? continued() : filled();
  } catch (const Error& error) {  // logits that are not finite: the next updates decide about the run
    spdlog::warn("no outputs for validation samples: {}", error.what());
    return {};
  }
}

std::vector<int32_t> LanguageSamples::predictions() const {
  Ids ids, lengths, rows;
  for (const Excerpt& excerpt : excerpts_) {
    for (const int32_t row : excerpt.rows) rows.push_back(int32_t(ids.size()) + row);
    ids.insert(ids.end(), excerpt.ids.begin(), excerpt.ids.end());
    lengths.push_back(int32_t(excerpt.ids.size()));
  }
  Tape tape(kernels_, {.record = false, .precision = precision_});
  const Var states = model_.encode(tape, to_tensor(ids), Segments::from_lengths(lengths));
  const Tensor logits = model_.logits(gather_rows(states, to_tensor(rows))).value().to_cpu().to(DType::f32);
  Ids predicted;
  for (size_t i = 0; i < rows.size(); ++i)
    predicted.push_back(most_likely(logits.span<float>().subspan(i * size_t(logits.cols()), size_t(logits.cols()))));
  return predicted;
}

std::vector<ValidationSample> LanguageSamples::filled() const {
  const Ids predicted = predictions();
  std::vector<ValidationSample> samples;
  size_t next = 0;
  for (const Excerpt& excerpt : excerpts_) {
    Ids original = excerpt.ids, output = excerpt.ids;
    for (size_t i = 0; i < excerpt.rows.size(); ++i) {
      original[size_t(excerpt.rows[i])] = excerpt.targets[i];
      output[size_t(excerpt.rows[i])] = predicted[next++];
    }
    samples.push_back({.source = text_of(vocabulary_, excerpt.ids),
                       .reference = text_of(vocabulary_, original),
                       .output = text_of(vocabulary_, output)});
  }
  return samples;
}

std::vector<ValidationSample> LanguageSamples::continued() const {
  std::vector<Prompt> prompts;
  for (const Excerpt& excerpt : excerpts_) prompts.push_back({.ids = excerpt.ids, .max_tokens = int(kContinuedTokens)});
  Generation generation(model_, kernels_, std::move(prompts),
                        {.temperature = 0, .eos = vocabulary_.eos(), .precision = precision_});
  while (!generation.done()) generation.step();
  std::vector<ValidationSample> samples;
  for (size_t i = 0; i < excerpts_.size(); ++i) {
    samples.push_back({.source = text_of(vocabulary_, excerpts_[i].ids),
                       .reference = continuation_text(vocabulary_, excerpts_[i].ids, excerpts_[i].continuation),
                       .output = continuation_text(vocabulary_, excerpts_[i].ids, generation.texts()[i].ids)});
  }
  return samples;
}

}  // namespace gyre
