// gyre score: computes the log-probabilities of given translations, or of lines by a language model, in the order of
// the input.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/decode/given_tokens.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/translation/decoding.h"
#include "tools/command_line/option_table.h"
#include "tools/commands/decoding_run.h"
#include "tools/lines.h"
#include "tools/program.h"

namespace gyre {
namespace {

// Reads sources with given translations, line by line or as n-best lists, for `gyre score`; for a language model, only
// the latter.
struct ScoredPairFiles {
  Path source, target;  // no source for a language model
  bool n_best = false;
  int max_length = 1000;
  BadLineChoice bad_lines;

  // Adds --source, --target, which is required, --n-best, --max-length and --on-bad-line.
  void add_rows(OptionTable& table);
  // Throws UsageError; `translates`: whether the model reads sources.
  void check(const OptionTable& table, bool translates) const;
};

struct ScoredPair {
  std::string line;                     // line of the target file
  std::vector<int32_t> source, target;  // ids without special ones; an empty line has no ids
  bool is_skipped = false;              // because of a bad line on either side; has no ids
};

class ScoredPairs {
 public:
  // longest: the maximum length that the model supports.
  ScoredPairs(const ScoredPairFiles& files, const Vocabulary& vocabulary, int64_t longest, bool reads_sources);

  // Returns false at the end. Throws Error, with the name of the file and the line number, for different numbers of
  // lines and for an entry of an n-best list without the number of a source, from 0 in ascending order; for a line that
  // is too long or not UTF-8 only if the files say so.
  bool next(ScoredPair& pair);
  void print_report() const;  // report of the lines that were skipped
  // The number of pairs to read before the first result.
  size_t window(size_t pairs) const { return targets_.window(sources_ ? sources_->window(pairs) : pairs); }
  // Time spent waiting for lines.
  double seconds() const { return (sources_ ? sources_->seconds() : 0) + targets_.seconds(); }

 private:
  void read_source();
  bool end_of_targets();
  uint64_t number_of_entry(const std::string& line) const;
  // side: 0 for a source, 1 for a target.
  std::vector<int32_t> encode(InputLines& from, int side, const std::string& text) const;

