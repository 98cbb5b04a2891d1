#include "gyre/models/sequence_classifier.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/position/position_table.h"
#include "tests/models/tiny_model.h"
#include "tests/threads_in_scope.h"

namespace gyre {
namespace {

ClassifierConfig tiny(ClassifierHead head, int64_t classes) {
  ClassifierConfig c;
  c.encoder = EncoderOnlyConfig::preset(head == ClassifierHead::bert ? "bert-mini" : "roformer-mini");
  c.encoder.vocab_size = 11;
  c.encoder.dim = 8;
  c.encoder.ffn = 12;
  c.encoder.heads = c.encoder.layers = 2;
  c.encoder.position.get<PositionTableOptions>().max_positions = 40;
  c.head = head;
  c.classes = classes;
  return c;
}

std::vector<ClassifierConfig> classifier_variants() {
  return {tiny(ClassifierHead::bert, 3),     tiny(ClassifierHead::roformer, 3), tiny(ClassifierHead::mean, 3),
          tiny(ClassifierHead::roformer, 1), tiny(ClassifierHead::bert, 1),     tiny(ClassifierHead::mean, 1)};
}

Tensor ids(const std::vector<int32_t>& values) { return Tensor::from({int64_t(values.size())}, values); }

// Three texts, the second of which is a pair of segments.
LabeledInput labeled_batch(const ClassifierConfig& config) {
  const Tensor labels = config.is_regression() ? Tensor::from({3}, std::vector<float>{0.5F, -2, 1}) : ids({2, 0, 1});
  return {ids({1, 7, 2, 1, 6, 2, 8, 2, 1, 2}), Segments::from_lengths({3, 5, 2}), labels,
          ids({0, 0, 0, 0, 0, 0, 1, 1, 0, 0})};
}

double loss_of(const SequenceClassifier& model, const LabeledInput& batch) {
  Tape tape(cpu_kernels(), {.record = false});
  return model.loss(tape, batch).sums().loss;
}

}  // namespace

TEST_CASE("classifier: gradients of the loss") {
  const ThreadsInScope one_thread(1);
  for (const ClassifierConfig& config : classifier_variants()) {
    CAPTURE(enum_name(config.head));
    CAPTURE(config.classes);
    SequenceClassifier model(config);
    test::allocate_nonzero(model.parameters(), 5, DType::f64);
    const LabeledInput batch = labeled_batch(config);
    test::check_gradients(model.parameters(), [&](Tape& tape) { return model.loss(tape, batch); });
  }
}

TEST_CASE("classifier: the stack's parameters have the names and shapes of the language model's") {
  for (const ClassifierConfig& config : classifier_variants()) {
    SequenceClassifier model(config);
    EncoderOnly pretrained(config.encoder);
    size_t of_head = 0;
    for (const Parameter& p : model.parameters()) {
      const Parameter* twin = pretrained.parameters().find(p.name);
      of_head += p.name.starts_with("classification_head.");
      CHECK(p.name.starts_with("classification_head.") == (twin == nullptr));
      if (twin != nullptr) CHECK(twin->shape == p.shape);
    }
    const bool has_dense = config.head != ClassifierHead::mean;
    CHECK(of_head == (has_dense ? 4 : 2));
    const Parameter* dense = model.parameters().find("classification_head.dense.weight");
    CHECK((dense != nullptr) == has_dense);
    if (has_dense) CHECK(dense->shape == Shape{8, 8});
    CHECK(model.parameters().find("classification_head.out_proj.weight")->shape == Shape{config.classes, 8});
  }
}

TEST_CASE("classifier: the result for a text does not depend on the others or on their labels") {
  for (const ClassifierHead head : {ClassifierHead::roformer, ClassifierHead::mean}) {
    const ClassifierConfig config = tiny(head, 3);
    SequenceClassifier model(config);
    test::allocate_nonzero(model.parameters(), 5, DType::f64);
    LabeledInput batch = labeled_batch(config);
    batch.labels = ids({-1, 0, -1});
    Tape tape(cpu_kernels(), {.record = false});
    const CrossEntropySums sums = model.loss(tape, batch).sums();
    CHECK(sums.tokens == 1);
    const LabeledInput second{batch.ids.slice(3, 8), Segments::from_lengths({5}), ids({0}),
                              batch.token_types.slice(3, 8)};
    CHECK(loss_of(model, second) == doctest::Approx(sums.loss).epsilon(1e-10));
    batch.labels = {};
    CHECK(model.outputs(tape, batch).shape() == Shape{3, 3});
  }
}

TEST_CASE("classifier: JSON round trip of the config, and invalid batches") {
  ClassifierConfig config = tiny(ClassifierHead::roformer, 1);
  config.dropout = 0.25;
  const Json json = config.to_json();
  CHECK(json["classifier_head"] == "roformer");
  CHECK(json["dim"] == 8);
  const ClassifierConfig read = ClassifierConfig::from_json(Json::parse(json.dump()));
  CHECK(read.to_json() == json);
  CHECK(read.is_regression());
  CHECK_THROWS_WITH_AS(ClassifierConfig::from_json({{"vocab_size", 9}, {"classes", 0}}),
                       "[classes] must be at least 1, got 0", Error);
  config.encoder.causal = true;
  CHECK_THROWS_WITH_AS(SequenceClassifier{config},
                       "[causal] must be false for a classifier: it reads the first row of a text, got true", Error);
  config.encoder.heads = 5;
  CHECK_THROWS_WITH_AS(SequenceClassifier{config}, "[heads] must divide dim = 8, got 5", Error);

  config = tiny(ClassifierHead::bert, 3);
  SequenceClassifier model(config);
  model.parameters().allocate(1);
  LabeledInput batch = labeled_batch(config);
  batch.labels = ids({0, 1});
  CHECK_THROWS_WITH_AS(loss_of(model, batch), "[cross_entropy] expected 3 targets, got 2", Error);
  batch.texts = Segments::from_lengths({3, 0, 7});
  CHECK_THROWS_WITH_AS(loss_of(model, batch), "[classifier] text 1 of the batch: expected at least one token, got none",
                       Error);
}

}  // namespace gyre
