#include "tools/commands/greedy_generation.h"

#include <algorithm>
#include <filesystem>

#include "gyre/core/error.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/tokenizer/continuation.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/models/position/position.h"
#include "gyre/train/analysis/longbench.h"

namespace gyre {

void set_special_ids(GenerationOptions& options, const Vocabulary& vocabulary) {
  options.eos = vocabulary.eos();
  for (const int32_t id : options.ends)
    require(id < vocabulary.size(), "[generate] expected ids below ", vocabulary.size(), " that end a text, got ", id);
  const auto suppress = [&](int32_t id) {
    if (id >= 0 && id != options.eos && std::ranges::count(options.ends, id) == 0) options.suppressed.push_back(id);
  };
  for (const int32_t id : {vocabulary.unk(), vocabulary.bos(), vocabulary.pad()}) suppress(id);
  for (int id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.piece(id) == "[MASK]") suppress(id);
}

void GreedyOptions::add_model_rows(OptionTable& table) {
  gyre::add_model_rows(table, model, checkpoint);
  table.add("--vocab", vocabulary, "FILE", "vocabulary of a model without one");
  bos.add_row(table);
}

void GreedyOptions::add_execution_rows(OptionTable& table) {
  table.group("Execution");
  table.add("--mini-batch,--batch-size", mini_batch, "PROMPTS", "prompts that are continued together");
  device.add_row(table);
  precision.add_inference_row(table);
  threads.add_row(table);
}

void GreedyOptions::check() const { expect_between<uint64_t>(1, 1 << 20, "--mini-batch", mini_batch); }

namespace {

GenerationOptions greedy_options(const GreedyOptions& options, const Vocabulary& vocabulary) {
  GenerationOptions generation{.temperature = 0};
  const Path file = find_run(options.model) / kGenerationConfigFile;
  if (std::filesystem::exists(file)) {
    const GenerationConfig config = parse_generation_config(read_file(file), file.string() + ": ");
    generation.ends = config.eos;
    generation.repetition_penalty = config.repetition_penalty.value_or(1);
  }
  set_special_ids(generation, vocabulary);
  Kernels& kernels = options.device.kernels();
  generation.precision = options.precision.on(kernels);
  generation.packed = packed_for_continuing(nullptr, kernels, generation.precision);
  return generation;
}

}  // namespace

GreedyGenerator::GreedyGenerator(const GreedyOptions& options)
    : options_(options),
      trained_(load_language_model(options.model, options.checkpoint, options.vocabulary,
                                   options.device.kernels().device())),
      generation_(greedy_options(options, *trained_.vocabulary)),
      before_(options.bos.before_text(options.model, options.checkpoint, *trained_.vocabulary)) {}

std::vector<int32_t> GreedyGenerator::encode(const std::string& text) const {
  std::vector<int32_t> ids = vocabulary().encode(text);
  put_before_text(before_, vocabulary(), ids);
  return ids;
}

int64_t GreedyGenerator::context() const {
  const int64_t positions = longest() == PositionEncoding::kUnlimited ? 0 : longest();
  const auto trained = longest_sample(options_.model, options_.checkpoint);
  if (!trained) return positions;
  return positions == 0 ? *trained : std::min<int64_t>(positions, *trained);
}

std::vector<std::string> GreedyGenerator::run(const std::vector<GreedyPrompt>& prompts) const {
  std::vector<std::string> texts(prompts.size());
  for (size_t begin = 0; begin < prompts.size(); begin += options_.mini_batch)
    run_batch(prompts, begin, std::min(prompts.size(), begin + options_.mini_batch), texts);
  return texts;
}

void GreedyGenerator::run_batch(const std::vector<GreedyPrompt>& prompts, size_t begin, size_t end,
                                std::vector<std::string>& texts) const {
  static const std::vector<std::string> kNoStops;
  std::vector<Prompt> batch;
  std::vector<Continuation> continuations;
  for (size_t i = begin; i < end; ++i) {
    batch.push_back({prompts[i].ids, 0, prompts[i].max_tokens});
    continuations.emplace_back(vocabulary(), prompts[i].ids, kNoStops, prompts[i].text);
  }
  Generation generation(*trained_.model, options_.device.kernels(), std::move(batch), generation_);
  while (!generation.done()) {
    generation.step();
    for (size_t i = 0; i < continuations.size(); ++i) {
      const Generation::Text& text = generation.texts()[i];
      if (text.end != Generation::End::live || !prompts[begin + i].is_first_line) continue;
      continuations[i].set(text.ids);
      const std::string_view all = continuations[i].text(), line = first_line(all);
      if (!line.empty() && line.data() + line.size() < all.data() + all.size()) generation.stop(i);
    }
  }
  for (size_t i = 0; i < continuations.size(); ++i) {
    continuations[i].set(generation.texts()[i].ids);
    texts[begin + i] = continuations[i].text();
  }
}

}  // namespace gyre
