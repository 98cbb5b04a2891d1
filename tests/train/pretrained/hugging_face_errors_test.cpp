// Errors of import and export: invalid Hugging Face directories, and models without an equivalent in transformers.
#include <doctest/doctest.h>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/models/position/rope.h"
#include "tests/train/pretrained/hugging_face_copy.h"

using namespace gyre;

namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("hugging face: errors of a config.json that Gyre does not support") {
  check_config_errors(
      hugging_face_golden,
      {{"bert", "architectures", Json::array({"GPTJForCausalLM"}),
        "architectures: expected one of BertForMaskedLM, BertForPreTraining, BertModel, BertForSequenceClassification, "
        "NezhaForMaskedLM, NeZhaForMaskedLM, NezhaForPreTraining, NezhaModel, NezhaForSequenceClassification, "
        "RoFormerForMaskedLM, RoFormerModel, RoFormerForSequenceClassification, LlamaForCausalLM, LlamaModel, "
        "MistralForCausalLM, MistralModel, Qwen2ForCausalLM, Qwen2Model, Qwen3ForCausalLM, Qwen3Model, "
        "GPTNeoXForCausalLM, GPTNeoXModel, GPT2LMHeadModel, GPT2Model, MarianMTModel, got [\"GPTJForCausalLM\"]"},
       {"bert-classifier", "classifier_dropout", "much", "[config.classifier_dropout] expected a number, got \"much\""},
       {"bert", "architectures", nullptr, "got null"},
       {"bert", "model_type", "roformer", "model_type: expected \"bert\" as the architecture is BertForMaskedLM"},
       {"bert", "position_embedding_type", "relative_key", "position_embedding_type: expected \"absolute\""},
       {"bert", "is_decoder", true, "is_decoder: expected false, the only supported value, got true"},
       {"bert", "add_cross_attention", true, "add_cross_attention: expected false"},
       {"bert", "tie_word_embeddings", false, "tie_word_embeddings: expected true"},
       {"bert", "hidden_act", "mish", "[config.hidden_act] expected one of relu, gelu, gelu-tanh, silu, got \"mish\""},
       {"bert", "hidden_size", "8", "[config.hidden_size] expected an integer, got \"8\""},
       {"bert", "vocab_size", 10000001, "[config.vocab_size] expected at most 10000000, got 10000001"},
       {"bert", "num_attention_heads", 3, "[heads] must divide dim = 8, got 3; see num_attention_heads, hidden_size"},
       {"roformer", "norm_type", "rms_norm", "norm_type: expected \"layer_norm\", the only supported value"},
       {"roformer", "use_bias", false, "use_bias: expected true, the only supported value, got false"}},
      "config.json");
  const HuggingFaceCopy copy("bert");
  write_file(copy / "config.json", "{\"architectures\": ");
  CHECK(contains(copy.error(), "config.json: the configuration is not valid JSON"));
  fs::remove(copy / "config.json");
  CHECK(contains(copy.error(), "expected a directory with config.json"));
}

TEST_CASE("hugging face: errors name the tensors that do not fit") {
  const auto error_with = [](const char* model, const std::function<void(std::vector<NamedTensor>&)>& change) {
    const HuggingFaceCopy copy(model);
    copy.change(change);
    const std::string error = copy.error();
    CHECK(contains(error, (copy / "model.safetensors").string()));
    return error;
  };
  const std::string query = "bert.encoder.layer.1.attention.self.query.weight";
  CHECK(contains(error_with("bert",
                            [&](auto& t) {
                              tensor_named(t, query) = Tensor::zeros({8, 4});
                            }),
                 "wrong shape: " + query + " expected (8, 8), got (8, 4)"));
  CHECK(contains(error_with("bert", [&](auto& t) { std::erase_if(t, [&](auto& x) { return x.name == query; }); }),
                 "missing: " + query + " (8, 8)"));
  CHECK(contains(error_with("bert",
                            [&](auto& t) {
                              t.push_back({"bert.extra", Tensor::zeros({3})});
                            }),
                 "unexpected: \"bert.extra\" (3)"));
  CHECK(contains(error_with("bert",
                            [&](auto& t) {
                              tensor_named(t, query) = Tensor::zeros({8, 8}, DType::i32);
                            }),
                 "expected F32, got I32"));
  CHECK(contains(error_with("bert",
                            [](auto& t) {
                              t.push_back({"cls.predictions.decoder.bias", Tensor::zeros({20})});
                            }),
                 "cls.predictions.decoder.bias: expected the same as cls.predictions.bias"));
  CHECK(contains(error_with("bert",
                            [](auto& t) {
                              t.push_back({"cls.predictions.decoder.weight",
                                           tensor_named(t, "bert.embeddings.word_embeddings.weight").clone()});
                              t.back().tensor.template data<float>()[3 * 8] += 1;
                            }),
                 "expected the same as bert.embeddings.word_embeddings.weight, got different values in row 3"));
  CHECK(contains(error_with("roformer",
                            [](auto& t) {
                              tensor_named(t, "roformer.encoder.embed_positions.weight").template data<float>()[4] += 1;
                            }),
                 "roformer.encoder.embed_positions.weight: expected rows [sin(m theta_j) | cos(m theta_j)] of base "
                 "10000, got different values in row 1"));
}

