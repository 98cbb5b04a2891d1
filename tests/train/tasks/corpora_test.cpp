// Language models that train on several corpora, and validate on several sets.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gyre/core/io/json.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/train/tasks/language/language.h"
#include "gyre/train/tasks/language/language_data.h"
#include "gyre/train/tasks/language/language_stages.h"
#include "tests/data/first_store_version.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

// Trains on train.txt and valid.txt of write_tiny_documents() in the given shares.
MaskedOptions weighted(const TemporaryDirectory& directory, const std::string& run, std::vector<double> weights) {
  MaskedOptions options = tiny_masked_options(directory.path(), directory / run);
  options.data.train_sets = {directory / "train.txt", directory / "valid.txt"};
  options.train_weights = std::move(weights);
  options.stop.after = Period::parse("20u");
  return options;
}

using Ids = std::vector<int32_t>;

Ids ids_of(const SampleSource& samples, size_t sample) {
  Ids ids, ends;
  samples.append(sample, ids, ends);
  return ids;
}

TEST_CASE_FIXTURE(InTinyDocuments, "corpora: samples come from each corpus in its share, and the batches name it") {
  const MaskedOptions options = weighted(directory, "run", {1, 4});
  const auto vocabulary = load_vocabulary(options.data.vocabulary, options.tokenizer);
  const Corpora corpora = open_corpora(options, *vocabulary);
  REQUIRE(corpora.size() == 2);
  const auto task = SampleOptions::Task::masked;
  const CorpusSamples all({training_samples(corpora[0], options, task), training_samples(corpora[1], options, task)});
  const SampleMix mix({50, 20}, {1, 4}, options.seed);
  std::map<std::string, uint64_t> drawn;
  const auto count = [&](const SampleSource& samples, std::span<const uint32_t> indices, uint64_t epoch) {
    for (const uint32_t index : indices) {
      const uint32_t expected = mix.draw(epoch)[index];
      ++drawn[expected < 50 ? "train" : "valid"];
      CHECK(ids_of(samples, index) == ids_of(all, expected));
    }
    CHECK(samples.size() == 70);
    return MaskedInput{};
  };
  LanguageData data(corpora, task, count, nullptr, options, 2);
  CHECK(contains(data.describe(), "per epoch 14 of the 50 samples of"));
  CHECK(contains(data.describe(), "56 of the 20 samples of"));
  for (uint64_t epoch : {0, 1}) {
    data.start_epoch(epoch, 0);
    for (size_t i = 0; i < data.batches(); ++i) data.batch(i, {});
  }
  CHECK(drawn["train"] == 28);
  CHECK(drawn["valid"] == 112);
}

TEST_CASE_FIXTURE(InTinyDocuments, "corpora: a sample that an epoch has several times is masked in several ways") {
  const MaskedOptions options = weighted(directory, "run", {1, 4});
  const auto vocabulary = load_vocabulary(options.data.vocabulary, options.tokenizer);
  const auto task = SampleOptions::Task::masked;
  std::vector<SharedSamples> corpora;
  for (const SharedDocuments& corpus : open_corpora(options, *vocabulary))
    corpora.push_back(training_samples(corpus, options, task));
  const DrawnSamples samples(CorpusSamples(corpora), options.train_weights, 1);
  const MakeInput make_input = masked_inputs(Masking(MaskingVocabulary::of(*vocabulary), options.masking(), 1));
  std::map<Ids, std::set<Ids>> masked;
  for (uint32_t i = 14; i < samples.size(); ++i)  // 56 draws from the 20 samples of the second corpus
    masked[ids_of(samples, i)].insert(make_input(samples, std::span(&i, 1), 0).ids.to_vector<int32_t>());
  CHECK(masked.size() > 10);
  for (const auto& [sample, variants] : masked) CHECK(variants.size() >= 2);
}

TEST_CASE_FIXTURE(InTinyDocuments, "corpora: a run has the same bits if it is cut, and refuses other weights") {
  const MaskedOptions straight = weighted(directory, "straight", {0.75, 0.25});
  check_resumed(straight, {"13u", "20u"}, [](const MaskedOptions& o) { train(o); });
  MaskedOptions cut = straight;
  cut.start.directory += "-cut";
  cut.train_weights = {0.5, 0.5};
  cut.stop.after = Period::parse("21u");
  CHECK(contains(error_of([&] { train(cut); }), "train-weights"));
}

TEST_CASE_FIXTURE(InTinyDocuments, "corpora: a stage has its own weights") {
  MaskedOptions options = weighted(directory, "run", {1, 1});
  options.stop = {};
  LanguageStage first{.updates = 5}, second{.updates = 5}, third{.updates = 5};
  second.train_weights = std::vector<double>{1, 9};
  third.train_sets = {directory / "train.txt"};
  options.set_stages({first, second, third});
  CHECK(options_of_stage(options, first).train_weights == std::vector<double>{1, 1});
  CHECK(options_of_stage(options, second).train_weights == std::vector<double>{1, 9});
  CHECK(options_of_stage(options, third).train_weights.empty());
  train(options);
  CHECK(last_state(directory / "run").progress.updates == 15);
  second.train_weights = std::vector<double>{1, 2, 3};
  MaskedOptions bad = weighted(directory, "bad", {1, 1});
  bad.stop = {};
  bad.set_stages({first, second});
  CHECK(contains(error_of([&] { bad.validate(); }), "a weight for each of the 2 files"));
}

