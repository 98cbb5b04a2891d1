// Complete training runs of translation models in one process.
#include "gyre/train/tasks/translation/nmt.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/log/metrics_log.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

struct TinyTask : TemporaryDirectory {
  TinyTask() { write_tiny_corpus(path()); }
  NmtOptions options(const std::string& run, const std::string& after) const {
    NmtOptions o = tiny_options(path(), *this / run);
    o.stop.after = Period::parse(after);
    return o;
  }
  NmtOptions with_validation(const std::string& run, const std::string& after, const std::string& every) const {
    NmtOptions o = options(run, after);
    o.data.valid_sets = {*this / "valid.src", *this / "valid.tgt"};
    o.validation.every = Period::parse(every);
    return o;
  }
};

std::string error_of_training(const NmtOptions& options, const EncoderDecoderConfig& config = tiny_nmt_config()) {
  return error_of([&] { train(options, config); });
}

// Checks that figures of two runs differ by at most their tolerances.
void check_close(const std::vector<Json>& a, const std::vector<Json>& b, const std::map<std::string, double>& figures) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    for (const auto& [name, tolerance] : figures)
      CHECK(a[i][name].get<double>() == doctest::Approx(b[i][name].get<double>()).epsilon(tolerance));
  }
}

TEST_CASE("a run learns, and writes the files for decoding and plotting") {
  const TinyTask task;
  NmtOptions options = task.with_validation("run", "4e", "1e");
  options.optimizer.ema = 0.5;
  options.record.toml = "seed = 1\n";
  train(options);
  const Path run = task / "run";
  CHECK(read_file(run / "train.toml") == "seed = 1\n");
  CHECK(read_file(run / "vocab.bytes") == read_file(options.data.vocabulary));
  EncoderDecoder model(EncoderDecoderConfig::from_json(Json::parse(read_file(run / "config.json"))));
  model.parameters().allocate(1);
  load_model_weights(run, model.parameters());

  const auto progress = events(run, "train"), validations = events(run, "valid"), ends = events(run, "end");
  REQUIRE(progress.size() == 48);
  CHECK(progress.back()["loss"].get<double>() < 0.8 * progress.front()["loss"].get<double>());
  CHECK(progress[11]["epoch"] == 1);
  CHECK(progress[12]["epoch"] == 2);
  REQUIRE(validations.size() == 4);
  CHECK(validations[1]["updates"] == 24);
  CHECK(validations[3]["perplexity"].get<double>() ==
        doctest::Approx(std::exp(validations[3]["cross-entropy"].get<double>())));
  CHECK(validations[3].contains("bleu"));
  const std::string sources = read_file(task / "valid.src");
  REQUIRE(validations[3]["samples"].size() == 4);
  const auto& sample = validations[3]["samples"][0];
  const std::string source = sample["source"];
  CHECK(source == sources.substr(0, sources.find('\n')));
  CHECK(sample["reference"] == std::string(source.rbegin(), source.rend()));
  CHECK(sample["output"].is_string());
  REQUIRE(ends.size() == 1);
  CHECK(ends[0]["updates"] == 48);
  CHECK(ends[0]["tokens_per_second"].get<double>() > 0);
  double best = 1e9;
  for (const auto& entry : validations) best = std::min(best, entry["cross-entropy"].get<double>());
  CHECK(ends[0]["best"]["cross-entropy"] == best);
}

TEST_CASE("the texts of pairs are two files, not what a folder or a pattern holds") {
  const TinyTask task;
  std::filesystem::create_directory(task / "both");
  for (const char* name : {"train.src", "train.tgt"}) std::filesystem::copy_file(task / name, task / "both" / name);
  const std::string expected = "expected a source and a target file, or token stores, got ";
  for (const char* path : {"both", "both/train.*"}) {
    NmtOptions options = task.options("run", "1u");
    const std::vector<Path> given = std::exchange(options.data.train_sets, {task / path});
    const std::string message = "sets] " + expected + "a folder or a pattern of 2 files";
    CHECK(contains(error_of([&] { options.validate(); }), "--train-" + message));
    options.data.train_sets = given;
    options.validate();
    options.data.valid_sets = {task / path};
    CHECK(contains(error_of([&] { options.validate(); }), "--valid-" + message));
    options.data.valid_sets = given;
    options.data.valid_sets.push_back(given.front());
    CHECK(contains(error_of([&] { options.validate(); }), expected + "3 paths"));
  }
}

