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

TEST_CASE("unknown subcommands") {
  const std::vector<std::string> known{"train", "translate", "evaluate", "bench"};
  std::vector<std::string> all = known;
  all.insert(all.end(), {"train lm", "plan lm", "evaluate perplexity"});
  CHECK(suggest_subcommand("lm", known, all) == "; did you mean train lm?");
  CHECK(suggest_subcommand("decode", known, all) == "; did you mean translate?");
  CHECK(suggest_subcommand("eval-lm", known, all) == "; did you mean evaluate perplexity?");
  CHECK(suggest_subcommand("trian", known, all) == "; did you mean train?");
  CHECK(suggest_subcommand("frobnicate", known, all) == "; gyre help lists all commands");
}
