// Exports translation models in the format of CTranslate2 (https://github.com/OpenNMT/CTranslate2), version 6:
//
//   DIR/  model.bin  config.json  shared_vocabulary.json (or source_vocabulary.json and target_vocabulary.json)
#pragma once

#include <string>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/encoder_decoder.h"

namespace gyre {

// Throws an Error that names a field if CTranslate2 has no equivalent of the model.
void require_ctranslate2(const EncoderDecoderConfig& config);

// Writes the model in fp32, with the pieces of its vocabulary, and source.spm and target.spm if they are those of
// SentencePiece. CTranslate2 reads pieces of the source without </s>. overwrite: replace a model in the directory;
// other files stay. Throws as require_ctranslate2(). A failure leaves the directory as it was. Returns a description of
// the result.
std::string write_ctranslate2(const Path& directory, const EncoderDecoder& model, const Vocabulary& vocabulary,
                              bool overwrite);

}  // namespace gyre
