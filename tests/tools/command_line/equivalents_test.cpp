#include "tools/command_line/equivalents.h"

#include <doctest/doctest.h>

#include <map>

using namespace gyre;

TEST_CASE("unknown options: equivalents of other programs take precedence over similar spellings") {
  const std::vector<std::string> known{"--precision", "--max-tokens",  "--attention",   "--learn-rate",
                                       "--preset",    "--lr-schedule", "--after-epochs"};
  CHECK(suggest_option("--fp16", known) == "; did you mean --precision bf16?");
  CHECK(suggest_option("--arch", known) == "; did you mean --preset?");
  CHECK(suggest_option("--num_train_epochs", known) == "; did you mean --after-epochs?");
  CHECK(suggest_option("--num-workers", known) == ": text is read without worker processes");
  CHECK(suggest_option("--criterion", known).find("attention") == std::string::npos);
  CHECK(suggest_option("--learn_rate", known) == "; did you mean --learn-rate?");
  CHECK(suggest_option("--lern-rate", known) == "; did you mean --learn-rate?");
  CHECK(suggest_option("--fp16", {"--input"}) == "");  // no such option in this command
  CHECK(suggest_option("--xyzzy", known) == "");
}

TEST_CASE("a name of another program has its meaning in the command, an explanation, or no suggestion") {
  const std::vector<std::string> train{"--model",      "--mini-batch", "--max-length",       "--precision",   "--after",
                                       "--valid-freq", "--lr-warmup",  "--optimizer-params", "--log-interval"};
  CHECK(suggest_option("--global-batch-size", train) == "; did you mean --mini-batch?");
  CHECK(suggest_option("--eval-interval", train) == "; did you mean --valid-freq?");
  CHECK(suggest_option("--eval_interval", {"--log-interval"}) == "");
  CHECK(suggest_option("--training.seq_len", train) == "; did you mean --max-length?");
  CHECK(suggest_option("--train.max_tokens", train) == "; did you mean --after 1Gt?");
  CHECK(suggest_option("--job.config_file", {"--config"}) == "; did you mean --config?");
  CHECK(suggest_option("--optimizer.beta1", train) == "; did you mean --optimizer-params BETA1 BETA2 EPSILON?");
  CHECK(suggest_option("--nodes", train) == ": mpirun -n N starts N processes, with --device cuda one for each GPU");
  CHECK(suggest_option("--nodes", {"--ranks", "--model"}) == "; did you mean --ranks?");
  CHECK(suggest_option("--lora-rank", train) == ": gyre train lm, mlm and nmt train adapters with --lora-rank");
  CHECK(suggest_option("--lora_target_modules", {"--lora-targets"}) == "; did you mean --lora-targets?");
}

// The names that people bring, with the options of gyre train lm that they find.
TEST_CASE("names of nanoGPT, Hugging Face, Megatron-LM, torchtitan, litgpt, fairseq and Marian find an answer") {
  const std::vector<std::string> train{
      "--head-dim",    "--qk-norm",    "--layer-norm-epsilon", "--rotary-dims", "--tied-output",      "--layers",
      "--tokenizer",   "--documents",  "--max-skipped",        "--model",       "--pretrained-model", "--valid-metrics",
      "--lr-cooldown", "--preset",     "--kv-heads",           "--save-freq",   "--optimizer",        "--precision",
      "--text-field",  "--train-sets", "--valid-mini-batch"};
  for (const auto& [name, answer] : std::vector<std::pair<std::string, std::string>>{
           {"--kv-channels", "--head-dim?"},
           {"--qk-layernorm", "--qk-norm?"},
           {"--norm-epsilon", "--layer-norm-epsilon?"},
           {"--rotary-percent", "--rotary-dims?"},
           {"--group-query-attention", "--kv-heads?"},
           {"--tied-embeddings-all", "--tied-output?"},
           {"--train.tie_embeddings", "--tied-output?"},
           {"--decoder-layers", "--layers?"},
           {"--tokenizer-type", "--tokenizer?"},
           {"--line_by_line", "--documents line?"},
           {"--check-gradient-nan", "--max-skipped?"},
           {"--checkpoint.folder", "--model?"},
           {"--checkpoint.enable", "--save-freq?"},
           {"--no-load-optim", "--pretrained-model?"},
           {"--reset-optimizer", "--pretrained-model?"},
           {"--model.name", "--preset?"},
           {"--optimizer.name", "--optimizer?"},
           {"--lr_scheduler.decay_ratio", "--lr-cooldown 10%?"},
           {"--bf16_full_eval", "--precision bf16?"},
           {"--text_column", "--text-field?"},
           {"--trainpref", "--train-sets?"},
           {"--max-tokens-valid", "--valid-mini-batch?"},
           {"--group_by_length", "without padding"},
           {"--make-vocab-size-divisible-by", "without padding"},
           {"--overlap-grad-reduce", "during the backward pass"},
           {"--greater_is_better", "--valid-metrics"},
           {"--temperature", "gyre translate and gyre generate have the options of decoding"},
           {"--dataset-impl", "gyre data build makes a token store, which training reads in place"}}) {
    CAPTURE(name);
    CHECK(suggest_option(name, train).ends_with(answer));
  }
}

