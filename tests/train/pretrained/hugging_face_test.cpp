// Import and export of directories written by Hugging Face transformers.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "tests/train/pretrained/hugging_face_copy.h"
#include "tests/train/pretrained/hugging_face_logits.h"

using namespace gyre;

namespace {

namespace fs = std::filesystem;

constexpr const char* kModels[] = {"bert", "roformer", "roformer-values", "bert-classifier", "roformer-classifier"};

// The maximum difference from the logits of transformers. `kind`: "logits", or "logits_in_bf16" for weights rounded to
// bf16.
double distance(const HuggingFaceModel& read, const std::string& name, const char* kind = "logits") {
  return hugging_face_logits::distance(read, read_json(hugging_face_golden("logits.json")), name, kind).worst;
}

Json config_of(const HuggingFaceModel& read) {
  return std::visit([](const auto& m) { return m->config().to_json(); }, read.model);
}

}  // namespace

TEST_CASE("hugging face: the logits equal those of transformers") {
  for (const char* name : kModels) {
    CAPTURE(name);
    const HuggingFaceModel read = read_hugging_face(hugging_face_golden(name));
    CHECK(distance(read, name) < 1e-5);
    CHECK(read.notes.empty());
    CHECK(read.tensors.of_other_heads.empty());
    REQUIRE(read.vocabulary);
    const auto& wordpiece = dynamic_cast<const WordPieceVocabulary&>(*read.vocabulary);
    CHECK(wordpiece.lower_case() == (std::string(name) != "roformer"));
    CHECK(wordpiece.size() == 20);
  }
}

TEST_CASE("hugging face: an imported model is a complete run directory") {
  for (const char* name : kModels) {
    CAPTURE(name);
    const TemporaryDirectory directory;
    const Path run = directory / "run";
    const HuggingFaceModel read = read_hugging_face(hugging_face_golden(name));
    write_imported_run(read, hugging_face_golden(name), run, false);
    verify_manifest(checkpoint_path(run, 0));
    CHECK(find_model_file(run) == checkpoint_path(run, 0) / "model.safetensors");
    const bool is_classifier = model_kind(run) == ClassifierConfig::kModel;
    CHECK(is_classifier == std::string(name).ends_with("classifier"));
    const Tensor loaded = is_classifier ? load_model<SequenceClassifier>(run, "", {})->parameters().values()
                                        : load_model<EncoderOnly>(run, "", {})->parameters().values();
    CHECK(loaded.to_vector<float>() == weights(read));
    CHECK(load_vocabulary(run / "vocab.txt")->fingerprint() == read.vocabulary->fingerprint());
  }
}

TEST_CASE("hugging face: an exported model equals the imported one") {
  for (const char* name : kModels) {
    CAPTURE(name);
    const TemporaryDirectory directory;
    const HuggingFaceModel read = read_hugging_face(hugging_face_golden(name));
    export_model(read, directory / "out");
    check_same_tensors(directory / "out", hugging_face_golden(name));
    const Json config = read_json(hugging_face_golden(name) / "config.json");
    const Json written = read_json(directory / "out/config.json");
    for (const auto& [key, value] : written.items()) {
      CAPTURE(key);
      if (config.contains(key)) CHECK(value == config[key]);
    }
    CHECK(read_file(directory / "out/vocab.txt") == read_file(hugging_face_golden(name) / "vocab.txt"));
    const HuggingFaceModel again = read_hugging_face(directory / "out");
    CHECK(weights(again) == weights(read));
    CHECK(config_of(again) == config_of(read));
    CHECK(again.vocabulary->fingerprint() == read.vocabulary->fingerprint());
  }
}