  const Vocabulary& vocabulary_;
  bool n_best_;
  size_t limit_;
  std::optional<InputLines> sources_;
  InputLines targets_;
  std::vector<int32_t> source_;  // the last one that was read
};

constexpr std::string_view kSeparator = " ||| ";

// The place of the separator number n, from 0, of an n-best line; npos if there is none.
size_t find_separator(const std::string& line, int n) {
  size_t at = line.find(kSeparator);
  for (; n > 0 && at != std::string::npos; --n) at = line.find(kSeparator, at + kSeparator.size());
  return at;
}

// The second field of an n-best line.
std::string text_of_entry(const std::string& line) {
  const size_t begin = find_separator(line, 0) + kSeparator.size();
  return line.substr(begin, line.find(kSeparator, begin) - begin);
}

// Whether the third field of an n-best line, if there is one, begins with the name of a feature, such as "F0= ".
// Otherwise the text contains a separator.
bool has_features(const std::string& line) {
  const size_t text = find_separator(line, 1);
  if (text == std::string::npos) return true;
  const size_t begin = text + kSeparator.size(), name_end = line.find("= ", begin);
  return name_end != std::string::npos && name_end > begin && name_end < line.find(' ', begin);
}

void ScoredPairFiles::add_rows(OptionTable& table) {
  table.add("--source,-s", source, "FILE",
            "sources, one sentence per line; -: standard input; none for a language model");
  table.add("--target,-t", target, "FILE",
            "their translations, or texts for a language model, which are scored; -: standard input");
  table.required("target");
  table.add_flag("--n-best", n_best,
                 "the targets are an n-best list, id ||| text ||| F0= log P ||| score; print it with a feature "
                 "Score= added");
  table.add("--max-length", max_length, "TOKENS", "maximum length, </s> included; a longer line is bad");
  bad_lines.add_row(table, "too long or not UTF-8, on either side");
}

void ScoredPairFiles::check(const OptionTable& table, bool translates) const {
  expect_at_least(1, "--max-length", max_length);
  table.reject_unused("source", translates, "a language model reads no sources");
  if (translates && !table.given("source"))
    throw UsageError("--source is missing: a translation model scores translations of its lines");
  if (translates && is_standard(source) && is_standard(target))
    throw UsageError("--source, --target: expected at most one of them to be standard input");
}

ScoredPairs::ScoredPairs(const ScoredPairFiles& files, const Vocabulary& vocabulary, int64_t longest,
                         bool reads_sources)
    : vocabulary_(vocabulary),
      n_best_(files.n_best),
      limit_(size_t(std::min<int64_t>(files.max_length, longest))),
      targets_(files.target, files.bad_lines.policy) {
  targets_.set_limit(concat(limit_, " tokens"));
  if (!reads_sources) return;
  sources_.emplace(files.source, files.bad_lines.policy);
  sources_->set_limit(concat(limit_, " tokens"));
}

bool ScoredPairs::next(ScoredPair& pair) {
  if (!targets_.next(pair.line)) return end_of_targets();
  if (n_best_ && !targets_.is_skipped()) {
    const uint64_t number = number_of_entry(pair.line);
    while (sources_ && sources_->line() <= number) read_source();
  } else if (!n_best_ && sources_) {
    read_source();
  }
  pair.source = source_;
  pair.target.clear();
  if (!targets_.is_skipped()) pair.target = encode(targets_, 1, n_best_ ? text_of_entry(pair.line) : pair.line);
  pair.is_skipped = (sources_ && sources_->is_skipped()) || targets_.is_skipped();
  return true;
}

void ScoredPairs::print_report() const {
  if (sources_) sources_->print_report();
  targets_.print_report();
}

void ScoredPairs::read_source() {
  std::string line;
  require(sources_->next(line), targets_.name(), ":", targets_.line(),
          ": there is no source for this line: ", sources_->name(), " has ", sources_->line(), " lines");
  source_ = encode(*sources_, 0, line);
}

// An n-best list need not have entries for the last sources.
bool ScoredPairs::end_of_targets() {
  std::string line;
  require(n_best_ || !sources_ || !sources_->next(line), targets_.name(), ": expected a target for each line of ",
          sources_ ? sources_->name() : "", ", got only ", targets_.line(), " lines");
  return false;
}

// The number of the source, from 0, of an n-best line.
uint64_t ScoredPairs::number_of_entry(const std::string& line) const {
  uint64_t number = 0;
  const size_t separator = find_separator(line, 0);
  const char* const end = line.data() + std::min(separator, line.size());
  const auto parsed = std::from_chars(line.data(), end, number);
  require(separator != std::string::npos && parsed.ec == std::errc() && parsed.ptr == end, targets_.name(), ":",
          targets_.line(), ": expected an entry of an n-best list, id ||| text ||| .., got '", line.substr(0, 60), "'");
  require(has_features(line), targets_.name(), ":", targets_.line(),
          ": expected features such as F0= -1.5 after the text, which must not contain '|||', got '",
          line.substr(0, 60), "'");
  require(!sources_ || number + 1 >= sources_->line(), targets_.name(), ":", targets_.line(),
          ": expected the numbers of sources in ascending order, got ", number, " after ",
          sources_ ? sources_->line() - 1 : 0);
  return number;
}

std::vector<int32_t> ScoredPairs::encode(InputLines& from, int side, const std::string& text) const {
  std::vector<int32_t> ids = vocabulary_.side(side).encode(text);
  if (ids.size() < limit_) return ids;
  from.reject(BadLine::too_long, concat("expected at most ", limit_, " tokens, got ", ids.size() + 1));
  return {};
}

// Returns a line "id ||| text ||| features ||| .." of an n-best list with one more feature, at the end of its third
// field.
std::string with_feature(const std::string& line, const std::string& feature) {
  const size_t text = find_separator(line, 1), features = find_separator(line, 2);
  if (text == std::string::npos) return line + std::string(kSeparator) + feature;
  if (features == std::string::npos) return line + ' ' + feature;
  return line.substr(0, features) + ' ' + feature + line.substr(features);
}

}  // namespace

enum class ScoreSummary : uint8_t { none, log_probability, cross_entropy, perplexity };

template <>
inline constexpr std::pair<ScoreSummary, std::string_view> kEnumNames<ScoreSummary>[] = {
    {ScoreSummary::none, "none"},
    {ScoreSummary::log_probability, "log-probability"},
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
  bool eos = true;  // whether a language model also scores </s>
  const OptionTable* table = nullptr;
};

// The model or the ensemble that scores targets.
class TargetModel {
 public:
  virtual ~TargetModel() = default;
  virtual const Vocabulary& vocabulary() const = 0;
  virtual int64_t longest() const = 0;
  // Scores the targets, ids without special ones, in their order.
  virtual std::vector<Hypothesis> score(const std::vector<std::vector<int32_t>>& sources,
                                        const std::vector<std::vector<int32_t>>& targets,
                                        const std::function<void(size_t done)>& progress) = 0;
};

class TranslationTarget : public TargetModel {
 public:
  explicit TranslationTarget(const ScoreArgs& args) : args_(args), decoder_(args.decoding, args.decode) {}

