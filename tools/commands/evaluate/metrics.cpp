// gyre evaluate bleu | chrf | ter | translation | exact-match: scores translations.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/metrics/bleu.h"
#include "gyre/train/metrics/chrf.h"
#include "gyre/train/metrics/exact_match.h"
#include "gyre/train/metrics/significance.h"
#include "gyre/train/metrics/ter.h"
#include "gyre/train/metrics/text.h"
#include "tools/lines.h"
#include "tools/program.h"

namespace gyre {

// The test of the difference between a system and the baseline.
enum class PairedTest : uint8_t { none, bootstrap, randomization };

template <>
inline constexpr std::pair<PairedTest, std::string_view> kEnumNames<PairedTest>[] = {
    {PairedTest::none, "none"}, {PairedTest::bootstrap, "bootstrap"}, {PairedTest::randomization, "randomization"}};

namespace {

// The score of one system, in the form that the commands print and resample.
struct SystemScore {
  std::string name;       // name of the metric, and for BLEU of the protocol: "compound-split BLEU"
  std::string signature;  // begins with "nrefs:"
  double score = 0;       // percent
  std::string details;    // printed after the score; may be empty
  Json json;              // begins with the score under the name of the command
  SentenceStatistics statistics;
  ScoreOfSums score_of;
};

using TranslationMetric = std::function<SystemScore(const Lines& hypotheses, const std::vector<Lines>& references)>;

struct MetricOptions {
  std::vector<Path> references, inputs;
  bool confidence = false;
  int64_t confidence_samples = 1000;
  PairedTest paired = PairedTest::none;
  int64_t paired_samples = 0;  // 0: 1,000 for bootstrap, 10,000 for randomization
  uint64_t seed = 12345;
  bool json = false;
};

SystemScore bleu_result(const std::string& protocol, const std::string& name, const std::string& signature,
                        SentenceStatistics statistics, const BleuOptions& options) {
  const BleuScore score = bleu_score(statistics.sum(), options);
  return {name,
          signature,
          score.score,
          format_details(score),
          {{"bleu", score.score},
           {"protocol", protocol},
           {"signature", signature},
           {"precisions", score.precisions},
           {"brevity_penalty", score.brevity_penalty},
           {"hypothesis_length", score.hypothesis_length},
           {"reference_length", score.reference_length}},
          std::move(statistics),
          [options](std::span<const int64_t> sums) { return bleu_score(sums, options).score; }};
}

TranslationMetric sacrebleu_metric(const BleuOptions& options) {
  return [options](const Lines& hypotheses, const std::vector<Lines>& references) {
    const auto tokenize = [&](const std::string& line) {
      return bleu_tokens(line, options.tokenizer, options.lowercase);
    };
    return bleu_result("sacrebleu", "sacreBLEU", bleu_signature(references.size(), options),
                       bleu_statistics(hypotheses, references, tokenize), options);
  };
}

TranslationMetric moses_bleu_metric(const MosesBleuOptions& options) {
  return [options](const Lines& hypotheses, const std::vector<Lines>& references) {
    const std::string protocol = options.split_compounds ? "compound-split" : "multi-bleu";
    return bleu_result(protocol, protocol + " BLEU", moses_bleu_signature(references.size(), options),
                       moses_bleu_statistics(hypotheses, references, options), moses_bleu_scoring());
  };
}

TranslationMetric chrf_metric(const ChrfOptions& options) {
  return [options](const Lines& hypotheses, const std::vector<Lines>& references) -> SystemScore {
    auto statistics = chrf_statistics(hypotheses, references, options);
    const double score = chrf_score(statistics.sum(), options);
    const std::string name = chrf_name(options), signature = chrf_signature(references.size(), options);
    return {name,
            signature,
            score,
            {},
            {{"chrf", score}, {"name", name}, {"signature", signature}},
            std::move(statistics),
            [options](std::span<const int64_t> sums) { return chrf_score(sums, options); }};
  };
}

TranslationMetric ter_metric(const TerOptions& options) {
  return [options](const Lines& hypotheses, const std::vector<Lines>& references) -> SystemScore {
    auto statistics = ter_statistics(hypotheses, references, options);
    const size_t count = references.size();
    const TerScore score = ter_score(statistics.sum(), count);
    const std::string signature = ter_signature(count, options);
    return {"TER",
            signature,
            score.score,
            {},
            {{"ter", score.score},
             {"signature", signature},
             {"edits", score.edits},
             {"reference_length", score.reference_length}},
            std::move(statistics),
            [count](std::span<const int64_t> sums) { return ter_score(sums, count).score; }};
  };
}

// Tests the systems of one metric, of which the first is the baseline.
class Resampling {
 public:
  explicit Resampling(const MetricOptions& options) : options_(options) {}

