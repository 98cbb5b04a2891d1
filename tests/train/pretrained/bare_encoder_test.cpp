// Bare encoders, whose files have no head and no prefix in the names of tensors, and messages for files that do not
// match.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "tests/train/pretrained/hugging_face_copy.h"

using namespace gyre;

namespace {

struct Family {
  const char *golden, *prefix, *architecture;
};
constexpr Family kFamilies[] = {{"bert", "bert.", "BertModel"}, {"roformer", "roformer.", "RoFormerModel"}};

// Makes a bare encoder of a masked language model.
void strip(const HuggingFaceCopy& copy, const Family& family, bool keeps_prefix) {
  copy.set("architectures", {family.architecture});
  copy.change([&](std::vector<NamedTensor>& tensors) {
    std::erase_if(tensors, [](const NamedTensor& t) { return t.name.starts_with("cls."); });
    for (NamedTensor& t : tensors)
      if (!keeps_prefix && t.name.starts_with(family.prefix)) t.name.erase(0, std::string(family.prefix).size());
  });
}

int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n') + 1; }

}  // namespace

TEST_CASE("bare encoders: the encoder is read, and the head is newly initialized") {
  for (const Family& family : kFamilies) {
    for (const bool keeps_prefix : {false, true}) {
      for (const bool has_pooler : {false, true}) {
        CAPTURE(family.golden);
        CAPTURE(keeps_prefix);
        CAPTURE(has_pooler);
        const HuggingFaceModel whole = read_hugging_face(hugging_face_golden(family.golden));
        const HuggingFaceCopy copy(family.golden);
        strip(copy, family, keeps_prefix);
        const std::string prefix = keeps_prefix ? family.prefix : "";
        copy.change([&](std::vector<NamedTensor>& tensors) {
          tensors.push_back({prefix + "embeddings.position_ids", Tensor::zeros({1, 16}, DType::i32)});
          tensors.push_back({prefix + "embeddings.token_type_ids", Tensor::zeros({1, 16}, DType::i32)});
          if (!has_pooler) return;
          tensors.push_back({prefix + "pooler.dense.weight", Tensor::zeros({8, 8})});
          tensors.push_back({prefix + "pooler.dense.bias", Tensor::zeros({8})});
        });
        const HuggingFaceModel bare = read_hugging_face(copy.path());
        CHECK(bare.tensors.of_other_heads.size() == (has_pooler ? 2 : 0));
        std::vector<std::string> initialized;
        for (const Parameter& p : bare.parameters()) {
          CAPTURE(p.name);
          const bool is_head = p.name.starts_with("lm_head.");
          if (is_head) initialized.push_back(p.name);
          if (!is_head) CHECK(p.value.to_vector<float>() == whole.parameters().find(p.name)->value.to_vector<float>());
        }
        CHECK(initialized.size() == 5);
        CHECK(bare.tensors.initialized == initialized);
        const TemporaryDirectory directory;
        CHECK(contains(write_imported_run(bare, copy.path(), directory / "run", false), ", 5 newly initialized, "));
        const PretrainedEncoder encoder = load_pretrained(copy.path());
        CHECK(encoder.weights->find("embed_tokens.weight")->value.to_vector<float>() ==
              whole.parameters().find("embed_tokens.weight")->value.to_vector<float>());
      }
    }
  }
}

TEST_CASE("bare encoders: a part of a head is an error") {
  const HuggingFaceCopy copy("bert");
  strip(copy, kFamilies[0], true);
  copy.change([](std::vector<NamedTensor>& tensors) {
    tensors.push_back({"cls.predictions.bias", Tensor::zeros({20})});
  });
  CHECK(contains(copy.error(), "missing: cls.predictions.transform.dense.weight (8, 8)"));
}

TEST_CASE("tensors that do not match: ten lines at most, and the likely cause") {
  const auto error_after = [](const std::function<void(std::string & name)>& rename) {
    const HuggingFaceCopy copy("bert");
    copy.change([&](std::vector<NamedTensor>& tensors) {
      for (NamedTensor& t : tensors) rename(t.name);
    });
    std::string message = copy.error();
    CHECK(lines_of(message) <= 10);
    return message;
  };
  CHECK(contains(error_after([](std::string& name) { name.insert(0, "model."); }),
                 "probably because the names of the file have the prefix \"model.\":"));
  const std::string other = error_after([](std::string& name) { name.insert(0, "x"); });
  CHECK(contains(other, "probably because the file is of another kind of model than the configuration:"));
  CHECK(contains(other, "\n  and "));
  const HuggingFaceCopy deep("bert");
  deep.set("num_hidden_layers", 12);
  CHECK(contains(deep.error(), "probably because the file has fewer layers or parts than the configuration"));
  CHECK(lines_of(deep.error()) <= 10);
  const HuggingFaceCopy shallow("bert");
  shallow.set("num_hidden_layers", 1);
  CHECK(contains(shallow.error(), "probably because the file has more layers or parts than the configuration"));
  const HuggingFaceCopy narrow("bert");
  narrow.set("intermediate_size", 7);
  CHECK(contains(narrow.error(), "probably because the configuration has other sizes than the tensors:"));
}

TEST_CASE("classifiers: the names of classes are imported and exported") {
  const HuggingFaceCopy copy("bert-classifier");
  const HuggingFaceModel numbered = read_hugging_face(copy.path());
  const auto classes = int64_t(numbered.task.value().format.classes.size());
  REQUIRE(classes >= 2);
  CHECK(numbered.task->format.classes[1] == "LABEL_1");
  Json names;
  for (int64_t i = 0; i < classes; ++i) names[std::to_string(i)] = concat("class \"", i, "\" \u00e4");
  names["0"] = "a\ttab";
  copy.set("id2label", names);
  Json shifted;  // a name may be the default of another class
  for (int64_t i = 0; i < classes; ++i) shifted[std::to_string(i)] = concat("LABEL_", (i + 1) % classes);
  copy.set("id2label", shifted);
  for (int64_t i = 0; i < classes; ++i)
    CHECK(read_hugging_face(copy.path()).task->format.classes[size_t(i)] == shifted[std::to_string(i)]);
  copy.set("id2label", names);
  const HuggingFaceModel named = read_hugging_face(copy.path());
  CHECK(named.task->format.classes[0] == "LABEL_0");
  CHECK(named.task->format.classes[1] == "class \"1\" \u00e4");
  const TemporaryDirectory directory;
  write_imported_run(named, copy.path(), directory / "run", false);
  const TrainedTask task = read_task(directory / "run");
  CHECK(task.is_imported);
  CHECK(task.format.classes == named.task->format.classes);
  write_hugging_face(directory / "out", *std::get<1>(named.model), nullptr, {.classes = task.format.classes});
  const auto written = read_json(directory / "out/config.json");
  CHECK(written["id2label"]["1"] == "class \"1\" \u00e4");
  CHECK(written["label2id"]["class \"1\" \u00e4"] == 1);
  CHECK(read_hugging_face(directory / "out").task->format.classes == task.format.classes);
  copy.set("problem_type", "single_label_classification");
  CHECK(read_hugging_face(copy.path()).task->format.classes == task.format.classes);
  copy.set("problem_type", "multi_label_classification");
  CHECK(contains(copy.error(), "problem_type: expected \"single_label_classification\" for num_labels "));
}
