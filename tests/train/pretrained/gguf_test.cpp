// Decoders in GGUF files of llama.cpp.
#include "gyre/train/pretrained/gguf.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/hugging_face/json_vocabulary.h"
#include "gyre/models/hugging_face/gguf.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"
#include "tests/errors.h"
#include "tests/gguf_reader.h"
#include "tests/train/pretrained/hugging_face_copy.h"

using namespace gyre;

namespace {

std::unique_ptr<EncoderOnly> small_model(const std::string& preset,
                                         const std::function<void(EncoderOnlyConfig&)>& change) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset(preset);
  config.vocab_size = 405;
  config.dim = 32;
  config.heads = 4;
  config.kv_heads = config.kv_heads > 0 ? 2 : 0;
  config.ffn = 40;
  config.layers = 1;
  change(config);
  auto model = std::make_unique<EncoderOnly>(config);
  model->parameters().allocate(7);
  return model;
}

std::shared_ptr<const Vocabulary> byte_pairs() {
  const Path file = source_dir() / "tests/data/golden/byte_bpe/gpt2.json";
  return std::make_shared<JsonVocabulary>(file.string(), read_file(file), TokenizerSettings{.size = 405});
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "GGUF: keys, names and layouts of decoders are those of llama.cpp's converter") {
  const Json golden = read_json(source_dir() / "tests/train/golden/gguf.json");
  CHECK(golden.size() == 12);
  for (const auto& [name, expected] : golden.items()) {
    CAPTURE(name);
    const HuggingFaceModel read = read_hugging_face(decoder_golden(name));
    const EncoderOnly& model = *std::get<std::unique_ptr<EncoderOnly>>(read.model);
    const auto longest = model.config().position.get<PositionTableOptions>().max_positions;
    write_gguf(directory / "model.gguf", gguf_keys(model.config(), longest, GgufType::f32),
               gguf_tensors(model.parameters(), model.config(), GgufType::f32));
    const GgufFile file(directory / "model.gguf");
    for (const auto& [key, value] : expected["keys"].items()) {
      CAPTURE(key);
      REQUIRE(file.keys.contains(key));
      if (value.is_number())
        CHECK(std::stof(file.keys.at(key)) == doctest::Approx(value.get<float>()).epsilon(1e-5));
      else
        CHECK(file.keys.at(key) == (value.is_string() ? value.get<std::string>() : value.dump()));
    }
    CHECK(file.keys.size() == expected["keys"].size() + 3);  // type, file_type and quantization_version
    CHECK(file.tensors.size() == expected["tensors"].size());
    for (const auto& [tensor, facts] : expected["tensors"].items()) {
      CAPTURE(tensor);
      REQUIRE(file.tensors.contains(tensor));
      CHECK(file.tensors.at(tensor).sizes == facts["sizes"].get<std::vector<uint64_t>>());
      const std::vector<float> values = file.floats(tensor);
      CHECK(crc32c(values.data(), values.size() * sizeof(float)) == facts["crc32c"].get<uint32_t>());
    }
  }
}

TEST_CASE_FIXTURE(InDirectory, "GGUF: adjacent pairs of features stay in their order, halves are interleaved") {
  const auto rows = [&](RotaryPairs pairs) {
    const auto model =
        small_model("llama-tiny", [&](EncoderOnlyConfig& c) { c.position.get<RopeOptions>().pairs = pairs; });
    write_gguf(directory / "model.gguf", {}, gguf_tensors(model->parameters(), model->config(), GgufType::f32));
    return GgufFile(directory / "model.gguf").floats("blk.0.attn_k.weight");
  };
  const auto adjacent = rows(RotaryPairs::interleaved), halves = rows(RotaryPairs::half_split);
  const auto model = small_model("llama-tiny", [](EncoderOnlyConfig&) {});
  const auto ours = model->parameters().find("encoder.layers.0.self_attn.qkv_proj.weight")->value;
  const int64_t width = 8, first = model->config().query_dim();  // the keys follow the queries
  for (int64_t row = 0; row < 2 * width; ++row) {
    const int64_t head = row / width * width, j = row % width, half = head + j / 2 + j % 2 * width / 2;
    for (const auto& [values, from] : {std::pair(&adjacent, row), std::pair(&halves, half)})
      CHECK((*values)[size_t(row * 32)] == ours.data<float>()[(first + from) * 32]);
  }
}

