// Whole runs of classifiers and regressions.
#include "train/classify.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/encoder_only.h"
#include "models/sequence_classifier.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tiny_classify.h"
#include "tests/train/tiny_language.h"
#include "tests/train/tiny_run.h"
#include "train/classify_data.h"
#include "train/language.h"
#include "train/log/metrics_log.h"
#include "train/predictions.h"
#include "train/pretrained.h"
#include "train/trained_model.h"
#include "train/trained_task.h"

namespace gyre::test {
namespace {

class LabelledRuns {
 public:
  LabelledRuns() { write_tiny_labelled(directory_.path()); }
  ClassifyOptions classify(const std::string& run, const std::string& after) const {
    ClassifyOptions o = tiny_classify_options(directory_.path(), directory_ / run);
    o.after = Period::parse(after);
    return o;
  }
  ClassifyOptions regress(const std::string& run, const std::string& after) const {
    ClassifyOptions o = tiny_regress_options(directory_.path(), directory_ / run);
    o.after = Period::parse(after);
    return o;
  }
  Path operator/(const std::string& name) const { return directory_ / name; }

 private:
  TemporaryDirectory directory_;
};

EncoderOnlyConfig encoder() {
  EncoderOnlyConfig c = tiny_encoder_config(0.1);
  c.token_types = 2;
  return c;
}

void train(const ClassifyOptions& options) {
  SelfCommunicator self;
  CHECK(train_classify(options, encoder(), self) == 0);
}

std::string error_of_training(const ClassifyOptions& options) {
  return error_of([&] {
    SelfCommunicator self;
    train_classify(options, encoder(), self);
  });
}

std::vector<nlohmann::ordered_json> events(const Path& run, const std::string& name) {
  std::vector<nlohmann::ordered_json> found;
  for (const auto& entry : read_metrics(run / "metrics.jsonl")) {
    if (entry["event"] == name) found.push_back(entry);
  }
  return found;
}

void validate_every(ClassifyOptions& options, const Path& file, const char* period) {
  options.valid_sets = {file};
  options.validate_every = Period::parse(period);
}

// A masked language model of these letters, and the directory of its run.
Path pretrain(const LabelledRuns& runs) {
  MaskedOptions options = tiny_masked_options(runs / ".", runs / "pretrained");
  options.after = Period::parse("20u");
  SelfCommunicator self;
  REQUIRE(train_masked_language(options, encoder(), self) == 0);
  return options.model;
}

TEST_CASE("a classifier learns, and its run says what it is") {
  const LabelledRuns runs;
  ClassifyOptions options = runs.classify("run", "40e");
  validate_every(options, runs / "dev.tsv", "10e");
  train(options);
  const Path run = runs / "run";
  const auto updates = events(run, "train"), validations = events(run, "valid");
  REQUIRE(validations.size() == 4);
  CHECK(validations.back()["accuracy"] == 1.0);
  CHECK(validations.back()["f1"] == 1.0);
  CHECK(validations.back()["matthews"] == 1.0);
  CHECK(validations.back()["loss"] == validations.back()["cross-entropy"]);
  CHECK(updates.back().contains("accuracy"));
  CHECK(last_state(run).progress.sentences == 40 * 60);
  CHECK(last_state(run).best.at("accuracy").value == 1);

  const TrainedTask task = read_task(run);
  CHECK(task.format.text.name == "sentence");
  CHECK(!task.format.second_text);
  CHECK(task.format.classes == options.format.classes);
  CHECK(task.metrics == options.valid_metrics);
  CHECK(task.max_length == 8);
  const auto trained = load_trained_model<SequenceClassifier>(run, "last", {}, Device{});
  const LabelledIds rows = read_labelled_rows(runs / "dev.tsv", options, *trained.vocabulary);
  SelfCommunicator self;
  const Predictions predictions = predict(*trained.model, rows, 7, Precision::fp32, cpu_kernels(), self);
  CHECK(predictions.classes() == std::vector<int32_t>(rows.labels().begin(), rows.labels().end()));
  CHECK(score("cross-entropy", predictions, rows) ==
        doctest::Approx(validations.back()["loss"].get<double>()).epsilon(1e-4));
  CHECK_THROWS_AS(score("pearson", predictions, rows), UsageError);
}

TEST_CASE("a regression learns, and its loss goes by its own name") {
  const LabelledRuns runs;
  ClassifyOptions options = runs.regress("run", "30e");
  validate_every(options, runs / "dev.tsv", "10e");
  train(options);
  const auto updates = events(runs / "run", "train"), validations = events(runs / "run", "valid");
  REQUIRE(validations.size() == 3);
  CHECK(validations.back()["spearman"].get<double>() > 0.9);
  CHECK(validations.back()["pearson"].get<double>() > 0.9);
  CHECK(validations.back()["loss"] == validations.back()["mean-squared-error"]);
  CHECK(validations.back()["loss"].get<double>() < 0.3 * updates.front()["loss"].get<double>());
  CHECK(updates.back()["loss"] == updates.back()["mean-squared-error"]);
  CHECK(!updates.back().contains("accuracy"));
  CHECK(!updates.back().contains("cross-entropy"));
  const auto best = last_state(runs / "run").best;
  CHECK(best.at("mean-squared-error").value < validations.front()["loss"].get<double>());  // lower is better
}

TEST_CASE("with a fixed number of shards a classifier has the same bits each time, cut or not") {
  const LabelledRuns runs;
  for (int shards : {1, 2, 7}) {  // of seven, two or more are empty
    CAPTURE(shards);
    const auto named = [shards](const char* name) { return name + std::to_string(shards); };
    ClassifyOptions straight = runs.classify(named("straight"), "23u");
    straight.deterministic = true;
    straight.shards = shards;
    validate_every(straight, runs / "dev.tsv", "6u");
    train(straight);
    ClassifyOptions cut = straight;
    cut.model = runs / named("cut");
    for (const char* after : {"4u", "14u", "23u"}) {
      cut.after = Period::parse(after);
      train(cut);
    }
    CHECK(last_bits(cut.model) == last_bits(straight.model));
    CHECK(loss_curve(cut.model) == loss_curve(straight.model));
  }
}

TEST_CASE("fine-tuning begins with the stack of the pretrained model and a new head") {
  const LabelledRuns runs;
  const Path pretrained = pretrain(runs);
  const PretrainedEncoder found = load_pretrained(pretrained);
  CHECK(found.config.vocab_size == 23);
  CHECK(found.vocabulary_file == pretrained / "vocab.txt");

  ClassifierConfig config;
  config.encoder = found.config;
  SequenceClassifier model(config), fresh(config);
  model.parameters().allocate(1);
  fresh.parameters().allocate(1);
  fill_stack(model.parameters(), found);
  const auto source = load_trained_model<EncoderOnly>(pretrained, "", {}, Device{});
  for (const Parameter& p : model.parameters()) {
    CAPTURE(p.name);
    Parameters& from = p.name.starts_with(kClassificationHead) ? fresh.parameters() : source.model->parameters();
    CHECK(p.value.to_vector<float>() == from.find(p.name)->value.to_vector<float>());
  }

  ClassifyOptions options = runs.classify("tuned", "2u");
  options.vocabulary.clear();
  options.pretrained_model = pretrained;
  train(options);
  ClassifyOptions anew = options;
  anew.model = runs / "anew";
  anew.from_scratch = true;
  train(anew);
  CHECK(read_file(anew.model / "config.json") == read_file(options.model / "config.json"));
  CHECK(read_file(anew.model / "vocab.txt") == read_file(options.model / "vocab.txt"));
  CHECK(last_bits(anew.model) != last_bits(options.model));

  // A classifier's stack serves as well.
  ClassifyOptions again = runs.regress("again", "1u");
  again.vocabulary.clear();
  again.pretrained_model = options.model;
  train(again);
  CHECK(load_pretrained(again.model).config.to_json() == found.config.to_json());
}

TEST_CASE("what is wrong with a classifier's data or options is told by name") {
  const LabelledRuns runs;
  ClassifyOptions options = runs.classify("run", "1u");
  options.format.classes = {"early", "later"};
  CHECK(contains(error_of_training(options), ": expected one of the labels \"early\", \"later\", got \"late\""));
  options = runs.classify("run", "1u");
  options.format.text.name = "text";
  CHECK(contains(error_of_training(options), "train.tsv:1: expected one column named \"text\" in the header line"));
  options = runs.classify("run", "1u");
  options.pretrained_model = runs / "none";
  CHECK(error_of_training(options) == "[--vocab] expected a vocabulary, or --pretrained-model with its own, got both");
  options.vocabulary.clear();
  CHECK(contains(error_of_training(options), "none"));
  options = runs.classify("run", "1u");
  options.valid_metrics = {"pearson"};
  CHECK(error_of_training(options) ==
        "[--valid-metrics] expected one of cross-entropy, accuracy, f1, macro-f1, matthews, got 'pearson'");
  options = runs.regress("run", "1u");
  options.valid_metrics = {"accuracy"};
  CHECK(error_of_training(options) ==
        "[--valid-metrics] expected one of mean-squared-error, pearson, spearman, got 'accuracy'");
  options = runs.classify("run", "1u");
  options.format.classes.emplace_back("never");
  CHECK(error_of_training(options) == "[--valid-metrics] expected macro-f1 with more than two classes, got f1");
}

}  // namespace
}  // namespace gyre::test