TEST_CASE("hugging face: names and shapes in older and larger checkpoints") {
  const auto original = weights(read_hugging_face(hugging_face_golden("bert")));
  SUBCASE("gamma and beta, position ids, tied tensors, a pooler") {
    const HuggingFaceCopy copy("bert");
    copy.change([](std::vector<NamedTensor>& tensors) {
      for (auto& [name, tensor] : tensors) {
        if (const size_t at = name.find("LayerNorm.weight"); at != name.npos) name.replace(at + 10, 6, "gamma");
        if (const size_t at = name.find("LayerNorm.bias"); at != name.npos) name.replace(at + 10, 4, "beta");
      }
      const Tensor table = tensor_named(tensors, "bert.embeddings.word_embeddings.weight").clone();
      const Tensor bias = tensor_named(tensors, "cls.predictions.bias").clone();
      tensors.push_back({"cls.predictions.decoder.weight", table});
      tensors.push_back({"cls.predictions.decoder.bias", bias});
      tensors.push_back({"bert.embeddings.position_ids", Tensor::zeros({1, 16}, DType::i32)});
      tensors.push_back({"bert.pooler.dense.bias", Tensor::zeros({8})});
      tensors.push_back({"cls.seq_relationship.bias", Tensor::zeros({2})});
    });
    const HuggingFaceModel read = read_hugging_face(copy.path());
    CHECK(weights(read) == original);
    CHECK(read.notes.empty());
    CHECK(read.tensors.read == read_hugging_face(hugging_face_golden("bert")).tensors.read);
    CHECK(read.tensors.of_other_heads ==
          std::vector<std::string>{"bert.pooler.dense.bias", "cls.seq_relationship.bias"});
    CHECK(read.tensors.repeats == std::vector<std::string>{"cls.predictions.decoder.weight",
                                                           "cls.predictions.decoder.bias",
                                                           "bert.embeddings.position_ids"});
  }
  SUBCASE("only one of two tied tensors") {
    const HuggingFaceCopy copy("bert");
    copy.change([](std::vector<NamedTensor>& tensors) {
      for (auto& [name, tensor] : tensors)
        if (name == "cls.predictions.bias") name = "cls.predictions.decoder.bias";
    });
    CHECK(weights(read_hugging_face(copy.path())) == original);
  }
  SUBCASE("shards") {
    const HuggingFaceCopy copy("bert");
    std::vector<NamedTensor> rest;
    copy.change([&](std::vector<NamedTensor>& tensors) {
      rest.assign(tensors.begin() + 9, tensors.end());
      tensors.resize(9);
    });
    fs::rename(copy / "model.safetensors", copy / "model-00001-of-00002.safetensors");
    write_safetensors(copy / "model-00002-of-00002.safetensors", rest);
    Json map;
    for (const char* shard : {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}) {
      const SafetensorsFile file(copy / shard);
      for (const auto& entry : file.entries()) map[entry.name] = shard;
    }
    write_file(copy / "model.safetensors.index.json",
               Json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
    CHECK(weights(read_hugging_face(copy.path())) == original);
  }
  SUBCASE("16-bit weights") {
    for (const char* name : kModels) {
      CAPTURE(name);
      const HuggingFaceCopy copy(name);
      copy.change([](std::vector<NamedTensor>& tensors) {
        for (auto& item : tensors) item.tensor = item.tensor.to(DType::bf16);
      });
      CHECK(distance(read_hugging_face(copy.path()), name, "logits_in_bf16") < 1e-5);
    }
  }
  SUBCASE("RoFormer's positions are not needed") {
    const HuggingFaceCopy copy("roformer");
    copy.change([](std::vector<NamedTensor>& tensors) {
      std::erase_if(tensors, [](const NamedTensor& t) { return t.name == "roformer.encoder.embed_positions.weight"; });
    });
    CHECK(distance(read_hugging_face(copy.path()), "roformer") < 1e-5);
  }
}

TEST_CASE("hugging face: the vocabulary format of transformers 5, or no vocabulary") {
  const HuggingFaceCopy copy("roformer");
  const auto expected = read_hugging_face(copy.path()).vocabulary->fingerprint();
  Json pieces;
  std::istringstream lines(read_file(copy / "vocab.txt"));
  for (std::string line; std::getline(lines, line);) pieces[line] = pieces.size();
  fs::remove(copy / "vocab.txt");
  const auto write_tokenizer = [&] {
    write_file(copy / "tokenizer.json", Json{{"model", {{"type", "WordPiece"}, {"vocab", pieces}}}}.dump());
  };
  write_tokenizer();
  CHECK(read_hugging_face(copy.path()).vocabulary->fingerprint() == expected);
  pieces["cat"] = 5;
  write_tokenizer();
  const auto note = [&] { return read_hugging_face(copy.path()).notes.at(0); };
  CHECK(contains(note(), "tokenizer.json: model.vocab.the: expected a unique id below "));
  write_file(copy / "tokenizer.json", R"({"model": {"type": "BPE", "vocab": {}}})");
  CHECK(contains(note(), "tokenizer.json: model: expected that of BERT, as the tokenizer_class BertTokenizer"));
  fs::remove(copy / "tokenizer.json");
  const HuggingFaceModel bare = read_hugging_face(copy.path());
  CHECK(!bare.vocabulary);
  REQUIRE(bare.notes.size() == 1);
  CHECK(contains(bare.notes[0], "no tokenizer.json, vocab.json with merges.txt, tokenizer.model or vocab.txt in"));
  export_model(bare, copy / "out");
  CHECK(!fs::exists(copy / "out/vocab.txt"));
}

TEST_CASE("hugging face: a tokenizer.json of WordPiece is read as it says, with added tokens and padded embeddings") {
  const HuggingFaceCopy copy("bert");
  std::istringstream lines(read_file(copy / "vocab.txt"));
  fs::remove(copy / "vocab.txt");
  Json pieces;
  for (std::string line; std::getline(lines, line) && pieces.size() < 17;) pieces[line] = pieces.size();
  pieces["The"] = 17;
  Json json{{"model", {{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", pieces}}},
            {"normalizer", nullptr},
            {"pre_tokenizer", {{"type", "Whitespace"}}},
            {"added_tokens", Json::array({{{"id", 18}, {"content", "E1"}, {"special", false}, {"normalized", true}}})}};
  write_file(copy / "tokenizer.json", json.dump());
  write_file(copy / "tokenizer_config.json", R"({"tokenizer_class":"PreTrainedTokenizerFast"})");
  const HuggingFaceModel read = read_hugging_face(copy.path());
  REQUIRE(read.vocabulary != nullptr);
  CHECK(read.vocabulary->encode("The E1") == std::vector<int32_t>{17, 18});
  CHECK(read.vocabulary->size() == 20);
  CHECK(contains(read.notes.at(0), "embeddings of 20 ids, its tokenizer 19 pieces"));
  export_model(read, copy / "out");
  CHECK(read_file(copy / "out/tokenizer.json") == json.dump());
  CHECK(!fs::exists(copy / "out/vocab.txt"));
  json["normalizer"] = {{"type", "Precompiled"}};
  write_file(copy / "tokenizer.json", json.dump());
  CHECK(contains(read_hugging_face(copy.path()).notes.at(0), "normalizer.type: expected BertNormalizer"));
}

TEST_CASE("hugging face: a note mentions a tokenizer that finds Chinese words") {
  const HuggingFaceCopy copy("roformer");
  write_file(copy / "tokenizer_config.json", R"({"tokenizer_class": "RoFormerTokenizer"})");
  const HuggingFaceModel read = read_hugging_face(copy.path());
  REQUIRE(read.notes.size() == 1);
  CHECK(contains(read.notes[0], "RoFormerTokenizer finds Chinese words first"));
}

TEST_CASE("hugging face: fine-tuning of an imported directory") {
  for (const char* name : kModels) {
    CAPTURE(name);
    const HuggingFaceModel read = read_hugging_face(hugging_face_golden(name));
    const PretrainedEncoder pretrained = load_pretrained(hugging_face_golden(name));
    CHECK(pretrained.vocabulary->fingerprint() == read.vocabulary->fingerprint());
    ClassifierConfig config;
    config.encoder = pretrained.config;
    config.classes = 5;
    SequenceClassifier classifier(config);
    classifier.parameters().allocate(3);
    copy_encoder_weights(classifier.parameters(), pretrained);
    for (const Parameter& p : classifier.parameters()) {
      if (p.name.starts_with(kClassificationHead)) continue;
      CHECK(p.value.to_vector<float>() == read.parameters().find(p.name)->value.to_vector<float>());
    }
  }
  const HuggingFaceCopy copy("bert");
  fs::remove(copy / "vocab.txt");
  CHECK(contains(error_of([&] { load_pretrained(copy.path()); }), "expected a tokenizer, found none"));
}
