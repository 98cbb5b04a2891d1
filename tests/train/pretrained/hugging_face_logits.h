// Differences between the logits of imported models and those of transformers.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/train/pretrained/hugging_face.h"

namespace hugging_face_logits {

template <class T>
gyre::Tensor flat(const std::vector<T>& values) {
  return gyre::Tensor::from({int64_t(values.size())}, values);
}

// The logits of one sequence, row by row.
inline std::vector<float> logits_of(const gyre::EncoderOnly& model, gyre::Tape& tape, const gyre::Tensor& ids,
                                    const gyre::Tensor& types) {
  const bool has_types = model.config().token_types > 0;
  return model
      .logits(model.encode(tape, ids, gyre::Segments::from_lengths({int32_t(ids.size())}),
                           has_types ? types : gyre::Tensor()))
      .value()
      .to_vector<float>();
}
inline std::vector<float> logits_of(const gyre::SequenceClassifier& model, gyre::Tape& tape, const gyre::Tensor& ids,
                                    const gyre::Tensor& types) {
  return model.outputs(tape, {ids, gyre::Segments::from_lengths({int32_t(ids.size())}), {}, types})
      .value()
      .to_vector<float>();
}

// A translation model has no logits of one sequence.
inline std::vector<float> logits_of(const gyre::EncoderDecoder&, gyre::Tape&, const gyre::Tensor&,
                                    const gyre::Tensor&) {
  throw gyre::Error("expected a model that reads one sequence, got a translation model");
}

inline void append(std::vector<double>& numbers, const gyre::Json& json) {
  if (json.is_number()) return numbers.push_back(json.get<double>());
  for (const auto& part : json) append(numbers, part);
}

struct Distance {
  double worst = 0;    // the maximum difference from the logits of transformers
  double largest = 0;  // the maximum of their absolute values
};

// golden: {"ids", "token_types", `kind`: {model: logits of each sequence}}.
inline Distance distance(const gyre::HuggingFaceModel& read, const gyre::Json& golden, const std::string& model,
                         const char* kind = "logits") {
  Distance result;
  for (size_t i = 0; i < golden["ids"].size(); ++i) {
    std::vector<double> expected;
    append(expected, golden[kind][model][i]);
    gyre::Tape tape(gyre::cpu_kernels(), {.record = false});
    const gyre::Tensor ids = flat(golden["ids"][i].get<std::vector<int32_t>>());
    const gyre::Tensor types = flat(golden["token_types"][i].get<std::vector<int32_t>>());
    const auto got = std::visit([&](const auto& m) { return logits_of(*m, tape, ids, types); }, read.model);
    REQUIRE(got.size() == expected.size());
    for (size_t j = 0; j < got.size(); ++j) {
      result.worst = std::max(result.worst, std::abs(double(got[j]) - expected[j]));
      result.largest = std::max(result.largest, std::abs(expected[j]));
    }
  }
  return result;
}

}  // namespace hugging_face_logits
