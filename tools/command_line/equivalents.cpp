#include "tools/command_line/equivalents.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "gyre/core/error.h"
#include "gyre/core/suggestions.h"

namespace gyre {

namespace {

constexpr std::string_view kDecoding = "gyre translate and gyre generate have the options of decoding";
constexpr std::string_view kInt8 = "--precision int8 of gyre translate and gyre generate computes with 8-bit weights";
constexpr std::string_view kJointVocabulary =
    "source and target have one joint vocabulary, which gyre vocab --input SOURCE TARGET makes";
constexpr std::string_view kImport = "--from hf DIRECTORY";
constexpr std::string_view kNoLora = "there is no LoRA; --freeze PATTERN trains a part of the weights";

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
  add(all, {"enc-layers", "num-encoder-layers"}, {{"--enc-depth"}});
  add(all, {"dec-layers", "decoder-layers", "dec-depth", "num-decoder-layers"}, {{"--dec-depth", "--layers"}});
  add(all,
      {"hidden-size", "hidden-dim", "n-embd", "d-model", "dim", "embed-dim", "model-dim", "rnn-size", "word-vec-size",
       "decoder-embed-dim"},
      {{"--dim-emb"}});
  add(all,
      {"ffn-hidden-size", "intermediate-size", "d-ff", "ffn-dim", "dim-feedforward", "transformer-ff",
       "decoder-ffn-embed-dim"},
      {{"--transformer-dim-ffn"}});
  add(all,
      {"num-attention-heads", "num-heads", "n-head", "n-heads", "heads", "attention-heads", "decoder-attention-heads"},
      {{"--transformer-heads"}});
  add(all, {"num-query-groups", "num-key-value-heads", "n-kv-heads", "n-query-groups"}, {{"--kv-heads"}});
  add(all, {"group-query-attention"}, {{"--kv-heads"}});
  add(all, {"kv-channels"}, {{"--head-dim"}});
  add(all, {"qk-layernorm"}, {{"--qk-norm"}});
  add(all, {"hidden-dropout", "hidden-dropout-prob", "dropout-rate"}, {{"--transformer-dropout"}});
  add(all, {"relu-dropout"}, {{"--transformer-dropout-ffn"}});
  add(all, {"init-method-std", "initializer-range"}, {{"--initial-deviation"}});
  add(all, {"swiglu", "gated-linear-unit"}, {{"--gated-ffn"}});
  add(all, {"disable-bias-linear", "bias", "no-bias"}, {{"--biases"}});
  add(all, {"normalization", "norm-class-name"}, {{"--norm-type"}});
  add(all, {"norm-epsilon", "layer-norm-eps", "rms-norm-eps", "norm-eps"}, {{"--layer-norm-epsilon"}});
  add(all, {"use-rotary-position-embeddings", "rotary", "use-rope"}, {{"--position rope"}});
  add(all, {"position-embedding-type", "position-encoding"}, {{"--position"}});
  add(all, {"rotary-base", "rope-theta"}, {{"--rope-base"}});
  add(all, {"rotary-percent", "rotary-pct", "partial-rotary-factor", "rotary-percentage"}, {{"--rotary-dims"}});
  add(all, {"max-position-embeddings", "max-target-positions"}, {{"--max-positions"}});
  add(all, {"untie-embeddings-and-output-weights", "no-tie-word-embeddings"}, {{"--no-tied-output"}});
  add(all,
      {"tie-word-embeddings", "tie-embeddings", "tied-embeddings", "tied-embeddings-all", "share-all-embeddings",
       "share-input-output-embed", "share-decoder-input-output-embed"},
      {{"--tied-output", "--tied-embeddings-all"}});
  add(all, {"transformer-preprocess", "decoder-normalize-before"}, {{"--norm pre"}});
  add(all, {"decoder-learned-pos"}, {{"--position learned"}});
  add(all, {"sliding-window", "window-size"}, {{"--attention-window"}});
  add(all, {"use-flash-attn", "flash-attention", "attn-implementation"},
      {{}, "attention never stores the matrix of its weights, as FlashAttention does not"});
  add(all, {"num-experts", "moe"}, {{}, "there are no mixtures of experts"});
}

void add_data_names(Equivalents& all) {
  add(all,
      {"train-file", "train-files", "train-data", "train-data-path", "train-dataset", "train-path", "data-path", "data",
       "dataset", "dataset-name", "dataset-path", "data-dir"},
      {{"--train-sets", "--source", "--input"}});
  add(all, {"source-lang", "target-lang", "train-src", "train-tgt"}, {{"--train-sets SOURCE TARGET"}});
  add(all,
      {"validation-file", "valid-file", "valid-data", "val-data", "val-data-path", "eval-data", "eval-dataset",
       "dev-sets", "valid-path"},
      {{"--valid-sets"}});
  add(all, {"split", "val-split-fraction", "validation-split-percentage", "val-split", "val-size"},
      {{"--valid-share"}});
  add(all,
      {"max-seq-length", "seq-length", "seq-len", "max-seq-len", "sequence-length", "block-size", "context-length",
       "ctx-len", "max-source-length", "max-target-length", "max-sequence-length"},
      {{"--max-length"}});
  add(all,
      {"tokenizer-name", "tokenizer-model", "tokenizer-path", "tokenizer-dir", "tokenizer-name-or-path", "vocab-file",
       "merge-file", "srcdict", "tgtdict", "vocab-path"},
      {{"--vocab"}});
  add(all,
      {"src-vocab", "tgt-vocab", "source-vocab", "target-vocab", "share-vocab", "shared-vocab", "joined-dictionary"},
      {{}, std::string(kJointVocabulary)});
  add(all, {"dim-vocabs"}, {{"--size"}, "gyre vocab --size sets the size of the vocabulary"});
  add(all, {"text-column", "text-column-name", "dataset-text-field", "json-keys", "text-key"},
      {{"--text-field", "--text-column"}});
  add(all,
      {"num-workers", "dataloader-num-workers", "preprocessing-num-workers", "streaming", "data-loader-workers",
       "workers"},
      {{}, "text is read without worker processes"});
  add(all, {"packing"}, {{"--across-documents"}});
  add(all,
      {"group-by-length", "pad-to-max-length", "pad-to-multiple-of", "left-pad-source", "pad-token-id", "padding",
       "make-vocab-size-divisible-by"},
      {{}, "batches are packed, without padding"});
  add(all, {"line-by-line"}, {{"--documents line"}});
  add(all, {"tokenizer-type"}, {{"--tokenizer"}});
  add(all, {"trainpref"}, {{"--train-sets"}});
  add(all, {"sqlite", "tempdir", "shuffle-in-ram", "cache-dir", "data-cache-path", "dataset-impl"},
      {{}, "gyre data build makes a token store, which training reads in place"});
  add(all, {"reset-attention-mask", "reset-position-ids"}, {{"--documents-attend apart"}});
  add(all, {"skip-invalid-size-inputs-valid-test"}, {{"--on-bad-line skip"}});
}

void add_batch_names(Equivalents& all) {
  add(all, {"per-device-train-batch-size", "train-batch-size", "global-batch-size", "batch", "bsz"},
      {{"--mini-batch"}});
  add(all, {"micro-batch-size", "local-batch-size", "device-batch-size"},
      {{},
       "the global batch (--mini-batch) is divided among the ranks and into the micro-batches of --optimizer-delay"});
  add(all, {"per-device-eval-batch-size", "eval-batch-size", "max-tokens-valid"}, {{"--valid-mini-batch"}});
  add(all, {"gradient-accumulation-steps", "grad-accum", "accumulate-grad-batches", "accum-count"},
      {{"--optimizer-delay"}});
  add(all, {"mini-batch-fit", "workspace"}, {{"--mini-batch-words"}});
  add(all, {"batch-type"}, {{"--batch-unit"}});
}

void add_optimizer_names(Equivalents& all) {
  add(all, {"optim", "optimizer-type", "optimizer-name", "optimizer.name"}, {{"--optimizer"}});
  add(all, {"learning-rate", "base-lr", "peak-lr", "max-lr"}, {{"--learn-rate"}});
  add(all, {"lr-scheduler-type", "lr-decay-style", "decay-type", "decay-lr", "lr-decay-type"}, {{"--lr-schedule"}});
  add(all, {"lr-decay-inv-sqrt"}, {{"--lr-schedule inverse-sqrt"}});
  add(all,
      {"warmup-steps", "warmup-iters", "lr-warmup-iters", "lr-warmup-steps", "lr-warmup-samples", "num-warmup-steps",
       "warmup"},
      {{"--lr-warmup"}});
  add(all, {"warmup-ratio", "lr-warmup-fraction", "warmup-fraction"}, {{"--lr-warmup 10%"}});
  add(all, {"lr-decay-iters", "lr-decay-steps"}, {{"--total-updates"}});
  add(all, {"lr-scheduler.decay-ratio", "decay-ratio", "wsd-decay-ratio"}, {{"--lr-cooldown 10%"}});
  add(all, {"max-grad-norm", "grad-clip", "clip-grad", "gradient-clip-val", "max-norm"}, {{"--clip-norm"}});
  add(all, {"adam-beta1", "adam-beta2", "beta1", "beta2"}, {{"--optimizer-params BETA1 BETA2 EPSILON"}});
  add(all, {"adam-epsilon", "eps"}, {{"--adam-eps"}});
  add(all, {"label-smoothing-factor"}, {{"--label-smoothing"}});
  add(all, {"criterion", "cost-type"},
      {{}, "the loss is cross-entropy, and --label-smoothing is an option of train nmt"});
  add(all, {"mlm-probability"}, {{"--mask-share"}});
  add(all, {"check-gradient-nan", "check-for-nan-in-loss-and-grad", "dynamic-gradient-scaling", "loss-scale"},
      {{"--max-skipped"}});
}

// The length of the run, saving, validation and logs.
void add_run_names(Equivalents& all) {
  add(all,
      {"max-steps", "max-iters", "train-iters", "train-steps", "steps", "num-steps", "total-steps", "num-train-steps",
       "max-train-steps", "num-iterations", "iterations", "exit-interval", "train-samples", "train.max-steps"},
      {{"--after"}});
  add(all, {"train.max-tokens", "total-tokens", "train-tokens"}, {{"--after 1Gt"}});
  add(all, {"num-train-epochs", "epochs", "num-epochs", "n-epochs", "max-epochs"}, {{"--after-epochs"}});
  add(all, {"stop-time-hours", "exit-duration-in-mins", "max-time"}, {{"--stop-after-minutes"}});
  add(all, {"output-dir", "out-dir", "save", "save-path", "run-name", "dump-folder", "checkpoint.folder"},
      {{"--model", "--output"}});
  add(all, {"overwrite-output-dir", "no-reload"}, {{"--overwrite"}});
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
  add(all,
      {"save-steps", "save-every", "save-checkpoint-steps", "checkpoint-interval", "save-interval",
       "always-save-checkpoint", "no-epoch-checkpoints", "save-strategy", "checkpoint.interval", "checkpoint.enable",
       "train.save-interval"},
      {{"--save-freq"}});
  add(all, {"save-total-limit", "keep-last-epochs", "keep-latest-k"}, {{"--keep-last"}});
  add(all,
      {"eval-steps", "eval-interval", "eval-every", "valid-steps", "val-check-interval", "eval-strategy",
       "evaluation-strategy", "eval.interval", "validation.freq"},
      {{"--valid-freq"}});
  add(all, {"validate-interval"}, {{"--valid-freq 1e"}});
  add(all, {"eval-iters", "eval.max-iters", "max-eval-samples"}, {{"--valid-samples"}});
  add(all, {"best-checkpoint-metric", "early-stopping-on", "metric-for-best-model"}, {{"--valid-metrics"}});
  add(all, {"eval-bleu", "eval-bleu-args", "eval-bleu-detok", "predict-with-generate"}, {{"--valid-metrics bleu"}});
  add(all, {"greater-is-better", "maximize-best-checkpoint-metric"},
      {{}, "whether more is better follows from the metric of --valid-metrics"});
  add(all, {"early-stopping-patience"}, {{"--patience"}});
  add(all, {"load-best-model-at-end"}, {{}, "the link checkpoints/best of the run points to the best model"});
  add(all, {"do-train", "do-eval", "do-predict", "eval-only"},
      {{}, "gyre train trains and validates; gyre evaluate and gyre predict read finished models"});
  add(all, {"logging-steps", "log-freq", "log-every", "report-every", "log-every-n-steps", "train.log-interval"},
      {{"--disp-freq"}});
  add(all, {"report-to", "tensorboard-logdir", "tensorboard-dir", "logging-dir", "enable-tensorboard"},
      {{}, "the run directory contains TensorBoard event files"});
  add(all, {"wandb", "wandb-log", "wandb-project", "wandb-run-name", "enable-wandb", "mlflow", "logger-name"},
      {{}, "the run directory contains metrics.jsonl and TensorBoard event files, which trackers can read"});
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
  add(all, {"fp16", "bf16", "memory-efficient-fp16", "amp", "half"}, {{"--precision bf16"}});
  add(all, {"bf16-full-eval"}, {{"--precision bf16"}});
  add(all, {"tf32"}, {{"--precision tf32"}});
  add(all, {"dtype", "torch-dtype", "mixed-precision", "mixed-precision-param"}, {{"--precision"}});
  add(all, {"compile", "torch-compile", "torchcompile", "jit", "compile.enable"},
      {{}, "there is nothing to compile: the kernels are part of the program"});
  add(all,
      {"gradient-checkpointing", "activation-checkpointing", "recompute-activations", "recompute-granularity",
       "activation-checkpoint.mode", "checkpoint-activations"},
      {{"--recompute block"}});
  add(all, {"devices", "gpu", "cuda"}, {{"--device cuda"}});
  add(all, {"cpu", "no-cuda", "use-cpu"}, {{"--device cpu"}});
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
  add(all, {"data-threads", "num-threads", "jobs"}, {{"--cpu-threads"}});
  add(all, {"sharding", "use-distributed-optimizer", "deepspeed", "zero-stage"}, {{"--zero"}});
  add(all, {"fsdp", "data-parallel-shard-degree"}, {{"--zero 2"}});
  add(all,
      {"tensor-parallel", "tensor-parallel-size", "tensor-model-parallel-size", "tensor-parallel-degree",
       "pipeline-parallel", "pipeline-model-parallel-size", "pipeline-parallel-degree", "pipeline-parallel-size",
       "context-parallel", "context-parallel-size", "context-parallel-degree", "sequence-parallel",
       "expert-model-parallel-size"},
      {{},
       "every rank has the whole model; --zero 2 shards the gradients and the state of the optimizer, and "
       "--recompute saves activations"});
  add(all, {"lora", "use-lora", "lora-r", "lora-rank", "lora-alpha", "lora-dropout", "use-peft", "peft", "qlora"},
      {{}, std::string(kNoLora)});
  add(all, {"load-in-8bit", "load-in-4bit", "quantize", "quantize-bits", "quantization"}, {{}, std::string(kInt8)});
}

void add_decoding_names(Equivalents& all) {
  add(all, {"num-samples"}, {{"--samples"}});
  add(all, {"beam", "beam-size", "num-beams"}, {{"--valid-beam-size"}, std::string(kDecoding)});
  add(all, {"lenpen", "normalize", "nbest", "n-best", "max-new-tokens", "temperature", "top-k", "top-p"},
      {{}, std::string(kDecoding)});
  add(all, {"remove-bpe", "post-process"}, {{}, "the output is text, without pieces"});
  add(all, {"start"}, {{"--prompt"}});
  add(all, {"max-gen-len", "max-length-tokens", "n-predict", "generation-max-length"},
      {{"--max-tokens"}, std::string(kDecoding)});
  add(all, {"output-sampling"}, {{"--sampling"}});
  add(all, {"do-sample"}, {{"--temperature"}});
  add(all, {"score-reference"}, {{}, "gyre score scores given translations"});
  add(all, {"chat-template", "system-prompt"}, {{}, "there are no chat templates: the prompt is text as it is"});
}

// The names of nanoGPT, Hugging Face's Trainer and TRL, Megatron-LM, torchtitan, litgpt, fairseq, Marian, OpenNMT and
// Sockeye. Of a dotted name (torchtitan, litgpt) the last part counts, unless the whole name is here.
Equivalents make_option_equivalents() {
  Equivalents all;
  add_model_names(all);
  add_data_names(all);
  add_batch_names(all);
  add_optimizer_names(all);
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
  add_words({"finetune-lora", "lora", "merge-lora"}, {{}, std::string(kNoLora)});
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
  add_words({"chat"}, {{}, "gyre generate continues a prompt; there is no format for turns of a conversation"});
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
  add_words({"convert-from-litgpt", "gguf", "upload", "push"},
            {{}, "gyre export --to hf writes a directory that transformers and llama.cpp's converter read"});
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
  std::string last = dashed;  // of a dotted name
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
