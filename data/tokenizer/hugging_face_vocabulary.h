// Reads and writes the tokenizer of a Hugging Face model directory: tokenizer.json, or vocab.json with merges.txt,
// tokenizer.model or vocab.txt, each with the settings in tokenizer_config.json and the files beside it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/tokenizer/hugging_face/json_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

// Reads a file of one of these kinds, `content`, with the settings in its folder. Returns null if the content is none
// of them, except for tokenizer.model and vocab.txt, which load_vocabulary recognizes. Throws an Error that names the
// file and the problem, also for kinds that Gyre knows by name only, such as tekken.json.
std::shared_ptr<const Vocabulary> load_hugging_face_vocabulary(const Path& path, const std::string& content);

// Reads the first of tokenizer.json, vocab.json, tokenizer.model and vocab.txt in the directory; of a RoFormerTokenizer
// and for the tokenizer wobert, vocab.txt first. Returns null if it has none of them. Appends remarks for the user to
// `notes`. Throws an Error that names the file and the problem.
std::shared_ptr<const Vocabulary> read_hugging_face_vocabulary(const Path& directory, const TokenizerChoice& tokenizer,
                                                               int64_t model_size, std::vector<std::string>& notes);

// The name of a run's copy of such a vocabulary: vocab.json, vocab.model or vocab.txt.
Path hugging_face_copy_name(const Vocabulary& vocabulary);

// Whether the files of a vocabulary name a token that begins a text. Otherwise bos() is the one that ends it.
bool names_bos(const Vocabulary& vocabulary);

// The text of the chat template of a model in a directory: that of chat_template.jinja there, or else of the settings
// of its vocabulary. Empty if there is none.
std::string find_chat_template(const Path& directory, const Vocabulary& vocabulary);

// Whether write_hugging_face_vocabulary writes this kind of vocabulary.
bool can_write_hugging_face(const Vocabulary& vocabulary);
// Writes the files of a tokenizer: vocab.txt of a BertTokenizer, or of a RoFormerTokenizer for a vocabulary of kind
// wobert, also as tokenizer.json: without it, RoFormerTokenizer of transformers 5.24 finds no words. No file has
// jieba's dictionary, because RoFormerTokenizer always uses that of its package rjieba. tokenizer.json of a
// JsonVocabulary. tokenizer.model of a SentencePiece vocabulary. tokenizer_config.json of each. longest: maximum
// sequence length of the model in ids; 0: unlimited. chat_template: content of chat_template.jinja, instead of that in
// the settings; empty: no such file. Returns false, and writes nothing, for other kinds of vocabularies.
bool write_hugging_face_vocabulary(const Path& directory, const Vocabulary& vocabulary, int64_t longest,
                                   const std::string& chat_template = {});

}  // namespace gyre
