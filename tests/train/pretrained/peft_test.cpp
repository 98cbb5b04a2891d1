// Import and export of adapters in the format of Hugging Face's PEFT.
#include "gyre/train/pretrained/peft.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "gyre/core/io/json.h"
#include "gyre/models/hugging_face/peft.h"
#include "gyre/train/checkpoint/lora_record.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tests/train/pretrained/hugging_face_copy.h"
#include "tests/train/pretrained/hugging_face_logits.h"

using namespace gyre;

namespace {

Path peft_golden(const std::string& name) { return source_dir() / "tests/train/golden/peft" / name; }

// The golden model that an adapter belongs to, as its file names it.
Path model_of(const std::string& adapter) {
  const std::string model = read_json(peft_golden(adapter) / kPeftConfigFile).at("base_model_name_or_path");
  return source_dir() / "tests/train/golden" / model;
}

// The runs DIRECTORY/base and DIRECTORY/run: a golden model and a golden adapter of it.
struct ImportedAdapter : TemporaryDirectory {
  explicit ImportedAdapter(const std::string& adapter) {
    const Path model = model_of(adapter);
    write_imported_run(read_hugging_face(model), model, *this / "base", false);
    write_imported_adapters(peft_golden(adapter), *this / "base", *this / "run", false);
  }
};

constexpr const char* kAdapters[] = {"llama", "llama-all", "qwen3-layer", "gpt-neox", "gpt2", "bert"};

std::set<std::string> strings_of(const Json& list) { return std::set<std::string>(list.begin(), list.end()); }

}  // namespace

TEST_CASE("peft: the logits of a model with imported adapters equal those of PEFT") {
  const Json golden = read_json(peft_golden("logits.json"));
  for (const char* name : kAdapters) {
    CAPTURE(name);
    const ImportedAdapter imported(name);
    HuggingFaceModel read;
    read.model = load_model<EncoderOnly>(imported / "run", "", {});
    const auto difference = hugging_face_logits::distance(read, golden, name);
    CHECK(difference.worst < 1e-5 * difference.largest);
    HuggingFaceModel base;
    base.model = load_model<EncoderOnly>(imported / "base", "", {});
    const auto without = hugging_face_logits::distance(base, golden, name);
    CHECK(without.worst > 1e-2 * without.largest);
  }
}

TEST_CASE("peft: exported adapters are the imported ones") {
  for (const char* name : kAdapters) {
    CAPTURE(name);
    const ImportedAdapter imported(name);
    write_peft(imported / "out", imported / "run", "", false);
    const SafetensorsFile before(peft_golden(name) / kPeftWeightsFile), after(imported / "out" / kPeftWeightsFile);
    CHECK(after.entries().size() == before.entries().size());
    for (const SafetensorsEntry& entry : before.entries()) {
      CAPTURE(entry.name);
      REQUIRE(after.find(entry.name) != nullptr);
      CHECK(after.read(*after.find(entry.name)).to_vector<float>() == before.read(entry).to_vector<float>());
    }
    const Json config = read_json(peft_golden(name) / kPeftConfigFile);
    const Json written = read_json(imported / "out" / kPeftConfigFile);
    for (const char* key : {"peft_type", "r", "lora_alpha", "lora_dropout", "use_rslora", "fan_in_fan_out", "bias"})
      CHECK_MESSAGE(written.at(key) == config.at(key), key);
    CHECK(written.at("base_model_name_or_path") == model_of(name).string());
    const Json& targets = config.at("target_modules");  // PEFT writes whole names for all-linear, Gyre their last parts
    if (targets.is_array() && !contains(targets.at(0).get<std::string>(), "."))
      CHECK(strings_of(written.at("target_modules")) == strings_of(targets));
    CHECK(contains(error_of([&] { write_peft(imported / "out", imported / "run", "", false); }),
                   "holds a model already (adapter_config.json): use --overwrite"));
    write_peft(imported / "out", imported / "run", "", true);
  }
}

TEST_CASE("peft: adapters of some layers are exported with the names of their modules") {
  const ImportedAdapter imported("qwen3-layer");
  write_peft(imported / "out", imported / "run", "", false);
  CHECK(read_json(imported / "out" / kPeftConfigFile).at("target_modules") ==
        Json{"model.layers.1.self_attn.k_proj", "model.layers.1.self_attn.q_proj"});
}

TEST_CASE("peft: a module that target_modules chooses has an adapter, unless other keys choose fewer modules") {
  const ImportedAdapter imported("llama");
  const Path from = imported / "incomplete";
  std::filesystem::create_directory(from);
  const SafetensorsFile whole(peft_golden("llama") / kPeftWeightsFile);
  std::vector<NamedTensor> kept;
  for (const SafetensorsEntry& entry : whole.entries())
    if (!contains(entry.name, "layers.1.self_attn.q_proj")) kept.push_back({entry.name, whole.read(entry)});
  REQUIRE(kept.size() + 2 == whole.entries().size());
  write_safetensors(from / kPeftWeightsFile, kept);
  Json config = read_json(peft_golden("llama") / kPeftConfigFile);
  const auto import_error = [&](const char* run) {
    write_file(from / kPeftConfigFile, config.dump());
    return error_of([&] { write_imported_adapters(from, imported / "base", imported / run, false); });
  };
  CHECK(contains(import_error("refused"), "but model.layers.1.self_attn.q_proj has none"));
  config["exclude_modules"] = {"layers.1.self_attn.q_proj"};
  CHECK(import_error("imported") == "no error");
}