TEST_CASE("the progress counts the sentences and tokens of the corpus, with EOS") {
  const TinyTask task;
  train(task.options("run", "1e"));
  // Tokens are bytes, and every line break corresponds to an EOS.
  const uint64_t tokens = read_file(task / "train.src").size();
  const Progress progress = last_state(task / "run").progress;
  CHECK(progress.sentences == 90);
  CHECK(progress.source_tokens == tokens);
  CHECK(progress.target_tokens == tokens);
  CHECK(progress.epoch == 1);
  CHECK(progress.batch == 0);
}

TEST_CASE("a run that was interrupted at any update ends with the same bits and the same curve") {
  const TinyTask task;
  NmtOptions straight = task.with_validation("straight", "30u", "9u");
  straight.optimizer.ema = 0.9;
  check_resumed(straight, {"1u", "5u", "12u", "20u", "30u"}, [](const NmtOptions& o) { train(o); });
}

TEST_CASE("the loss per token does not depend on how many micro-batches make up a batch") {
  const TinyTask task;
  NmtOptions one = task.options("one", "20u"), four = task.options("four", "20u");
  four.parallel.accumulation = 4;
  train(one, tiny_nmt_config(0));
  train(four, tiny_nmt_config(0));
  check_close(events(task / "one", "train"), events(task / "four", "train"), {{"loss", 1e-4}, {"gradient_norm", 1e-3}});
}

TEST_CASE("R-Drop: an interrupted run ends with the same bits, and counts each token once") {
  const TinyTask task;
  NmtOptions straight = task.options("straight", "14u");
  straight.r_drop = 5;
  check_resumed(straight, {"5u", "14u"}, [](const NmtOptions& o) { train(o); });
  train(task.options("plain", "14u"));
  CHECK(last_bits(task / "plain") != last_bits(task / "straight"));
  CHECK(last_state(task / "straight").progress.target_tokens == last_state(task / "plain").progress.target_tokens);
  for (const auto& entry : events(task / "straight", "train"))
    CHECK(entry["loss"].get<double>() > entry["cross-entropy"].get<double>());
}

TEST_CASE("R-Drop: without dropout a run follows the run without R-Drop") {
  const TinyTask task;
  NmtOptions twice = task.options("twice", "20u");
  twice.r_drop = 5;
  train(twice, tiny_nmt_config(0));
  train(task.options("once", "20u"), tiny_nmt_config(0));
  check_close(events(task / "twice", "train"), events(task / "once", "train"),
              {{"loss", 1e-4}, {"accuracy", 0.02}, {"gradient_norm", 1e-3}});
}

TEST_CASE("early stopping ends the run, and best points to the best checkpoint") {
  const TinyTask task;
  NmtOptions options = task.with_validation("run", "0e", "2u");
  options.validation.metrics = {"cross-entropy"};
  options.stop.early_stopping = 3;
  options.optimizer.schedule.learning_rate = 0.3;  // too high: the loss soon rises
  options.checkpoint.saving.keep_last = 1;
  train(options);
  const Path run = task / "run";
  const auto validations = events(run, "valid");
  const TrainState state = last_state(run);
  CHECK(state.validations_without_improvement == 3);
  const BestMetric best = state.best.at("cross-entropy");
  REQUIRE(validations.size() >= 4);
  for (const auto& entry : validations) CHECK(entry["cross-entropy"].get<double>() >= best.value);
  CHECK(best.updates + 6 == state.progress.updates);
  CHECK(linked_checkpoint(run, "best") == checkpoint_path(run, best.updates));
  CHECK(list_checkpoints(run).size() == 2);
  CHECK_FALSE(events(run, "valid").back().contains("bleu"));

  train(options);  // the run has already ended
  CHECK(last_state(run).progress.updates == state.progress.updates);
}

