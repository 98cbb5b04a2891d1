// Export of translation models to CTranslate2, compared with what its own converter made of the same model
// (golden/make_marian.py).
#include "gyre/train/pretrained/ctranslate2.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "gyre/core/io/json.h"
#include "gyre/models/position/rope.h"
#include "tests/byte_reader.h"
#include "tests/train/pretrained/hugging_face_copy.h"

using namespace gyre;

namespace {

Path converted_golden() { return source_dir() / "tests/train/golden/marian/swish"; }

// A model.bin: for each variable its axes, its type and its bytes; for an alias those of its variable.
class ModelBin {
 public:
  struct Variable {
    std::vector<uint32_t> axes;
    uint8_t type = 0;
    std::string bytes;
  };

  explicit ModelBin(const Path& path) {
    ByteReader file(read_file(path));
    const auto text = [&] {
      const std::string bytes = file.text<uint16_t>();
      CHECK(bytes.back() == '\0');
      return bytes.substr(0, bytes.size() - 1);
    };
    CHECK(file.number<uint32_t>() == 6);
    CHECK(text() == "TransformerSpec");
    CHECK(file.number<uint32_t>() == 7);
    for (uint32_t left = file.number<uint32_t>(); left > 0; --left) {
      Variable& variable = variables[text()];
      for (auto axes = file.number<uint8_t>(); axes > 0; --axes) variable.axes.push_back(file.number<uint32_t>());
      variable.type = file.number<uint8_t>();
      variable.bytes = file.text<uint32_t>();
    }
    for (uint32_t left = file.number<uint32_t>(); left > 0; --left) {
      const std::string alias = text();
      variables[alias] = variables.at(text());
    }
    CHECK(file.left() == 0);
  }

  std::map<std::string, Variable> variables;
};

EncoderDecoderConfig small_translation(const std::string& position) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.dim = 16;
  config.heads = 2;
  config.ffn = 20;
  config.encoder_layers = config.decoder_layers = 1;
  config.position = PositionConfig(position);
  return config;
}

}  // namespace

TEST_CASE("ctranslate2: the variables are those of its converter") {
  const HuggingFaceModel read = read_hugging_face(converted_golden());
  const auto& model = *std::get<std::unique_ptr<EncoderDecoder>>(read.model);
  const TemporaryDirectory directory;
  write_ctranslate2(directory / "out", model, *read.vocabulary, false);
  const ModelBin ours(directory / "out/model.bin"), theirs(converted_golden() / "ctranslate2.bin");
  // The converter drops the padding, the last piece, and has the decoder begin with a vector of zeros.
  const std::set<std::string> other{"decoder/start_from_zero_embedding", "decoder/projection/bias"};
  for (const auto& [name, expected] : theirs.variables) {
    CAPTURE(name);
    const auto found = ours.variables.find(name);
    if (found == ours.variables.end()) {
      CHECK((name.find("alibi") != name.npos || name.find("multi_query") != name.npos));
      continue;
    }
    if (other.contains(name)) continue;
    const bool is_table = name.ends_with("embeddings/weight") || name.ends_with("embeddings_0/weight") ||
                          name == "decoder/projection/weight";
    if (name.ends_with("scale_embeddings")) continue;  // a flag here, the factor there
    CHECK(found->second.type == expected.type);
    if (is_table) {
      CHECK(found->second.axes[0] == expected.axes[0] + 1);
      CHECK(found->second.bytes.substr(0, expected.bytes.size()) == expected.bytes);
    } else if (name.ends_with("encodings")) {
      REQUIRE(found->second.bytes.size() == expected.bytes.size());
      for (size_t i = 0; i < expected.bytes.size(); i += sizeof(float)) {
        float a = 0, b = 0;
        std::memcpy(&a, found->second.bytes.data() + i, sizeof a);
        std::memcpy(&b, expected.bytes.data() + i, sizeof b);
        CHECK(std::abs(a - b) < 1e-5F);
      }
    } else {
      CHECK(found->second.axes == expected.axes);
      CHECK(found->second.bytes == expected.bytes);
    }
  }
  const Json settings = read_json(directory / "out/config.json");
  CHECK(settings["decoder_start_token"] == "<pad>");
  CHECK(settings["eos_token"] == "</s>");
  CHECK(settings["add_source_eos"] == true);
  const Json pieces = read_json(directory / "out/shared_vocabulary.json");
  CHECK(pieces.size() == size_t(read.vocabulary->size()));
  CHECK(pieces.back() == "<pad>");
}

TEST_CASE("ctranslate2: every part of a supported model has a variable, and the rest is refused") {
  const auto vocabulary = load_vocabulary(converted_golden() / "source.spm");
  for (const char* position : {"sinusoidal", "learned", "rope", "shaw"}) {
    for (const NormPlacement norm : {NormPlacement::pre, NormPlacement::post}) {
      CAPTURE(position);
      const TemporaryDirectory directory;
      EncoderDecoderConfig config = small_translation(position);
      config.vocab_size = vocabulary->size();
      config.norm = norm;
      config.tied_embeddings = norm == NormPlacement::post;
      EncoderDecoder model(config);
      model.parameters().allocate(1);
      write_ctranslate2(directory / "out", model, *vocabulary, false);
      const ModelBin bin(directory / "out/model.bin");
      CHECK(bin.variables.contains("decoder/layer_0/attention/linear_2/weight"));
      CHECK(bin.variables.contains("encoder/layer_norm/gamma") == (norm == NormPlacement::pre));
      const std::string name = position;
      CHECK(bin.variables.contains("decoder/position_encodings/encodings") ==
            (name == "sinusoidal" || name == "learned"));
      CHECK(bin.variables.contains("encoder/layer_0/self_attention/rotary_dim") == (name == "rope"));
      CHECK(bin.variables.contains("encoder/layer_0/self_attention/relative_position_keys") == (name == "shaw"));
      CHECK(contains(error_of([&] { write_ctranslate2(directory / "out", model, *vocabulary, false); }),
                     "holds a model already"));
      write_ctranslate2(directory / "out", model, *vocabulary, true);
    }
  }
  for (const char* position : {"none", "alibi", "t5", "wavelet"})
    CHECK(contains(error_of([&] { require_ctranslate2(small_translation(position)); }),
                   concat("position: expected sinusoidal, learned, shaw or rope, got ", position)));
  EncoderDecoderConfig rope = small_translation("rope");
  rope.position.get<RopeOptions>().rotate_cross = true;
  CHECK(contains(error_of([&] { require_ctranslate2(rope); }), "rope_rotate_cross: expected false, got true"));
}
