// Vocabularies as llama.cpp reads them from GGUF files, under the keys tokenizer.ggml.*.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/gguf.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct GgufVocabulary {
  std::vector<GgufKey> keys;
  std::vector<std::string> notes{};  // texts whose ids differ in llama.cpp, one line each
};

// llama.cpp's tokenizers, one per kind: gpt2 for byte-level BPE, llama for BPE of SentencePiece and of a tokenizer.json
// with its rules, t5 for unigram. Throws an Error that says what llama.cpp lacks for other vocabularies: other kinds,
// pre-tokenizers and normalizers, and ids around a text that are not those of bos() and eos().
GgufVocabulary gguf_vocabulary(const Vocabulary& vocabulary);

}  // namespace gyre