TEST_CASE("of validations with equal values, the first is the best") {
  const TinyTask task;
  NmtOptions options = task.with_validation("run", "6u", "2u");
  options.optimizer.schedule.learning_rate = 1e-300;  // zero in fp32: the weights never change
  train(options);
  const auto validations = events(task / "run", "valid");
  REQUIRE(validations.size() == 3);
  for (const auto& entry : validations)
    CHECK(entry["cross-entropy"].get<double>() == validations[0]["cross-entropy"].get<double>());
  const TrainState state = last_state(task / "run");
  CHECK(state.best.at("cross-entropy").updates == 2);
  CHECK(state.validations_without_improvement == 2);
  CHECK(linked_checkpoint(task / "run", "best") == checkpoint_path(task / "run", 2));
}

TEST_CASE("resuming with another model, other data or another order is an error") {
  const TinyTask task;
  train(task.options("run", "3u"));
  NmtOptions changed = task.options("run", "6u");
  changed.seed = 2;
  changed.batch.size = 60;
  CHECK(error_of_training(changed).find("mini-batch-words 50 -> 60; seed 1 -> 2") != std::string::npos);
  EncoderDecoderConfig wider = tiny_nmt_config();
  wider.ffn = 48;
  CHECK(error_of_training(task.options("run", "6u"), wider).find("ffn 32 -> 48") != std::string::npos);
  std::ofstream(task / "train.src", std::ios::app) << "abc\n";
  std::ofstream(task / "train.tgt", std::ios::app) << "cba\n";
  CHECK(error_of_training(task.options("run", "6u")).find("training data") != std::string::npos);

  NmtOptions fresh = task.options("run", "2u");
  fresh.start.overwrite = true;
  train(fresh, wider);
  CHECK(last_state(task / "run").progress.updates == 2);
}

TEST_CASE("a resumed run restores the parts of the checkpoint that the reload options select") {
  const TinyTask task;
  NmtOptions options = task.with_validation("run", "17u", "4u");
  options.validation.metrics = {"cross-entropy"};
  train(options);
  const TrainState before = last_state(options.start.directory);
  REQUIRE(before.progress.epoch == 1);
  REQUIRE(before.best.at("cross-entropy").updates > 0);
  const auto weights = [&] {
    const SafetensorsFile file(checkpoints_path(options.start.directory) / "last" / "model.safetensors");
    std::map<std::string, std::vector<float>> values;
    for (const auto& entry : file.entries()) values[entry.name] = file.read(entry).to_vector<float>();
    return values;
  };
  const auto old = weights();
  options.stop.after = Period::parse("18u");

  SUBCASE("without the moments, as in Adam's first step, most weights change by the learning rate, and none by more") {
    options.optimizer.schedule.kind = "constant";
    options.start.reload.optimizer = false;
    train(options);
    CHECK(last_state(options.start.directory).optimizer_step == 18);
    CHECK(last_state(options.start.directory).moments_step == 1);
    size_t all = 0, full = 0;
    for (const auto& [name, now] : weights()) {
      for (size_t i = 0; i < now.size(); ++i, ++all) {
        const double moved = std::abs(double(now[i]) - double(old.at(name)[i]));
        CHECK(moved <= options.optimizer.schedule.learning_rate * (1 + 1e-3));
        full += moved >= options.optimizer.schedule.learning_rate * (1 - 1e-3) ? 1 : 0;
      }
    }
    CHECK(2 * full > all);
  }
  SUBCASE("without the position, the run restarts at the first epoch") {
    options.start.reload.position = false;
    train(options);
    const Progress progress = last_state(options.start.directory).progress;
    CHECK(progress.updates == 18);
    CHECK(progress.epoch == 0);
    CHECK(progress.batch == 1);
    CHECK(last_state(options.start.directory).moments_step == 18);
  }
  SUBCASE("without the best, the next validation is the best so far") {
    options.optimizer.schedule.learning_rate = 5;  // so that the loss rises
    options.optimizer.schedule.kind = "constant";
    options.start.reload.best = false;
    train(options);
    const TrainState state = last_state(options.start.directory);
    CHECK(state.best.at("cross-entropy").updates == 18);
    CHECK(state.best.at("cross-entropy").value > before.best.at("cross-entropy").value);
    CHECK(state.validations_without_improvement == 0);
    CHECK(state.moments_step == 18);
    CHECK(linked_checkpoint(options.start.directory, "best")->filename() == "step-00000018");
  }
}

