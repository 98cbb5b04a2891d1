#include "tools/command_line/option_table.h"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tests/errors.h"
#include "tests/tools/command_line/temporary_file.h"
#include "tools/options/model_options.h"
#include "tools/options/train_options.h"

using namespace gyre;

namespace {

// The table of `gyre train nmt`.
struct TrainCall {
  CLI::App app;
  OptionTable table{app};
  ModelArgs model;
  NmtOptions train;

  explicit TrainCall(std::vector<std::string> words) {
    table.accept_config_files();
    add_model_options(table, model);
    add_nmt_options(table, train, model.config);
    words.insert(words.begin(), {"--train-sets", "a.en", "a.de", "--vocab", "v.model", "--model", "run"});
    std::reverse(words.begin(), words.end());
    app.parse(words);
    table.resolve();
  }
};

}  // namespace

TEST_CASE("options set their fields, under every spelling") {
  const TrainCall args({"--lr", "3e-3", "--max-tokens", "3000", "--warmup-updates", "600", "--after", "20e",
                        "--optimizer-params", "0.8", "0.9", "1e-8", "--position", "sinusoidal", "--deterministic"});
  CHECK(args.train.optimizer.schedule.learning_rate == 3e-3);
  CHECK(args.train.batch.size == 3000);
  CHECK(args.train.optimizer.schedule.warmup == 600);
  CHECK(args.train.stop.after.amount == 20);
  CHECK(args.train.stop.after.unit == Period::Unit::epochs);
  CHECK(args.train.optimizer.beta1 == 0.8);
  CHECK(args.train.optimizer.epsilon == 1e-8);
  CHECK(args.model.config.position.encoding == "sinusoidal");
  CHECK(args.train.parallel.deterministic);
  CHECK(args.train.data.train_sets == std::vector<Path>{"a.en", "a.de"});
}

TEST_CASE("aliases whose values have another form") {
  CHECK(TrainCall({"--adam-betas", "(0.9, 0.997)"}).train.optimizer.beta2 == 0.997);
  CHECK(TrainCall({"--exponential-smoothing", "1e-4"}).train.optimizer.ema == doctest::Approx(0.9999));
  CHECK(TrainCall({"--max-epoch", "7"}).train.stop.after.unit == Period::Unit::epochs);
  CHECK(TrainCall({"--encoder-normalize-before"}).model.config.norm == NormPlacement::pre);
  CHECK(TrainCall({"--lr-scheduler", "inverse_sqrt"}).train.optimizer.schedule.kind == "inverse-sqrt");
  CHECK(error_of([] { TrainCall({"--exponential-smoothing", "0.999"}); }).find("--ema") != std::string::npos);
}

TEST_CASE("a preset is applied first, regardless of the order") {
  const TrainCall args({"--enc-depth", "2", "--task", "transformer-base-prenorm"});
  CHECK(args.model.config.encoder_layers == 2);
  CHECK(args.model.config.dim == 512);
  CHECK(args.model.config.norm == NormPlacement::pre);
  CHECK(TrainCall({"--arch", "transformer_vaswani_wmt_en_de_big"}).model.config.dim == 1024);
  CHECK(error_of([] {
          TrainCall({"--task", "transformer-bse"});
        }).find("did you mean transformer-base?") != std::string::npos);
}

TEST_CASE(
    "configuration files: the command line overrides them, and an error for an unknown key suggests the nearest") {
  const TemporaryFile file(
      "# a comment\nlearn-rate = 0.01\nlr-warmup = 7\nvalid-sets = [\"v.en\", \"v.de\"]\n"
      "task = \"transformer-base\"\ndim-emb = 64\ndeterministic = true\n");
  const TrainCall args({"--config", file.path.string(), "--lr-warmup", "9"});
  CHECK(args.train.optimizer.schedule.learning_rate == 0.01);
  CHECK(args.train.optimizer.schedule.warmup == 9);
  CHECK(args.train.data.valid_sets == std::vector<Path>{"v.en", "v.de"});
  CHECK(args.model.config.dim == 64);
  CHECK(args.model.config.ffn == 2048);
  CHECK(args.train.parallel.deterministic);

  const TemporaryFile wrong("seed = 3\nlern-rate = 0.01\n");
  const std::string error = error_of([&] { TrainCall({"--config", wrong.path.string()}); });
  CHECK(error == wrong.path.string() + ":2: unknown option lern-rate; did you mean learn-rate?");
}

TEST_CASE("the resolved options read back to the same options") {
  const TrainCall args({"--lr", "0.00123456789", "--after", "20e", "--position", "sinusoidal", "--valid-sets", "v.en",
                        "v.de", "--no-tied-output", "--mini-batch", "64", "--adam-betas", "0.9", "0.997"});
  const TemporaryFile file(args.table.toml());
  TrainCall again({"--config", file.path.string()});
  CHECK(again.table.toml() == args.table.toml());
  CHECK(again.train.batch.unit == BatchUnit::sentences);
  CHECK_FALSE(again.model.config.tied_output);
  CHECK_NOTHROW(check_nmt_training(again.table, again.train));
  CHECK_NOTHROW(check_model_options(again.table, again.model.config));
}

