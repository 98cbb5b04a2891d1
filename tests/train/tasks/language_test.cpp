// Complete training runs of masked and causal language models.
#include "gyre/train/tasks/language/language.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/modules/linear_attention.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/log/metrics_log.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

struct LanguageRuns : TemporaryDirectory {
  LanguageRuns() { write_tiny_documents(path()); }
  MaskedOptions options(const std::string& run, const std::string& after, int micro_batches) const {
    MaskedOptions o = tiny_masked_options(path(), *this / run);
    o.stop.after = Period::parse(after);
    o.parallel.deterministic = true;
    o.parallel.micro_batches = micro_batches;
    return o;
  }
};

void validate_every(LanguageOptions& options, const char* period) {
  options.validation.metrics = {"accuracy", "cross-entropy"};
  options.validation.every = Period::parse(period);
}

TEST_CASE("a masked language model learns, and its run can be read") {
  const LanguageRuns runs;
  MaskedOptions options = runs.options("run", "60e", 2);
  options.mask_share = 0.3;
  options.optimizer.schedule.warmup = 100;
  options.data.valid_sets = {runs / "valid.txt"};
  validate_every(options, "10e");
  train(options);
  const Path run = runs / "run";
  EncoderOnly model(EncoderOnlyConfig::from_json(Json::parse(read_file(run / "config.json"))));
  model.parameters().allocate(1);
  load_model_weights(run, model.parameters());

  const auto updates = events(run, "train"), validations = events(run, "valid");
  REQUIRE(validations.size() == 6);
  CHECK(validations.back()["loss"] == validations.back()["cross-entropy"]);
  CHECK(validations.back()["perplexity"] == std::exp(validations.back()["loss"].get<double>()));
  CHECK(validations.back()["loss"].get<double>() < 0.6 * updates.front()["loss"].get<double>());
  const TrainState state = last_state(run);
  double most = 0;
  for (const auto& entry : validations) most = std::max(most, entry["accuracy"].get<double>());
  CHECK(most > 0.5);
  CHECK(state.best.at("accuracy").value == most);
  CHECK(state.progress.sentences == 3000);
  CHECK(state.progress.source_tokens == 0);
  CHECK(state.progress.target_tokens > 3000 * 6);
}

TEST_CASE("a causal language model learns to predict the next token") {
  const LanguageRuns runs;
  LanguageOptions options = runs.options("run", "300u", 2);
  options.data.valid_sets = {runs / "valid.txt"};
  validate_every(options, "100u");
  train_causal(options, tiny_encoder_config(0));
  const auto validations = events(runs / "run", "valid");
  REQUIRE(validations.size() == 3);
  // The first letter and the end of a sentence are unpredictable; all letters between are predictable.
  CHECK(validations.back()["accuracy"].get<double>() > 0.6);
  CHECK(validations.back()["loss"].get<double>() < 1);
}

TEST_CASE("with a fixed number of micro-batches a run has the same bits each time, interrupted or not") {
  const LanguageRuns runs;
  for (int micro_batches : {1, 2, 7}) {  // with seven, at least two are empty
    CAPTURE(micro_batches);
    MaskedOptions straight = runs.options(concat("straight", micro_batches), "23u", micro_batches);
    straight.optimizer.ema = 0.9;
    straight.data.valid_sets = {runs / "valid.txt"};
    validate_every(straight, "6u");
    check_resumed(straight, {"4u", "10u", "23u"}, [](const MaskedOptions& o) { train(o); });
    MaskedOptions again = straight;
    again.start.directory += "-again";
    train(again);
    check_same_runs(again.start.directory, straight.start.directory);
  }
}

