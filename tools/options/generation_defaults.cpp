#include "tools/options/generation_defaults.h"

#include <filesystem>
#include <iostream>
#include <string>

#include "gyre/core/error.h"
#include "gyre/models/hugging_face/generation_config.h"

namespace gyre {

void apply_generation_config(const Path& run, const OptionTable& table, GenerationOptions& options, int& max_tokens) {
  const Path file = run / kGenerationConfigFile;
  if (!std::filesystem::exists(file)) return;
  const GenerationConfig config = parse_generation_config(read_file(file), file.string() + ": ");
  std::string applied;
  const auto apply = [&](const char* name, auto& field, const auto& value) {
    if (!value || table.given(name)) return;
    field = std::decay_t<decltype(field)>(*value);
    applied += concat(applied.empty() ? "" : ", ", "--", name, " ", field);
  };
  if (config.do_sample == true) {
    apply("temperature", options.temperature, config.temperature);
    apply("top-k", options.top_k, config.top_k);
    apply("top-p", options.top_p, config.top_p);
    apply("min-p", options.min_p, config.min_p);
  } else if (config.do_sample == false) {
    apply("temperature", options.temperature, std::optional(0.0));
  }
  apply("repetition-penalty", options.repetition_penalty, config.repetition_penalty);
  apply("max-tokens", max_tokens, config.max_new_tokens);
  options.ends = config.eos;
  if (!applied.empty()) std::cerr << kGenerationConfigFile << ": " << applied << '\n';
}

}  // namespace gyre