  const Vocabulary& vocabulary() const override { return *decoder_.trained.vocabulary; }
  int64_t longest() const override { return decoder_.trained.ensemble.longest(); }
  std::vector<Hypothesis> score(const std::vector<std::vector<int32_t>>& sources,
                                const std::vector<std::vector<int32_t>>& targets,
                                const std::function<void(size_t done)>& progress) override {
    return score_targets(decoder_.trained.ensemble, decoder_.kernels, sources, targets, decoder_.options,
                         args_.decoding.batches, progress);
  }

 private:
  const ScoreArgs& args_;
  LoadedDecoder decoder_;
};

// A text follows the token that begins a document: a model needs a token to predict the first one.
class LanguageTarget : public TargetModel {
 public:
  explicit LanguageTarget(const ScoreArgs& args) : args_(args), kernels_(args.decoding.device.kernels()) {
    const auto [model, checkpoint] = args.decoding.ensemble.members().front();
    trained_ =
        load_trained_model<EncoderOnly>(model, checkpoint, args.decoding.ensemble.vocabulary(), kernels_.device());
    require(trained_.model->config().causal, "[score] expected a causal language model, got a bidirectional one");
  }

  const Vocabulary& vocabulary() const override { return *trained_.vocabulary; }
  int64_t longest() const override { return trained_.model->longest(); }
  std::vector<Hypothesis> score(const std::vector<std::vector<int32_t>>&,
                                const std::vector<std::vector<int32_t>>& targets,
                                const std::function<void(size_t done)>& progress) override {
    std::vector<GivenContinuation> texts;
    for (const std::vector<int32_t>& target : targets) {
      texts.push_back({{vocabulary().bos()}, target});
      if (args_.eos) texts.back().ids.push_back(vocabulary().eos());
    }
    std::erase_if(texts, [](const GivenContinuation& text) { return text.ids.empty(); });
    const auto scores = score_continuations(*trained_.model, kernels_, texts, args_.decoding.precision.on(kernels_),
                                            args_.decoding.batches.tokens, progress);
    std::vector<Hypothesis> results;
    auto next = scores.begin();
    for (const std::vector<int32_t>& target : targets) {
      const bool has_tokens = args_.eos || !target.empty();
      results.push_back(has_tokens ? make_hypothesis(target, (next++)->log_probs, args_.decode) : Hypothesis{});
    }
    return results;
  }

 private:
  const ScoreArgs& args_;
  Kernels& kernels_;
  TrainedModel<EncoderOnly> trained_;
};

bool translates(const ScoreArgs& args) {
  const std::string kind = model_kind(find_run(args.decoding.ensemble.members().front().first));
  const bool is_language_model = kind == EncoderOnlyConfig::kModel;
  expect(is_language_model || kind == EncoderDecoderConfig::kModel, "--model",
         "a translation model or a causal language model", kind);
  return !is_language_model;
}

std::unique_ptr<TargetModel> load_target_model(const ScoreArgs& args, bool has_sources) {
  if (has_sources) return std::make_unique<TranslationTarget>(args);
  return std::make_unique<LanguageTarget>(args);
}

class Scorer {
 public:
  Scorer(const ScoreArgs& args, bool has_sources)
      : args_(args),
        model_(load_target_model(args, has_sources)),
        pairs_(args.files, vocabulary(), model_->longest(), has_sources),
        output_(args.output),
        progress_(args.decoding.quiet ? nullptr : line_progress(args.output)) {}

  DecodedLines run() {
    const auto next = [&](ScoredPair& pair) { return pairs_.next(pair); };
    const auto count =
        for_each_window<ScoredPair>(pairs_.window(args_.decoding.window()), output_, next,
                                    [&](std::vector<ScoredPair>& pairs, uint64_t first) { score(pairs, first); });
    if (args_.summary != ScoreSummary::none) write_summary();
    output_.commit();
    progress_.reset();
    pairs_.print_report();
    return {count, pairs_.seconds()};
  }

 private:
  const Vocabulary& vocabulary() const { return model_->vocabulary(); }

