#include "tools/command_line/equivalents.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "gyre/core/error.h"
#include "gyre/core/suggestions.h"
#include "gyre/models/config/config.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "gyre/train/tasks/language/language_options.h"
#include "gyre/train/tasks/matching/match_options.h"
#include "gyre/train/tasks/translation/nmt_options.h"

namespace gyre {

std::vector<Option> declared_options() {
  std::vector<Option> all;
  for (const OptionList& list :
       {OptionList::of(NmtOptions()), OptionList::of(MaskedOptions()), OptionList::of(ClassifyOptions()),
        OptionList::of(MatchOptions()), OptionList::of(EncoderDecoderConfig()), OptionList::of(EncoderOnlyConfig())})
    for (const OptionList::Entry& entry : list.entries()) all.push_back(entry.option);
  return all;
}

namespace {

constexpr std::string_view kDecoding = "gyre translate and gyre generate have the options of decoding";
constexpr std::string_view kInt8 =
    "--precision int8 of gyre translate, generate, score and evaluate computes with 8-bit weights";
constexpr std::string_view kJointVocabulary =
    "--vocab has the joint vocabulary of both sides, which gyre vocab --input SOURCE TARGET makes, or in translation "
    "one "
    "of the sources and one of the targets";
constexpr std::string_view kImport = "--from hf DIRECTORY";
constexpr std::string_view kLora = "gyre train lm, mlm and nmt train adapters with --lora-rank";

// `options`: equivalent options, of which the first that the command has is suggested. `explanation`: the explanation
// if the command has none of them.
struct Equivalent {
  std::vector<std::string> options;
  std::string explanation = {};
};

using Equivalents = std::map<std::string, Equivalent, std::less<>>;

// Adds names that have the same meaning. `dashes`: what precedes them on the command line.
void add(Equivalents& all, const std::vector<std::string>& names, const Equivalent& equivalent,
         const std::string& dashes = "--") {
  for (const std::string& name : names) all.emplace(dashes + name, equivalent);
}

void add_model_names(Equivalents& all) {
  add(all, {"arch", "config-name", "model-type", "model-name", "model-config", "model.name", "flavor"},
      {{"--architecture", "--preset"}});
  add(all, {"num-layers", "num-hidden-layers", "n-layer", "n-layers"}, {{"--layers", "--enc-depth"}});
  add(all, {"dec-layers", "decoder-layers", "dec-depth", "num-decoder-layers"}, {{"--dec-depth", "--layers"}});
  add(all, {"untie-embeddings-and-output-weights", "no-tie-word-embeddings"}, {{"--no-tied-output"}});
  add(all, {"use-flash-attn", "flash-attention", "attn-implementation"},
      {{}, "attention never stores the matrix of its weights, as FlashAttention does not"});
  add(all, {"criterion", "cost-type"},
      {{}, "the loss is cross-entropy, and --label-smoothing is an option of train nmt"});
  add(all, {"num-experts", "moe"}, {{}, "there are no mixtures of experts"});
}

void add_data_names(Equivalents& all) {
  add(all,
      {"train-file", "train-files", "train-data", "train-data-path", "train-dataset", "train-path", "data-path", "data",
       "dataset", "dataset-name", "dataset-path", "data-dir"},
      {{"--train-sets", "--source", "--input"}});
  add(all,
      {"src-vocab", "tgt-vocab", "source-vocab", "target-vocab", "srcdict", "tgtdict", "share-vocab", "shared-vocab",
       "joined-dictionary"},
      {{}, std::string(kJointVocabulary)});
  add(all, {"dim-vocabs"}, {{"--size"}, "gyre vocab --size sets the size of the vocabulary"});
  add(all, {"text-column", "text-column-name", "dataset-text-field", "json-keys", "text-key"},
      {{"--text-field", "--text-column"}});
  add(all, {"chat-template-path", "custom-chat-template"}, {{"--chat-template"}});
  add(all, {"assistant-only-loss", "completion-only-loss", "train-on-inputs", "train-on-prompt", "mask-prompt"},
      {{"--format"}, "gyre train lm --format completion and chat predict answers only"});
  add(all,
      {"num-workers", "dataloader-num-workers", "preprocessing-num-workers", "streaming", "data-loader-workers",
       "workers"},
      {{}, "text is read without worker processes"});
  add(all,
      {"group-by-length", "pad-to-max-length", "pad-to-multiple-of", "left-pad-source", "pad-token-id", "padding",
       "make-vocab-size-divisible-by"},
      {{}, "batches are packed, without padding"});
  add(all, {"sqlite", "tempdir", "shuffle-in-ram", "cache-dir", "data-cache-path", "dataset-impl"},
      {{}, "gyre data build makes a token store, which training reads in place"});
  add(all, {"micro-batch-size", "local-batch-size", "device-batch-size"},
      {{},
       "the global batch (--mini-batch) is divided among the ranks and into the micro-batches of --optimizer-delay"});
}

void add_run_names(Equivalents& all) {
  add(all, {"output-dir", "out-dir", "save", "save-path", "run-name", "dump-folder", "checkpoint.folder"},
      {{"--model", "--output"}});
  add(all, {"path"}, {{"--model", std::string(kImport)}});
  add(all, {"model", "hf", "from-hf"}, {{std::string(kImport)}});
  add(all, {"input"}, {{"--train-sets", "--source", std::string(kImport), "--model"}});
  add(all, {"from"}, {{"--pretrained-model", "--model"}});
  add(all,
      {"model-name-or-path", "finetune-from-model", "checkpoint-dir", "initial-checkpoint-dir", "restore-file", "load",
       "initial-load-path", "finetune", "no-load-optim", "no-load-rng", "reset-optimizer", "reset-lr-scheduler"},
      {{"--pretrained-model", "--model", std::string(kImport)}});
  add(all, {"resume-from-checkpoint", "resume", "auto-resume-from"},
      {{}, "the same command continues the run in --model"});
  add(all, {"greater-is-better", "maximize-best-checkpoint-metric"},
      {{}, "whether more is better follows from the metric of --valid-metrics"});
  add(all, {"load-best-model-at-end"}, {{}, "the link checkpoints/best of the run points to the best model"});
  add(all, {"do-train", "do-eval", "do-predict", "eval-only"},
      {{}, "gyre train trains and validates; gyre evaluate and gyre predict read finished models"});
  add(all, {"report-to", "tensorboard-logdir", "tensorboard-dir", "logging-dir", "enable-tensorboard"},
      {{}, "the run directory contains TensorBoard event files"});
  add(all, {"wandb", "wandb-log", "wandb-project", "wandb-run-name", "enable-wandb", "mlflow", "logger-name"},
      {{},
       "the run directory contains metrics.jsonl and TensorBoard event files; tools/scripts/wandb_sync.py and "
       "mlflow_sync.py send the metrics"});
  add(all, {"log", "valid-log", "log-file"}, {{}, "the log is train.log in the run directory"});
  add(all, {"dry-run"},
      {{},
       "gyre plan TASK takes the options of gyre train TASK and predicts time and memory; gyre data check reads the "
       "data"});
  add(all, {"config-file", "cfg", "config-path"}, {{"--config"}});
  add(all, {"push-to-hub", "hub-model-id"}, {{}, "gyre export writes a directory that can be uploaded"});
  add(all, {"trust-remote-code"}, {{}, "no code of models is run"});
}

void add_device_names(Equivalents& all) {
  add(all, {"compile", "torch-compile", "torchcompile", "jit", "compile.enable"},
      {{}, "there is nothing to compile: the kernels are part of the program"});
  add(all,
      {"distributed-world-size", "world-size", "nproc-per-node", "ngpus", "num-gpus", "gpu-ranks", "num-nodes", "nodes",
       "nnodes", "gpus"},
      {{"--ranks"}, "mpirun -n N starts N processes, with --device cuda one for each GPU"});
  add(all,
      {"distributed-backend", "ddp-backend", "backend", "local-rank", "master-addr", "master-port", "no-nccl",
       "sync-sgd"},
      {{}, "mpirun or srun starts the processes and connects them"});
  add(all, {"overlap-grad-reduce", "ddp-find-unused-parameters"},
      {{}, "gradients are all-reduced during the backward pass"});
  add(all,
      {"tensor-parallel", "tensor-parallel-size", "tensor-model-parallel-size", "tensor-parallel-degree",
       "pipeline-parallel", "pipeline-model-parallel-size", "pipeline-parallel-degree", "pipeline-parallel-size",
       "context-parallel", "context-parallel-size", "context-parallel-degree", "sequence-parallel",
       "expert-model-parallel-size"},
      {{},
       "every rank has the whole model; --zero 2 shards the gradients and the state of the optimizer, and "
       "--recompute saves activations"});
  add(all, {"lora", "use-lora", "lora-r", "lora-rank", "use-peft", "peft", "qlora"},
      {{"--lora-rank"}, std::string(kLora)});
  add(all, {"lora-alpha", "lora-dropout", "lora-targets", "rslora"}, {{}, std::string(kLora)});
  add(all, {"load-in-8bit", "load-in-4bit", "quantize", "quantize-bits", "quantization"}, {{}, std::string(kInt8)});
}

void add_decoding_names(Equivalents& all) {
  add(all, {"num-samples"}, {{"--samples"}});
  add(all, {"beam", "beam-size", "num-beams"}, {{"--valid-beam-size"}, std::string(kDecoding)});
  add(all, {"target-prefix", "force-decode", "forced-prefix"}, {{"--prefix"}});
  add(all, {"prefix-size"}, {{"--prefix-file"}});
  add(all, {"print-alignment", "report-align", "return-alignment", "with-alignment"}, {{"--alignment"}});
  add(all, {"lenpen", "normalize", "nbest", "n-best", "max-new-tokens", "temperature", "top-k", "top-p"},
      {{}, std::string(kDecoding)});
  add(all, {"remove-bpe", "post-process"}, {{}, "the output is text, without pieces"});
  add(all, {"start"}, {{"--prompt"}});
  add(all, {"max-gen-len", "max-length-tokens", "n-predict", "generation-max-length"},
      {{"--max-tokens"}, std::string(kDecoding)});
  add(all, {"output-sampling"}, {{"--sampling"}});
  add(all, {"do-sample"}, {{"--temperature"}});
  add(all, {"score-reference"}, {{}, "gyre score scores given translations"});
  add(all, {"tasks"}, {{"--format"}, "gyre evaluate choice answers the questions of a file"});
  add(all, {"log-samples"}, {{"--output"}});
  add(all, {"system-prompt", "system-message"}, {{"--system"}});
}

// Names that stand beside the declaration of the option that is their only answer.
void add_declared_names(Equivalents& all) {
  for (const Option& option : declared_options()) {
    add(all, option.also_called, {{"--" + option.name()}});
    for (const auto& [value, names] : option.values_called)
      add(all, names, {{concat("--", option.name(), " ", value)}});
  }
}

// The names of nanoGPT, Hugging Face's Trainer and TRL, Megatron-LM, torchtitan, litgpt, fairseq, Marian, OpenNMT and
// Sockeye. Of a dotted name (torchtitan, litgpt) the last part counts, unless the whole name is here.
Equivalents make_option_equivalents() {
  Equivalents all;
  add_declared_names(all);
  add_model_names(all);
  add_data_names(all);
  add_run_names(all);
  add_device_names(all);
  add_decoding_names(all);
  return all;
}

const Equivalents& option_equivalents() {
  static const Equivalents all = make_option_equivalents();
  return all;
}

// The same for commands, with words instead of options: all of them that exist are suggested, or else the explanation
// is given.
Equivalents make_subcommand_equivalents() {
  Equivalents all;
  const auto add_words = [&all](const std::vector<std::string>& words, const Equivalent& equivalent) {
    add(all, words, equivalent, "");
  };
  // Training
  add_words({"gpt", "gpt2", "llama", "clm", "causal", "train-lm", "run-clm"}, {{"train lm"}});
  add_words({"bert", "roberta", "masked", "train-mlm", "run-mlm"}, {{"train mlm"}});
  add_words({"mt", "t5", "seq2seq", "translation", "marian", "run-translation"}, {{"train nmt"}});
  add_words({"classification", "text-classification", "sequence-classification", "glue", "run-glue"},
            {{"train classify", "train pair"}});
  add_words({"pretrain"}, {{"train lm", "train mlm"}});
  add_words({"fairseq-train"}, {{"train nmt", "train lm"}});
  add_words({"finetune", "fine-tune", "finetune-full", "sft"},
            {{},
             "gyre train lm --init-from MODEL continues a decoder; train classify, pair, regress and match tune an "
             "encoder with --pretrained-model"});
  add_words({"finetune-lora", "lora"}, {{}, std::string(kLora)});
  add_words({"merge-lora"}, {{"checkpoint merge"}});
  add_words({"resume", "continue"}, {{}, "gyre train TASK --model RUN continues a run"});
  add_words({"launch", "run", "torchrun", "accelerate", "deepspeed"},
            {{}, "mpirun -n N gyre train .. starts N processes"});
  add_words({"estimate", "memory", "dry-run"}, {{"plan"}});
  add_words({"tensorboard"}, {{}, "tensorboard --logdir RUN reads a run; gyre report and gyre plot draw it"});
  // Data
  add_words({"preprocess", "preprocess-data", "prepare", "prepare-data", "binarize", "fairseq-preprocess"},
            {{"data build"}});
  add_words({"tokenize"}, {{"data build", "encode"}});
  add_words({"tokenizer", "train-tokenizer", "spm-train", "marian-vocab"}, {{"vocab"}});
  add_words({"spm-encode"}, {{"encode"}});
  add_words({"spm-decode", "detokenizer"}, {{"decode"}});
  add_words({"dedup", "deduplicate"}, {{}, "gyre data clean --remove-duplicates"});
  add_words({"filter"}, {{"data clean"}});
  // Models
  add_words({"infer", "inference"}, {{"generate", "translate", "predict"}});
  add_words({"sample", "complete"}, {{"generate"}});
  add_words({"decode", "interactive", "marian-decoder", "fairseq-generate", "fairseq-interactive"}, {{"translate"}});
  add_words({"chat"}, {{}, "gyre generate --chat talks to a language model"});
  add_words({"serve", "server", "marian-server"},
            {{}, "there is no server; gyre translate and gyre generate read lines from standard input"});
  add_words({"rescore", "marian-scorer"}, {{"score"}});
  add_words({"eval", "test", "validate"}, {{"evaluate"}});
  add_words({"eval-lm", "ppl", "lm-eval"}, {{"evaluate perplexity"}});
  add_words({"sacrebleu"}, {{"evaluate bleu"}});
  add_words({"quantize", "int8"}, {{}, std::string(kInt8)});
  add_words({"embed", "embeddings"}, {{"forward"}});
  add_words({"average-checkpoints", "model-average"}, {{"checkpoint average"}});
  add_words({"convert", "convert-hf-checkpoint"}, {{"import", "export"}});
  add_words({"convert-to-litgpt"}, {{"import"}});
  add_words({"convert-from-litgpt", "upload", "push"},
            {{}, "gyre export --to hf writes a directory that transformers reads"});
  add_words({"gguf", "convert-hf-to-gguf", "llama-quantize"},
            {{}, "gyre export --to gguf --outtype q8_0 writes a file for llama.cpp and ollama"});
  add_words({"ct2-transformers-converter", "ct2-marian-converter", "ct2-fairseq-converter"}, {{"export"}});
  add_words({"benchmark"}, {{"bench"}});
  add_words({"version", "env", "doctor"}, {{}, "gyre --version and gyre --build-info"});
  add_words({"presets", "models", "config"}, {{"help"}});
  return all;
}

const Equivalents& subcommand_equivalents() {
  static const Equivalents all = make_subcommand_equivalents();
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
  std::transform(dashed.begin(), dashed.end(), dashed.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  std::string last = dashed;  // last part of a dotted name
  if (const size_t dot = dashed.rfind('.'); dot != std::string::npos) last = "--" + dashed.substr(dot + 1);
  for (const std::string& form : {dashed, last}) {
    if (form != name && has(known, form)) return "; did you mean " + form + "?";
    const auto found = option_equivalents().find(form);
    if (found == option_equivalents().end()) continue;
    for (const std::string& option : found->second.options)
      if (has(known, first_word(option))) return "; did you mean " + option + "?";
    return found->second.explanation.empty() ? "" : ": " + found->second.explanation;
  }
  return did_you_mean(dashed, known);
}

std::string unknown_options(const std::vector<std::string>& names, const std::vector<std::string>& known) {
  if (names.size() == 1) return concat("unknown option ", names.front(), suggest_option(names.front(), known));
  std::string text;
  for (const std::string& name : names) {
    const std::string suggestion = suggest_option(name, known);
    text += concat(text.empty() ? "unknown options: " : "; ", name);
    if (!suggestion.empty()) text += concat(" (", suggestion.substr(2), ")");  // without "; " or ": "
  }
  return text;
}

std::string explain_extra_value(const std::string& option) {
  const bool is_vocabulary = option == "--vocab" || option == "--vocabs" || option == "-v";
  return is_vocabulary ? concat(": ", kJointVocabulary) : "";
}

std::string suggest_subcommand(std::string_view word, const std::vector<std::string>& known,
                               const std::vector<std::string>& all) {
  const auto suggest = [](const std::vector<std::string>& commands) {
    std::string text;
    for (const std::string& command : commands) text += concat(text.empty() ? "; did you mean " : " or ", command);
    return text.empty() ? text : text + "?";
  };
  std::string dashed(word);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  if (const auto found = subcommand_equivalents().find(dashed); found != subcommand_equivalents().end()) {
    if (!found->second.explanation.empty()) return ": " + found->second.explanation;
    std::vector<std::string> existing = found->second.options;
    std::erase_if(existing, [&](const std::string& command) { return !has(all, command); });
    if (!existing.empty()) return suggest(existing);
  }
  const std::string end = " " + std::string(word);
  std::vector<std::string> nested = all;
  std::erase_if(nested, [&end](const std::string& words) { return !words.ends_with(end); });
  // Of gyre train lm and gyre plan lm, the first one is meant; gyre data info and gyre checkpoint info are equally
  // likely.
  std::erase_if(nested, [](const std::string& words) { return words.starts_with("plan "); });
  if (!nested.empty()) return suggest(nested);
  const std::string alike = did_you_mean(word, known);
  return alike.empty() ? "; gyre help lists all commands" : alike;
}

}  // namespace gyre