TEST_CASE("hugging face: sizes out of proportion to the files are rejected before memory is allocated") {
  const HuggingFaceCopy copy("bert");
  copy.set("num_hidden_layers", 1000);
  CHECK(contains(copy.error(), "expected tensors for the 1000 layers in config.json, got 42 tensors in all"));
  const HuggingFaceCopy deep("bert");
  deep.set("num_hidden_layers", 1000000);
  CHECK(contains(deep.error(), "must be at most 1000, got 1000000"));
  const HuggingFaceCopy wide("bert");
  wide.set("hidden_size", 1000000);
  CHECK(contains(wide.error(), "parameters in config.json, got tensors of"));
}

TEST_CASE("hugging face: missing files and files that do not fit") {
  const HuggingFaceCopy copy("bert");
  const auto note = [&](const std::string& pieces) {
    write_file(copy / "vocab.txt", pieces);
    return read_hugging_face(copy.path()).notes.at(0);
  };
  // [PAD] and [MASK] get the next ids.
  CHECK(contains(note("[UNK]\n[CLS]\n[SEP]\n"), "the model has embeddings of 20 ids, its tokenizer 5 pieces"));
  CHECK(contains(note("the\ncat\n"), (copy / "vocab.txt").string()));
  std::string many = "[UNK]\n[CLS]\n[SEP]\n";
  for (int i = 0; i < 18; ++i) many += "p" + std::to_string(i) + "\n";
  CHECK(contains(note(many), "expected a model with at least 23 ids, got 20"));
  Path weights = copy / "model.safetensors";
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    fs::rename(weights, copy / name);
    weights = copy / name;
    CHECK(contains(copy.error(),
                   "found pytorch_model.bin only; PyTorch converts it, in that directory: python3 -c 'import glob, "));
  }
  fs::remove(copy / "pytorch_model.bin.index.json");
  CHECK(contains(copy.error(), "expected model.safetensors or model.safetensors.index.json, found neither"));
}

