#include "tools/foreign_options.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace gyre {

namespace {

constexpr std::string_view kPieces = "the global batch stays, and each rank works through its part in so many pieces";
constexpr std::string_view kEncoder = "in fairseq it is of the encoder alone", kBoth = "it is of both stacks";
constexpr std::string_view kStops = "in fairseq training stops at this rate", kStays = "the rate falls no lower";

constexpr std::array kMeanings{
    ForeignMeaning{"--max-tokens", "in fairseq it is the batch of each GPU, by the longer side with padding",
                   "the global batch, counted as --batch-unit says"},
    ForeignMeaning{"--batch-size", "in fairseq it is the batch of each GPU", "the global batch"},
    ForeignMeaning{"--update-freq", "in fairseq so many batches make one update", kPieces},
    ForeignMeaning{"--optimizer-delay", "in Marian so many batches make one update", kPieces},
    ForeignMeaning{"--label-smoothing", "in fairseq it is spread over the other words",
                   "over all words, the target among them, as in Marian and PyTorch"},
    ForeignMeaning{"--min-lr", kStops, kStays},
    ForeignMeaning{"--stop-min-lr", kStops, kStays},
    ForeignMeaning{"--overwrite", "in Marian each save replaces the model's one file",
                   "the run in the directory is deleted and training starts anew"},
    ForeignMeaning{"--max-source-positions", "in fairseq it is the longest source sentence",
                   "rows of the position tables; the longest sentence is --max-length"},
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
    const bool applies = m.beside.empty() || table.has(std::string(m.beside));
    if (!applies || !table.spelled(std::string(m.name.substr(2)))) continue;
    notes.push_back(concat("note: ", m.name, ": ", m.there, "; here: ", m.here, " (gyre help configuration)"));
  }
  return notes;
}

}  // namespace gyre
