#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"

#include <unicode/bytestream.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/strip.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

WordTrie::WordTrie(const std::vector<std::pair<std::u32string, double>>& words) {
  struct Range {  // the words that begin with the text of a node
    size_t begin, end, length;
  };
  std::vector<Range> ranges{{0, words.size(), 0}};
  characters_.push_back(0);
  for (size_t node = 0; node < ranges.size(); ++node) {
    auto [begin, end, length] = ranges[node];
    const bool is_word = begin < end && words[begin].first.size() == length;
    weights_.push_back(is_word ? words[begin].second : kNoWord);
    first_child_.push_back(int32_t(ranges.size()));
    for (begin += is_word; begin < end;) {
      const char32_t c = words[begin].first[length];
      const size_t first = begin;
      while (begin < end && words[begin].first[length] == c) ++begin;
      characters_.push_back(c);
      ranges.push_back({first, begin, length + 1});
    }
  }
  first_child_.push_back(int32_t(ranges.size()));
}

int32_t WordTrie::child(int32_t node, char32_t c) const {
  const auto begin = characters_.begin() + first_child_[size_t(node)];
  const auto end = characters_.begin() + first_child_[size_t(node) + 1];
  const auto place = std::lower_bound(begin, end, c);
  return place != end && *place == c ? int32_t(place - characters_.begin()) : kNoNode;
}

namespace {

struct Entry {
  std::u32string word;
  uint64_t frequency;
};

bool is_letter_or_digit(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'0' && c <= U'9');
}

// Whether words of several characters may contain this one.
bool is_joined(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FD5) || is_letter_or_digit(c) ||
         std::u32string_view(U"+#&._%-").find(c) != std::u32string_view::npos;
}

Entry read_entry(const std::string& name, size_t line_number, std::string_view line) {
  const std::string_view fields = strip(line, " \t\n\r\v\f");
  const size_t space = fields.find(' ');
  const std::string_view word = fields.substr(0, space);
  const auto require_entry = [&](bool ok) {
    if (ok) return;
    throw Error("[vocabulary] ", name, ":", line_number, ": expected \"word frequency\" or \"word frequency tag\" in ",
                "UTF-8, got \"", cut_for_message(line), "\"");
  };
  require_entry(space != std::string_view::npos && !first_invalid_utf8(word));
  const std::string_view number = fields.substr(space + 1, fields.find(' ', space + 1) - space - 1);
  uint64_t frequency = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), frequency);
  require_entry(error == std::errc() && stop == number.data() + number.size());
  return {code_points(word), frequency};
}

std::vector<Entry> read_entries(const std::string& name, std::string_view dictionary) {
  std::vector<Entry> entries;
  for (size_t line_number = 1; !dictionary.empty(); ++line_number) {
    const size_t end = dictionary.find('\n');
    entries.push_back(read_entry(name, line_number, dictionary.substr(0, end)));
    dictionary.remove_prefix(end == std::string_view::npos ? dictionary.size() : end + 1);
  }
  return entries;
}

size_t utf8_bytes(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

}  // namespace

JiebaSegmenter::JiebaSegmenter(const std::string& name, std::string_view dictionary)
    : JiebaSegmenter(read(name, dictionary)) {}

JiebaSegmenter JiebaSegmenter::read(const std::string& name, std::string_view dictionary) {
  std::vector<Entry> entries = read_entries(name, dictionary);
  uint64_t total = 0;
  for (const Entry& entry : entries) {
    require(!__builtin_add_overflow(total, entry.frequency, &total), "[vocabulary] ", name,
            ": expected frequencies with a sum below 2^64");
  }
  require(total > 0, "[vocabulary] ", name, ": expected words with frequencies above 0, found none");
  const double log_total = std::log(double(total));
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.word < b.word; });
  std::vector<std::pair<std::u32string, double>> words;
  for (Entry& entry : entries) {
    const double weight = entry.frequency == 0 ? WordTrie::kNoWord : std::log(double(entry.frequency)) - log_total;
    if (!words.empty() && words.back().first == entry.word) {
      words.back().second = weight;
    } else {
      words.emplace_back(std::move(entry.word), weight);
    }
  }
  return {std::move(words), -log_total};
}