TEST_CASE("hugging face: the error for a model without an equivalent in transformers names the reason") {
  const auto error_of_export = [](const std::function<void(EncoderOnlyConfig&)>& change) {
    const TemporaryDirectory directory;
    EncoderOnlyConfig config = EncoderOnlyConfig::preset("roformer-mini");
    config.vocab_size = 9;
    config.dim = config.ffn = 8;
    config.heads = 2;
    change(config);
    EncoderOnly model(config);
    model.parameters().allocate(1);
    const std::string message = error_of([&] { write_hugging_face(directory / "out", model, nullptr); });
    CHECK(fs::exists(directory / "out") == (message == "no error"));
    return message;
  };
  static const auto rope = [](EncoderOnlyConfig& c) -> RopeOptions& { return c.position.get<RopeOptions>(); };
  CHECK(error_of_export([](auto&) {}) == "no error");
  CHECK(error_of_export([](auto& c) { rope(c).rotary_dims = 4; }) == "no error");
  CHECK(error_of_export([](auto& c) { c.kv_heads = 2; }) == "no error");
  CHECK(error_of_export([](auto& c) { c.activation = Activation::gelu_tanh; }) == "no error");
  const struct {
    std::function<void(EncoderOnlyConfig&)> change;
    const char* expected;
  } cases[] = {
      {[](auto& c) { c.norm = NormPlacement::pre; }, "norm: expected \"post\", got \"pre\""},
      {[](auto& c) { c.causal = true; }, "this model is not a GPTNeoXForCausalLM"},
      {[](auto& c) { c.kv_heads = 1; }, "kv_heads: expected 0, got 1"},
      {[](auto& c) { c.gated_ffn = true; }, "gated_ffn: expected false, got true"},
      {[](auto& c) { c.norm_type = NormType::rms; }, "norm_type: expected \"layer\", got \"rms\""},
      {[](auto& c) { c.biases = Biases::none; }, "biases: expected \"all\", got \"none\""},
      {[](auto& c) { c.tied_output = false; }, "tied_output: expected true, got false"},
      {[](auto& c) { c.token_types = 0; }, "token_types: expected at least 1, got 0"},
      {[](auto& c) { c.scale_embedding = true; }, "scale_embedding: expected false, got true"},
      {[](auto& c) { c.embedding_norm = false; }, "embedding_norm: expected true, got false"},
      {[](auto& c) { c.head_transform = false; }, "head_transform: expected true, got false"},
      {[](auto& c) { c.output_bias = false; }, "output_bias: expected true, got false"},
      {[](auto& c) { c.position.encoding = "sinusoidal"; },
       "position: expected learned (BERT), nezha (NEZHA) or rope (RoFormer), got sinusoidal"},
      {[](auto& c) { rope(c).base = 500; }, "rope_base: expected 10000.0, got 500.0"},
      {[](auto& c) { rope(c).pairs = RotaryPairs::half_split; },
       "rope_pairs: expected \"interleaved\", got \"half-split\""},
      {[](auto& c) { rope(c).rotary_dims = 2; }, "rotary_dims: expected 0, got 2"},
      {[](auto& c) { rope(c).learnable = true; }, "rope_learnable: expected false, got true"},
      {[](auto& c) { rope(c).step = 0.5; }, "rope_step: expected 1.0, got 0.5"},
      {[](auto& c) { rope(c).scaling = RopeScaling::linear; }, "rope_scaling: expected \"none\", got \"linear\""},
      {[](auto& c) { c.position.encoding = "deberta"; },
       "position: expected learned (BERT), nezha (NEZHA) or rope (RoFormer), got deberta"}};
  for (const auto& c : cases) {
    const std::string error = error_of_export(c.change);
    CAPTURE(error);
    CHECK(contains(error, c.expected));
  }
}

TEST_CASE_FIXTURE(InDirectory, "hugging face: its vocabularies are WordPiece") {
  const HuggingFaceModel read = read_hugging_face(hugging_face_golden("bert"));
  const ByteVocabulary bytes;
  CHECK(contains(error_of([&] { write_hugging_face(directory / "out", *std::get<0>(read.model), &bytes); }),
                 "vocabulary: expected a kind that transformers has, such as wordpiece, got bytes"));
  CHECK(!fs::exists(directory / "out"));
}

TEST_CASE_FIXTURE(InDirectory, "hugging face: the head of a classifier must be that of its family") {
  ClassifierConfig config;
  config.encoder = EncoderOnlyConfig::preset("roformer-mini");
  config.encoder.vocab_size = 9;
  config.encoder.head_transform = config.encoder.output_bias = false;  // not read
  config.head = ClassifierHead::bert;
  SequenceClassifier model(config);
  model.parameters().allocate(1);
  CHECK(contains(error_of([&] { write_hugging_face(directory / "out", model, nullptr); }),
                 "\n  classifier_head: expected \"roformer\", got \"bert\""));
  config.head = ClassifierHead::roformer;
  SequenceClassifier fitting(config);
  fitting.parameters().allocate(1);
  write_hugging_face(directory / "out", fitting, nullptr);
  CHECK(fs::exists(directory / "out/model.safetensors"));
}

TEST_CASE_FIXTURE(InDirectory, "hugging face: existing files are replaced only with --overwrite") {
  const Path run = directory / "run", out = directory / "out";
  const HuggingFaceModel read = read_hugging_face(hugging_face_golden("bert"));
  const auto import = [&](bool overwrite) {
    return error_of([&] { write_imported_run(read, hugging_face_golden("bert"), run, overwrite); });
  };
  const auto write = [&](bool overwrite) {
    return error_of(
        [&] { write_hugging_face(out, *std::get<0>(read.model), read.vocabulary.get(), {.overwrite = overwrite}); });
  };
  CHECK(import(false) == "no error");
  CHECK(contains(import(false), "holds a model already (config.json): use --overwrite or another --output"));
  CHECK(import(true) == "no error");
  write_file(run / "vocab.model", "");
  CHECK(import(true) == "no error");
  CHECK(!fs::exists(run / "vocab.model"));
  CHECK(write(false) == "no error");
  CHECK(contains(write(false), "holds a model already (config.json)"));
  CHECK(write(true) == "no error");
}
