#include "tools/options/generation_defaults.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include "gyre/core/error.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "tools/command_line/messages.h"

namespace gyre {

void apply_generation_config(const Path& run, const OptionTable& table, GenerationOptions& options, int& max_tokens) {
  const Path file = run / kGenerationConfigFile;
  if (!std::filesystem::exists(file)) return;
  const GenerationConfig config = parse_generation_config(read_file(file), file.string() + ": ");
  constexpr int64_t kDefaultTopK = 50;  // of transformers, which does not sample by default
  std::string applied;
  const auto given = [&](const char* name) { return table.given(name); };
  const auto apply = [&](const char* name, auto& field, const auto& value) {
    if (!value || given(name)) return;
    field = std::decay_t<decltype(field)>(*value);
    applied += concat(applied.empty() ? "" : ", ", "--", name, " ", field);
  };
  if (config.do_sample == true) {
    apply("temperature", options.temperature, config.temperature);
    apply("top-k", options.top_k, std::optional(config.top_k.value_or(kDefaultTopK)));
    apply("top-p", options.top_p, config.top_p);
    apply("min-p", options.min_p, config.min_p);
  } else if (std::ranges::none_of(std::array{"top-k", "top-p", "min-p"}, given)) {
    apply("temperature", options.temperature, std::optional(0.0));
  }
  apply("repetition-penalty", options.repetition_penalty, config.repetition_penalty);
  apply("max-tokens", max_tokens, config.max_new_tokens);
  options.ends = config.eos;
  if (!applied.empty()) print_message(concat(kGenerationConfigFile, ": ", applied));
}

}  // namespace gyre