TEST_CASE("random vectors of favor+ are redrawn in training, and an interrupted run has the same bits") {
  const LanguageRuns runs;
  EncoderOnlyConfig config = tiny_encoder_config();
  config.causal = true;
  config.attention = {.kind = AttentionKind::linear, .linear_map = FeatureMap::favor, .favor_redraw = 3};
  const auto train_run = [&](const LanguageOptions& options) { train_causal(options, config); };
  const auto vectors = [&](const Path& run) {
    EncoderOnly model(EncoderOnlyConfig::from_json(Json::parse(read_file(run / "config.json"))));
    model.parameters().allocate(1);
    load_model_weights(run, model.parameters());
    return model.parameters().find("encoder.layers.0.self_attn.random_vectors")->value.to_vector<float>();
  };
  for (const double ema : {0.0, 0.9}) {
    CAPTURE(ema);
    LanguageOptions straight = runs.options(concat("straight", ema), "11u", 2);
    straight.optimizer.ema = ema;
    check_resumed(straight, {"2u", "4u", "6u", "11u"}, train_run);
    LanguageOptions early = straight;
    early.start.directory += "-early";
    early.stop.after = Period::parse("2u");
    train_run(early);
    // The saved vectors are those of the last draw, not an average of several draws.
    EncoderOnly fresh([&] {
      EncoderOnlyConfig c = config;
      c.vocab_size = 23;
      return c;
    }());
    fresh.parameters().allocate(straight.seed);
    const Parameter& own = *fresh.parameters().find("encoder.layers.0.self_attn.random_vectors");
    CHECK(vectors(early.start.directory) == own.value.to_vector<float>());
    RandomVectorRedraw(config.attention).before_update(fresh.parameters(), straight.seed, 10);
    CHECK(vectors(straight.start.directory) == own.value.to_vector<float>());
  }
}

TEST_CASE("the loss per masked token does not depend on the micro-batches") {
  const LanguageRuns runs;
  train(runs.options("one", "20u", 1), tiny_encoder_config(0));
  train(runs.options("two", "20u", 2), tiny_encoder_config(0));
  check_close_curves(runs / "one", runs / "two", 2e-4);
}

// Options of runs in which some batches have nothing to predict.
MaskedOptions sparse_options(const LanguageRuns& runs, const std::string& run, const std::string& after) {
  MaskedOptions options = runs.options(run, after, 2);
  options.batch.size = 2;
  options.mask_draw = MaskingOptions::Draw::independent;
  options.mask_share = 0.05;
  options.optimizer.ema = 0.9;
  options.data.valid_sets = {runs / "valid.txt"};
  validate_every(options, "10u");
  return options;
}

TEST_CASE("a batch with nothing to predict updates nothing, and a run resumed after it has the same bits") {
  const LanguageRuns runs;
  const MaskedOptions straight = sparse_options(runs, "straight", "40u");
  train(straight);
  uint64_t empty = 0, first_empty = 0, updates = 0;
  for (const auto& entry : events(straight.start.directory, "train")) {
    ++updates;
    if (entry.contains("loss")) {
      CHECK(entry["loss"].is_number());
      CHECK(entry["gradient_norm"].get<double>() > 0);
      continue;
    }
    CHECK(!entry.contains("cross-entropy"));
    CHECK(!entry.contains("accuracy"));
    CHECK(entry["gradient_norm"] == 0);
    ++empty;
    if (first_empty == 0 && updates > 1) first_empty = updates;
  }
  CHECK(updates == 40);
  REQUIRE(empty >= 3);
  REQUIRE(first_empty > 0);
  CHECK(last_state(straight.start.directory).optimizer_step == 40 - empty);

  MaskedOptions cut = straight;
  cut.start.directory = runs / "cut";
  cut.stop.after = {first_empty - 1, Period::Unit::updates};
  train(cut);
  const std::string before = last_bits(cut.start.directory);
  cut.stop.after = {first_empty, Period::Unit::updates};
  train(cut);
  CHECK(last_bits(cut.start.directory) == before);
  cut.stop.after = straight.stop.after;
  train(cut);
  check_same_runs(cut.start.directory, straight.start.directory);
}

TEST_CASE("whole words that are too long to mask leave batches without predictions") {
  const LanguageRuns runs;
  std::string text;
  for (int i = 0; i < 12; ++i) text += i % 3 == 0 ? "a\n\n" : "abc\n\n";
  write_file(runs / "words.txt", text);
  write_file(runs / "pieces.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n##c\n");
  MaskedOptions options = runs.options("words", "2e", 1);
  options.data.train_sets = {runs / "words.txt"};
  options.data.vocabulary = runs / "pieces.txt";
  options.whole_words = true;
  options.batch.size = 1;
  train(options);
  CHECK(last_state(runs / "words").progress.updates == 24);
  CHECK(last_state(runs / "words").optimizer_step == 8);

  write_file(runs / "valid_words.txt", "abc\n\nabc\n");
  options.start.directory = runs / "unmasked";
  options.data.valid_sets = {runs / "valid_words.txt"};
  CHECK(contains(error_of([&] { train(options); }), "expected tokens to predict, but no token is masked"));
}

