// WordPiece on the words of Chinese text, as in WoBERT and RoFormer (https://github.com/ZhuiyiTechnology/WoBERT). An
// uncased vocabulary first converts the whole text to lower case and removes accents. Then JiebaSegmenter cuts it
// into words. A word that is a piece of the vocabulary keeps its id; BERT's rules (wordpiece_vocabulary.h) split any
// other word. This is the order of bert4keras with pre_tokenize=lambda s: jieba.cut(s, HMM=False). The tests compare
// the words with jieba and the pieces of other words with Hugging Face's BertTokenizer, not with bert4keras itself.
// wobert_training.h trains such vocabularies.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/data/tokenizer/vocabulary_bundle.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

// A trie of weighted words, which finds all words that begin at a position of a text in one pass.
class WordTrie {
 public:
  static constexpr int32_t kRoot = 0, kNoNode = -1;
  static constexpr double kNoWord = -std::numeric_limits<double>::infinity();

  // words: distinct, non-empty words in the order of their code points, with their weights. A word of weight kNoWord
  // is only the beginning of longer words.
  explicit WordTrie(const std::vector<std::pair<std::u32string, double>>& words);

  // Returns the node of the text of `node` followed by `c`, or kNoNode if no word begins so.
  int32_t child(int32_t node, char32_t c) const;
  // Returns the weight of the word that ends at this node, or kNoWord.
  double weight(int32_t node) const { return weights_[size_t(node)]; }

 private:
  // Indexed by node, breadth first. The children of a node are consecutive and sorted by their last character.
  std::vector<char32_t> characters_;
  std::vector<int32_t> first_child_;  // has one entry more than there are nodes
  std::vector<double> weights_;
};

// Splits Chinese text into words like jieba.cut(text, HMM=False) of Python's jieba 0.42.1. Runs of the characters that
// jieba's dictionary may contain, [U+4E00-U+9FD5 a-z A-Z 0-9 + # & . _ % -], are split so that the product of the
// words' probabilities, frequency / total, is largest; a character that begins no word counts as a word of frequency 1.
// Among equally probable words the longest wins. Single ASCII letters and digits in a row become one word, and every
// other character is a word.
class JiebaSegmenter {
 public:
  // dictionary: content of a file in jieba's format, UTF-8 with a word, its frequency and optionally a tag per line,
  // separated by single spaces. As in jieba, the last of several equal words gives its frequency, all of them count in
  // the total, a word of frequency 0 is no word, and a byte order mark is part of the first word. `name` is the name of
  // the file for messages. Throws an Error for a malformed line and for a total of 0.
  JiebaSegmenter(const std::string& name, std::string_view dictionary);

  // Returns the words in order; together they are the text. Throws an Error for invalid UTF-8. Thread-safe.
  std::vector<std::string_view> cut(std::string_view text) const;

 private:
  JiebaSegmenter(std::vector<std::pair<std::u32string, double>> words, double unknown)
      : trie_(words), unknown_(unknown) {}
  static JiebaSegmenter read(const std::string& name, std::string_view dictionary);
  // Returns where each word of the run ends if a word begins at the index.
  std::vector<size_t> best_ends(std::u32string_view run) const;

  WordTrie trie_;
  double unknown_;  // logarithm of the probability of a character that begins no word
};

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