TEST_CASE("wrong values are named with their option") {
  CHECK(error_of([] { TrainCall({"--seed", "ten"}); }) == "--seed: expected a non-negative integer, got 'ten'");
  CHECK(error_of([] {
          TrainCall({"--max-length", "99999999999"});
        }) == "--max-length: expected an integer from -2147483648 to 2147483647, got 99999999999");
  CHECK(error_of([] { TrainCall({"--seed", "-3"}); }) == "--seed: expected a non-negative integer, got '-3'");
  CHECK(error_of([] { TrainCall({"--lr", "1e-3x"}); }) == "--learn-rate: expected a number, got '1e-3x'");
  CHECK(error_of([] { TrainCall({"--position", "rop"}); }).find("did you mean rope?") != std::string::npos);
}

TEST_CASE("options without effect are rejected") {
  const TrainCall rope({"--position", "sinusoidal", "--rope-base", "500000"});
  CHECK(error_of([&] { check_model_options(rope.table, rope.model.config); }) ==
        "--rope-base would have no effect: --position is sinusoidal");
  TrainCall stop({"--patience", "3"});
  CHECK(error_of([&] { check_nmt_training(stop.table, stop.train); }) ==
        "--patience would have no effect: there is no validation data");
  const TrainCall heading({"--rope-learnable", "--seed", "2"});
  CHECK(error_of([&] { heading.table.reject_group("Position encoding", "no reader"); }) ==
        "--rope-learnable would have no effect: no reader");
  CHECK_NOTHROW(heading.table.reject_group("Learning rate", "no reader"));
}

TEST_CASE("options of position encodings: lists of numbers, and rejection of unused options") {
  const TrainCall args({"--position", "wavelet", "--wavelet-scales", "1,2.5,1e3", "--wavelet-shifts", "-1,0",
                        "--wavelet", "haar", "--wavelet-time", "query-minus-key"});
  for (const char* row : {"wavelet-scales = [1, 2.5, 1000]\n", "wavelet-shifts = [-1, 0]\n", "wavelet = \"haar\"\n",
                          "wavelet-time = \"query-minus-key\"\n"})
    CHECK(contains(args.table.toml(), row));
  const TemporaryFile file(args.table.toml());
  CHECK(TrainCall({"--config", file.path.string()}).table.toml() == args.table.toml());
  CHECK(error_of([&] { check_model_options(args.table, args.model.config); }) ==
        "[wavelet] scales x shifts must fill the head's width, 32, got 3 scales x 2 shifts; see --position, "
        "--wavelet-scales, --wavelet-shifts, --dim-emb, --transformer-heads");
  CHECK(error_of([] { TrainCall({"--wavelet-scales", "1,two"}); }) == "--wavelet-scales: expected a number, got 'two'");
  const TrainCall unused({"--no-shaw-values"});
  CHECK(error_of([&] { check_model_options(unused.table, unused.model.config); }) ==
        "--shaw-values would have no effect: --position is rope");
}

TEST_CASE("the warm-up is a number of updates or a share of all of them") {
  const TrainCall updates({"--lr-warmup", "70"}), share({"--lr-warmup", "7%"});
  CHECK(updates.train.optimizer.schedule.warmup == 70);
  CHECK(updates.train.optimizer.schedule.warmup_percent == 0);
  CHECK(share.train.optimizer.schedule.warmup_percent == 7);
  CHECK(contains(share.table.toml(), "lr-warmup = \"7%\"\n"));
  CHECK(contains(updates.table.toml(), "lr-warmup = 70\n"));
  CHECK(error_of([] {
          TrainCall({"--lr-warmup", "7.5"});
        }) == "--lr-warmup: expected a non-negative integer, got '7.5'");
}

TEST_CASE("the cooldown is a number of updates or a share of all of them") {
  const TrainCall updates({"--lr-schedule", "wsd", "--lr-cooldown", "70", "--lr-cooldown-form", "linear"});
  const TrainCall share({"--lr-cooldown", "7%"}), none({"--lr-cooldown", "0"}), standard({});
  CHECK(updates.train.optimizer.schedule.cooldown == 70);
  CHECK(updates.train.optimizer.schedule.cooldown_form == CooldownForm::linear);
  CHECK(contains(updates.table.toml(), "lr-cooldown = 70\nlr-cooldown-form = \"linear\"\n"));
  CHECK_FALSE(share.train.optimizer.schedule.cooldown);
  CHECK(share.train.optimizer.schedule.cooldown_percent == 7);
  CHECK(contains(share.table.toml(), "lr-cooldown = \"7%\"\n"));
  CHECK(none.train.optimizer.schedule.cooldown == 0);
  CHECK(contains(none.table.toml(), "lr-cooldown = 0\n"));
  CHECK(contains(standard.table.toml(), "lr-cooldown = \"20%\"\n"));
}

TEST_CASE("the time limit of a run: minutes, or a number with a unit") {
  const auto minutes = [](const std::string& text) {
    return *TrainCall({"--stop-after-minutes", text}).train.stop.minutes;
  };
  CHECK(minutes("3") == 3);
  CHECK(minutes("2.5") == 2.5);
  CHECK(minutes("150s") == 2.5);
  CHECK(minutes("2.5m") == 2.5);
  CHECK(minutes("2h") == 120);
  CHECK(contains(TrainCall({"--stop-after-minutes", "150s"}).table.toml(), "stop-after-minutes = 2.5\n"));
  for (const char* text : {"-1", "nan", "inf", "1e400"})
    CHECK(contains(error_of([&] { minutes(text); }), "--stop-after-minutes: expected a"));
  CHECK(contains(error_of([&] { minutes("2d"); }), "expected a number, got '2d'"));
}

TEST_CASE("rotary dimensions must be even") {
  const TrainCall odd({"--rotary-dims", "7"});
  CHECK(error_of([&] { check_model_options(odd.table, odd.model.config); }).find("even") != std::string::npos);
}
