#include "tools/option_table.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "tests/errors.h"
#include "tools/model_options.h"
#include "tools/nmt_options.h"

using namespace gyre;

namespace {

// A configuration file that lives as long as the test.
struct TemporaryFile {
  Path path = std::filesystem::temp_directory_path() / concat("gyre-option-table-", getpid(), ".toml");
  explicit TemporaryFile(const std::string& text) { std::ofstream(path) << text; }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

// The table of `gyre train nmt`.
struct TrainCall {
  CLI::App app;
  OptionTable table{app};
  ModelCall model;
  NmtOptions train;

  explicit TrainCall(std::vector<std::string> words) {
    table.accept_config_files();
    add_model_options(table, model);
    add_nmt_options(table, train);
    words.insert(words.begin(), {"--train-sets", "a.en", "a.de", "--vocab", "v.model", "--model", "run"});
    std::reverse(words.begin(), words.end());
    app.parse(words);
    table.resolve();
  }
};

}  // namespace

TEST_CASE("options fill their fields, under every spelling") {
  const TrainCall call({"--lr", "3e-3", "--max-tokens", "3000", "--warmup-updates", "600", "--after", "20e",
                        "--optimizer-params", "0.8", "0.9", "1e-8", "--position", "sinusoidal", "--deterministic"});
  CHECK(call.train.optimizer.learning_rate == 3e-3);
  CHECK(call.train.batch_words == 3000);
  CHECK(call.train.optimizer.warmup == 600);
  CHECK(call.train.after.amount == 20);
  CHECK(call.train.after.unit == Period::Unit::epochs);
  CHECK(call.train.optimizer.beta1 == 0.8);
  CHECK(call.train.optimizer.epsilon == 1e-8);
  CHECK(call.model.config.position.encoding == "sinusoidal");
  CHECK(call.train.deterministic);
  CHECK(call.train.train_sets == std::vector<Path>{"a.en", "a.de"});
}

TEST_CASE("spellings with another shape") {
  CHECK(TrainCall({"--adam-betas", "(0.9, 0.997)"}).train.optimizer.beta2 == 0.997);
  CHECK(TrainCall({"--exponential-smoothing", "1e-4"}).train.optimizer.ema == doctest::Approx(0.9999));
  CHECK(TrainCall({"--max-epoch", "7"}).train.after.unit == Period::Unit::epochs);
  CHECK(TrainCall({"--encoder-normalize-before"}).model.config.norm == NormPlacement::pre);
  CHECK(TrainCall({"--lr-scheduler", "inverse_sqrt"}).train.optimizer.schedule == "inverse-sqrt");
  CHECK(error_of([] { TrainCall({"--exponential-smoothing", "0.999"}); }).find("--ema") != std::string::npos);
}

TEST_CASE("a preset comes first, whatever the order") {
  const TrainCall call({"--enc-depth", "2", "--task", "transformer-base-prenorm"});
  CHECK(call.model.config.encoder_layers == 2);
  CHECK(call.model.config.dim == 512);
  CHECK(call.model.config.norm == NormPlacement::pre);
  CHECK(TrainCall({"--arch", "transformer_vaswani_wmt_en_de_big"}).model.config.dim == 1024);
  CHECK(error_of([] {
          TrainCall({"--task", "transformer-bse"});
        }).find("did you mean transformer-base?") != std::string::npos);
}

TEST_CASE("configuration files: the command line wins, unknown keys name the nearest one") {
  const TemporaryFile file(
      "# a comment\nlearn-rate = 0.01\nlr-warmup = 7\nvalid-sets = [\"v.en\", \"v.de\"]\n"
      "task = \"transformer-base\"\ndim-emb = 64\ndeterministic = true\n");
  const TrainCall call({"--config", file.path.string(), "--lr-warmup", "9"});
  CHECK(call.train.optimizer.learning_rate == 0.01);
  CHECK(call.train.optimizer.warmup == 9);
  CHECK(call.train.valid_sets == std::vector<Path>{"v.en", "v.de"});
  CHECK(call.model.config.dim == 64);
  CHECK(call.model.config.ffn == 2048);
  CHECK(call.train.deterministic);

  const TemporaryFile wrong("seed = 3\nlern-rate = 0.01\n");
  const std::string error = error_of([&] { TrainCall({"--config", wrong.path.string()}); });
  CHECK(error == wrong.path.string() + ":2: unknown option lern-rate; did you mean learn-rate?");
}

TEST_CASE("the resolved options read back to the same options") {
  const TrainCall call({"--lr", "0.00123456789", "--after", "20e", "--position", "sinusoidal", "--valid-sets", "v.en",
                        "v.de", "--no-tied-output", "--mini-batch", "64", "--adam-betas", "0.9", "0.997"});
  const TemporaryFile file(call.table.toml());
  const TrainCall again({"--config", file.path.string()});
  CHECK(again.table.toml() == call.table.toml());
  CHECK(again.train.batch_unit == "sentences");
  CHECK_FALSE(again.model.config.tied_output);
  CHECK_NOTHROW(reject_idle_nmt_options(again.table, again.train));
  CHECK_NOTHROW(check_model_options(again.table, again.model.config));
}

TEST_CASE("wrong values are named with their option") {
  CHECK(error_of([] { TrainCall({"--seed", "ten"}); }) == "--seed: expected a whole number from 0 up, got 'ten'");
  CHECK(error_of([] { TrainCall({"--seed", "-3"}); }) == "--seed: expected a whole number from 0 up, got '-3'");
  CHECK(error_of([] { TrainCall({"--lr", "1e-3x"}); }) == "--learn-rate: expected a number, got '1e-3x'");
  CHECK(error_of([] { TrainCall({"--position", "rop"}); }).find("did you mean rope?") != std::string::npos);
}

TEST_CASE("options that nothing reads are rejected") {
  const TrainCall rope({"--position", "sinusoidal", "--rope-base", "500000"});
  CHECK(error_of([&] { check_model_options(rope.table, rope.model.config); }) ==
        "--rope-base would have no effect: --position is sinusoidal");
  const TrainCall stop({"--early-stopping", "3"});
  CHECK(error_of([&] { reject_idle_nmt_options(stop.table, stop.train); }) ==
        "--early-stopping would have no effect: there is nothing to validate on");
  const TrainCall heading({"--rope-learnable", "--seed", "2"});
  CHECK(error_of([&] { heading.table.reject_group("Position encoding", "no reader"); }) ==
        "--rope-learnable would have no effect: no reader");
  CHECK_NOTHROW(heading.table.reject_group("Learning rate", "no reader"));
}

TEST_CASE("options of position encodings: lists of numbers, and who reads what") {
  const TrainCall call({"--position", "wavelet", "--wavelet-scales", "1,2.5,1e3", "--wavelet-shifts", "-1,0",
                        "--wavelet", "haar", "--wavelet-time", "query-minus-key"});
  const PositionConfig& p = call.model.config.position;
  CHECK(p.wavelet_scales == std::vector<double>({1, 2.5, 1e3}));
  CHECK(p.wavelet_shifts == std::vector{-1.0, 0.0});
  CHECK(p.wavelet == Wavelet::haar);
  CHECK(p.wavelet_time == WaveletTime::query_minus_key);
  const TemporaryFile file(call.table.toml());
  CHECK(TrainCall({"--config", file.path.string()}).table.toml() == call.table.toml());
  CHECK(error_of([&] { check_model_options(call.table, call.model.config); }) ==
        "[wavelet] scales x shifts must fill the head's width, 32, got 3 scales x 2 shifts");
  CHECK(error_of([] { TrainCall({"--wavelet-scales", "1,two"}); }) == "--wavelet-scales: expected a number, got 'two'");

  const auto idle = [](const std::vector<std::string>& words) {
    const TrainCall given(words);
    return error_of([&] { check_model_options(given.table, given.model.config); });
  };
  CHECK(idle({"--no-shaw-values"}) == "--shaw-values would have no effect: --position is rope");
  CHECK(idle({"--position", "shaw", "--no-shaw-values"}) == "no error");
  CHECK(idle({"--position", "t5", "--bias-buckets", "16"}) == "no error");
  CHECK(idle({"--position", "tupe", "--no-tupe-bias", "--bias-buckets", "16"}) ==
        "--bias-buckets would have no effect: --tupe-bias is false");
  CHECK(idle({"--rope-scaling-factor", "4"}) == "--rope-scaling-factor would have no effect: --rope-scaling is none");
  CHECK(idle({"--rope-scaling", "ntk", "--rope-scaling-factor", "4", "--rope-original-length", "64"}) ==
        "--rope-original-length would have no effect: --rope-scaling is ntk");
  CHECK(idle({"--rope-scaling", "yarn", "--rope-scaling-factor", "4", "--rope-original-length", "64"}) == "no error");
}

TEST_CASE("the warm-up is a number of updates or a share of all of them") {
  const TrainCall updates({"--lr-warmup", "70"}), share({"--lr-warmup", "7%"});
  CHECK(updates.train.optimizer.warmup == 70);
  CHECK(updates.train.optimizer.warmup_percent == 0);
  CHECK(share.train.optimizer.warmup_percent == 7);
  CHECK(contains(share.table.toml(), "lr-warmup = \"7%\"\n"));
  CHECK(contains(updates.table.toml(), "lr-warmup = 70\n"));
  CHECK(error_of([] {
          TrainCall({"--lr-warmup", "7.5"});
        }) == "--lr-warmup: expected a whole number from 0 up, got '7.5'");
}

TEST_CASE("the time of a run: minutes, or with a unit") {
  const auto minutes = [](const std::string& text) {
    return *TrainCall({"--stop-after-minutes", text}).train.stop_after_time_minutes;
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
