// gyre evaluate perplexity: how well a causal language model foretells a text.
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/facts.h"
#include "tools/program.h"
#include "tools/scored_text.h"
#include "train/language_score.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

struct Perplexity {
  ScoredText text;
  std::string precision = "fp32";
  ScoreOptions score{.max_length = 0};
  double valid_share = 0;
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
  const OptionTable* table = nullptr;
};

// Characters and bytes are those of the lines that were scored. The </s> of every document is scored too, so the bits
// are those that it takes to transmit the text and where its documents end.
nlohmann::ordered_json facts_of(const Perplexity& call, const LanguageScore& score,
                                const std::optional<TextSize>& size) {
  const double tokens = double(score.tokens), bits = score.nll / std::log(2.0);
  nlohmann::ordered_json facts{{"perplexity", std::exp(score.nll / tokens)},
                               {"cross_entropy", score.nll / tokens},
                               {"accuracy", double(score.correct) / tokens},
                               {"tokens", score.tokens},
                               {"documents", score.documents},
                               {"max_length", call.score.max_length},
                               {"context_window", call.score.context}};
  if (!size) return facts;
  facts["characters"] = size->characters;
  facts["bytes"] = size->bytes;
  facts["bits_per_character"] = bits / double(size->characters);
  facts["bits_per_byte"] = bits / double(size->bytes);
  return facts;
}

int evaluate(Perplexity& call) {
  if (!(call.valid_share >= 0 && call.valid_share < 1))
    throw UsageError("--valid-share: expected a number from 0 up and below 1, got ", call.valid_share);
  call.text.complete(*call.table);
  call.threads.use();
  Kernels& kernels = call.device.kernels();
  const auto trained =
      load_trained_model<EncoderOnly>(call.text.model, call.text.checkpoint, call.text.vocabulary, kernels.device());
  if (call.score.max_length == 0) {
    call.score.max_length =
        int(std::min<int64_t>(trained_length(call.text.model, call.text.checkpoint), trained.model->longest()));
  }
  call.score.precision = parse_precision(call.precision, kernels);
  const Documents documents = call.text.open(*trained.vocabulary);
  const StorePart part(documents.store, call.valid_share, call.valid_share > 0 ? Part::validation : Part::training);
  const LanguageScore score = score_documents(*trained.model, kernels, part, call.score);
  std::optional<TextSize> size;  // not known of a token store
  if (!documents.sizes.empty()) size = size_of_part(documents, part, *trained.vocabulary);
  print_facts(facts_of(call, score, size), call.json);
  return 0;
}

}  // namespace

void add_evaluate_perplexity_command(Program& program) {
  auto call = std::make_shared<Perplexity>();
  OptionTable& table = program.command("evaluate perplexity", "perplexity and bits per character of a language model",
                                       [call] { return evaluate(*call); });
  call->table = &table;
  call->text.add_rows(table);
  table.add("--valid-share", call->valid_share, "SHARE",
            "score only what training with this --valid-share holds out of the same data; 0: everything");
  table.add("--max-length,--tokens-per-sample", call->score.max_length, "TOKENS",
            "of a window of text; 0: what the model was trained with");
  table.add("--context-window", call->score.context, "TOKENS",
            "that every window but a document's first has before those it foretells");
  table.add("--mini-batch-words,--max-tokens", call->score.batch_rows, "TOKENS", "worked through at a time");
  table.add_choice("--precision", call->precision, precision_names(), "of activations and products");
  call->device.add_row(table);
  call->threads.add_row(table);
  table.add_flag("--json", call->json, "print one JSON object");
}

}  // namespace gyre
