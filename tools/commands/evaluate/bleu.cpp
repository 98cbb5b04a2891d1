// gyre evaluate bleu: scores hypotheses by one or several protocols of BLEU.
#include <algorithm>
#include <memory>

#include "tools/commands/evaluate/metric_command.h"

namespace gyre {

namespace {

const std::vector<std::string> kProtocols{"sacrebleu", "multi-bleu", "compound-split"};

struct BleuArgs {
  std::vector<std::string> protocols{"sacrebleu"};
  std::string tokenizer = "13a";
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
  sacrebleu.tokenizer = bleu_tokenizer(args.tokenizer);
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
  table.add_choice("--tokenize,--tok", args->tokenizer, {"13a", "intl", "char", "none"}, "tokenizer of sacreBLEU");
  table.add_enum("--smooth,--smooth-method", args->smoothing, "sacreBLEU's smoothing of n-gram orders without a match");
  table.add_choice("--language", args->moses.language, {"de", "en"}, "language of the Moses tokenizer");
  table.add_flag("--tokenized", args->moses.tokenized,
                 "multi-bleu, compound-split: both sides are tokens already, divided by white space");
  table.add_flag("--lowercase,--lc", args->lowercase,
                 "compare lower-cased text; multi-bleu and compound-split lower-case ASCII letters only");
}

}  // namespace gyre