TEST_CASE_FIXTURE(InTinyDocuments, "corpora: weights that are refused") {
  CHECK(contains(error_of([&] { weighted(directory, "run", {1}).validate(); }), "got 1 weights"));
  CHECK(contains(error_of([&] { weighted(directory, "run", {1, 0}).validate(); }), "expected numbers above 0"));
  MaskedOptions in_order = weighted(directory, "run", {1, 1});
  in_order.batch.shuffle = Shuffle::none;
  CHECK(contains(error_of([&] { in_order.validate(); }), "[--shuffle] expected data"));
}

TEST_CASE_FIXTURE(InTinyDocuments,
                  "corpora: each validation set has its own cross-entropy, and all together have the loss") {
  LanguageOptions options = tiny_masked_options(directory.path(), directory / "run");
  options.data.valid_sets = {directory / "train.txt", directory / "valid.txt"};
  options.validation.every = Period::parse("5u");
  options.validation.metrics = {"bits-per-byte", "cross-entropy"};
  options.stop.after = Period::parse("5u");
  train_causal(options);
  const Json entry = events(directory / "run", "valid").back();
  const auto value = [&](const char* name) { return entry.at(name).get<double>(); };
  // Every sentence of the same number of letters has as many predictions.
  const double mean = (50 * value("cross-entropy/train.txt") + 20 * value("cross-entropy/valid.txt")) / 70;
  CHECK(value("loss") == doctest::Approx(mean).epsilon(0.02));
  CHECK(value("bits-per-byte") > std::min(value("bits-per-byte/train.txt"), value("bits-per-byte/valid.txt")));
  CHECK(value("bits-per-byte") < std::max(value("bits-per-byte/train.txt"), value("bits-per-byte/valid.txt")));
  CHECK(last_state(directory / "run").best.at("bits-per-byte").value == value("bits-per-byte"));
}

LanguageOptions causal(const TemporaryDirectory& directory, const std::string& run) {
  LanguageOptions options = tiny_masked_options(directory.path(), directory / run);
  options.stop.after = Period::parse("5u");
  return options;
}

TEST_CASE("corpora: bits per byte of a store of an earlier version go on in a run that began with it, and only there") {
  const TemporaryDirectory directory;
  write_tiny_documents(directory.path());
  LanguageOptions options = causal(directory, "run");
  const auto vocabulary = load_vocabulary(options.data.vocabulary, options.tokenizer);
  const Path store = directory / "valid.tok";
  build_document_store(*vocabulary, {directory / "valid.txt"}, store, {});
  write_file(store, of_first_version(read_file(store)));
  options.data.valid_sets = {store};
  options.validation.every = Period::parse("5u");
  LanguageOptions fresh = options;
  fresh.start.directory = directory / "fresh";
  train_causal(options);
  for (LanguageOptions* run : {&options, &fresh}) run->validation.metrics = {"bits-per-byte", "cross-entropy"};
  const std::string error = error_of([&] { train_causal(fresh); });
  CHECK(contains(error, "valid.tok: bits-per-byte expects a store with the sizes of its text"));
  CHECK(contains(error, "gyre data build --line-ends none"));
  options.stop.after = Period::parse("10u");
  train_causal(options);
  CHECK(events(directory / "run", "valid").back().at("bits-per-byte").get<double>() > 0);
}

TEST_CASE_FIXTURE(InTinyDocuments,
                  "corpora: without a run directory, line ends are not those of a run in the current one") {
  LanguageOptions options = causal(directory, "run");
  options.line_ends = LineEnds::space;
  train_causal(options);
  options.line_ends.reset();
  const auto vocabulary = load_vocabulary(options.data.vocabulary, options.tokenizer);
  CHECK(line_ends_of_run(options, *vocabulary) == LineEnds::space);
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(directory / "run");
  options.start.directory.clear();
  CHECK(line_ends_of_run(options, *vocabulary) == LineEnds::none);
  std::filesystem::current_path(before);
}

TEST_CASE_FIXTURE(InTinyDocuments, "corpora: held-out parts of weighted corpora are validation sets of their own") {
  MaskedOptions options = weighted(directory, "run", {1, 1});
  options.validation_share = 0.4;
  options.validation.every = Period::parse("10u");
  options.stop.after = Period::parse("10u");
  train(options);
  const Json entry = events(directory / "run", "valid").back();
  CHECK(entry.contains("cross-entropy/train.txt"));
  CHECK(entry.contains("cross-entropy/valid.txt"));
}

}  // namespace
}  // namespace gyre::test
