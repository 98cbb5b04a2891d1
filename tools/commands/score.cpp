// gyre score: computes the log-probabilities of given translations, in the order of the input.
#include "gyre/train/tasks/translation/score.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/io/output_target.h"
#include "gyre/data/text/line_ends.h"
#include "tools/decoding_run.h"
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
  DecodingRun decoding;
  ScoredPairFiles files;
  Path output;
  DecodeOptions decode{.length_penalty = 0};
  ScoreSummary summary = ScoreSummary::none;
  bool word_scores = false, json = false;
  const OptionTable* table = nullptr;
};

class Scorer {
 public:
  explicit Scorer(const ScoreArgs& args)
      : call_(args),
        decoder_(args.decoding, args.decode),
        pairs_(args.files, vocabulary(), decoder_.trained.ensemble.longest()),
        output_(args.output),
        progress_(args.decoding.quiet ? nullptr : line_progress(args.output)) {}

  DecodedLines run() {
    const auto next = [&](ScoredPair& pair) { return pairs_.next(pair); };
    const auto count =
        for_each_window<ScoredPair>(pairs_.window(call_.decoding.window()), output_, next,
                                    [&](std::vector<ScoredPair>& pairs, uint64_t first) { score(pairs, first); });
    if (call_.summary != ScoreSummary::none) write_summary();
    output_.commit();
    progress_.reset();
    pairs_.print_report();
    return {count, pairs_.seconds()};
  }

 private:
  const Vocabulary& vocabulary() const { return *decoder_.trained.vocabulary; }

  // Writes the scores of some pairs; `first` is the number of the first one.
  void score(std::vector<ScoredPair>& pairs, uint64_t first) {
    std::vector<std::vector<int32_t>> sources, targets;
    for (ScoredPair& pair : pairs) {
      if (pair.is_skipped) continue;
      sources.push_back(std::move(pair.source));
      targets.push_back(std::move(pair.target));
    }
    const auto results = score_targets(decoder_.trained.ensemble, decoder_.kernels, sources, targets, decoder_.options,
                                       call_.decoding.batches, [&](size_t done) {
                                         if (progress_) progress_->show(int64_t(first + done));
                                       });
    auto result = results.begin();
    for (size_t i = 0; i < pairs.size(); ++i) {
      const bool is_scored = !pairs[i].is_skipped;
      if (call_.summary == ScoreSummary::none)
        output_.write(is_scored ? line_of(first + i, pairs[i], *result) : skipped_line(first + i, pairs[i]));
      if (!is_scored) continue;
      ++scored_;
      log_probability_ += result->log_probability;
      tokens_ += result->token_log_probs.size();
      ++result;
    }
  }

  // An entry of an n-best list that cannot be scored must not win.
  std::string skipped_line(uint64_t line, const ScoredPair& pair) const {
    if (call_.json) {
      Json json{{"line", line}, {"log_probability", nullptr}, {"score", nullptr}, {"tokens", 0}};
      if (call_.word_scores) json["pieces"] = json["log_probabilities"] = Json::array();
      return json_text(json);
    }
    return call_.files.n_best && !pair.line.empty() ? with_feature(pair.line, "Score= -inf") : "";
  }

  std::string line_of(uint64_t line, const ScoredPair& pair, const Hypothesis& h) const {
    if (call_.json) return json_line(line, h);
    std::string score = number(h.score);
    if (call_.files.n_best) return with_feature(pair.line, "Score= " + score);
    if (!call_.word_scores) return score;
    std::string pieces, numbers;
    for (const std::string& piece : pieces_of(h)) pieces += ' ' + piece;
    for (const float log_prob : h.token_log_probs) numbers += ' ' + number(double(log_prob));
    return score + " |||" + pieces + " |||" + numbers;
  }

  std::string json_line(uint64_t line, const Hypothesis& h) const {
    Json json{{"line", line},
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
    for (const int32_t id : h.ids) pieces.push_back(one_line(vocabulary().piece(id)));
    pieces.push_back(vocabulary().piece(decoder_.options.eos));
    return pieces;
  }

  void write_summary() {
    require(scored_ > 0, "[score] ", call_.files.target.string(), ": expected at least one line, got none");
    const double cross_entropy = -log_probability_ / double(tokens_), perplexity = std::exp(cross_entropy);
    const Json json{{"lines", scored_},
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
  LoadedDecoder decoder_;
  ScoredPairs pairs_;
  OutputLines output_;
  std::unique_ptr<WorkProgress> progress_;  // may be null
  uint64_t scored_ = 0, tokens_ = 0;
  double log_probability_ = 0;
};

void check(const ScoreArgs& args) {
  args.decoding.check();
  args.files.check();
  require_no_input(args.output, {args.files.source, args.files.target, args.decoding.ensemble.vocabulary()});
  args.decode.validate_search();
  for (const char* name : {"word-scores", "n-best", "length-penalty", "length-penalty-form"})
    args.table->reject_unused(name, args.summary == ScoreSummary::none, "--summary prints one number");
  for (const char* name : {"word-scores", "json"})
    args.table->reject_unused(name, !args.files.n_best, "--n-best adds a score to each line of the list");
}

int run(const ScoreArgs& args) {
  check(args);
  args.decoding.run([&] { return Scorer(args).run(); });
  return 0;
}

}  // namespace

void add_score_command(Program& program) {
  auto args = std::make_shared<ScoreArgs>();
  OptionTable& table =
      program.command("score", "log-probabilities of given translations", [args] { return run(*args); });
  args->table = &table;
  args->decoding.ensemble.add_rows(table);
  args->files.add_rows(table);
  table.add("--output,-o", args->output, "FILE", "a score per line; default: standard output");
  table.add("--length-penalty,--normalize,-n,--lenpen", args->decode.length_penalty, "NUMBER",
            "exponent a of the length penalty; 1: mean per token; 0: plain log-probability");
  table.add_enum("--length-penalty-form", args->decode.form, "score log P / |Y|^a, or log P / ((5 + |Y|) / 6)^a");
  table.add_flag("--word-scores", args->word_scores,
                 "also print the pieces of the target, </s> included, and their log-probabilities");
  table.add_enum("--summary", args->summary, "print one number for all lines, per target token including </s>");
  table.add_flag("--json", args->json, "print a JSON object per line, or one for --summary");
  args->decoding.add_execution_rows(table, "pairs", "source and target tokens");
}

}  // namespace gyre