TEST_CASE_FIXTURE(InDirectory, "GGUF: an exported model has its vocabulary, its template and facts for people") {
  const auto model = small_model("llama-tiny", [](EncoderOnlyConfig&) {});
  const GgufReport report = export_gguf(directory / "model.gguf", *model, *byte_pairs(),
                                        {.type = GgufType::q8_0,
                                         .trained_length = 48,
                                         .chat_template = "{{ messages }}",
                                         .ends = {0, 7},
                                         .name = "a name",
                                         .license = "mit",
                                         .language = "en"});
  const GgufFile file(directory / "model.gguf");
  for (const auto& [key, expected] : {std::pair("general.architecture", "llama"),
                                      {"general.name", "a name"},
                                      {"general.license", "mit"},
                                      {"general.languages", "en"},
                                      {"general.file_type", "7"},
                                      {"llama.context_length", "48"},
                                      {"tokenizer.ggml.pre", "gpt-2"},
                                      {"tokenizer.ggml.eos_token_id", "0"},
                                      {"tokenizer.ggml.eot_token_id", "7"},
                                      {"tokenizer.chat_template", "{{ messages }}"}}) {
    CAPTURE(key);
    REQUIRE(file.keys.contains(key));
    CHECK(file.keys.at(key) == expected);
  }
  CHECK(file.tensors.at("blk.0.attn_q.weight").type == 8);    // q8_0
  CHECK(file.tensors.at("blk.0.ffn_down.weight").type == 1);  // f16: rows of 40
  CHECK(file.tensors.at("blk.0.attn_norm.weight").type == 0);
  CHECK(file.tensors.at("token_embd.weight").sizes == std::vector<uint64_t>{32, 405});
  CHECK(report.notes.empty());
  CHECK(report.description == concat((directory / "model.gguf").string(), ": llama of ", model->parameters().elements(),
                                     " parameters in ", file.tensors.size(),
                                     " tensors, q8_0, a vocabulary of 405 pieces"));
}

TEST_CASE_FIXTURE(InDirectory, "GGUF: a window limits the context") {
  const auto model = small_model("llama-tiny", [](EncoderOnlyConfig& c) {
    c.attention.kind = AttentionKind::window;
    c.attention.window = 20;
  });
  const auto notes = [&](int length) {
    return export_gguf(directory / "model.gguf", *model, *byte_pairs(), {.trained_length = length}).notes;
  };
  CHECK(notes(20).empty());
  CHECK(notes(48) ==
        std::vector<std::string>{"llama.cpp has no window: the context length in the file is the window, 20 "
                                 "instead of 48 tokens"});
  CHECK(GgufFile(directory / "model.gguf").keys.at("llama.context_length") == "20");
}

TEST_CASE_FIXTURE(InDirectory, "GGUF: models that llama.cpp does not have are errors of one line, and leave no file") {
  const auto check_error = [&](const char* preset, const std::string& expected,
                               const std::function<void(EncoderOnlyConfig&)>& change) {
    const auto model = small_model(preset, change);
    CHECK(error_of([&] { export_gguf(directory / "model.gguf", *model, *byte_pairs(), {}); }) ==
          "[gguf] llama.cpp has no such model: " + expected);
    CHECK(!std::filesystem::exists(directory / "model.gguf"));
  };
  check_error("llama-tiny", "position: expected rope, or learned for a GPT-2, got alibi",
              [](auto& c) { c.position = PositionConfig("alibi"); });
  check_error("llama-tiny", "attention: expected softmax, got linear", [](auto& c) {
    c.attention.kind = AttentionKind::linear;
    c.kv_heads = 0;
  });
  check_error("llama-tiny", "activation: expected silu, got gelu", [](auto& c) { c.activation = Activation::gelu; });
  check_error("gpt2-small", "activation: expected gelu or gelu-tanh, got relu",
              [](auto& c) { c.activation = Activation::relu; });
  check_error("llama-tiny", "head_dim: expected the width divided by the heads, got 10", [](auto& c) {
    c.biases = Biases::qkv;
    c.head_dim = 10;
  });
  check_error("llama-tiny", "rope_scaling: expected none, linear or yarn for this architecture, got llama3",
              [](auto& c) {
                c.qk_norm = true;
                c.position.template get<RopeOptions>().scaling = RopeScaling::llama3;
              });
  check_error("llama-tiny",
              "scale_embedding: expected false, got true; residual_form: expected \"sequential\", got "
              "\"parallel\"",
              [](auto& c) {
                c.scale_embedding = true;
                c.residual_form = ResidualForm::parallel;
              });
}