  // Writes the scores of some pairs; `first` is the number of the first one.
  void score(std::vector<ScoredPair>& pairs, uint64_t first) {
    std::vector<std::vector<int32_t>> sources, targets;
    for (ScoredPair& pair : pairs) {
      if (pair.is_skipped) continue;
      sources.push_back(std::move(pair.source));
      targets.push_back(std::move(pair.target));
    }
    const auto results = model_->score(sources, targets, [&](size_t done) {
      if (progress_) progress_->show(int64_t(first + done));
    });
    auto result = results.begin();
    for (size_t i = 0; i < pairs.size(); ++i) {
      const bool is_scored = !pairs[i].is_skipped;
      if (args_.summary == ScoreSummary::none)
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
    if (args_.json) {
      Json json{{"line", line}, {"log_probability", nullptr}, {"score", nullptr}, {"tokens", 0}};
      if (args_.word_scores) json["pieces"] = json["log_probabilities"] = Json::array();
      return json_text(json);
    }
    return args_.files.n_best && !pair.line.empty() ? with_feature(pair.line, "Score= -inf") : "";
  }

  std::string line_of(uint64_t line, const ScoredPair& pair, const Hypothesis& h) const {
    if (args_.json) return json_line(line, h);
    std::string score = number(h.score);
    if (args_.files.n_best) return with_feature(pair.line, "Score= " + score);
    if (!args_.word_scores) return score;
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
    if (args_.word_scores) {
      json["pieces"] = pieces_of(h);
      json["log_probabilities"] = h.token_log_probs;
    }
    return json_text(json);
  }

  std::vector<std::string> pieces_of(const Hypothesis& h) const {
    const Vocabulary& targets = vocabulary().side(1);
    std::vector<std::string> pieces;
    for (const int32_t id : h.ids) pieces.push_back(one_line(targets.piece(id)));
    if (h.token_log_probs.size() > h.ids.size()) pieces.push_back(targets.piece(targets.eos()));
    return pieces;
  }

  void write_summary() {
    require(scored_ > 0, "[score] ", args_.files.target.string(), ": expected at least one line, got none");
    const double cross_entropy = -log_probability_ / double(tokens_), perplexity = std::exp(cross_entropy);
    const Json json{{"lines", scored_},
                    {"tokens", tokens_},
                    {"log_probability", log_probability_},
                    {"cross_entropy", cross_entropy},
                    {"perplexity", perplexity}};
    output_.write(args_.json ? json_text(json) : number(json.at(summary_key()).get<double>()));
  }

  const char* summary_key() const {
    if (args_.summary == ScoreSummary::log_probability) return "log_probability";
    return args_.summary == ScoreSummary::perplexity ? "perplexity" : "cross_entropy";
  }

  static std::string number(double x) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6f", x);
    return text;
  }

  const ScoreArgs& args_;
  std::unique_ptr<TargetModel> model_;
  ScoredPairs pairs_;
  OutputLines output_;
  std::unique_ptr<WorkProgress> progress_;  // may be null
  uint64_t scored_ = 0, tokens_ = 0;
  double log_probability_ = 0;
};

void check(const ScoreArgs& args, bool has_sources) {
  args.files.check(*args.table, has_sources);
  args.table->reject_unused("eos", !has_sources, "a translation ends with </s>");
  if (!has_sources && !args.decoding.ensemble.target_vocabulary().empty())
    throw UsageError("--vocab: expected one vocabulary of a language model, got two");
  if (!has_sources && args.decoding.ensemble.members().size() > 1)
    throw UsageError("--model: expected one language model, got an ensemble of several");
  require_no_input(args.output, {args.files.source, args.files.target, args.decoding.ensemble.vocabulary(),
                                 args.decoding.ensemble.target_vocabulary()});
  args.decode.validate_search();
  for (const char* name : {"word-scores", "n-best", "length-penalty", "length-penalty-form"})
    args.table->reject_unused(name, args.summary == ScoreSummary::none, "--summary prints one number");
  for (const char* name : {"word-scores", "json"})
    args.table->reject_unused(name, !args.files.n_best, "--n-best adds a score to each line of the list");
}

int run(const ScoreArgs& args) {
  args.decoding.check();
  const bool has_sources = translates(args);
  check(args, has_sources);
  args.decoding.run([&] { return Scorer(args, has_sources).run(); });
  return 0;
}

}  // namespace

void add_score_command(Program& program) {
  auto args = std::make_shared<ScoreArgs>();
  OptionTable& table =
      program.command("score", "log-probabilities of given translations or texts", [args] { return run(*args); });
  args->table = &table;
  args->decoding.ensemble.add_rows(table);
  args->files.add_rows(table);
  table.add("--output,-o", args->output, "FILE", "a score per line; default: standard output");
  table.add("--length-penalty,--normalize,-n,--lenpen", args->decode.length_penalty, "NUMBER",
            "exponent a of the length penalty; 1: mean per token; 0: plain log-probability");
  table.add_enum("--length-penalty-form", args->decode.form, "score log P / |Y|^a, or log P / ((5 + |Y|) / 6)^a");
  table.add_flag("--word-scores", args->word_scores,
                 "also print the pieces of the target, </s> included, and their log-probabilities");
  table.add_flag("--eos,!--no-eos", args->eos, "a language model scores the </s> after each text, too");
  table.add_enum(
      "--summary", args->summary,
      "print one number for all lines: log P, or the cross-entropy or perplexity per target token including </s>");
  table.add_flag("--json", args->json, "print a JSON object per line, or one for --summary");
  args->decoding.add_execution_rows(table, "pairs", "source and target tokens");
}

}  // namespace gyre
