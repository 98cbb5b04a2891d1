// Runs that train adapters beside the linear layers of another run.
#include "gyre/models/modules/lora.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "gyre/core/io/safetensors.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/checkpoint/lora_record.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

// A base of 12 updates in "base", and runs that adapt it.
struct InAdaptedDocuments : InTinyDocuments {
  InAdaptedDocuments() {
    LanguageOptions options = tiny_masked_options(directory.path(), base());
    options.stop.after = Period::parse("12u");
    train_causal(options);
  }
  Path base() const { return directory / "base"; }
  LanguageOptions options(const std::string& run, const char* after) const {
    LanguageOptions o = tiny_masked_options(directory.path(), directory / run);
    o.stop.after = Period::parse(after);
    o.pretrained_model = base();
    o.lora = {.rank = 2, .alpha = 3, .targets = {"q_proj", "v_proj", "fc2"}, .dropout = 0.1};
    o.data.valid_sets = {directory / "valid.txt"};
    o.validation.every = Period::parse("4u");
    return o;
  }
  std::string error(const LanguageOptions& o) const {
    return error_of([&] { train_causal(o); });
  }
};

std::vector<std::string> names_in(const Path& file) {
  std::vector<std::string> names;
  const SafetensorsFile tensors(file);
  for (const SafetensorsEntry& entry : tensors.entries()) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

Path last(const Path& run) { return checkpoints_path(run) / "last"; }

std::vector<float> loaded_weights(const Path& run) {
  return load_model<EncoderOnly>(run, "last", {})->parameters().values().to_vector<float>();
}

TEST_CASE_FIXTURE(InAdaptedDocuments, "adapters: checkpoints have the adapters alone, and the base keeps its bits") {
  const std::string weights = read_file(last(base()) / kModelFile);
  train_causal(options("run", "8u"));
  CHECK(read_file(last(base()) / kModelFile) == weights);
  std::vector<std::string> expected;
  for (const char* module : {"fc2", "self_attn.q_proj", "self_attn.v_proj"})
    for (const char* matrix : {"A", "B"})
      expected.push_back(concat("encoder.layers.0.", module, ".lora_", matrix, ".weight"));
  CHECK(names_in(last(directory / "run") / kModelFile) == expected);
  std::vector<std::string> moments;
  for (const char* slot : {"m.", "v."})
    for (const std::string& name : expected) moments.push_back(slot + name);
  CHECK(names_in(last(directory / "run") / "optimizer.safetensors") == moments);
  const auto record = find_lora_record(directory / "run");
  REQUIRE(record.has_value());
  CHECK(record->options.rank == 2);
  CHECK(record->options.alpha == 3);
  CHECK(record->options.targets == std::vector<std::string>{"q_proj", "v_proj", "fc2"});
  CHECK(last_state(directory / "run").options.of_data.at(kBaseOption) == record->digest);
}

TEST_CASE_FIXTURE(InAdaptedDocuments,
                  "adapters: the loss falls, and a loaded run has the weights of base and adapters") {
  LanguageOptions o = options("run", "40u");
  o.optimizer.schedule = {.kind = "constant", .learning_rate = 0.03, .warmup = 0};
  train_causal(o);
  const std::vector<Json> validations = events(directory / "run", "valid");
  CHECK(validations.back().at("loss").get<double>() < validations.front().at("loss").get<double>());
  const std::vector<float> merged = loaded_weights(directory / "run"), before = loaded_weights(base());
  REQUIRE(merged.size() == before.size());
  EncoderOnly model(read_config<EncoderOnlyConfig>(base()));
  model.parameters().allocate(0);
  LoraAdapters adapters(model.parameters(), o.lora);
  read_adapters(last(directory / "run") / kModelFile, model.parameters(), adapters);
  for (const Parameter& p : model.parameters()) {
    CAPTURE(p.name);
    for (int64_t row = 0; row < p.shape[0]; ++row) {
      const auto is_adapted = [&](const LowRankAdapter& a) { return row >= a.first && row < a.first + a.rows; };
      const bool expected = std::any_of(p.adapters.begin(), p.adapters.end(), is_adapted);
      const int64_t width = p.shape.elements() / p.shape[0], begin = p.offset + row * width;
      CHECK(std::equal(&merged[size_t(begin)], &merged[size_t(begin + width)], &before[size_t(begin)]) != expected);
    }
  }
}

TEST_CASE_FIXTURE(InAdaptedDocuments,
                  "adapters: an interrupted run continues with the same bits, also without --init-from") {
  const LanguageOptions straight = options("straight", "14u");
  train_causal(straight);
  LanguageOptions cut = options("cut", "6u");
  train_causal(cut);
  std::filesystem::create_directory(directory / "moved");
  std::filesystem::rename(directory / "cut", directory / "moved/cut");
  std::filesystem::rename(base(), directory / "moved/base");
  cut.start.directory = directory / "moved/cut";
  cut.stop.after = straight.stop.after;
  train_causal(cut);  // finds the base beside the run
  check_same_runs(directory / "moved/cut", directory / "straight");
  CHECK(find_lora_record(directory / "moved/cut")->base.string().starts_with((directory / "moved/base").string()));
}

TEST_CASE_FIXTURE(InAdaptedDocuments, "adapters: another base, other adapters and none are refused on resume") {
  const LanguageOptions first = options("run", "2u");
  train_causal(first);
  LanguageOptions other_base = tiny_masked_options(directory.path(), directory / "other");
  other_base.stop.after = Period::parse("1u");
  other_base.seed = 2;
  train_causal(other_base);
  LanguageOptions o = options("run", "4u");
  o.pretrained_model = directory / "other";
  CHECK(contains(error(o), "expected the base that the adapters in"));
  for (const auto& change : std::vector<std::function<void(LanguageOptions&)>>{
           [](auto& c) { c.lora.rank = 3; }, [](auto& c) { c.lora.alpha = 4; },
           [](auto& c) { c.lora.targets = {"all-linear"}; }, [](auto& c) { c.lora.rank = 0; },
           [](auto& c) { c.lora.rank_stabilized = true; }}) {
    o = options("run", "4u");
    change(o);
    CHECK(contains(error(o), "belongs to a run with other options ("));
  }
  o = options("run", "4u");
  o.lora.dropout = 0.2;  // a warning
  train_causal(o);
  // The base has been trained further in the meantime.
  LanguageOptions further = tiny_masked_options(directory.path(), base());
  further.stop.after = Period::parse("13u");
  train_causal(further);
  CHECK(contains(error(options("run", "6u")), "step-00000012/model.safetensors), got "));
  // Nor may its file have changed.
  std::filesystem::copy_file(last(directory / "other") / kModelFile, checkpoint_path(base(), 12) / kModelFile,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::remove(state_path(checkpoint_path(base(), 12)));
  CHECK(
      contains(error_of([&] { loaded_weights(directory / "run"); }), "the adapters belong to a base with the digest"));
  std::filesystem::remove_all(base());
  CHECK(contains(error_of([&] { loaded_weights(directory / "run"); }), "does not exist: move it back"));
}

TEST_CASE_FIXTURE(InAdaptedDocuments, "adapters: a run of adapters can be the base of another run") {
  train_causal(options("first", "4u"));
  LanguageOptions o = options("second", "4u");
  o.pretrained_model = directory / "first";
  train_causal(o);
  CHECK(loaded_weights(directory / "second") != loaded_weights(directory / "first"));
  LanguageOptions whole = o;  // trains all weights of the merged model
  whole.lora = {};
  whole.start.directory = directory / "whole";
  whole.stop.after = Period::parse("1u");
  whole.optimizer.schedule = {.kind = "constant", .learning_rate = 1e-30, .warmup = 0};
  train_causal(whole);
  CHECK(loaded_weights(directory / "whole") == loaded_weights(directory / "first"));
}

TEST_CASE_FIXTURE(InAdaptedDocuments, "adapters: need a base, and what they leave frozen is not frozen by name") {
  LanguageOptions o = options("run", "2u");
  o.pretrained_model.clear();
  CHECK(contains(error(o), "[--lora-rank] expected a --pretrained-model, whose linear layers get the adapters"));
  o = options("run", "2u");
  o.optimizer.frozen = {"embed_tokens.weight"};
  CHECK(
      contains(error(o), "[--freeze] expected a pattern that matches one of encoder.layers.*.self_attn.q_proj.lora_A"));
}

TEST_CASE_FIXTURE(InDirectory, "adapters of a translation model are trained, resumed and merged") {
  write_tiny_corpus(directory.path());
  NmtOptions base = tiny_options(directory.path(), directory / "base");
  base.stop.after = Period::parse("3u");
  train(base);
  NmtOptions o = tiny_options(directory.path(), directory / "run");
  o.stop.after = Period::parse("9u");
  o.pretrained_model = directory / "base";
  o.lora = {.rank = 2, .targets = {"all-linear"}};
  o.optimizer.ema = 0.5;
  check_resumed(o, {"4u", "9u"}, [](const NmtOptions& options) { train(options); });
  const auto merged = load_model<EncoderDecoder>(directory / "run", "last", {});
  CHECK(merged->parameters().values().to_vector<float>() !=
        load_model<EncoderDecoder>(directory / "base", "last", {})->parameters().values().to_vector<float>());
}

}  // namespace
}  // namespace gyre::test