  bool is_paired() const { return options_.paired != PairedTest::none; }
  bool has_intervals() const { return options_.confidence || options_.paired == PairedTest::bootstrap; }

  // Inserts the fields that sacreBLEU adds to signatures: "nrefs:1|bs:1000|seed:12345|...".
  std::string sign(const std::string& signature) const {
    std::string fields;
    if (has_intervals()) fields += fmt::format("|bs:{}", interval_samples());
    if (options_.paired == PairedTest::randomization) fields += fmt::format("|ar:{}", paired_samples());
    if (fields.empty()) return signature;
    const size_t end = std::min(signature.find('|'), signature.size());
    return signature.substr(0, end) + fields + fmt::format("|seed:{}", options_.seed) + signature.substr(end);
  }

  struct Result {
    std::optional<Confidence> interval;
    std::optional<double> p_value;
    double least_p = 0;  // the smallest that the sentences can give

    bool is_too_small() const { return p_value && *p_value < least_p; }
  };

  Result test(const SystemScore& baseline, const SystemScore& system) const {
    Result result;
    const bool is_baseline = &baseline == &system;
    const std::vector<double> scores = has_intervals() ? resampled(system) : std::vector<double>();
    if (has_intervals()) result.interval = confidence(scores);
    if (is_baseline) return result;
    if (options_.paired == PairedTest::bootstrap) {
      result.p_value = paired_bootstrap(resampled(baseline), scores, std::abs(baseline.score - system.score));
    } else if (options_.paired == PairedTest::randomization) {
      result.p_value = paired_randomization(baseline.statistics, system.statistics, system.score_of,
                                            {paired_samples(), options_.seed});
      result.least_p = least_randomization_p(baseline.statistics, system.statistics);
    }
    return result;
  }

 private:
  int64_t paired_samples() const {
    if (options_.paired_samples > 0) return options_.paired_samples;
    return options_.paired == PairedTest::bootstrap ? 1000 : 10000;
  }
  int64_t interval_samples() const {
    return options_.paired == PairedTest::bootstrap ? paired_samples() : options_.confidence_samples;
  }
  std::vector<double> resampled(const SystemScore& system) const {
    return bootstrap_scores(system.statistics, system.score_of, {interval_samples(), options_.seed});
  }

