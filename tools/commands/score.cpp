// gyre score: computes the log-probabilities of given translations, in the order of the input.
#include "gyre/models/decode/score.h"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/output_target.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/train/log/stopwatch.h"
#include "gyre/train/tasks/translation/decoding.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/ensemble_choice.h"
#include "tools/options/precision_choice.h"
#include "tools/program.h"
#include "tools/scored_pairs.h"

namespace gyre {

enum class ScoreSummary : uint8_t { none, cross_entropy, perplexity };

template <>
inline constexpr std::pair<ScoreSummary, std::string_view> kEnumNames<ScoreSummary>[] = {
    {ScoreSummary::none, "none"},
    {ScoreSummary::cross_entropy, "cross-entropy"},
    {ScoreSummary::perplexity, "perplexity"}};

namespace {

struct ScoreArgs {
  EnsembleChoice ensemble;
  ScoredPairFiles files;
  Path output;
  PrecisionChoice precision;
  DecodeOptions decode{.length_penalty = 0};
  TranslateBatches batches{.sentences = 64, .tokens = 4096};
  int maxi_batch = 100;
  ScoreSummary summary = ScoreSummary::none;
  bool word_scores = false, json = false, quiet = false;
  DeviceChoice device;
  CpuThreads threads;
  const OptionTable* table = nullptr;
};

class Scorer {
 public:
  explicit Scorer(const ScoreArgs& args)
      : call_(args),
        kernels_(args.device.kernels()),
        trained_(args.ensemble.load(kernels_.device())),
        pairs_(args.files, *trained_.vocabulary, trained_.ensemble.longest()),
        output_(args.output),
        decode_(args.decode) {
    decode_.precision = args.precision.on(kernels_);
    set_vocabulary(decode_, *trained_.vocabulary);
  }

  // Reads a window of pairs, scores them sorted by length, and writes the scores before it reads the next window.
  // Returns the number of pairs.
  uint64_t run() {
    const size_t window = size_t(call_.maxi_batch) * size_t(call_.batches.sentences);
    while (score_window(window)) output_.flush();
    if (call_.summary != ScoreSummary::none) write_summary();
    output_.commit();
    return count_;
  }

 private:
  bool score_window(size_t window) {
    std::vector<ScoredPair> pairs;
    std::vector<std::vector<int32_t>> sources, targets;
    ScoredPair pair;
    while (pairs.size() < window && pairs_.next(pair)) {
      sources.push_back(std::move(pair.source));
      sources.back().push_back(decode_.eos);
      targets.push_back(std::move(pair.target));
      pairs.push_back(std::move(pair));
    }
    const auto results = score_targets(trained_.ensemble, kernels_, sources, targets, decode_, call_.batches);
    for (size_t i = 0; i < pairs.size(); ++i) {
      log_probability_ += results[i].log_probability;
      tokens_ += results[i].token_log_probs.size();
      if (call_.summary == ScoreSummary::none) output_.write(line_of(pairs[i], results[i]));
      ++count_;
    }
    return pairs.size() == window;
  }

  std::string line_of(const ScoredPair& pair, const Hypothesis& h) const {
    if (call_.json) return json_line(h);
    std::string score = number(h.score);
    if (call_.files.n_best) return with_feature(pair.line, "Score= " + score);
    if (!call_.word_scores) return score;
    std::string pieces, numbers;
    for (const std::string& piece : pieces_of(h)) pieces += ' ' + piece;
    for (const float log_prob : h.token_log_probs) numbers += ' ' + number(double(log_prob));
    return score + " |||" + pieces + " |||" + numbers;
  }

  std::string json_line(const Hypothesis& h) const {
    nlohmann::ordered_json json{{"line", count_},
                                {"log_probability", h.log_probability},
                                {"score", h.score},
                                {"tokens", h.token_log_probs.size()}};
    if (call_.word_scores) {
      json["pieces"] = pieces_of(h);
      json["log_probabilities"] = h.token_log_probs;
    }
    return json_text(json);
  }

