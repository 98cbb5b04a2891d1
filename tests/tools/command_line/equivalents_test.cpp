#include "tools/command_line/equivalents.h"

#include <doctest/doctest.h>

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
  CHECK(suggest_option("--lora-rank", train) == ": there is no LoRA; --freeze PATTERN trains a part of the weights");
}

TEST_CASE("all unknown options are in one message") {
  CHECK(unknown_options({"--lern-rate"}, {"--learn-rate"}) == "unknown option --lern-rate; did you mean --learn-rate?");
  CHECK(unknown_options({"--dtype", "--wandb", "--frobnicate"}, {"--precision"}) ==
        "unknown options: --dtype (did you mean --precision?); --wandb (the run directory contains metrics.jsonl and "
        "TensorBoard event files, which trackers can read); --frobnicate");
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
  CHECK(suggest_subcommand("frobnicate", known, all) == "; gyre help lists all commands");
}
