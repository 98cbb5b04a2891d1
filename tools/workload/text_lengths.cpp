#include "tools/workload/text_lengths.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/random.h"
#include "gyre/data/synthetic/embedded_corpus.h"
#include "tools/lines.h"

namespace gyre {
namespace {

constexpr size_t kEmbeddedPairs = 20000;  // the default of `gyre data generate`
constexpr int64_t kBatchTokens = 4096;

int32_t tokens_of(const std::string& line) {
  int32_t tokens = 1;
  bool inside = false;
  for (char c : line) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    tokens += !space && !inside;
    inside = !space;
  }
  return tokens;
}

}  // namespace

std::vector<PairLengths> read_lengths(const Path& prefix) {
  std::vector<PairLengths> lengths;
  if (prefix.empty()) {
    for (const SentencePair& pair : generate_corpus(1, Split::train, kEmbeddedPairs))
      lengths.push_back({tokens_of(pair.source), tokens_of(pair.target)});
    return lengths;
  }
  const auto sources = read_lines(prefix.string() + ".en"), targets = read_lines(prefix.string() + ".de");
  require(sources.size() == targets.size(), "[text] ", prefix.string(), ".en has ", sources.size(), " lines, ",
          prefix.string(), ".de ", targets.size());
  for (size_t i = 0; i < sources.size(); ++i) lengths.push_back({tokens_of(sources[i]), tokens_of(targets[i])});
  return lengths;
}

std::string describe_text(const Path& prefix) {
  return prefix.empty() ? "lengths of the synthetic corpus" : "lengths of " + prefix.string() + ".en and .de";
}

std::vector<TokenBatch> token_batches(std::vector<PairLengths> pairs) {
  std::sort(pairs.begin(), pairs.end());
  std::vector<TokenBatch> batches(1);
  int64_t longest = 0;
  for (const PairLengths& pair : pairs) {
    batches.back().push_back(pair);
    longest = std::max<int64_t>({longest, pair.source, pair.target});
    if (longest * int64_t(batches.back().size()) < kBatchTokens) continue;
    batches.emplace_back();
    longest = 0;
  }
  batches.pop_back();
  require(!batches.empty(), "[text] ", pairs.size(), " pairs do not fill a batch of ", kBatchTokens, " tokens");
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < batches.size(); ++i) order.emplace_back(mix(0, i), i);
  std::sort(order.begin(), order.end());
  std::vector<TokenBatch> shuffled;
  for (const auto& [key, i] : order) shuffled.push_back(std::move(batches[i]));
  return shuffled;
}

std::vector<TokenBatch> random_batches(size_t batches, size_t pairs) {
  std::vector<TokenBatch> all(batches, TokenBatch(pairs));
  const auto length = [](size_t batch, size_t side) { return int32_t(25 + mix(batch, side) % 11); };
  for (size_t b = 0; b < batches; ++b)
    for (size_t i = 0; i < pairs; ++i) all[b][i] = {length(b, 2 * i), length(b, 2 * i + 1)};
  return all;
}

}  // namespace gyre
