// Fuzzing of Hugging Face directories: damaged files give a model or an Error, and the memory use stays in proportion
// to their size.
#include <doctest/doctest.h>

#include "tests/fuzz_json.h"
#include "tests/train/pretrained/hugging_face_copy.h"

using namespace gyre;

namespace {

void damage(Fuzz& fuzz, std::string& json, const std::vector<std::string>& own) {
  for (size_t i = 1 + fuzz.below(3); i > 0; --i) {
    if (fuzz.one_in(4)) {
      fuzz.damage(json);
    } else {
      damage_json(fuzz, json, own);
    }
  }
}

void check_reads(const HuggingFaceCopy& copy) {
  const std::string error = copy.error();
  if (error != "no error") CHECK(contains(error, copy.path().string()));
}

}  // namespace

TEST_CASE("hugging face: any config.json gives a model or an Error") {
  const HuggingFaceCopy copies[] = {HuggingFaceCopy("bert"),
                                    HuggingFaceCopy("roformer"),
                                    HuggingFaceCopy("bert-classifier"),
                                    HuggingFaceCopy("roformer-classifier"),
                                    HuggingFaceCopy("nezha-cn-base", chinese_golden),
                                    HuggingFaceCopy("nezha-chinese-base", chinese_golden)};
  const std::vector<std::string> own{"gelu",        "relu",
                                     "bert",        "nezha",
                                     "roformer",    "BertForMaskedLM",
                                     "hidden_size", "num_labels",
                                     "vocab_size",  "use_relative_position"};
  std::vector<std::string> whole;
  for (const auto& copy : copies) whole.push_back(read_file(copy / "config.json"));
  fuzz(2000, [&](Fuzz& fuzz) {
    const size_t chosen = fuzz.below(whole.size());
    std::string config = whole[chosen];
    damage(fuzz, config, own);
    put_file(copies[chosen] / "config.json", config);
    check_reads(copies[chosen]);
  });
}

TEST_CASE("hugging face: any tokenizer.json gives a vocabulary or an Error") {
  const HuggingFaceCopy copy("bert");
  std::filesystem::remove(copy / "vocab.txt");
  const std::string whole =
      R"({"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}}})";
  fuzz(2000, [&](Fuzz& fuzz) {
    std::string tokenizer = whole;
    damage(fuzz, tokenizer, {"[UNK]", "[CLS]", "WordPiece", "vocab", "model", "type"});
    put_file(copy / "tokenizer.json", tokenizer);
    check_reads(copy);
  });
}