// Dynamic programming from the end of the run. The order of the additions and the choice among equal sums are jieba's.
std::vector<size_t> JiebaSegmenter::best_ends(std::u32string_view run) const {
  std::vector<double> best(run.size() + 1, 0);  // logarithm of the probability of the rest of the run
  std::vector<size_t> ends(run.size());
  for (size_t begin = run.size(); begin-- > 0;) {
    double most = WordTrie::kNoWord;
    int32_t node = WordTrie::kRoot;
    for (size_t i = begin; i < run.size(); ++i) {
      node = trie_.child(node, run[i]);
      if (node == WordTrie::kNoNode) break;
      const double weight = trie_.weight(node);
      if (weight == WordTrie::kNoWord || weight + best[i + 1] < most) continue;
      most = weight + best[i + 1];
      ends[begin] = i + 1;
    }
    if (most == WordTrie::kNoWord) {
      most = unknown_ + best[begin + 1];
      ends[begin] = begin + 1;
    }
    best[begin] = most;
  }
  return ends;
}

std::vector<std::string_view> JiebaSegmenter::cut(std::string_view text) const {
  require(!first_invalid_utf8(text), "[vocabulary] expected valid UTF-8");
  const std::u32string characters = code_points(text);
  std::vector<std::string_view> words;
  size_t at = 0, byte = 0;  // the beginning of the next word
  const auto add = [&](size_t end) {
    size_t bytes = 0;
    for (; at < end; ++at) bytes += utf8_bytes(characters[at]);
    words.push_back(text.substr(byte, bytes));
    byte += bytes;
  };
  while (at < characters.size()) {
    if (!is_joined(characters[at])) {
      const bool is_line_end = characters.compare(at, 2, U"\r\n") == 0;
      add(at + (is_line_end ? 2 : 1));
      continue;
    }
    size_t end = at;
    while (end < characters.size() && is_joined(characters[end])) ++end;
    const size_t begin = at;
    const std::vector<size_t> ends = best_ends(std::u32string_view(characters).substr(begin, end - begin));
    while (at < end) {
      size_t stop = begin + ends[at - begin];
      const auto is_single = [&](size_t i) {
        return i < end && begin + ends[i - begin] == i + 1 && is_letter_or_digit(characters[i]);
      };
      if (is_single(at)) {
        while (is_single(stop)) ++stop;
      }
      add(stop);
    }
  }
  require(byte == text.size(), "[vocabulary] expected valid UTF-8");
  return words;
}

WobertVocabulary::WobertVocabulary(const std::string& name, const VocabularyBundle& bundle,
                                   const std::string& dictionary_name)
    : WordPieceVocabulary(name, bundle), segmenter_(dictionary_name, bundle.part(name, "dictionary")) {}

void WobertVocabulary::encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
  const std::string lowered = lower_case() ? lower_without_accents(text) : std::string(text);
  for (const std::string_view word : segmenter_.cut(lowered)) {
    const int32_t id = find(word);
    if (id >= 0) {
      ids.push_back(id);
    } else {
      WordPieceVocabulary::encode_plain(word, ids);
    }
  }
}

VocabularyBundle wobert_bundle(std::string vocabulary, bool lower_case, std::string dictionary) {
  VocabularyBundle bundle{.kind = "wobert"};
  bundle.options = {{"lower_case", lower_case}};
  bundle.parts = {{"dictionary", std::move(dictionary)}, {"vocabulary", std::move(vocabulary)}};
  return bundle;
}

std::shared_ptr<const Vocabulary> make_wobert_vocabulary(const std::string& name, const Vocabulary& pieces,
                                                         const Path& dictionary) {
  const auto* wordpiece = dynamic_cast<const WordPieceVocabulary*>(&pieces);
  require(wordpiece != nullptr, "[vocabulary] ", name, ": expected BERT's vocab.txt for the tokenizer wobert, got a ",
          "vocabulary of kind ", pieces.kind());
  return std::make_shared<WobertVocabulary>(
      name, wobert_bundle(wordpiece->lines(), wordpiece->lower_case(), read_file(dictionary)), dictionary.string());
}

std::string lower_without_accents(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(status);
  require(U_SUCCESS(status), "[vocabulary] ICU has no NFD: ", u_errorName(status));
  icu::UnicodeString lowered = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), int32_t(text.size())));
  lowered.toLower(icu::Locale::getRoot());
  const icu::UnicodeString decomposed = nfd->normalize(lowered, status);
  require(U_SUCCESS(status), "[vocabulary] ICU cannot normalize: ", u_errorName(status));
  icu::UnicodeString kept;
  for (int32_t i = 0; i < decomposed.length(); i = decomposed.moveIndex32(i, 1)) {
    const UChar32 c = decomposed.char32At(i);
    if (u_charType(c) != U_NON_SPACING_MARK) kept.append(c);
  }
  std::string plain;
  kept.toUTF8String(plain);
  return plain;
}

}  // namespace gyre