// The validations of a run with samples.
std::vector<Json> validations_of(const Path& run) {
  std::vector<Json> entries = read_metrics(run / "metrics.jsonl");
  std::erase_if(entries, [](const auto& entry) { return entry["event"] != "valid"; });
  return entries;
}

TEST_CASE("a masked language model records its words in place of the masks") {
  const LanguageRuns runs;
  MaskedOptions options = runs.options("run", "60e", 2);
  options.mask_share = 0.3;
  options.data.valid_sets = {runs / "valid.txt"};
  validate_every(options, "20e");
  train(options, tiny_encoder_config(0));
  const auto entries = validations_of(runs / "run");
  REQUIRE(entries.size() == 3);
  const std::string all = read_file(runs / "valid.txt");
  for (size_t i = 0; i < 4; ++i) {
    const auto& first = entries.front()["samples"][i];
    const auto& last = entries.back()["samples"][i];
    CHECK(all.find(first["reference"].get<std::string>()) != std::string::npos);
    CHECK(first["source"] != first["reference"]);
    CHECK(first["source"] == last["source"]);
    const std::string output = last["output"], reference = last["reference"];
    CHECK(output.size() == reference.size());
    CHECK(output.find("[MASK]") == std::string::npos);
  }
}

TEST_CASE("a causal language model records its continuations") {
  const LanguageRuns runs;
  LanguageOptions options = runs.options("run", "40e", 1);
  options.data.valid_sets = {runs / "valid.txt"};
  validate_every(options, "20e");
  train_causal(options, tiny_encoder_config(0));
  const auto entries = validations_of(runs / "run");
  REQUIRE(entries.size() == 2);
  const std::string all = read_file(runs / "valid.txt");
  for (const auto& sample : entries.back()["samples"]) {
    const std::string source = sample["source"], reference = sample["reference"], output = sample["output"];
    CHECK(all.find(source + reference) != std::string::npos);
    CHECK((output.starts_with(reference) || reference.starts_with(output)));  // the ends are unpredictable
  }
  CHECK(entries.back()["samples"].size() == 4);
}

TEST_CASE("held-out documents are used for validation, with the same masks for every seed") {
  const LanguageRuns runs;
  const auto first_loss = [&](const std::string& run, uint64_t seed, uint64_t samples) {
    MaskedOptions options = runs.options(run, "1u", 1);
    options.validation_share = 0.4;
    options.validation_samples = samples;
    options.seed = seed;
    options.optimizer.schedule.learning_rate = 1e-12;
    validate_every(options, "1u");
    EncoderOnlyConfig config = tiny_encoder_config(0);
    config.initial_deviation = 1e-6;  // uniform predictions: the loss depends only on the vocabulary size
    train(options, config);
    CHECK(last_state(runs / run).options.of_data.at("valid-share") == "0.4");
    return events(runs / run, "valid").front()["loss"].get<double>();
  };
  CHECK(first_loss("all", 1, 0) == doctest::Approx(std::log(23)).epsilon(0.05));
  CHECK(first_loss("some", 2, 3) == doctest::Approx(std::log(23)).epsilon(0.05));
}

TEST_CASE("errors name data and options that cannot be trained on") {
  const LanguageRuns runs;
  const auto error = [&](const std::function<void(MaskedOptions&, EncoderOnlyConfig&)>& change) {
    MaskedOptions options = runs.options("bad", "1u", 1);
    EncoderOnlyConfig config = tiny_encoder_config(0);
    change(options, config);
    return error_of([&] { train(options, config); });
  };
  CHECK(error([](auto&, auto& config) { config.causal = true; }) ==
        "[mlm] expected a bidirectional model, got a causal one");
  CHECK(error([](auto&, auto& config) {
          config.position.encoding = "learned";
          config.position.template get<PositionTableOptions>().max_positions = 8;
        }) == "[--max-length] expected at most 8, the number of positions of the model (see --max-positions), got 16");
  CHECK(error([&](auto& options, auto&) {
          options.data.valid_sets = {runs / "valid.txt"};
          options.validation_share = 0.1;
        }) == "[--valid-share] expected 0 with --valid-sets, got 0.1");
  write_file(runs / "words.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n");
  CHECK(error([&](auto& options, auto&) {
          options.data.vocabulary = runs / "words.txt";
        }).find("expected a vocabulary with a piece [MASK] or <mask>") != std::string::npos);
}

}  // namespace
}  // namespace gyre::test