  std::vector<std::string> pieces_of(const Hypothesis& h) const {
    std::vector<std::string> pieces;
    for (const int32_t id : h.ids) pieces.push_back(one_line(trained_.vocabulary->piece(id)));
    pieces.push_back(trained_.vocabulary->piece(decode_.eos));
    return pieces;
  }

  void write_summary() {
    require(count_ > 0, "[score] ", call_.files.target.string(), ": expected at least one line, got none");
    const double cross_entropy = -log_probability_ / double(tokens_), perplexity = std::exp(cross_entropy);
    const nlohmann::ordered_json json{{"lines", count_},
                                      {"tokens", tokens_},
                                      {"log_probability", log_probability_},
                                      {"cross_entropy", cross_entropy},
                                      {"perplexity", perplexity}};
    const bool wants_perplexity = call_.summary == ScoreSummary::perplexity;
    output_.write(call_.json ? json_text(json) : number(wants_perplexity ? perplexity : cross_entropy));
  }

  static std::string number(double x) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6f", x);
    return text;
  }

  const ScoreArgs& call_;
  Kernels& kernels_;
  LoadedEnsemble trained_;
  ScoredPairs pairs_;
  OutputLines output_;
  DecodeOptions decode_;
  uint64_t count_ = 0, tokens_ = 0;
  double log_probability_ = 0;
};

void check(const ScoreArgs& args) {
  args.ensemble.check();
  args.files.check();
  require_no_input(args.output, {args.files.source, args.files.target, args.ensemble.vocabulary()});
  expect_at_least(1, "--mini-batch", args.batches.sentences);
  expect_at_least(1, "--mini-batch-words", args.batches.tokens);
  expect_at_least(1, "--maxi-batch", args.maxi_batch);
  args.decode.validate_search();
  for (const char* name : {"word-scores", "n-best", "length-penalty", "length-penalty-form"})
    args.table->reject_unused(name, args.summary == ScoreSummary::none, "--summary prints one number");
  for (const char* name : {"word-scores", "json"})
    args.table->reject_unused(name, !args.files.n_best, "--n-best adds a score to each line of the list");
}

int run(const ScoreArgs& args) {
  check(args);
  args.threads.use();
  const Stopwatch clock;
  if (!args.quiet) args.ensemble.print();
  Scorer scorer(args);
  const uint64_t count = scorer.run();
  if (!args.quiet)
    std::fprintf(stderr, "%llu lines in %.1f s\n", static_cast<unsigned long long>(count), clock.seconds());
  return 0;
}

}  // namespace

void add_score_command(Program& program) {
  auto args = std::make_shared<ScoreArgs>();
  OptionTable& table =
      program.command("score", "log-probabilities of given translations", [args] { return run(*args); });
  args->table = &table;
  args->ensemble.add_rows(table);
  args->files.add_rows(table);
  table.add("--output,-o", args->output, "FILE", "a score per line; default: standard output");
  table.add("--length-penalty,--normalize,-n,--lenpen", args->decode.length_penalty, "NUMBER",
            "exponent a of the length penalty; 1: mean per token; 0: plain log-probability");
  table.add_enum("--length-penalty-form", args->decode.form, "score log P / |Y|^a, or log P / ((5 + |Y|) / 6)^a");
  table.add_flag("--word-scores", args->word_scores,
                 "also print the pieces of the target, </s> included, and their log-probabilities");
  table.add_enum("--summary", args->summary, "print one number for all lines, per target token including </s>");
  table.add_flag("--json", args->json, "print a JSON object per line, or one for --summary");
  table.group("Execution");
  table.add("--mini-batch,--batch-size", args->batches.sentences, "SENTENCES", "maximum pairs per batch");
  table.add("--mini-batch-words,--max-tokens", args->batches.tokens, "TOKENS",
            "maximum source and target tokens per batch");
  args->device.add_row(table);
  args->precision.add_row(table);
  table.add("--maxi-batch", args->maxi_batch, "BATCHES",
            "number of batches that are read ahead and sorted by length; 1 has the lowest latency");
  args->threads.add_row(table);
  table.add_flag("--quiet", args->quiet, "do not print the model and the time");
}

}  // namespace gyre