TEST_CASE("a name beside the declaration of an option finds this option, and no other") {
  CHECK(suggest_option("--max-grad-norm", {"--clip-norm"}) == "; did you mean --clip-norm?");
  CHECK(suggest_option("--warmup-ratio", {"--lr-warmup"}) == "; did you mean --lr-warmup 10%?");
  std::map<std::string, std::string> answers;
  for (const Option& option : declared_options()) {
    const std::string flag = "--" + option.name();
    const auto check = [&](const std::vector<std::string>& names, const std::string& answer) {
      for (const std::string& name : names) {
        CAPTURE(name);
        CHECK(answers.emplace(name, answer).first->second == answer);
        CHECK(suggest_option("--" + name, {flag}) == "; did you mean " + answer + "?");
      }
    };
    check(option.also_called, flag);
    for (const auto& [value, names] : option.values_called) check(names, flag + " " + value);
  }
  CHECK(answers.size() > 200);
}

TEST_CASE("names for the model to import or to export find the option of the command") {
  const std::vector<std::string> import_options{"--from", "--output", "--overwrite"},
      export_options{"--to", "--model", "--output"};
  for (const char* name : {"--input", "--model", "--path", "--hf", "--from-hf", "--model_name_or_path"}) {
    CAPTURE(name);
    CHECK(suggest_option(name, import_options) == "; did you mean --from hf DIRECTORY?");
  }
  for (const char* name : {"--input", "--from", "--path", "--checkpoint-dir"}) {
    CAPTURE(name);
    CHECK(suggest_option(name, export_options) == "; did you mean --model?");
  }
  CHECK(suggest_option("--input", {"--train-sets", "--model"}) == "; did you mean --train-sets?");
}

TEST_CASE("all unknown options are in one message") {
  CHECK(unknown_options({"--lern-rate"}, {"--learn-rate"}) == "unknown option --lern-rate; did you mean --learn-rate?");
  CHECK(unknown_options({"--dtype", "--wandb", "--frobnicate"}, {"--precision"}) ==
        "unknown options: --dtype (did you mean --precision?); --wandb (the run directory contains metrics.jsonl and "
        "TensorBoard event files; tools/scripts/wandb_sync.py and mlflow_sync.py send the metrics); --frobnicate");
}

TEST_CASE("unknown subcommands") {
  const std::vector<std::string> known{"train", "translate", "evaluate", "bench"};
  std::vector<std::string> all = known;
  all.insert(all.end(), {"train lm", "plan lm", "evaluate perplexity"});
  CHECK(suggest_subcommand("lm", known, all) == "; did you mean train lm?");
  CHECK(suggest_subcommand("decode", known, all) == "; did you mean translate?");
  CHECK(suggest_subcommand("eval-lm", known, all) == "; did you mean evaluate perplexity?");
  CHECK(suggest_subcommand("trian", known, all) == "; did you mean train?");
  CHECK(suggest_subcommand("pretrain", known, {"train lm", "train mlm"}) == "; did you mean train lm or train mlm?");
  CHECK(suggest_subcommand("info", known, {"data info", "checkpoint info"}) ==
        "; did you mean data info or checkpoint info?");
  CHECK(suggest_subcommand("serve", known, all).starts_with(": there is no server"));
  CHECK(suggest_subcommand("run_clm", known, all) == "; did you mean train lm?");
  CHECK(suggest_subcommand("lm_eval", known, all) == "; did you mean evaluate perplexity?");
  CHECK(suggest_subcommand("fairseq-generate", known, all) == "; did you mean translate?");
  CHECK(suggest_subcommand("finetune_lora", known, all).starts_with(": gyre train lm, mlm and nmt"));
  CHECK(suggest_subcommand("frobnicate", known, all) == "; gyre help lists all commands");
}
