// Imports the layouts of published Chinese checkpoints: BERT, WoBERT, NEZHA and RoFormer (golden/make_chinese.py).
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/models/position/nezha.h"
#include "tests/train/pretrained/hugging_face_copy.h"
#include "tests/train/pretrained/hugging_face_logits.h"

using namespace gyre;

namespace {

using Names = std::vector<std::string>;

constexpr const char* kLayouts[] = {"bert-base-chinese",     "chinese-roberta-wwm-ext",    "wobert-chinese-base",
                                    "nezha-cn-base",         "nezha-chinese-base",         "nezha-classifier",
                                    "roformer-chinese-base", "roformer-chinese-char-small"};

HuggingFaceModel read(const std::string& layout) { return read_hugging_face(chinese_golden(layout)); }

void check_logits(const HuggingFaceModel& model, const std::string& layout) {
  const auto distance = hugging_face_logits::distance(model, read_json(chinese_golden("logits.json")), layout);
  CHECK(distance.worst < 1e-5 * distance.largest);
}

const EncoderOnlyConfig& encoder_config(const HuggingFaceModel& read) {
  if (const auto* model = std::get_if<std::unique_ptr<EncoderOnly>>(&read.model)) return (*model)->config();
  return std::get<std::unique_ptr<SequenceClassifier>>(read.model)->config().encoder;
}

std::string positions_name(const std::string& prefix, int layer) {
  return concat(prefix, ".encoder.layer.", layer, ".attention.self.relative_positions_encoding.positions_encoding");
}

}  // namespace

TEST_CASE("chinese layouts: the logits equal those of transformers, also after an export") {
  for (const char* layout : kLayouts) {
    CAPTURE(layout);
    const HuggingFaceModel model = read(layout);
    check_logits(model, layout);
    const TemporaryDirectory directory;
    export_model(model, directory / "out");
    const HuggingFaceModel again = read_hugging_face(directory / "out");
    CHECK(again.parameters().values().to_vector<float>() == model.parameters().values().to_vector<float>());
    CHECK(encoder_config(again).to_json() == encoder_config(model).to_json());
  }
}

TEST_CASE("chinese layouts: the positions of each, and the tensors that are left out") {
  const auto encoding = [](const char* layout) { return encoder_config(read(layout)).position.encoding; };
  CHECK(encoding("bert-base-chinese") == "learned");
  CHECK(encoding("wobert-chinese-base") == "learned");
  CHECK(encoding("roformer-chinese-base") == "rope");
  for (const auto& [layout, clip] :
       {std::pair("nezha-cn-base", 4), std::pair("nezha-chinese-base", 64), std::pair("nezha-classifier", 3)}) {
    CHECK(encoding(layout) == "nezha");
    CHECK(encoder_config(read(layout)).position.get<NezhaOptions>().clip == clip);
  }
  const Names heads{"bert.pooler.dense.bias", "bert.pooler.dense.weight", "cls.seq_relationship.bias",
                    "cls.seq_relationship.weight"};
  const auto sorted = [](Names names) {
    std::sort(names.begin(), names.end());
    return names;
  };
  for (const char* layout : {"bert-base-chinese", "chinese-roberta-wwm-ext", "nezha-chinese-base"})
    CHECK(sorted(read(layout).tensors.of_other_heads) == heads);
  const std::string table = "cls.predictions.decoder.weight", bias = "cls.predictions.decoder.bias";
  CHECK(sorted(read("wobert-chinese-base").tensors.repeats) == Names{"bert.embeddings.position_ids", bias, table});
  CHECK(sorted(read("nezha-cn-base").tensors.repeats) ==
        Names{bias, table, positions_name("nezha", 0), positions_name("nezha", 1)});
  CHECK(sorted(read("nezha-chinese-base").tensors.repeats) == Names{positions_name("bert", 0), bias, table});
  CHECK(sorted(read("roformer-chinese-base").tensors.repeats) ==
        Names{bias, table, "roformer.encoder.embed_positions.weight"});
}

