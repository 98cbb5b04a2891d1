#include "tools/command_line/equivalents.h"

#include <algorithm>
#include <map>

#include "gyre/core/suggestions.h"

namespace gyre {

namespace {

// `options`: equivalent options, of which the first that the command has is suggested. `explanation`: the explanation
// if there is no equivalent option.
struct Equivalent {
  std::vector<std::string> options;
  std::string explanation = {};
};

const std::map<std::string, Equivalent, std::less<>>& option_equivalents() {
  static const Equivalent precision{{"--precision bf16"}}, gpu{{"--device cuda"}}, mini_batch{{"--mini-batch"}},
      loss{{}, "the loss is cross-entropy, and --label-smoothing is an option of train nmt"},
      reading{{}, "text is read without worker processes"},
      board{{}, "the run directory contains TensorBoard event files"}, launcher{{}, "mpirun -n N starts N processes"};
  static const std::map<std::string, Equivalent, std::less<>> all{
      // fairseq
      {"--fp16", precision},
      {"--bf16", precision},
      {"--memory-efficient-fp16", precision},
      {"--num-workers", reading},
      {"--criterion", loss},
      {"--arch", {{"--architecture", "--preset"}}},
      {"--distributed-world-size", launcher},
      {"--cpu", {{"--device cpu"}}},
      {"--decoder-embed-dim", {{"--dim-emb"}}},
      {"--decoder-ffn-embed-dim", {{"--transformer-dim-ffn"}}},
      {"--decoder-attention-heads", {{"--transformer-heads"}}},
      {"--decoder-normalize-before", {{"--norm pre"}}},
      {"--decoder-learned-pos", {{"--position learned"}}},
      {"--relu-dropout", {{"--transformer-dropout-ffn"}}},
      {"--max-target-positions", {{"--max-positions"}}},
      {"--source-lang", {{"--train-sets SOURCE TARGET"}}},
      {"--target-lang", {{"--train-sets SOURCE TARGET"}}},
      {"--eval-bleu", {{"--valid-metrics bleu"}}},
      {"--best-checkpoint-metric", {{"--valid-metrics"}}},
      {"--validate-interval", {{"--valid-freq 1e"}}},
      {"--save-interval", {{"--save-freq 1e"}}},
      {"--keep-last-epochs", {{"--keep-last"}}},
      {"--no-epoch-checkpoints", {{"--save-freq"}}},
      {"--finetune-from-model", {{"--pretrained-model"}}},
      {"--restore-file", {{"--pretrained-model", "--model"}}},
      {"--path", {{"--model"}}},
      {"--score-reference", {{}, "gyre score scores given translations"}},
      {"--stop-time-hours", {{"--stop-after-minutes"}}},
      {"--skip-invalid-size-inputs-valid-test", {{"--on-bad-line skip"}}},
      {"--tensorboard-logdir", board},
      // Marian
      {"--devices", gpu},
      {"--mini-batch-fit", {{"--mini-batch-words"}}},
      {"--output-sampling", {{"--sampling"}}},
      {"--workspace", {{"--mini-batch-words"}}},
      {"--lr-decay-inv-sqrt", {{"--lr-schedule inverse-sqrt"}}},
      {"--transformer-preprocess", {{"--norm pre"}}},
      {"--early-stopping-on", {{"--valid-metrics"}}},
      {"--sharding", {{"--zero"}}},
      {"--no-reload", {{"--overwrite"}}},
      {"--cost-type", loss},
      {"--log", {{}, "the log is train.log in the run directory"}},
      {"--valid-log", {{}, "the log is train.log in the run directory"}},
      {"--data-threads", {{"--cpu-threads"}}},
      // Hugging Face's transformers
      {"--output-dir", {{"--model", "--output"}}},
      {"--overwrite-output-dir", {{"--overwrite"}}},
      {"--model-name-or-path", {{"--pretrained-model", "--model"}}},
      {"--train-file", {{"--train-sets"}}},
      {"--validation-file", {{"--valid-sets"}}},
      {"--max-seq-length", {{"--max-length"}}},
      {"--block-size", {{"--max-length"}}},
      {"--max-source-length", {{"--max-length"}}},
      {"--learning-rate", {{"--learn-rate"}}},
      {"--lr-scheduler-type", {{"--lr-schedule"}}},
      {"--warmup-steps", {{"--lr-warmup"}}},
      {"--warmup-ratio", {{"--lr-warmup 10%"}}},
      {"--num-train-epochs", {{"--after-epochs"}}},
      {"--epochs", {{"--after-epochs"}}},
      {"--max-steps", {{"--after"}}},
      {"--max-iters", {{"--after"}}},
      {"--per-device-train-batch-size", mini_batch},
      {"--train-batch-size", mini_batch},
      {"--per-device-eval-batch-size", {{"--valid-mini-batch"}}},
      {"--gradient-accumulation-steps", {{"--optimizer-delay"}}},
      {"--max-grad-norm", {{"--clip-norm"}}},
      {"--grad-clip", {{"--clip-norm"}}},
      {"--adam-beta1", {{"--optimizer-params BETA1 BETA2 EPSILON"}}},
      {"--adam-beta2", {{"--optimizer-params BETA1 BETA2 EPSILON"}}},
      {"--adam-epsilon", {{"--adam-eps"}}},
      {"--label-smoothing-factor", {{"--label-smoothing"}}},
      {"--mlm-probability", {{"--mask-share"}}},
      {"--save-steps", {{"--save-freq"}}},
      {"--eval-steps", {{"--valid-freq"}}},
      {"--eval-strategy", {{"--valid-freq"}}},
      {"--evaluation-strategy", {{"--valid-freq"}}},
      {"--logging-steps", {{"--disp-freq"}}},
      {"--save-total-limit", {{"--keep-last"}}},
      {"--resume-from-checkpoint", {{}, "the same command continues the run in --model"}},
      {"--task-name", {{"--preset"}}},
      {"--num-beams", {{"--beam-size"}}},
      {"--dataloader-num-workers", reading},
      {"--report-to", board},
      {"--no-cuda", {{"--device cpu"}}},
      {"--use-cpu", {{"--device cpu"}}},
  };
  return all;
}

const std::map<std::string, std::string, std::less<>>& subcommand_equivalents() {
  static const std::map<std::string, std::string, std::less<>> all{{"decode", "translate"},
                                                                   {"interactive", "translate"},
                                                                   {"rescore", "score"},
                                                                   {"eval", "evaluate"},
                                                                   {"eval-lm", "evaluate perplexity"},
                                                                   {"test", "evaluate"},
                                                                   {"preprocess", "data build"},
                                                                   {"binarize", "data build"},
                                                                   {"tokenize", "data build"},
                                                                   {"tokenizer", "vocab"},
                                                                   {"finetune", "train classify"},
                                                                   {"fine-tune", "train classify"},
                                                                   {"pretrain", "train mlm"},
                                                                   {"convert", "import"},
                                                                   {"benchmark", "bench"}};
  return all;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string suggest_option(std::string_view name, const std::vector<std::string>& known) {
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  if (has(known, dashed)) return "; did you mean " + dashed + "?";
  if (const auto found = option_equivalents().find(dashed); found != option_equivalents().end()) {
    for (const std::string& option : found->second.options)
      if (has(known, first_word(option))) return "; did you mean " + option + "?";
    if (!found->second.explanation.empty()) return ": " + found->second.explanation;
  }
  return did_you_mean(name, known);
}

std::string suggest_subcommand(std::string_view word, const std::vector<std::string>& known,
                               const std::vector<std::string>& all) {
  if (word == "sample" || word == "generate")
    return ": no command samples from a language model; gyre translate translates";
  if (const auto found = subcommand_equivalents().find(word); found != subcommand_equivalents().end()) {
    if (has(all, found->second)) return "; did you mean " + found->second + "?";
  }
  const std::string end = " " + std::string(word);
  const auto nested = std::find_if(all.begin(), all.end(), [&end](const auto& words) { return words.ends_with(end); });
  if (nested != all.end()) return "; did you mean " + *nested + "?";
  const std::string alike = did_you_mean(word, known);
  return alike.empty() ? "; gyre help lists all commands" : alike;
}

}  // namespace gyre
