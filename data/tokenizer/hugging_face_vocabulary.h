// Reads and writes the vocabulary of a Hugging Face model directory with a BertTokenizer or RoFormerTokenizer:
// vocab.txt or tokenizer.json, and tokenizer_config.json; or of one with byte-level BPE in tokenizer.json.
#pragma once

#include <memory>

#include "gyre/data/tokenizer/byte_bpe/byte_bpe_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

// Reads vocab.txt, or tokenizer.json if there is none (transformers 5 writes no vocab.txt). Returns null if the
// directory has neither. The vocabulary is cased if tokenizer_config.json says so. Throws an Error that names the file
// and the problem.
std::shared_ptr<const Vocabulary> read_hugging_face_vocabulary(const Path& directory, const TokenizerChoice& tokenizer);

// Writes vocab.txt and tokenizer_config.json of a BertTokenizer, or of a RoFormerTokenizer for a vocabulary of kind
// wobert, also as tokenizer.json: without it, RoFormerTokenizer of transformers 5.24 finds no words. No file has
// jieba's dictionary, because RoFormerTokenizer always uses that of its package rjieba. longest: maximum sequence
// length of the model in ids.
void write_hugging_face_vocabulary(const Path& directory, const WordPieceVocabulary& vocabulary, int64_t longest);

// Reads a tokenizer.json with byte-level BPE, and tokenizer_config.json. size: number of ids of the model, which may
// have more than there are pieces. Returns null if the directory has no tokenizer.json. Throws an Error that names the
// file and the field for any other tokenizer.
std::shared_ptr<const Vocabulary> read_hugging_face_byte_bpe(const Path& directory, int64_t size);

// Writes tokenizer.json and tokenizer_config.json.
void write_hugging_face_vocabulary(const Path& directory, const ByteBpeVocabulary& vocabulary);

}  // namespace gyre
