// The file of batches: a model computes on it the losses that training logs.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/tasks/language/language.h"
#include "gyre/train/tasks/language/language_data.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

constexpr uint64_t kUpdates = 13;  // an epoch has 10

// Options under which all updates have the initial weights.
MaskedOptions options_in(const TemporaryDirectory& directory, const std::string& run) {
  write_tiny_documents(directory.path());
  MaskedOptions options = tiny_masked_options(directory.path(), directory / run);
  options.stop.after = {kUpdates, Period::Unit::updates};
  options.optimizer.schedule = {.kind = "constant", .learning_rate = 1e-30, .warmup = 0};
  return options;
}

MaskedInput read_batch(const SafetensorsFile& file, uint64_t update, bool causal) {
  std::string number = std::to_string(update);
  const std::string prefix = "update-" + std::string(8 - number.size(), '0') + number + ".";
  const auto read = [&](const char* name) {
    const SafetensorsEntry* entry = file.find(prefix + name);
    REQUIRE(entry != nullptr);
    return file.read(*entry);
  };
  MaskedInput input{read("ids"), Segments(read("offsets").to_vector<int32_t>()), {}, read("targets")};
  if (!causal) input.masked_rows = read("rows");
  return input;
}

void check_losses(const Path& batches, const Path& run) {
  const auto config = EncoderOnlyConfig::from_json(Json::parse(read_file(run / "config.json")));
  EncoderOnly model(config);
  model.parameters().allocate(1);
  const auto entries = events(run, "train");
  REQUIRE(entries.size() == kUpdates);
  const SafetensorsFile file(batches);
  CHECK(file.entries().size() == kUpdates * (config.causal ? 3 : 4));
  for (uint64_t update = 1; update <= kUpdates; ++update) {
    CAPTURE(update);
    Tape tape(cpu_kernels(), {.record = false});
    const CrossEntropySums sums = model.loss(tape, read_batch(file, update, config.causal)).sums();
    CHECK(sums.loss / double(sums.tokens) == doctest::Approx(entries[update - 1]["loss"].get<double>()).epsilon(1e-6));
  }
}

TEST_CASE_FIXTURE(InDirectory,
                  "masked batches in a file are those of training, in any number of micro-batches and over epochs") {
  MaskedOptions options = options_in(directory, "run");
  options.parallel.micro_batches = 3;
  options.mask_share = 0.3;
  train(options, tiny_encoder_config(/*dropout=*/0));
  const std::string text = write_masked_batches(options, kUpdates, directory / "batches");
  CHECK_MESSAGE(contains(text, "batches: 13 updates, 65 samples, "), text);
  check_losses(directory / "batches", directory / "run");
}

TEST_CASE_FIXTURE(InDirectory, "batches in a file are those of all stages") {
  MaskedOptions options = options_in(directory, "run");
  options.stop.after = {};
  options.set_stages({{.updates = 3}, {.updates = 6, .max_length = 24, .batch_size = 3}, {.updates = kUpdates - 9}});
  train(options, tiny_encoder_config(/*dropout=*/0));
  write_masked_batches(options, kUpdates, directory / "batches");
  check_losses(directory / "batches", directory / "run");
}

TEST_CASE_FIXTURE(InDirectory, "causal batches in a file are those of training") {
  const LanguageOptions options = options_in(directory, "run");
  train_causal(options, tiny_encoder_config(/*dropout=*/0));
  write_causal_batches(options, kUpdates, directory / "batches");
  check_losses(directory / "batches", directory / "run");
}

TEST_CASE_FIXTURE(InDirectory, "a batch without tokens to predict is in the file") {
  MaskedOptions options = options_in(directory, "run");
  options.mask_draw = MaskingOptions::Draw::independent;
  options.mask_share = 1e-9;
  write_masked_batches(options, 2, directory / "batches");
  const SafetensorsFile file(directory / "batches");
  CHECK(file.find("update-00000002.rows")->shape == std::vector<int64_t>{0});
  CHECK(file.find("update-00000002.targets")->shape == std::vector<int64_t>{0});
}

TEST_CASE_FIXTURE(InDirectory, "an error of the data names the file") {
  MaskedOptions options = options_in(directory, "run");
  options.data.train_sets = {directory / "missing.txt"};
  CHECK(contains(error_of([&] { write_masked_batches(options, 1, directory / "batches"); }), "missing.txt"));
}

}  // namespace
}  // namespace gyre::test
