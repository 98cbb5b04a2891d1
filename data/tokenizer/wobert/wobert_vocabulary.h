// WordPiece on the words of Chinese text, as in WoBERT and RoFormer (https://github.com/ZhuiyiTechnology/WoBERT). An
// uncased vocabulary first converts the whole text to lower case and removes accents. Then jieba_segmenter.h cuts it
// into words. A word that is a piece of the vocabulary keeps its id; BERT's rules (wordpiece_vocabulary.h) split any
// other word. This is the order of bert4keras with pre_tokenize=lambda s: jieba.cut(s, HMM=False). The tests compare
// the words with jieba and the pieces of other words with Hugging Face's BertTokenizer, not with bert4keras itself.
// wobert_training.h trains such vocabularies.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/tokenizer/vocabulary_bundle.h"
#include "gyre/data/tokenizer/wobert/jieba_segmenter.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

class WobertVocabulary final : public WordPieceVocabulary {
 public:
  // bundle: a vocab.txt, jieba's dictionary and the choice between cased and uncased, as wobert_bundle makes it. Errors
  // of the dictionary name `dictionary_name`.
  WobertVocabulary(const std::string& name, const VocabularyBundle& bundle, const std::string& dictionary_name);
  WobertVocabulary(const std::string& name, const VocabularyBundle& bundle) : WobertVocabulary(name, bundle, name) {}
  std::string_view kind() const override { return "wobert"; }

 private:
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const override;

  JiebaSegmenter segmenter_;
};

// Joins a vocab.txt and the content of jieba's dictionary into one file.
VocabularyBundle wobert_bundle(std::string vocabulary, bool lower_case, std::string dictionary);

// Returns a vocabulary with the pieces and the case of `pieces`, a vocab.txt or a vocabulary that was made from one.
// Throws an Error that names the file if the pieces or the dictionary are malformed.
std::shared_ptr<const Vocabulary> make_wobert_vocabulary(const std::string& name, const Vocabulary& pieces,
                                                         const Path& dictionary);

// Converts text to lower case as a whole and removes accents: str.lower(), NFD and no characters of category Mn.
std::string lower_without_accents(std::string_view text);

}  // namespace gyre
