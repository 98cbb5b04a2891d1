// gyre evaluate extrapolation: computes the perplexity of a language model at lengths other than its training length.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "gyre/core/clock.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/models/position/rope.h"
#include "gyre/train/analysis/language_score.h"
#include "gyre/train/log/console.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/commands/scored_text.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {

namespace {

struct ExtrapolationArgs {
  ScoredText text;
  PrecisionChoice precision;
  std::vector<int> lengths{128, 256, 512, 1012, 1512, 2512};
  std::vector<LengthProtocol> protocols{LengthProtocol::cut, LengthProtocol::full, LengthProtocol::sliding};
  uint64_t max_tokens = 0;
  RopeOptions rope;  // the fields that were given replace those of the model
  double scaling_factor = 0;
  ExtrapolationOptions score{.trained_length = 0};
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
  OptionTable* table = nullptr;
};

struct LengthRow {
  int length;
  LengthProtocol protocol;
  std::string reason;  // reason for a missing score; empty if there is a score
  LengthScore score;
  double seconds = 0;

  double cross_entropy() const { return score.nll / double(score.tokens); }
};

int longest(const ExtrapolationArgs& args) { return *std::max_element(args.lengths.begin(), args.lengths.end()); }

// The model's configuration with the RoPE options that were given.
EncoderOnlyConfig configure(const ExtrapolationArgs& args) {
  auto config = read_config<EncoderOnlyConfig>(find_run(args.text.model));
  RopeOptions& rope = config.position.get<RopeOptions>();
  for (const char* name : {"rope-scaling", "rope-scaling-factor", "rope-step"}) {
    if (args.table->given(name) && config.position.encoding != "rope")
      throw UsageError("--", name, " would have no effect: the model's positions are ", config.position.encoding);
  }
  if (args.table->given("rope-step")) rope.step = args.rope.step;
  if (args.table->given("rope-scaling")) {
    rope.scaling = args.rope.scaling;
    rope.original_length = args.score.trained_length;
    rope.scaling_factor = std::max(1.0, double(longest(args)) / args.score.trained_length);
    if (rope.scaling_factor == 1 && args.scaling_factor == 0 && rope.scaling != RopeScaling::none)
      throw UsageError("--rope-scaling would have no effect: the longest of --lengths, ", longest(args),
                       ", is not beyond the training length, ", args.score.trained_length,
                       "; see --rope-scaling-factor, --trained-length");
  }
  if (args.scaling_factor > 0) {
    if (rope.scaling == RopeScaling::none)
      throw UsageError("--rope-scaling-factor would have no effect: --rope-scaling is none");
    rope.scaling_factor = args.scaling_factor;
  }
  return config;
}

// Reads the first tokens, rounded down to whole blocks of the longest length.
std::vector<int32_t> read_tokens(const ExtrapolationArgs& args, const Vocabulary& vocabulary) {
  const Documents documents = args.text.open(vocabulary);
  std::vector<int32_t> tokens =
      concatenate_documents(documents.store, args.max_tokens == 0 ? UINT64_MAX : args.max_tokens);
  const auto block = size_t(longest(args));
  require(tokens.size() >= block, "[extrapolation] expected at least as many tokens as the longest of --lengths, ",
          block, ", got ", tokens.size());
  tokens.resize(tokens.size() / block * block);
  return tokens;
}

std::string describe(const LengthRow& row) {
  if (!row.reason.empty()) return "n/a: " + row.reason;
  return fmt::format("perplexity {:.3f} : cross-entropy {:.4f} : {} tokens : {:.1f} s", std::exp(row.cross_entropy()),
                     row.cross_entropy(), row.score.tokens, row.seconds);
}

std::vector<LengthRow> plan(const ExtrapolationArgs& args, const EncoderOnly& model) {
  std::vector<LengthRow> rows;
  for (const LengthProtocol protocol : args.protocols)
    for (const int length : args.lengths)
      rows.push_back({length, protocol, reason_not_scored(model, length, protocol, args.score.trained_length), {}});
  return rows;
}

// Computes the scores. Shows the progress and logs a line for each finished row.
void score_rows(const ExtrapolationArgs& args, const EncoderOnly& model, Kernels& kernels, std::vector<LengthRow>& rows,
                const ScoredTokens& text) {
  const auto scored = std::count_if(rows.begin(), rows.end(), [](const LengthRow& row) { return row.reason.empty(); });
  WorkProgress progress("tokens", scored * int64_t(text.ids.size()));
  int64_t done = 0;
  LengthScorer scorer(model, kernels, text, args.score, [&](int64_t more) {
    done += more;
    if (!args.text.quiet) progress.show(done);
  });
  for (LengthRow& row : rows) {
    const std::string name = fmt::format("{} at length {}", enum_name(row.protocol), row.length);
    const Stopwatch watch;
    if (row.reason.empty()) row.score = scorer.run(row.length, row.protocol);
    row.seconds = watch.seconds();
    if (args.text.quiet) continue;
    progress.clear();
    fmt::print(stderr, "{}: {}\n", name, describe(row));
  }
}

Json summary_of(const ExtrapolationArgs& args, const EncoderOnly& model, const std::vector<LengthRow>& rows,
                size_t tokens) {
  Json summary{{"model", args.text.model.string()},
               {"position", model.config().position.encoding},
               {"trained_length", args.score.trained_length},
               {"tokens", tokens},
               {"rows", Json::array()}};
  for (const LengthRow& row : rows) {
    Json entry{{"length", row.length}, {"protocol", enum_name(row.protocol)}};
    const bool has_score = row.reason.empty();
    entry["perplexity"] = has_score ? Json(std::exp(row.cross_entropy())) : nullptr;
    entry["cross_entropy"] = has_score ? Json(row.cross_entropy()) : nullptr;
    entry["tokens"] = row.score.tokens;
    entry["seconds"] = row.seconds;
    if (!has_score) entry["reason"] = row.reason;
    summary["rows"].push_back(std::move(entry));
  }
  return summary;
}

// Prints one line per length and one column per protocol, then the reasons for missing scores.
void print_table(const ExtrapolationArgs& args, const std::vector<LengthRow>& rows) {
  std::string header = fmt::format("{:>8}", "length");
  for (const LengthProtocol protocol : args.protocols) header += fmt::format(" {:>10}", enum_name(protocol));
  std::cout << header << '\n';
  for (size_t l = 0; l < args.lengths.size(); ++l) {
    std::string line = fmt::format("{:>8}", args.lengths[l]);
    for (size_t p = 0; p < args.protocols.size(); ++p) {
      const LengthRow& row = rows[p * args.lengths.size() + l];
      line +=
          row.reason.empty() ? fmt::format(" {:>10.3f}", std::exp(row.cross_entropy())) : fmt::format(" {:>10}", "n/a");
    }
    std::cout << line << '\n';
  }
  for (const LengthRow& row : rows) {
    if (!row.reason.empty())
      std::cout << fmt::format("n/a, {} at length {}: {}\n", enum_name(row.protocol), row.length, row.reason);
  }
}

void check(const ExtrapolationArgs& args) {
  for (const int length : args.lengths)
    if (length < 1) throw UsageError("--lengths: expected lengths of at least 1, got ", length);
  expect_at_least(1, "--mini-batch-words", args.score.batch_rows);
  expect_at_least(0, "--trained-length", args.score.trained_length);
  if (args.scaling_factor != 0 && args.scaling_factor < 1)
    throw UsageError("--rope-scaling-factor: expected a number of at least 1, got ", args.scaling_factor);
}

int evaluate(ExtrapolationArgs& args) {
  check(args);
  args.text.complete(*args.table);
  args.threads.use();
  Kernels& kernels = args.device.kernels();
  args.score.precision = args.precision.on(kernels);
  if (args.score.trained_length == 0) args.score.trained_length = trained_length(args.text.model, args.text.checkpoint);
  const EncoderOnlyConfig config = configure(args);
  const auto vocabulary = load_run_vocabulary(find_run(args.text.model), args.text.vocabulary, config.vocab_size);
  const auto model = load_model<EncoderOnly>(config, args.text.model, args.text.checkpoint, kernels.device());
  args.score.bos = args.text.begins_with_bos(*vocabulary);
  std::vector<int32_t> tokens = read_tokens(args, *vocabulary);
  std::vector<MaskedRow> masked;
  if (!config.causal) {
    args.text.bos.reject("blocks of a masked model begin with <s>");
    masked = mask_text(tokens, Masking(MaskingVocabulary::of(*vocabulary), {}, 0));
    require(!masked.empty(), "[extrapolation] expected a text with tokens to mask, got none");
  }
  std::vector<LengthRow> rows = plan(args, *model);
  score_rows(args, *model, kernels, rows, {tokens, vocabulary->bos(), vocabulary->eos(), masked});
  Json summary = summary_of(args, *model, rows, tokens.size());
  if (!args.json) summary.erase("rows");
  print_summary(summary, args.json);
  if (!args.json) print_table(args, rows);
  return 0;
}

void add_length_rows(OptionTable& table, ExtrapolationArgs& args) {
  table.add_list("--lengths", args.lengths, "TOKENS,...", "lengths to evaluate");
  table.add_list("--protocol,--protocols", args.protocols, "WORD,...",
                 "cut: pieces of the training length; full: blocks of each length; sliding: a sliding window of each "
                 "length, with a KV cache. A masked model predicts 15 % of the tokens, the same at every length");
  table.add("--tokens", args.max_tokens, "TOKENS",
            "tokens to use from the beginning of the text, rounded down to blocks of the longest length; 0: all");
  table.add("--trained-length", args.score.trained_length, "TOKENS",
            "length of the pieces of the protocol cut; 0: the training length of the model");
}

void add_rope_rows(OptionTable& table, ExtrapolationArgs& args) {
  table.group("RoPE extrapolation, instead of the model's own options");
  table.add_enum("--rope-scaling", args.rope.scaling, "scaling of the frequencies");
  table.add("--rope-scaling-factor", args.scaling_factor, "NUMBER",
            "scaling factor: target length / training length; 0: the longest of --lengths / training length");
  table.add("--rope-step", args.rope.step, "NUMBER", "position of token i is i times this");
}

}  // namespace

void add_evaluate_extrapolation_command(Program& program) {
  auto args = std::make_shared<ExtrapolationArgs>();
  OptionTable& table = program.command("evaluate extrapolation", "perplexity at lengths other than the training length",
                                       [args] { return evaluate(*args); });
  args->table = &table;
  args->text.add_rows(table);
  add_length_rows(table, *args);
  add_rope_rows(table, *args);
  table.group("Execution");
  table.add("--mini-batch-words,--max-tokens", args->score.batch_rows, "TOKENS",
            "tokens per batch; a longer block is a batch by itself");
  args->precision.add_row(table);
  args->device.add_row(table);
  args->threads.add_row(table);
  table.add_flag("--quiet", args->text.quiet, "print no progress");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
