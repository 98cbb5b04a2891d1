#include <nlohmann/json.hpp>

#include "gyre/data/chat/jinja.h"
#include "tests/fuzz/target.h"

using namespace gyre;

void read_input(std::string_view input) {
  static const Json kVariables{
      {"messages", {{{"role", "user"}, {"content", "a"}}, {{"role", "assistant"}, {"content", "b"}}}},
      {"bos_token", "<s>"},
      {"add_generation_prompt", true}};
  JinjaTemplate("input", input).render(kVariables);
}