TEST_CASE("chinese layouts: a note mentions a vocabulary of words") {
  for (const char* layout : kLayouts) {
    CAPTURE(layout);
    const std::vector<std::string> notes = read(layout).notes;
    const std::string name = layout;
    if (name == "wobert-chinese-base") {
      REQUIRE(notes.size() == 1);
      CHECK(contains(notes[0], "its vocabulary has words, and WordPiece splits Chinese into characters"));
    } else {
      CHECK(notes.size() == (name == "roformer-chinese-base" ? 1 : 0));
    }
  }
}

TEST_CASE_FIXTURE(InDirectory,
                  "chinese layouts: NEZHA is exported as a NezhaForMaskedLM, and its classifier as that of BERT") {
  export_model(read("nezha-chinese-base"), directory / "model");
  const Json config = read_json(directory / "model/config.json");
  CHECK(config["architectures"] == Json::array({"NezhaForMaskedLM"}));
  CHECK(config["model_type"] == "nezha");
  CHECK(config["max_relative_position"] == 64);
  CHECK(config["use_relative_position"] == true);
  CHECK(!config.contains("position_embedding_type"));
  const SafetensorsFile file(directory / "model/model.safetensors");
  CHECK(file.find("nezha.embeddings.word_embeddings.weight"));
  CHECK(file.entries().size() == read("nezha-chinese-base").tensors.read);
  export_model(read("nezha-classifier"), directory / "classifier");
  const Json classifier = read_json(directory / "classifier/config.json");
  CHECK(classifier["architectures"] == Json::array({"NezhaForSequenceClassification"}));
  CHECK(classifier["classifier_dropout"] == 0.25);
}

TEST_CASE("chinese layouts: files without NEZHA's positions, and with others") {
  const std::string name = positions_name("nezha", 1);
  const HuggingFaceCopy copy("nezha-cn-base", chinese_golden);
  copy.change([&](auto& tensors) { tensor_named(tensors, name).template data<float>()[5 * 4 + 1] += 1; });
  CHECK(contains(copy.error(),
                 "tensor " + name + ": expected the sinusoids of clipped distances, got different values in row 5"));
  copy.change([&](auto& tensors) { tensor_named(tensors, name) = Tensor::zeros({16, 16, 4}); });
  CHECK(contains(copy.error(), "tensor " + name + ": expected the shape (18, 18, 4)"));
  copy.change([](auto& tensors) {
    std::erase_if(tensors, [](const NamedTensor& t) { return t.name.ends_with("positions_encoding"); });
  });
  check_logits(read_hugging_face(copy.path()), "nezha-cn-base");
  copy.set("max_relative_position", 5);
  CHECK(encoder_config(read_hugging_face(copy.path())).position.get<NezhaOptions>().clip == 5);
}

TEST_CASE("chinese layouts: errors of config.json") {
  check_config_errors(
      chinese_golden,
      {{"nezha-cn-base", "use_relative_position", false, "use_relative_position: expected true"},
       {"nezha-cn-base", "max_relative_position", 0, "[nezha] the clip must be at least 1, got 0"},
       {"nezha-cn-base", "max_relative_position", "64", "[config.max_relative_position] expected an integer"},
       {"nezha-cn-base", "max_relative_position", 20000000, "max_relative_position] expected at most 10000000"},
       {"nezha-cn-base", "num_attention_heads", 4, "[nezha] the width of a head must be even, got 3"},
       {"nezha-cn-base", "model_type", "bert",
        "model_type: expected \"nezha\" as the architecture is NeZhaForMaskedLM"},
       {"nezha-chinese-base", "model_type", "nezha", "model_type: expected \"bert\""},
       {"roformer-chinese-base", "embedding_size", 6,
        "wrong shape: roformer.embeddings.word_embeddings.weight expected (23, 6)"},
       {"roformer-chinese-base", "architectures", Json::array({"RoFormerForCausalLM"}),
        "got [\"RoFormerForCausalLM\"]"}});
  const HuggingFaceCopy plain("nezha-chinese-base", chinese_golden);
  plain.set("use_relative_position", false);  // a BERT, which needs a table of positions
  CHECK(contains(plain.error(), "missing: bert.embeddings.position_embeddings.weight"));
}
