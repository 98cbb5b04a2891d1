// What other programs call things that gyre has under another name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// For an unknown option: "; did you mean --precision bf16?" where the word means that in fairseq, Marian or Hugging
// Face's transformers and `known`, the command's own options, has it; else the known name that is written alike, or
// nothing.
std::string suggest_option(std::string_view name, const std::vector<std::string>& known);

// For an unknown subcommand among `known`, likewise. `all`: every command's words, of which one may end with the word
// ("train lm" for lm).
std::string suggest_subcommand(std::string_view word, const std::vector<std::string>& known,
                               const std::vector<std::string>& all);

}  // namespace gyre
