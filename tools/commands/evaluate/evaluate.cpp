// gyre evaluate bleu|chrf|exact-match: scores hypotheses from standard input against references.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/strict_json.h"
#include "gyre/train/metrics/bleu.h"
#include "gyre/train/metrics/chrf.h"
#include "gyre/train/metrics/exact_match.h"
#include "tools/lines.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct EvaluateArgs {
  std::vector<Path> references;
  Path input;
  std::string tokenizer = "13a", smoothing = "exp";
  int character_order = 6, word_order = 0, beta = 2;
  bool lowercase = false;
  bool json = false;
};

std::vector<Lines> read_references(const EvaluateArgs& args) {
  std::vector<Lines> references;
  for (const auto& path : args.references) references.push_back(read_lines(path));
  return references;
}

void print(const EvaluateArgs& args, const nlohmann::ordered_json& result, const std::string& line) {
  std::cout << (args.json ? json_text(result) : line) << '\n';
}

int evaluate_bleu(const EvaluateArgs& args) {
  BleuOptions options;
  options.tokenizer = bleu_tokenizer(args.tokenizer);
  options.smoothing = bleu_smoothing(args.smoothing);
  options.lowercase = args.lowercase;
  const BleuScore score = corpus_bleu(read_lines(args.input), read_references(args), options);
  print(args,
        {{"bleu", score.score},
         {"signature", score.signature},
         {"precisions", score.precisions},
         {"brevity_penalty", score.brevity_penalty},
         {"hypothesis_length", score.hypothesis_length},
         {"reference_length", score.reference_length}},
        format_line(score));
  return 0;
}

int evaluate_chrf(const EvaluateArgs& args) {
  const ChrfOptions options{args.character_order, args.word_order, args.beta, args.lowercase};
  const ChrfScore score = corpus_chrf(read_lines(args.input), read_references(args), options);
  print(args, {{"chrf", score.score}, {"name", score.name}, {"signature", score.signature}}, format_line(score));
  return 0;
}

int evaluate_exact_match(const EvaluateArgs& args) {
  if (args.references.size() != 1) throw UsageError("--reference: expected one file, got ", args.references.size());
  const Lines hypotheses = read_lines(args.input), references = read_lines(args.references.front());
  const double percent = exact_match(hypotheses, references);
  print(args, {{"exact_match", percent}, {"lines", hypotheses.size()}},
        concat("exact match = ", percent, " % of ", hypotheses.size(), " lines"));
  return 0;
}

OptionTable& add(Program& program, std::shared_ptr<EvaluateArgs> args, const std::string& metric,
                 const std::string& help, int (*run)(const EvaluateArgs&)) {
  OptionTable& table = program.command("evaluate " + metric, help, [args, run] { return run(*args); });
  table.add("--reference,--references,-r", args->references, "FILE...",
            "references, one file each, aligned line by line");
  table.required("reference");
  table.add("--input,-i", args->input, "FILE", "hypotheses; default: standard input");
  table.add_flag("--json", args->json, "print one JSON object");
  return table;
}

}  // namespace

void add_evaluate_commands(Program& program) {
  program.describe_group("evaluate", "evaluate translations and models");
  const auto bleu = std::make_shared<EvaluateArgs>(), chrf = std::make_shared<EvaluateArgs>();
  OptionTable& bleu_table = add(program, bleu, "bleu", "corpus BLEU, identical to sacreBLEU", evaluate_bleu);
  bleu_table.add_choice("--tokenize,--tok", bleu->tokenizer, {"13a", "intl", "char", "none"}, "tokenizer of sacreBLEU");
  bleu_table.add_choice("--smooth,--smooth-method", bleu->smoothing, {"exp", "floor", "add-k", "none"},
                        "smoothing of n-gram orders without a match");
  bleu_table.add_flag("--lowercase,--lc", bleu->lowercase, "compare lower-cased text");
  OptionTable& chrf_table = add(program, chrf, "chrf", "chrF, identical to sacreBLEU", evaluate_chrf);
  chrf_table.add("--chrf-char-order", chrf->character_order, "CHARACTERS", "maximum length of character n-grams");
  chrf_table.add("--chrf-word-order", chrf->word_order, "WORDS", "maximum length of word n-grams; 2 gives chrF++");
  chrf_table.add("--chrf-beta", chrf->beta, "NUMBER", "weight of recall");
  chrf_table.add_flag("--lowercase,--chrf-lowercase", chrf->lowercase, "compare lower-cased text");
  add(program, std::make_shared<EvaluateArgs>(), "exact-match", "share of lines that equal the reference byte for byte",
      evaluate_exact_match);
}

}  // namespace gyre
