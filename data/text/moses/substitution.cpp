#include "gyre/data/text/moses/substitution.h"

namespace gyre::moses {

namespace {

void substitute(const Substitution& substitution, std::u32string& text) {
  const auto& [from, to, before, after] = substitution;
  std::u32string result;
  size_t end = 0;  // end of the last match
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at)) {
    const size_t next = at + from.size();
    if ((before && (at == end || !before(text[at - 1]))) || (after && (next == text.size() || !after(text[next])))) {
      ++at;
      continue;
    }
    result.append(text, end, at - end) += to;
    if (after) result += text[next];
    at = end = next + (after ? 1 : 0);
  }
  if (end > 0) text = result.append(text, end);
}

}  // namespace

void substitute(std::span<const Substitution> substitutions, std::u32string& text) {
  for (const Substitution& substitution : substitutions) substitute(substitution, text);
}

}  // namespace gyre::moses
