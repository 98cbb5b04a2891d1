// gyre evaluate perplexity: computes the perplexity of a causal language model on a text.
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "gyre/core/io/json.h"
#include "gyre/train/analysis/language_score.h"
#include "gyre/train/log/console.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/commands/scored_text.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {

namespace {

struct PerplexityArgs {
  ScoredText text;
  PrecisionChoice precision;
  ScoreOptions score{.max_length = 0};
  double valid_share = 0;
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
  const OptionTable* table = nullptr;
};

// Characters and bytes count the scored lines. The </s> of every document is scored too, so the bits encode the text
// and its document boundaries.
Json summary_of(const PerplexityArgs& args, const LanguageScore& score, const std::optional<TextSize>& size) {
  const double tokens = double(score.tokens), bits = score.nll / std::log(2.0);
  Json summary{{"perplexity", std::exp(score.nll / tokens)},
               {"cross_entropy", score.nll / tokens},
               {"accuracy", double(score.correct) / tokens},
               {"tokens", score.tokens},
               {"documents", score.documents},
               {"max_length", args.score.max_length},
               {"context_window", args.score.context}};
  if (!size) return summary;
  summary["characters"] = size->characters;
  summary["bytes"] = size->bytes;
  summary["bits_per_character"] = bits / double(size->characters);
  summary["bits_per_byte"] = bits / double(size->bytes);
  return summary;
}

// The length of the training. An imported model, whose number of positions may be large, has windows of at most a
// batch.
int usual_length(const PerplexityArgs& args, const EncoderOnly& model) {
  int64_t length = std::min<int64_t>(trained_length(args.text.model, args.text.checkpoint), model.longest());
  if (!longest_sample(args.text.model, args.text.checkpoint)) length = std::min(length, args.score.batch_rows);
  return int(length);
}

int evaluate(PerplexityArgs& args) {
  if (!(args.valid_share >= 0 && args.valid_share < 1))
    throw UsageError("--valid-share: expected a number from 0 to below 1, got ", args.valid_share);
  args.text.complete(*args.table);
  args.threads.use();
  Kernels& kernels = args.device.kernels();
  const auto trained =
      load_trained_model<EncoderOnly>(args.text.model, args.text.checkpoint, args.text.vocabulary, kernels.device());
  if (args.score.max_length == 0) args.score.max_length = usual_length(args, *trained.model);
  args.score.precision = args.precision.on(kernels);
  args.score.bos = args.text.begins_with_bos(*trained.vocabulary);
  const Documents documents = args.text.open(*trained.vocabulary);
  const StorePart part(documents.store, args.valid_share, args.valid_share > 0 ? Part::validation : Part::training);
  // The held-out part of several documents is an estimate.
  const double share = args.valid_share > 0 ? args.valid_share : 1;
  WorkProgress progress("tokens", int64_t(share * double(documents.store.total_tokens(0))));
  args.score.on_tokens = [&](uint64_t tokens) { progress.show(int64_t(tokens)); };
  const LanguageScore score = score_documents(*trained.model, kernels, part, args.score);
  progress.clear();
  std::optional<TextSize> size;  // unknown for a token store of an earlier version
  if (documents.store.has_text_sizes()) size = size_of_part(part, *trained.vocabulary);
  print_summary(summary_of(args, score, size), args.json);
  return 0;
}

}  // namespace

void add_evaluate_perplexity_command(Program& program) {
  auto args = std::make_shared<PerplexityArgs>();
  OptionTable& table = program.command("evaluate perplexity", "perplexity and bits per character of a language model",
                                       [args] { return evaluate(*args); });
  args->table = &table;
  args->text.add_rows(table);
  table.add("--valid-share", args->valid_share, "SHARE",
            "score only the part of the data that training with this --valid-share holds out; 0: everything");
  table.add(
      "--max-length,--tokens-per-sample", args->score.max_length, "TOKENS",
      "tokens per window; 0: the training length of the model, or the positions of an imported one, of which at most "
      "--mini-batch-words");
  table.add("--context-window", args->score.context, "TOKENS",
            "context tokens before the scored tokens of every window except a document's first");
  table.add("--mini-batch-words,--max-tokens", args->score.batch_rows, "TOKENS", "tokens per batch");
  args->precision.add_inference_row(table);
  args->device.add_row(table);
  args->threads.add_row(table);
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
