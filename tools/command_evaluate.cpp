// gyre evaluate bleu|chrf|exact-match: scores hypotheses from standard input against references.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/lines.h"
#include "tools/program.h"
#include "train/metrics/bleu.h"
#include "train/metrics/chrf.h"
#include "train/metrics/exact_match.h"

namespace gyre {

namespace {

struct Evaluate {
  std::vector<Path> references;
  Path input;
  std::string tokenizer = "13a", smoothing = "exp";
  int character_order = 6, word_order = 0, beta = 2;
  bool lowercase = false;
  bool json = false;
};

std::vector<Lines> read_references(const Evaluate& call) {
  std::vector<Lines> references;
  for (const auto& path : call.references) references.push_back(read_lines(path));
  return references;
}

void print(const Evaluate& call, const nlohmann::ordered_json& result, const std::string& line) {
  std::cout << (call.json ? result.dump() : line) << '\n';
}

int evaluate_bleu(const Evaluate& call) {
  BleuOptions options;
  options.tokenizer = bleu_tokenizer(call.tokenizer);
  options.smoothing = bleu_smoothing(call.smoothing);
  options.lowercase = call.lowercase;
  const BleuScore score = corpus_bleu(read_lines(call.input), read_references(call), options);
  print(call,
        {{"bleu", score.score},
         {"signature", score.signature},
         {"precisions", score.precisions},
         {"brevity_penalty", score.brevity_penalty},
         {"hypothesis_length", score.hypothesis_length},
         {"reference_length", score.reference_length}},
        format_line(score));
  return 0;
}

int evaluate_chrf(const Evaluate& call) {
  const ChrfOptions options{call.character_order, call.word_order, call.beta, call.lowercase};
  const ChrfScore score = corpus_chrf(read_lines(call.input), read_references(call), options);
  print(call, {{"chrf", score.score}, {"name", score.name}, {"signature", score.signature}}, format_line(score));
  return 0;
}

int evaluate_exact_match(const Evaluate& call) {
  const Lines hypotheses = read_lines(call.input), references = read_lines(call.references.at(0));
  const double percent = exact_match(hypotheses, references);
  print(call, {{"exact_match", percent}, {"lines", hypotheses.size()}},
        concat("exact match = ", percent, " % of ", hypotheses.size(), " lines"));
  return 0;
}

OptionTable& add(Program& program, std::shared_ptr<Evaluate> call, const std::string& metric, const std::string& help,
                 int (*run)(const Evaluate&)) {
  OptionTable& table = program.command("evaluate " + metric, help, [call, run] { return run(*call); });
  table.add("--reference,--references,-r", call->references, "FILE...", "references, one file each, line by line");
  table.required("reference");
  table.add("--input,-i", call->input, "FILE", "hypotheses; standard input when absent");
  table.add_flag("--json", call->json, "print one JSON object");
  return table;
}

}  // namespace

void add_evaluate_commands(Program& program) {
  program.describe_group("evaluate", "score translations and models");
  const auto bleu = std::make_shared<Evaluate>(), chrf = std::make_shared<Evaluate>();
  OptionTable& bleu_table = add(program, bleu, "bleu", "corpus BLEU, equal to sacreBLEU", evaluate_bleu);
  bleu_table.add_choice("--tokenize,--tok", bleu->tokenizer, {"13a", "intl", "char", "none"}, "sacreBLEU's tokenizer");
  bleu_table.add_choice("--smooth,--smooth-method", bleu->smoothing, {"exp", "floor", "add-k", "none"},
                        "of n-gram orders without a match");
  bleu_table.add_flag("--lowercase,--lc", bleu->lowercase, "compare lower-cased text");
  OptionTable& chrf_table = add(program, chrf, "chrf", "chrF, equal to sacreBLEU", evaluate_chrf);
  chrf_table.add("--chrf-char-order", chrf->character_order, "CHARACTERS", "longest character n-gram");
  chrf_table.add("--chrf-word-order", chrf->word_order, "WORDS", "longest word n-gram; 2 gives chrF++");
  chrf_table.add("--chrf-beta", chrf->beta, "NUMBER", "weight of recall");
  chrf_table.add_flag("--lowercase,--chrf-lowercase", chrf->lowercase, "compare lower-cased text");
  add(program, std::make_shared<Evaluate>(), "exact-match", "share of lines equal to the reference, byte for byte",
      evaluate_exact_match);
}

}  // namespace gyre
