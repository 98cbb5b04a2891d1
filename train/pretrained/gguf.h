// Exports decoders to llama.cpp and the programs that are built on it: one GGUF file with the weights, the
// configuration, the vocabulary and the chat template.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/core/io/gguf.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/encoder_only.h"

namespace gyre {

struct GgufOptions {
  GgufType type = GgufType::f16;
  // The longest text of the training, which a model without a table of positions is said to support; 0: unknown.
  int trained_length = 0;
  std::string chat_template{};                // Jinja; empty: none
  std::vector<int32_t> ends{};                // ids that end an answer, beside that of the vocabulary
  std::string name{}, license{}, language{};  // facts for people; empty: left out
};

struct GgufReport {
  std::string description;         // what was written
  std::vector<std::string> notes;  // remarks for the user, one line each
};

// Writes the file atomically. Throws an Error of one line, before it writes, for a model or a vocabulary that llama.cpp
// does not have.
GgufReport export_gguf(const Path& file, const EncoderOnly& model, const Vocabulary& vocabulary,
                       const GgufOptions& options);

}  // namespace gyre