TEST_CASE("peft: what is no plain LoRA is an error that names the key") {
  const Json plain = read_json(peft_golden("llama") / kPeftConfigFile);
  struct Wrong {
    const char* key;
    Json value;
    const char* expected;
  };
  for (const auto& [key, value, expected] : std::vector<Wrong>{
           {"peft_type", "IA3", R"(expected "LORA", got "IA3")"},
           {"use_dora", true, "expected none, as in a plain LoRA, got true"},
           {"modules_to_save", {"lm_head"}, R"(expected none, as in a plain LoRA, got ["lm_head"])"},
           {"rank_pattern", {{"q_proj", 4}}, R"(got {"q_proj":4})"},
           {"alpha_pattern", {{"q_proj", 4}}, R"(got {"q_proj":4})"},
           {"layer_replication", Json::array({Json::array({0, 1})}), "got [[0,1]]"},
           {"bias", "lora_only", R"(expected "none", got "lora_only")"},
           {"lora_bias", true, "got true"},
           {"init_lora_weights", "pissa", R"(expected one that keeps the weights of the base, got "pissa")"},
           {"r", 0, "expected a rank of at least 1, got 0"},
           {"r", "8", R"(expected a rank of at least 1, got "8")"},
           {"lora_alpha", nullptr, "expected a positive number, got null"},
           {"lora_dropout", 1, "expected a number of at least 0 and below 1, got 1"},
           {"use_rslora", 1, "expected true or false, got 1"},
           {"target_modules", nullptr, "expected a list of names, got null"},
       }) {
    Json config = plain;
    config[key] = value;
    const std::string error = error_of([&] { parse_peft_config(config.dump(), "file: "); });
    CAPTURE(error);
    CHECK(error.starts_with(concat("file: ", key, ": ")));
    CHECK(contains(error, expected));
  }
  CHECK(contains(error_of([] { parse_peft_config("[]", "file: "); }), "file: expected an object, got []"));
}

TEST_CASE("peft: adapters that do not fit the base, or have no place in transformers' model, are errors") {
  const ImportedAdapter imported("llama");
  const auto import_into_run = [&](const Path& from, const Path& base) {
    return error_of([&] { write_imported_adapters(from, base, imported / "other", false); });
  };
  const Path model = decoder_golden("gpt2");
  write_imported_run(read_hugging_face(model), model, imported / "gpt2", false);
  CHECK(contains(import_into_run(peft_golden("llama"), imported / "gpt2"),
                 "base_model.model.model.layers.0.mlp.down_proj.lora_A.weight"));
  CHECK(contains(import_into_run(decoder_golden("llama"), imported / "base"),
                 "expected a directory with adapter_config.json, found none"));
  CHECK(contains(import_into_run(peft_golden("llama"), decoder_golden("llama")), "gyre import makes a run of it"));
  CHECK(!std::filesystem::exists(imported / "other"));
  CHECK(contains(
      error_of([&] { write_imported_adapters(peft_golden("llama"), imported / "base", imported / "base", true); }),
      "[--base-model] expected another run than --output"));
  // Files without tensors, and with a NaN.
  const TemporaryDirectory wrong;
  std::filesystem::copy(peft_golden("llama"), wrong / "peft", std::filesystem::copy_options::recursive);
  const SafetensorsFile good(peft_golden("llama") / kPeftWeightsFile);
  std::vector<NamedTensor> tensors;
  for (const SafetensorsEntry& entry : good.entries()) tensors.push_back({entry.name, good.read(entry)});
  tensors.front().tensor.data<float>()[0] = std::nanf("");
  write_safetensors(wrong / "peft" / kPeftWeightsFile, tensors);
  CHECK(contains(import_into_run(wrong / "peft", imported / "base"), tensors.front().name));
  write_safetensors(wrong / "peft" / kPeftWeightsFile, {});
  CHECK(contains(import_into_run(wrong / "peft", imported / "base"), "expected adapters, found no tensors"));
  CHECK(contains(error_of([&] { write_peft(imported / "out", imported / "base", "", false); }),
                 "expected a run with adapters (train --lora-rank), found a whole model: --to hf exports it"));
  // Separate adapters of queries cannot be those of GPT-2's c_attn.
  EncoderOnly gpt2(read_config<EncoderOnlyConfig>(imported / "gpt2"));
  const LoraOptions options{.rank = 2, .targets = {"q_proj"}};
  LoraAdapters adapters(gpt2.parameters(), options, false);
  adapters.parameters().allocate(1);
  CHECK(contains(error_of([&] { peft_adapter(gpt2.parameters(), options, gpt2.config()); }),
                 "transformers' transformer.h.0.attn.c_attn is one linear layer, but the adapters change parts of it: "
                 "train with --lora-targets all-linear or c_attn"));
}

TEST_CASE("peft: one adapter of queries, keys and values becomes three with the same A") {
  EncoderOnlyConfig config = read_config<EncoderOnlyConfig>(ImportedAdapter("llama") / "base");
  EncoderOnly model(config);
  const LoraOptions options{.rank = 2, .targets = {"qkv_proj"}};
  LoraAdapters adapters(model.parameters(), options, false);
  adapters.parameters().allocate(1);
  const PeftAdapter peft = peft_adapter(model.parameters(), options, config);
  CHECK(peft.tensors.size() == size_t(2 * 3 * config.layers));
  CHECK(peft.tensors[0].tensor.to_vector<float>() == peft.tensors[4].tensor.to_vector<float>());
  CHECK(peft.config.at("target_modules") == Json{"k_proj", "q_proj", "v_proj"});
}
