// Runs that start from the weights of another run.
#include "gyre/train/tasks/initial_weights.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "gyre/core/io/safetensors.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/classification/classify.h"
#include "gyre/train/tasks/language/language.h"
#include "gyre/train/tasks/matching/match.h"
#include "gyre/train/tasks/translation/nmt.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

MaskedOptions options_in(const TemporaryDirectory& directory, const std::string& run, const char* after) {
  MaskedOptions options = tiny_masked_options(directory.path(), directory / run);
  options.stop.after = Period::parse(after);
  return options;
}

std::vector<float> weights_of(const Path& checkpoint) {
  EncoderOnlyConfig config = tiny_encoder_config();
  config.vocab_size = 23;
  EncoderOnly model(config);
  model.parameters().allocate(9);
  load_model_weights(checkpoint, model.parameters());
  return model.parameters().values().to_vector<float>();
}

TEST_CASE_FIXTURE(InTinyDocuments,
                  "a run that starts from another run has its weights, but a fresh optimizer and fresh counters") {
  train(options_in(directory, "first", "12u"));
  MaskedOptions options = options_in(directory, "second", "1u");
  options.pretrained_model = directory / "first";
  options.optimizer.schedule = {.kind = "constant", .learning_rate = 1e-30, .warmup = 0};
  options.optimizer.ema = 0.9;  // the average begins with these weights too
  train(options);
  CHECK(weights_of(directory / "second") == weights_of(directory / "first"));
  const TrainState state = last_state(directory / "second");
  CHECK(state.progress.updates == 1);
  CHECK(state.optimizer_step == 1);
  CHECK(state.options.of_bits.at("pretrained-model") == (directory / "first").string());
}

// A rate of 1e-30 leaves the weights as they are, but for biases, which begin at zero.
TEST_CASE_FIXTURE(InTinyDocuments, "a run of another architecture has the weights that both models have") {
  EncoderOnlyConfig learned = tiny_encoder_config(), rotated = learned;
  learned.position.encoding = "learned";
  rotated.position.encoding = "rope";
  rotated.layers = learned.layers + 1;
  const auto start = [&](const char* name, const char* pretrained, const EncoderOnlyConfig& config) {
    MaskedOptions options = options_in(directory, name, "1u");
    if (pretrained != nullptr) options.pretrained_model = directory / pretrained;
    options.optimizer.schedule = {.kind = "constant", .learning_rate = 1e-30, .warmup = 0};
    train(options, config);
    return open_safetensors(find_model_file(directory / name));
  };
  train(options_in(directory, "learned", "4u"), learned);
  const auto of_learned = open_safetensors(find_model_file(directory / "learned"));
  const auto of_random = start("random", nullptr, rotated), of_rotated = start("rotated", "learned", rotated);
  size_t common = 0;
  for (const SafetensorsEntry& entry : of_rotated[0].entries()) {
    const SafetensorsEntry* const before = of_learned[0].find(entry.name);
    common += before != nullptr;
    const SafetensorsFile& expected = before ? of_learned[0] : of_random[0];
    const std::vector<float> got = of_rotated[0].read(entry).to_vector<float>();
    const std::vector<float> wanted = expected.read(*expected.find(entry.name)).to_vector<float>();
    const auto alike = [](float a, float b) { return std::abs(a - b) < 1e-20f; };
    CHECK_MESSAGE(std::ranges::equal(got, wanted, alike), entry.name);
  }
  CHECK(common == of_learned[0].entries().size() - 1);  // without the table of positions
  CHECK(common < of_rotated[0].entries().size());
  // A run that continues has the architecture that it began with.
  CHECK(start("rotated", "learned", rotated)[0].entries().size() == of_rotated[0].entries().size());
  // A table of relative positions is not one of absolute positions, although both have the same name and shape.
  EncoderOnlyConfig relative = learned;
  relative.position.encoding = "deberta";
  const auto of_relative = start("relative", "learned", relative);
  const char* const table = "encoder.embed_positions.weight";
  REQUIRE(of_relative[0].find(table) != nullptr);
  CHECK(of_relative[0].read(*of_relative[0].find(table)).to_vector<float>() !=
        of_learned[0].read(*of_learned[0].find(table)).to_vector<float>());
  EncoderOnlyConfig wide = learned;
  wide.ffn *= 2;
  CHECK(contains(error_of([&] { start("wide", "learned", wide); }), "fc1"));
}

TEST_CASE_FIXTURE(InTinyDocuments,
                  "an interrupted run has the same bits, and does not need the pretrained model anymore") {
  train(options_in(directory, "first", "5u"));
  MaskedOptions straight = options_in(directory, "straight", "14u");
  straight.pretrained_model = checkpoint_path(directory / "first", 5);
  train(straight);
  MaskedOptions cut = straight;
  cut.start.directory = directory / "cut";
  cut.stop.after = Period::parse("6u");
  train(cut);
  std::filesystem::remove_all(directory / "first");
  cut.stop.after = straight.stop.after;
  train(cut);
  check_same_runs(directory / "cut", directory / "straight");
}

// A task with its options and its model. start(run, pretrained, overwrite): trains one update with a negligible rate,
// so that the checkpoint has the initial weights.
struct StartOfTask {
  const char* name;
  std::function<void(const Path& run, const Path& pretrained, bool overwrite)> start;
};