  const MetricOptions& options_;
};

void print_json(const Path& input, SystemScore score, const Resampling& resampling, const Resampling::Result& result) {
  score.json["signature"] = resampling.sign(score.signature);
  score.json["input"] = input.empty() ? "-" : input.string();
  if (result.interval) {
    score.json["confidence_mean"] = result.interval->mean;
    score.json["confidence_half_width"] = result.interval->half_width;
  }
  if (result.p_value) score.json["p_value"] = *result.p_value;
  if (result.is_too_small()) score.json["least_possible_p_value"] = result.least_p;
  std::cout << json_text(score.json) << '\n';
}

void print_line(const std::string& prefix, const SystemScore& score, const Resampling& resampling,
                const Resampling::Result& result) {
  std::string line = fmt::format("{}{}|{} = {:.2f}", prefix, score.name, resampling.sign(score.signature), score.score);
  if (result.interval)
    line += fmt::format(" (μ = {:.2f} ± {:.2f})", result.interval->mean, result.interval->half_width);
  if (result.p_value) {
    const std::string limit = result.is_too_small()
                                  ? fmt::format(", but at least {:.2g} because so few sentences differ", result.least_p)
                                  : "";
    line += fmt::format(" (p = {:.4f}{}){}", *result.p_value, limit,
                        std::max(*result.p_value, result.least_p) < 0.05 ? "*" : "");
  }
  if (!score.details.empty()) line += ' ' + score.details;
  std::cout << line << '\n';
}

void check(const MetricOptions& options, const OptionTable& table) {
  const Resampling resampling(options);
  const bool is_bootstrap = options.paired == PairedTest::bootstrap;
  table.reject_unused("confidence", !is_bootstrap, "--paired bootstrap prints the intervals of its own samples");
  table.reject_unused("confidence-n", options.confidence && !is_bootstrap,
                      is_bootstrap ? "--paired bootstrap takes --paired-n" : "--confidence is not given");
  table.reject_unused("paired-n", resampling.is_paired(), "--paired is none");
  table.reject_unused("seed", resampling.is_paired() || options.confidence, "nothing is resampled");
  expect_at_least(2, "--confidence-n", options.confidence_samples);
  expect_at_least(0, "--paired-n", options.paired_samples);
  expect(!resampling.is_paired() || options.inputs.size() > 1, "--input",
         "a baseline and at least one other system for --paired", concat(options.inputs.size(), " files"));
  const auto references = std::count_if(options.references.begin(), options.references.end(), is_standard);
  const auto inputs =
      options.inputs.empty() ? 1 : std::count_if(options.inputs.begin(), options.inputs.end(), is_standard);
  expect(inputs < 2, "--input", "standard input (-) at most once", concat(inputs, " times"));
  expect(references + (references > 0 ? inputs : 0) < 2, "--reference",
         "standard input (-) at most once, and not for --input too", concat(references + inputs, " times"));
}

int print_scores(const MetricOptions& options, const std::vector<TranslationMetric>& metrics) {
  std::vector<Path> inputs = options.inputs;
  if (inputs.empty()) inputs.emplace_back();
  std::vector<Lines> references, systems;
  for (const auto& path : options.references) references.push_back(read_lines(path));
  for (const auto& path : inputs) systems.push_back(read_lines(path));
  const Resampling resampling(options);
  for (const TranslationMetric& metric : metrics) {
    std::vector<SystemScore> scores;
    for (const Lines& system : systems) scores.push_back(metric(system, references));
    for (size_t i = 0; i < scores.size(); ++i) {
      const auto result = resampling.test(scores.front(), scores[i]);
      if (options.json) {
        print_json(inputs[i], scores[i], resampling, result);
      } else {
        print_line(inputs.size() > 1 ? inputs[i].string() + ": " : "", scores[i], resampling, result);
      }
    }
  }
  return 0;
}

void add_rows(OptionTable& table, MetricOptions& options) {
  table.add("--reference,--references,-r", options.references, "FILE...",
            "references, one file each, aligned line by line");
  table.required("reference");
  table.add("--input,-i", options.inputs, "FILE...",
            "hypotheses, one file per system; default: standard input; with --paired the first one is the baseline");
  table.add_flag("--json", options.json, "print one JSON object per score");
  table.group("Significance");
  table.add_flag("--confidence", options.confidence, "print the mean and the 95 % interval of bootstrap samples");
  table.add("--confidence-n", options.confidence_samples, "SAMPLES", "bootstrap samples for --confidence");
  table.add_enum("--paired", options.paired,
                 "test of each system against the baseline; bootstrap also prints intervals");
  table.add("--paired-n", options.paired_samples, "SAMPLES",
            "samples of --paired; 0: 1000 for bootstrap, 10000 for randomization");
  table.add("--seed", options.seed, "NUMBER", "seed of the samples; sacreBLEU's is the default");
}

// Adds `gyre evaluate NAME` with these options. `metrics` returns the metrics to print, once all options are set; it
// may throw UsageError.
OptionTable& add_metric_command(Program& program, const std::string& name, const std::string& help,
                                std::function<std::vector<TranslationMetric>(const OptionTable&)> metrics) {
  const auto options = std::make_shared<MetricOptions>();
  const auto table = std::make_shared<OptionTable*>();
  *table = &program.command("evaluate " + name, help, [options, table, metrics] {
    check(*options, **table);
    return print_scores(*options, metrics(**table));
  });
  add_rows(**table, *options);
  (*table)->group("Metric");
  return **table;
}

// ---- gyre evaluate bleu: scores hypotheses by one or several protocols of BLEU -------------------------------------

const std::vector<std::string> kProtocols{"sacrebleu", "multi-bleu", "compound-split"};

struct BleuArgs {
  std::vector<std::string> protocols{"sacrebleu"};
  BleuTokenizer tokenizer = BleuTokenizer::v13a;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  MosesBleuOptions moses;
  bool lowercase = false;

