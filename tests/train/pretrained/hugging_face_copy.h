// Tiny models saved by Hugging Face transformers (golden/make_hugging_face.py), and modifiable copies of them.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/safetensors.h"
#include "gyre/train/pretrained/hugging_face.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tests/source_dir.h"
#include "tests/temporary_directory.h"
#include "tests/train/small_run.h"

inline gyre::Path hugging_face_golden(const std::string& name) {
  return source_dir() / "tests/train/golden/hugging_face" / name;
}
// Models in the layouts of published Chinese checkpoints (golden/make_chinese.py).
inline gyre::Path chinese_golden(const std::string& name) { return source_dir() / "tests/train/golden/chinese" / name; }

inline gyre::Path decoder_golden(const std::string& name) {
  return source_dir() / "tests/train/golden/decoders" / name;
}

inline std::vector<float> weights(const gyre::HuggingFaceModel& read) {
  return read.parameters().values().to_vector<float>();
}

inline void export_model(const gyre::HuggingFaceModel& read, const gyre::Path& directory,
                         const gyre::ExportOptions& options = {}) {
  std::visit([&](const auto& m) { write_hugging_face(directory, *m, read.vocabulary.get(), options); }, read.model);
}

// A copy of a golden directory that a test may change.
class HuggingFaceCopy {
 public:
  explicit HuggingFaceCopy(const std::string& model,
                           gyre::Path (*golden)(const std::string& model) = hugging_face_golden)
      : path_(directory_ / model) {
    std::filesystem::copy(golden(model), path_);
  }
  const gyre::Path& path() const { return path_; }
  gyre::Path operator/(const std::string& name) const { return path_ / name; }

  void set(const std::string& key, const gyre::Json& value) const {
    gyre::Json config = gyre::read_json(path_ / "config.json");
    config[key] = value;
    gyre::write_file(path_ / "config.json", config.dump());
  }
  // Applies `change` to the tensors in model.safetensors.
  void change(const std::function<void(std::vector<gyre::NamedTensor>&)>& change) const {
    std::vector<gyre::NamedTensor> tensors;
    {
      const gyre::SafetensorsFile file(path_ / "model.safetensors");
      for (const auto& entry : file.entries()) tensors.push_back({entry.name, file.read(entry)});
    }
    change(tensors);
    gyre::write_safetensors(path_ / "model.safetensors", tensors);
  }
  std::string error() const {
    return error_of([&] { gyre::read_hugging_face(path_); });
  }

 private:
  TemporaryDirectory directory_;
  gyre::Path path_;
};

// The tensors of two models are equal, and RoFormer's sinusoids are up to rounding.
inline void check_same_tensors(const gyre::Path& model, const gyre::Path& expected) {
  const gyre::SafetensorsFile before(expected / "model.safetensors"), after(model / "model.safetensors");
  CHECK(after.entries().size() == before.entries().size());
  for (const auto& entry : before.entries()) {
    CAPTURE(entry.name);
    REQUIRE(after.find(entry.name) != nullptr);
    const auto numbers = before.read(entry).to_vector<float>();
    const auto got = after.read(*after.find(entry.name)).to_vector<float>();
    REQUIRE(got.size() == numbers.size());
    const double tolerance = contains(entry.name, "embed_positions") ? 1e-6 : 0;
    for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - numbers[i]) <= tolerance);
  }
}

// A value in config.json that is an error.
struct ConfigError {
  const char *model, *key;
  gyre::Json value;
  const char* expected;
};

// `file`: a file of the model that every message must name, if any.
inline void check_config_errors(gyre::Path (*golden)(const std::string& model), const std::vector<ConfigError>& cases,
                                const char* file = nullptr) {
  for (const auto& [model, key, value, expected] : cases) {
    const HuggingFaceCopy copy(model, golden);
    copy.set(key, value);
    const std::string error = copy.error();
    CAPTURE(key);
    CAPTURE(error);
    if (file != nullptr) CHECK(contains(error, (copy / file).string()));
    CHECK(contains(error, expected));
  }
}

inline gyre::Tensor& tensor_named(std::vector<gyre::NamedTensor>& tensors, const std::string& name) {
  for (auto& t : tensors) {
    if (t.name == name) return t.tensor;
  }
  throw gyre::Error("no tensor ", name);
}