template <class Options, class Train>
StartOfTask start_of(const char* name, Options options, Train train_task) {
  return {name, [options, train_task](const Path& run, const Path& pretrained, bool overwrite) {
            Options o = options;
            o.start.directory = run;
            o.start.overwrite = overwrite;
            o.stop.after = Period::parse("1u");
            o.optimizer.schedule = {.kind = "constant", .learning_rate = 1e-30, .warmup = 0};
            o.pretrained_model = pretrained;
            if constexpr (std::is_base_of_v<FineTuningOptions, Options>) {
              if (!pretrained.empty()) o.data.vocabulary.clear();
            }
            train_task(o);
          }};
}

std::vector<StartOfTask> all_tasks(const Path& data) {
  write_tiny_corpus(data);
  const Path labeled = data / "labeled", triplets = data / "triplets";  // both have a train.tsv
  std::filesystem::create_directories(labeled);
  std::filesystem::create_directories(triplets);
  write_tiny_labeled(labeled);
  write_tiny_triplets(triplets);
  const EncoderOnlyConfig encoder = tiny_encoder_config(0);
  EncoderOnlyConfig pairs = encoder;
  pairs.token_types = 2;
  const auto train_encoder = [=](const auto& o) { train(o, encoder); };
  const LanguageOptions causal = tiny_masked_options(data, data / "unused");
  return {
      start_of("nmt", tiny_options(data, data / "unused"), [](const auto& o) { train(o, tiny_nmt_config(0)); }),
      start_of("mlm", tiny_masked_options(data, data / "unused"), train_encoder),
      start_of("lm", causal, [=](const auto& o) { train_causal(o, encoder); }),
      start_of("classify", tiny_classify_options(labeled, data / "unused"), train_encoder),
      start_of("regress", tiny_regress_options(labeled, data / "unused"), train_encoder),
      start_of("match", tiny_match_options(triplets, data / "unused"), [=](const auto& o) { train(o, pairs); }),
  };
}

std::string weights_in(const Path& run) { return read_file(checkpoints_path(run) / "last" / "model.safetensors"); }

TEST_CASE_FIXTURE(InTinyDocuments,
                  "a run that overwrites another starts from the pretrained model like one in a new directory") {
  for (const StartOfTask& task : all_tasks(directory.path())) {
    CAPTURE(task.name);
    const auto run = [&](const char* name) { return directory / concat(task.name, "-", name); };
    task.start(run("pretrained"), {}, false);
    // Other weights than those of a new run: an old run continues from them unless it is overwritten.
    task.start(run("old"), run("pretrained"), false);
    task.start(run("fresh"), run("pretrained"), false);
    task.start(run("old"), run("pretrained"), true);
    CHECK(weights_in(run("old")) == weights_in(run("fresh")));
    CHECK(contains(error_of([&] { task.start(run("pretrained"), run("pretrained"), true); }),
                   "[--pretrained-model] expected another run than --model"));
    CHECK(std::filesystem::exists(checkpoints_path(run("pretrained")) / "last"));
    // The run continues without the pretrained model.
    std::filesystem::remove_all(run("pretrained"));
    task.start(run("fresh"), run("pretrained"), false);
    CHECK(weights_in(run("old")) == weights_in(run("fresh")));
  }
}

TEST_CASE_FIXTURE(InTinyDocuments, "a run continues with its own copy of the vocabulary if the original is gone") {
  MaskedOptions options = options_in(directory, "run", "2u");
  std::filesystem::copy_file(directory / "vocab.txt", directory / "original.txt");
  options.data.vocabulary = directory / "original.txt";
  train(options);
  std::filesystem::remove(directory / "original.txt");
  options.stop.after = Period::parse("4u");
  train(options);
  CHECK(last_state(directory / "run").progress.updates == 4);
  std::string pieces = read_file(directory / "vocab.txt");
  std::swap(pieces[pieces.size() - 2], pieces[pieces.size() - 4]);
  write_file(directory / "original.txt", pieces);
  options.stop.after = Period::parse("6u");
  const std::string error = error_of([&] { train(options); });
  CHECK(contains(error, "original.txt is not the vocabulary of the model"));
  CHECK(contains(error, concat(", as of ", (directory / "run" / "vocab.txt").string())));
  // Nor may another file have replaced the copy, for any reader of the run.
  std::filesystem::remove(directory / "original.txt");
  CHECK(load_run_vocabulary(directory / "run", {}, 23)->size() == 23);
  write_file(directory / "run" / "vocab.txt", pieces);
  CHECK(contains(error_of([&] { train(options); }), "vocab.txt is not the vocabulary of the model"));
  CHECK(contains(error_of([&] { load_run_vocabulary(directory / "run", {}, 23); }),
                 "vocab.txt is not the vocabulary of the model"));
}

TEST_CASE_FIXTURE(InTinyDocuments, "the vocabulary must be that of the pretrained model") {
  train(options_in(directory, "first", "1u"));
  std::string pieces = read_file(directory / "vocab.txt");
  std::swap(pieces[pieces.size() - 2], pieces[pieces.size() - 4]);  // the last two letters
  write_file(directory / "other.txt", pieces);
  MaskedOptions options = options_in(directory, "second", "1u");
  options.pretrained_model = directory / "first";
  options.data.vocabulary = directory / "other.txt";
  CHECK(contains(error_of([&] { train(options); }),
                 concat("--vocab: ", options.data.vocabulary.string(), " is not the vocabulary of the model")));
  // Without --vocab, the vocabulary is the one in the run, which may have been replaced since.
  options.data.vocabulary = directory / "first" / "vocab.txt";
  write_file(options.data.vocabulary, pieces);
  CHECK(contains(error_of([&] { train(options); }), concat("--pretrained-model: ", options.data.vocabulary.string(),
                                                           " is not the vocabulary of the model")));
}

}  // namespace
}  // namespace gyre::test
