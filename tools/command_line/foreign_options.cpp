#include "tools/command_line/foreign_options.h"

#include <algorithm>
#include <array>

#include "gyre/core/error.h"

namespace gyre {

namespace {

constexpr std::string_view kPieces =
    "the global batch stays the same, and each rank splits its part into this many micro-batches";
constexpr std::string_view kEncoder = "in fairseq it applies to the encoder only", kBoth = "it applies to both stacks";
constexpr std::string_view kStops = "in fairseq training stops at this rate",
                           kStays = "it is the minimum learning rate";

constexpr std::array kMeanings{
    ForeignMeaning{"--max-tokens", "in fairseq it is the batch of each GPU, counted by the longer side with padding",
                   "the global batch, in the unit of --batch-unit"},
    ForeignMeaning{"--batch-size", "in fairseq it is the batch of each GPU", "the global batch"},
    ForeignMeaning{"--update-freq", "in fairseq this many batches make one update", kPieces},
    ForeignMeaning{"--optimizer-delay", "in Marian this many batches make one update", kPieces},
    ForeignMeaning{"--label-smoothing", "in fairseq it is spread over the other tokens",
                   "over all tokens, including the target, as in Marian and PyTorch"},
    ForeignMeaning{"--min-lr", kStops, kStays},
    ForeignMeaning{"--stop-min-lr", kStops, kStays},
    ForeignMeaning{"--overwrite", "in Marian each save replaces the single model file",
                   "the run in the directory is deleted and a new one starts"},
    ForeignMeaning{"--max-source-positions", "in fairseq it is the longest source sentence",
                   "rows of the position tables; --max-length limits the sentences"},
    ForeignMeaning{"--encoder-attention-heads", kEncoder, kBoth, "dec-depth"},
    ForeignMeaning{"--encoder-ffn-embed-dim", kEncoder, kBoth, "dec-depth"},
    ForeignMeaning{"--encoder-normalize-before", kEncoder, kBoth, "dec-depth"},
    ForeignMeaning{"--encoder-learned-pos", kEncoder, kBoth, "dec-depth"},
};

}  // namespace

std::span<const ForeignMeaning> foreign_meanings() { return kMeanings; }

std::vector<std::string> foreign_notes(const OptionTable& table) {
  std::vector<std::string> notes;
  for (const ForeignMeaning& m : kMeanings) {
    const bool applies = m.required_option.empty() || table.has(std::string(m.required_option));
    if (!applies || !table.given_as(std::string(m.name.substr(2)))) continue;
    notes.push_back(
        concat("note: ", m.name, ": ", m.other_meaning, "; here: ", m.gyre_meaning, " (gyre help configuration)"));
  }
  return notes;
}

}  // namespace gyre
