// The vocabulary of a model's directory as Hugging Face's BertTokenizer keeps it: vocab.txt or tokenizer.json, and
// tokenizer_config.json.
#pragma once

#include <memory>

#include "data/wordpiece_vocabulary.h"

namespace gyre {

// From vocab.txt or, as transformers 5 writes no such file, from tokenizer.json; none where there is neither. Cased
// when tokenizer_config.json says so. An Error names the file and what is wrong with it.
std::shared_ptr<const Vocabulary> read_hugging_face_vocabulary(const Path& directory);

// Whether tokenizer_config.json asks for RoFormerTokenizer, which finds Chinese words before it looks for pieces, as
// WordPiece does not.
bool has_roformer_tokenizer(const Path& directory);

// vocab.txt and tokenizer_config.json of a BertTokenizer. longest: of the sequences that the model takes, in ids.
void write_hugging_face_vocabulary(const Path& directory, const WordPieceVocabulary& vocabulary, int64_t longest);

}  // namespace gyre
