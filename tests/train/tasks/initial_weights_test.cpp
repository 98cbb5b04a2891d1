// Runs that start from the weights of another run.
#include "gyre/train/tasks/initial_weights.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/models/encoder_only.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/tasks/language/language.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_language.h"

namespace gyre::test {
namespace {

MaskedOptions options_in(const TemporaryDirectory& directory, const std::string& run, const char* after) {
  MaskedOptions options = tiny_masked_options(directory.path(), directory / run);
  options.stop.after = Period::parse(after);
  return options;
}

void train(const MaskedOptions& options) {
  SelfCommunicator self;
  train_masked_language(options, tiny_encoder_config(0.1), self);
}

std::vector<float> weights_of(const Path& checkpoint) {
  EncoderOnlyConfig config = tiny_encoder_config();
  config.vocab_size = 23;
  EncoderOnly model(config);
  model.parameters().allocate(9);
  load_model_weights(checkpoint, model.parameters());
  return model.parameters().values().to_vector<float>();
}

TEST_CASE("a run that starts from another run has its weights, but a fresh optimizer and fresh counters") {
  const TemporaryDirectory directory;
  write_tiny_documents(directory.path());
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
  CHECK(state.options.at("pretrained-model") == (directory / "first").string());
}

TEST_CASE("an interrupted run has the same bits, and does not need the pretrained model anymore") {
  const TemporaryDirectory directory;
  write_tiny_documents(directory.path());
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
  CHECK(last_bits(directory / "cut") == last_bits(directory / "straight"));
  CHECK(loss_curve(directory / "cut") == loss_curve(directory / "straight"));
}

TEST_CASE("the vocabulary must be that of the pretrained model") {
  const TemporaryDirectory directory;
  write_tiny_documents(directory.path());
  train(options_in(directory, "first", "1u"));
  std::string pieces = read_file(directory / "vocab.txt");
  std::swap(pieces[pieces.size() - 2], pieces[pieces.size() - 4]);  // the last two letters
  write_file(directory / "other.txt", pieces);
  MaskedOptions options = options_in(directory, "second", "1u");
  options.pretrained_model = directory / "first";
  options.data.vocabulary = directory / "other.txt";
  CHECK(contains(error_of([&] { train(options); }), "the vocabulary of the model, got another one"));
}

}  // namespace
}  // namespace gyre::test