TEST_CASE("values of another validation are not compared: the best values and the patience start anew") {
  const TinyTask task;
  NmtOptions options = task.with_validation("run", "8u", "4u");
  options.validation.metrics = {"cross-entropy", "chrf"};
  train(options);
  const TrainState before = last_state(task / "run");
  const double first = before.best.at("cross-entropy").value;
  // From here on the validations are worse. Without a change they do not become the best.
  options.optimizer.schedule.kind = "constant";
  options.optimizer.schedule.learning_rate = 5;
  options.stop.after = Period::parse("12u");
  struct {
    const char* name;
    std::function<void(NmtOptions&)> change;
    bool starts_anew;
  } const cases[] = {
      {"nothing", [](NmtOptions&) {}, false},
      {"the same data under another name",
       [&](NmtOptions& o) {
         std::filesystem::copy_file(task / "valid.src", task / "copy.src");
         o.data.valid_sets[0] = task / "copy.src";
       },
       false},
      {"other data",
       [&](NmtOptions& o) {
         o.data.valid_sets = {task / "train.src", task / "train.tgt"};
       },
       true},
      {"the beam", [](NmtOptions& o) { o.valid_beam = 2; }, true},
      {"the length penalty", [](NmtOptions& o) { o.valid_length_penalty = 0; }, true},
      {"no translations", [](NmtOptions& o) { o.validation.metrics = {"cross-entropy"}; }, false},
  };
  for (const auto& [name, change, starts_anew] : cases) {
    CAPTURE(name);
    NmtOptions changed = options;
    changed.start.directory = task / "changed";
    std::filesystem::remove_all(changed.start.directory);
    std::filesystem::copy(task / "run", changed.start.directory,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
    change(changed);
    train(changed);
    const TrainState state = last_state(changed.start.directory);
    CHECK(state.best.at("cross-entropy").updates == (starts_anew ? 12 : before.best.at("cross-entropy").updates));
    CHECK(state.validations_without_improvement == (starts_anew ? 0 : before.validations_without_improvement + 1));
    CHECK((state.best.at("cross-entropy").value == first) != starts_anew);
    CHECK(linked_checkpoint(changed.start.directory, "best") ==
          checkpoint_path(changed.start.directory, state.best.at("cross-entropy").updates));
  }
}

TEST_CASE("another first metric keeps the best values, and the patience starts anew") {
  const TinyTask task;
  NmtOptions options = task.with_validation("run", "8u", "4u");
  options.validation.metrics = {"cross-entropy", "chrf"};
  train(options);
  options.optimizer.schedule.kind = "constant";
  options.optimizer.schedule.learning_rate = 5;
  options.stop.after = Period::parse("12u");
  train(options);
  REQUIRE(last_state(task / "run").validations_without_improvement == 1);
  const TrainState before = last_state(task / "run");
  options.validation.metrics = {"perplexity"};
  options.stop.after = Period::parse("16u");
  train(options);
  const TrainState state = last_state(task / "run");
  CHECK(state.best.at("perplexity").updates == before.best.at("perplexity").updates);
  CHECK(state.validations_without_improvement == 1);
}

TEST_CASE("options of the training alone may change on resume, those of the model may not") {
  const TinyTask task;
  train(task.options("run", "2u"));
  EncoderDecoderConfig config = tiny_nmt_config(0.3);
  config.attention_dropout = 0.2;
  config.activation_dropout = 0.1;
  config.initial_deviation = 0.5;
  train(task.options("run", "4u"), config);
  CHECK(last_state(task / "run").progress.updates == 4);
  CHECK(read_config<EncoderDecoderConfig>(task / "run").dropout == 0.3);
  config.activation = Activation::gelu;
  CHECK(contains(error_of_training(task.options("run", "6u"), config), "holds a run of another model (activation"));
  Json json = read_json(config_path(task / "run"));
  json["heads"] = 3;
  write_file(config_path(task / "run"), json.dump());
  CHECK(contains(error_of_training(task.options("run", "6u")),
                 concat("[resume] ", config_path(task / "run").string(), ": [heads] must divide dim = ")));
}

TEST_CASE("--reset-optimizer changes the optimizer; without it the error names the option") {
  const TinyTask task;
  for (const double ema : {0.0, 0.9}) {
    CAPTURE(ema);
    const std::string run = concat("run", ema);
    NmtOptions options = task.options(run, "2u");
    options.optimizer.ema = ema;
    train(options);
    for (const char* kind : {"muon", "lion", "adamw"}) {
      CAPTURE(kind);
      options.optimizer.kind = kind;
      options.stop.after.amount += 2;
      const std::string error = error_of_training(options);
      CHECK(contains(error, "or --reset-optimizer"));
      CHECK(error.size() < 600);
      options.start.reload.optimizer = false;
      train(options);
      options.start.reload.optimizer = true;
      CHECK(last_state(task / run).moments_step == 2);
      CHECK(last_state(task / run).optimizer_step == options.stop.after.amount);
    }
  }
}

TEST_CASE("gradients that are not finite are skipped, and end the run after more than ten in a row") {
  const TinyTask task;
  NmtOptions options = task.options("run", "100u");
  options.optimizer.schedule.learning_rate = 1e30;
  options.optimizer.schedule.warmup = 1;
  options.optimizer.schedule.warmup_initial = 1e30;
  const std::string error = error_of_training(options);
  CHECK(error.find("not finite in 11 updates in a row") != std::string::npos);
  CHECK(list_checkpoints(task / "run").empty());
}

TEST_CASE("a signal saves and ends the run; the same command continues it") {
  const TinyTask task;
  const Path run = task / "run";
  std::thread sender([&] {
    while (!std::filesystem::exists(run / "metrics.jsonl") || events(run, "train").empty()) usleep(1000);
    kill(getpid(), SIGTERM);
  });
  train(task.options("run", "1Mu"));
  sender.join();
  const uint64_t updates = last_state(run).progress.updates;
  CHECK(updates < 1'000'000);
  CHECK(events(run, "end").back()["reason"].get<std::string>().find("signal") != std::string::npos);
  const std::string after = std::to_string(updates + 5) + "u";
  train(task.options("run", after));
  train(task.options("straight", after));
  CHECK(last_bits(run) == last_bits(task / "straight"));
}

TEST_CASE("a model without positions for --max-length is an error before the first update") {
  const TinyTask task;
  EncoderDecoderConfig config = tiny_nmt_config();
  config.position.encoding = "learned";
  config.position.get<PositionTableOptions>().max_positions = 40;
  NmtOptions options = task.options("run", "1u");
  options.data.max_length = 41;
  CHECK_THROWS_AS(train(options, config), UsageError);
  CHECK(error_of_training(options, config) ==
        "[--max-length] expected at most 40, the number of positions of the model (see --max-positions), got 41");
  CHECK(!std::filesystem::exists(task / "run"));
  options.data.max_length = 40;
  CHECK(error_of_training(options, config) == "no error");
}

TEST_CASE("options without effect and empty data are errors") {
  const TinyTask task;
  NmtOptions options = task.options("run", "1u");
  options.parallel.deterministic = true;
  options.parallel.accumulation = 2;
  CHECK(error_of_training(options).find("[--optimizer-delay] has no effect") == 0);
  options = task.options("run", "1u");
  options.data.max_length = 1;
  CHECK(error_of_training(options) != "no error");
}

}  // namespace
}  // namespace gyre::test
