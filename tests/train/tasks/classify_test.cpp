// Complete training runs of classifiers and regressions.
#include "gyre/train/tasks/classification/classify.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/models/encoder_only.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/log/metrics_log.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "gyre/train/tasks/language/language.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {
namespace {

struct LabeledRuns : TemporaryDirectory {
  LabeledRuns() { write_tiny_labeled(path()); }
  ClassifyOptions classify(const std::string& run, const std::string& after) const {
    ClassifyOptions o = tiny_classify_options(path(), *this / run);
    o.stop.after = Period::parse(after);
    return o;
  }
  ClassifyOptions regress(const std::string& run, const std::string& after) const {
    ClassifyOptions o = tiny_regress_options(path(), *this / run);
    o.stop.after = Period::parse(after);
    return o;
  }
};

EncoderOnlyConfig classifier_encoder() {
  EncoderOnlyConfig c = tiny_encoder_config(0.1);
  c.token_types = 2;
  return c;
}

void train_classifier(const ClassifyOptions& options) { train(options, classifier_encoder()); }

std::string error_of_training(const ClassifyOptions& options) {
  return error_of([&] { train_classifier(options); });
}

void validate_every(ClassifyOptions& options, const Path& file, const char* period) {
  options.data.valid_sets = {file};
  options.validation.every = Period::parse(period);
}

// Trains a masked language model on the same letters and returns its run directory.
Path pretrain(const LabeledRuns& runs) {
  MaskedOptions options = tiny_masked_options(runs / ".", runs / "pretrained");
  options.stop.after = Period::parse("20u");
  train(options, classifier_encoder());
  return options.start.directory;
}

TEST_CASE("a classifier learns, and its run directory describes the task") {
  const LabeledRuns runs;
  ClassifyOptions options = runs.classify("run", "40e");
  validate_every(options, runs / "dev.tsv", "10e");
  train_classifier(options);
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
  CHECK(task.metrics == options.validation.metrics);
  CHECK(task.max_length == 8);
  const auto trained = load_trained_model<SequenceClassifier>(run, "last", {}, Device{});
  const LabeledIds rows = read_labeled_rows(runs / "dev.tsv", options, *trained.vocabulary);
  SelfCommunicator self;
  const Predictions predictions = predict(*trained.model, rows, 7, Precision::fp32, cpu_kernels(), self);
  CHECK(predictions.classes() == std::vector<int32_t>(rows.labels().begin(), rows.labels().end()));
  CHECK(score("cross-entropy", predictions, rows) ==
        doctest::Approx(validations.back()["loss"].get<double>()).epsilon(1e-4));
  CHECK_THROWS_AS(score("pearson", predictions, rows), UsageError);
}

TEST_CASE("a regression learns, and its loss is called mean-squared-error") {
  const LabeledRuns runs;
  ClassifyOptions options = runs.regress("run", "30e");
  validate_every(options, runs / "dev.tsv", "10e");
  train_classifier(options);
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

TEST_CASE("with a fixed number of micro-batches a classifier has the same bits each time, interrupted or not") {
  const LabeledRuns runs;
  for (int micro_batches : {1, 2, 7}) {  // with seven, at least two are empty
    CAPTURE(micro_batches);
    ClassifyOptions straight = runs.classify(concat("straight", micro_batches), "23u");
    straight.parallel.deterministic = true;
    straight.parallel.micro_batches = micro_batches;
    validate_every(straight, runs / "dev.tsv", "6u");
    check_resumed(straight, {"4u", "14u", "23u"}, train_classifier);
  }
}

TEST_CASE("fine-tuning starts from the layers of the pretrained model and a new head") {
  const LabeledRuns runs;
  const Path pretrained = pretrain(runs);
  const PretrainedEncoder found = load_pretrained(pretrained);
  CHECK(found.config.vocab_size == 23);
  CHECK(found.vocabulary_file == pretrained / "vocab.txt");

  ClassifierConfig config;
  config.encoder = found.config;
  SequenceClassifier model(config), fresh(config);
  model.parameters().allocate(1);
  fresh.parameters().allocate(1);
  copy_encoder_weights(model.parameters(), found);
  const auto source = load_trained_model<EncoderOnly>(pretrained, "", {}, Device{});
  for (const Parameter& p : model.parameters()) {
    CAPTURE(p.name);
    Parameters& from = p.name.starts_with(kClassificationHead) ? fresh.parameters() : source.model->parameters();
    CHECK(p.value.to_vector<float>() == from.find(p.name)->value.to_vector<float>());
  }

  ClassifyOptions options = runs.classify("tuned", "2u");
  options.data.vocabulary.clear();
  options.pretrained_model = pretrained;
  train_classifier(options);
  ClassifyOptions untrained = options;
  untrained.start.directory = runs / "anew";
  untrained.from_scratch = true;
  train_classifier(untrained);
  CHECK(read_file(untrained.start.directory / "config.json") == read_file(options.start.directory / "config.json"));
  CHECK(read_file(untrained.start.directory / "vocab.txt") == read_file(options.start.directory / "vocab.txt"));
  CHECK(last_bits(untrained.start.directory) != last_bits(options.start.directory));

  // The layers of a classifier can also be used.
  ClassifyOptions again = runs.regress("again", "1u");
  again.data.vocabulary.clear();
  again.pretrained_model = options.start.directory;
  train_classifier(again);
  CHECK(load_pretrained(again.start.directory).config.to_json() == found.config.to_json());
}

TEST_CASE("errors name invalid data and options of a classifier") {
  const LabeledRuns runs;
  ClassifyOptions options = runs.classify("run", "1u");
  options.format.classes = {"early", "later"};
  CHECK(contains(error_of_training(options), ": expected one of the labels \"early\", \"later\", got \"late\""));
  options = runs.classify("run", "1u");
  options.format.text.name = "text";
  CHECK(contains(error_of_training(options), "train.tsv:1: expected one column named \"text\" in the header line"));
  options = runs.classify("run", "1u");
  options.pretrained_model = runs / "none";
  CHECK(error_of_training(options) == "[--vocab] expected a vocabulary, or --pretrained-model with its own, got both");
  options.data.vocabulary.clear();
  CHECK(contains(error_of_training(options), "none"));
  options = runs.classify("run", "1u");
  options.validation.metrics = {"pearson"};
  CHECK(error_of_training(options) ==
        "[--valid-metrics] expected one of cross-entropy, accuracy, f1, macro-f1, matthews, got 'pearson'");
  options = runs.regress("run", "1u");
  options.validation.metrics = {"accuracy"};
  CHECK(error_of_training(options) ==
        "[--valid-metrics] expected one of mean-squared-error, pearson, spearman, got 'accuracy'");
  options = runs.classify("run", "1u");
  options.format.classes.emplace_back("never");
  CHECK(error_of_training(options) == "[--valid-metrics] expected macro-f1 with more than two classes, got f1");
}

}  // namespace
}  // namespace gyre::test