  bool uses(const std::string& protocol) const {
    return std::find(protocols.begin(), protocols.end(), protocol) != protocols.end();
  }
};

std::vector<std::string> parse_protocols(const std::vector<std::string>& values) {
  std::vector<std::string> choices = kProtocols, result;
  choices.emplace_back("all");
  for (const std::string& value : split_list(values)) {
    const std::string protocol = chosen_word(value, choices);
    if (protocol == "all") return kProtocols;
    if (std::find(result.begin(), result.end(), protocol) == result.end()) result.push_back(protocol);
  }
  return result;
}

std::vector<TranslationMetric> metrics(const BleuArgs& args, const OptionTable& table) {
  const bool tokenizes = args.uses("multi-bleu") || args.uses("compound-split");
  for (const char* name : {"tokenize", "smooth"}) {
    table.reject_unused(name, args.uses("sacrebleu"), "only the protocol sacrebleu reads it");
  }
  table.reject_unused("tokenized", tokenizes, "the protocol sacrebleu takes plain text; see --tokenize");
  table.reject_unused("language", tokenizes && !args.moses.tokenized,
                      tokenizes ? "the text is tokenized already" : "the protocol sacrebleu does not read it");
  BleuOptions sacrebleu;
  sacrebleu.tokenizer = args.tokenizer;
  sacrebleu.smoothing = args.smoothing;
  sacrebleu.lowercase = args.lowercase;
  MosesBleuOptions moses = args.moses;
  moses.lowercase = args.lowercase;
  std::vector<TranslationMetric> result;
  for (const std::string& protocol : args.protocols) {
    moses.split_compounds = protocol == "compound-split";
    result.push_back(protocol == "sacrebleu" ? sacrebleu_metric(sacrebleu) : moses_bleu_metric(moses));
  }
  return result;
}

}  // namespace

void add_evaluate_bleu_command(Program& program) {
  program.describe_group("evaluate", "evaluate translations and models");
  const auto args = std::make_shared<BleuArgs>();
  OptionTable& table =
      add_metric_command(program, "bleu", "corpus BLEU, equal to sacreBLEU or to the scores of earlier papers",
                         [args](const OptionTable& options) { return metrics(*args, options); });
  table.add_custom(
      "--protocol", 1, int(kProtocols.size()), "NAME...",
      "sacrebleu; multi-bleu: tokens of Moses, no smoothing; compound-split: also splits compounds at hyphens, as the "
      "Transformer paper does; all: all three",
      [args](const std::vector<std::string>& values) { args->protocols = parse_protocols(values); },
      [args] { return toml_value(args->protocols); });
  table.set_completions({"sacrebleu", "multi-bleu", "compound-split", "all"});
  table.add_enum("--tokenize,--tok", args->tokenizer, "tokenizer of sacreBLEU");
  table.add_enum("--smooth,--smooth-method", args->smoothing, "sacreBLEU's smoothing of n-gram orders without a match");
  table.add_enum("--language", args->moses.language, "language of the Moses tokenizer");
  table.add_flag("--tokenized", args->moses.tokenized,
                 "multi-bleu, compound-split: both sides are tokens already, divided by white space");
  table.add_flag("--lowercase,--lc", args->lowercase,
                 "compare lower-cased text; multi-bleu and compound-split lower-case ASCII letters only");
}

namespace {

// ---- gyre evaluate chrf: scores hypotheses by chrF or chrF++ -------------------------------------------------------

}  // namespace

void add_evaluate_chrf_command(Program& program) {
  const auto options = std::make_shared<ChrfOptions>();
  OptionTable& table = add_metric_command(program, "chrf", "chrF and chrF++, equal to sacreBLEU",
                                          [options](const OptionTable&) { return std::vector{chrf_metric(*options)}; });
  table.add("--chrf-char-order", options->character_order, "CHARACTERS", "maximum length of character n-grams");
  table.add("--chrf-word-order", options->word_order, "WORDS", "maximum length of word n-grams; 2 gives chrF++");
  table.add("--chrf-beta", options->beta, "NUMBER", "weight of recall");
  table.add_flag("--lowercase,--chrf-lowercase", options->lowercase, "compare lower-cased text");
}

namespace {

// ---- gyre evaluate ter: scores hypotheses by the translation edit rate ---------------------------------------------

}  // namespace

void add_evaluate_ter_command(Program& program) {
  const auto options = std::make_shared<TerOptions>();
  OptionTable& table = add_metric_command(program, "ter", "translation edit rate, equal to sacreBLEU; lower is better",
                                          [options](const OptionTable&) { return std::vector{ter_metric(*options)}; });
  table.add_flag("--ter-case-sensitive", options->case_sensitive, "compare the text without lower-casing it");
  table.add_flag("--ter-normalized", options->normalized, "unescape SGML and split ASCII punctuation from words");
  table.add_flag("--ter-no-punct", options->no_punctuation, "remove the punctuation . , ? : ; ! \" ( )");
}

namespace {

// ---- gyre evaluate translation: scores hypotheses by every metric of translations ----------------------------------

std::vector<TranslationMetric> all_metrics(MosesLanguage language) {
  MosesBleuOptions tokenized, split;
  tokenized.language = split.language = language;
  split.split_compounds = true;
  ChrfOptions with_words;
  with_words.word_order = 2;
  return {sacrebleu_metric({}), moses_bleu_metric(tokenized), moses_bleu_metric(split),
          chrf_metric({}),      chrf_metric(with_words),      ter_metric({})};
}

}  // namespace

void add_evaluate_translation_command(Program& program) {
  const auto language = std::make_shared<MosesLanguage>(MosesLanguage::german);
  OptionTable& table =
      add_metric_command(program, "translation", "BLEU by three protocols, chrF, chrF++ and TER at once",
                         [language](const OptionTable&) { return all_metrics(*language); });
  table.add_enum("--language", *language, "language of the Moses tokenizer");
}

namespace {

// ---- gyre evaluate exact-match: the share of lines that equal the reference ----------------------------------------

struct ExactMatchArgs {
  std::vector<Path> references;
  Path input;
  bool json = false;
};

int evaluate_exact_match(const ExactMatchArgs& args) {
  if (args.references.size() != 1) throw UsageError("--reference: expected one file, got ", args.references.size());
  if (is_standard(args.input) && is_standard(args.references.front()))
    throw UsageError("--reference: expected standard input (-) at most once, and not for --input too");
  const Lines hypotheses = read_lines(args.input), references = read_lines(args.references.front());
  const double percent = exact_match(hypotheses, references);
  const Json result{{"exact_match", percent}, {"lines", hypotheses.size()}};
  std::cout << (args.json ? json_text(result)
                          : concat("exact match = ", percent, " % of ", hypotheses.size(), " lines"))
            << '\n';
  return 0;
}

}  // namespace

void add_evaluate_exact_match_command(Program& program) {
  const auto args = std::make_shared<ExactMatchArgs>();
  OptionTable& table = program.command("evaluate exact-match", "share of lines that equal the reference byte for byte",
                                       [args] { return evaluate_exact_match(*args); });
  table.add("--reference,--references,-r", args->references, "FILE", "reference, aligned line by line");
  table.required("reference");
  table.add("--input,-i", args->input, "FILE", "hypotheses; default: standard input");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
