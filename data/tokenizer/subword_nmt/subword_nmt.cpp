#include "gyre/data/tokenizer/subword_nmt/subword_nmt.h"

#include <algorithm>
#include <queue>
#include <string>
#include <tuple>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/strip.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"

namespace gyre {
namespace {

constexpr std::string_view kWordEnd = "</w>", kLineSpace = "\r\n ";
constexpr int32_t kNoSymbol = -1;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(at, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

struct Version {
  bool joins_word_end = false;  // 0.2: the end-of-word marker is part of the last symbol; 0.1: it is a separate symbol
  bool is_bytes = false;
  size_t lines = 0;  // number of lines before the merges: 1 if the first line gives the version
};

Version read_version(const std::string& name, std::string_view first_line) {
  if (!first_line.starts_with("#version:")) return {};
  std::string_view number = strip(first_line.substr(9), " \t\r");
  Version version{.lines = 1};
  if (number.ends_with(" byte")) {
    version.is_bytes = true;
    number = strip(number.substr(0, number.size() - 5), " ");
  }
  const std::string_view given = number;
  while (number.ends_with(".0")) number.remove_suffix(2);
  version.joins_word_end = number == "0.2";
  require(number == "0.2" || (number == "0.1" && !version.is_bytes), "[subword-nmt] ", name,
          ":1: expected codes of version 0.1 or 0.2, got ", cut_for_message(given));
  return version;
}

uint64_t pair_key(int32_t left, int32_t right) { return (uint64_t(uint32_t(left)) << 32) | uint32_t(right); }

std::vector<std::string_view> split_bytes(std::string_view text) {
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
  return bytes;
}

}  // namespace

SubwordNmt::SubwordNmt(const std::string& name, std::string_view codes, std::string separator)
    : separator_(std::move(separator)) {
  const Version version = read_version(name, codes.substr(0, codes.find('\n')));
  joins_word_end_ = version.joins_word_end;
  is_bytes_ = version.is_bytes;
  while (codes.ends_with('\n')) codes.remove_suffix(1);
  const auto lines = split(codes, '\n');
  // Read from the last line to the first, like subword-nmt: the first of several equal merges in the file gives the
  // rank. If several merges produce the same symbol, re-splitting undoes the first of them.
  for (size_t i = lines.size(); i > version.lines; --i) {
    const auto pair = split(strip(lines[i - 1], "\r\n "), ' ');
    if (pair.size() != 2)
      throw Error("[subword-nmt] ", name, ":", i, ": expected two symbols separated by a space, got \"",
                  cut_for_message(lines[i - 1]), "\"");
    add_merge(pair[0], pair[1], int32_t(i));
  }
  require(!merges_.empty(), "[subword-nmt] ", name, ": expected at least one merge");
}

void SubwordNmt::add_merge(std::string_view left, std::string_view right, int32_t rank) {
  const std::string merged = concat(left, right);
  const auto [place, is_new] =
      merges_.try_emplace(pair_key(intern(left), intern(right)), BpeMerge{rank, intern(merged)});
  place->second.rank = rank;
  if (is_new) origins_[merged] = {std::string(left), std::string(right)};
}

int32_t SubwordNmt::intern(std::string_view symbol) {
  return symbols_.try_emplace(std::string(symbol), int32_t(symbols_.size())).first->second;
}

int32_t SubwordNmt::find(std::string_view symbol) const {
  const auto place = symbols_.find(symbol);
  return place == symbols_.end() ? kNoSymbol : place->second;
}

const BpeMerge* SubwordNmt::find_merge(int32_t left, int32_t right) const {
  if (left < 0 || right < 0) return nullptr;
  const auto place = merges_.find(pair_key(left, right));
  return place == merges_.end() ? nullptr : &place->second;
}

std::vector<std::string_view> SubwordNmt::words(std::string_view line) {
  auto words = split(strip(line, kLineSpace), ' ');
  std::erase(words, std::string_view{});
  return words;
}

std::vector<std::string> SubwordNmt::segment_word(std::string_view word, MergeDrops* drops) const {
  auto pieces = unmarked_pieces(word, drops);
  for (size_t i = 0; i + 1 < pieces.size(); ++i) pieces[i] += separator_;
  return pieces;
}

std::vector<std::string> SubwordNmt::unmarked_pieces(std::string_view word, MergeDrops* drops) const {
  const auto characters = is_bytes_ ? split_bytes(word) : split_characters(word);
  if (characters.size() == 1) return {std::string(word)};
  // The nodes are ranges of this text.
  const std::string text = std::string(word).append(kWordEnd);
  std::vector<Node> nodes = first_nodes(text, characters);
  drops == nullptr ? merge_all(nodes) : merge_some(nodes, *drops);
  std::vector<std::string> pieces;
  for (int32_t i = 0; i >= 0; i = nodes[size_t(i)].next) {
    const Node& node = nodes[size_t(i)];
    pieces.push_back(text.substr(size_t(node.begin), size_t(node.end - node.begin)));
  }
  if (pieces.back() == kWordEnd) {
    pieces.pop_back();
  } else {
    pieces.back().resize(pieces.back().size() - kWordEnd.size());
  }
  return vocabulary_.empty() ? pieces : split_unknown(pieces);
}

std::vector<SubwordNmt::Node> SubwordNmt::first_nodes(std::string_view text,
                                                      const std::vector<std::string_view>& characters) const {
  std::vector<Node> nodes;
  const auto add = [&](int32_t begin, int32_t end) {
    const auto index = int32_t(nodes.size());
    nodes.push_back({find(text.substr(size_t(begin), size_t(end - begin))), begin, end, index - 1, index + 1});
  };
  int32_t begin = 0;
  for (size_t i = 0; i + 1 < characters.size(); ++i) {
    add(begin, begin + int32_t(characters[i].size()));
    begin = nodes.back().end;
  }
  const auto word_end = int32_t(text.size() - kWordEnd.size());
  if (joins_word_end_) {
    add(begin, int32_t(text.size()));
  } else {
    add(begin, word_end);
    add(word_end, int32_t(text.size()));
  }
  nodes.back().next = -1;
  return nodes;
}

// Repeatedly merges all occurrences, from left to right, of the pair with the lowest rank. A priority queue holds the
// candidate pairs, so a word of n characters takes O(n log n) time.
void SubwordNmt::merge_all(std::vector<Node>& nodes) const {
  struct Candidate {
    int32_t rank, at, left, right, merged;
    bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](int32_t at) {
    if (at < 0 || nodes[size_t(at)].next < 0) return;
    const int32_t left = nodes[size_t(at)].symbol, right = nodes[size_t(nodes[size_t(at)].next)].symbol;
    if (const BpeMerge* merge = find_merge(left, right)) queue.push({merge->rank, at, left, right, merge->symbol});
  };
  for (size_t i = 0; i < nodes.size(); ++i) consider(int32_t(i));
  std::vector<Candidate> round;
  while (!queue.empty()) {
    // Remove the whole round from the queue first. Its merges may produce pairs of lower rank, which must not be merged
    // before the round ends.
    round.clear();
    for (const int32_t rank = queue.top().rank; !queue.empty() && queue.top().rank == rank; queue.pop()) {
      round.push_back(queue.top());
    }
    for (const Candidate& c : round) {
      Node& node = nodes[size_t(c.at)];
      if (node.symbol != c.left || node.next < 0 || nodes[size_t(node.next)].symbol != c.right) continue;
      Node& merged_node = nodes[size_t(node.next)];
      node.symbol = c.merged;
      node.end = merged_node.end;
      node.next = merged_node.next;
      merged_node.symbol = kNoSymbol;
      if (node.next >= 0) nodes[size_t(node.next)].previous = c.at;
      consider(node.previous);
      consider(c.at);
    }
  }
}

void SubwordNmt::merge_some(std::vector<Node>& nodes, MergeDrops& drops) const {
  std::vector<BpePart> parts;
  for (const Node& node : nodes) parts.push_back({node.symbol, node.end - node.begin});
  merge_with_drops(
      parts, [this](int32_t left, int32_t right) { return find_merge(left, right); }, drops);
  nodes.clear();
  int32_t begin = 0;
  for (const BpePart& part : parts) {
    const auto index = int32_t(nodes.size());
    nodes.push_back({part.symbol, begin, begin + part.length, index - 1, index + 1});
    begin += part.length;
  }
  nodes.back().next = -1;
}

bool SubwordNmt::is_known(const std::string& piece, bool is_final) const {
  return vocabulary_.contains(is_final ? piece : piece + separator_);
}

std::vector<std::string> SubwordNmt::split_unknown(const std::vector<std::string>& pieces) const {
  std::vector<std::string> out;
  for (size_t i = 0; i < pieces.size(); ++i) split_piece(pieces[i], i + 1 == pieces.size(), out);
  return out;
}

void SubwordNmt::split_piece(const std::string& piece, bool is_final, std::vector<std::string>& out) const {
  const auto origin = is_known(piece, is_final) || piece.empty()
                          ? origins_.end()
                          : origins_.find(is_final ? concat(piece, kWordEnd) : piece);
  if (origin == origins_.end()) {
    out.push_back(piece);
    return;
  }
  std::string right = origin->second.second;
  if (is_final) right.resize(right.size() - std::min(right.size(), kWordEnd.size()));
  split_piece(origin->second.first, false, out);
  split_piece(right, is_final, out);
}

std::string undo_subword_nmt(std::string_view text, std::string_view separator) {
  std::string plain;
  for (size_t at = 0;;) {
    const size_t found = separator.empty() ? std::string_view::npos : text.find(separator, at);
    plain += text.substr(at, found - at);
    if (found == std::string_view::npos) return plain;
    at = found + separator.size();
    if (at == text.size()) return plain;
    if (text[at] == ' ') {
      ++at;
    } else {  // not at the end of a piece: the separator is part of the text
      plain += text[found];
      at = found + 1;
    }
  }
}

// ---- BPE dropout for subword-nmt vocabularies ----------------------------------------------------------------------

namespace {

class SubwordNmtDropout final : public BpeDropout {
 public:
  explicit SubwordNmtDropout(const SubwordNmtVocabulary& vocabulary)
      : vocabulary_(vocabulary), texts_(size_t(vocabulary.size())), continues_(size_t(vocabulary.size())) {
    const std::string& separator = vocabulary.segmenter().separator();
    for (int id = 0; id < vocabulary.size(); ++id) {
      std::string& text = texts_[size_t(id)];
      text = vocabulary.piece(id);
      if (id == vocabulary.unk() || !text.ends_with(separator)) continue;
      text.resize(text.size() - separator.size());
      continues_[size_t(id)] = true;
    }
  }

  // An unknown piece hides whether its word ends, so the words on both sides of it stay.
  std::vector<int32_t> segment(std::span<const int32_t> ids, MergeDrops& drops) const override {
    std::vector<int32_t> result;
    bool is_after_unknown = false;
    while (!ids.empty()) {
      const auto last = std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return !continues_[size_t(id)]; });
      const auto word = ids.first(size_t(last - ids.begin()) + (last == ids.end() ? 0 : 1));
      ids = ids.subspan(word.size());
      const bool is_unknown = word.back() == vocabulary_.unk();
      if (is_unknown || is_after_unknown || !segment_word(word, drops, result)) {
        result.insert(result.end(), word.begin(), word.end());
      }
      is_after_unknown = is_unknown;
    }
    return result;
  }

 private:
  // Appends the new ids of a word. Returns false if the word must stay: the new pieces are not all in the vocabulary,
  // or the text cannot be recovered from `word` (a part of a word, or a word that ends with the separator).
  bool segment_word(std::span<const int32_t> word, MergeDrops& drops, std::vector<int32_t>& result) const {
    std::string text;
    for (const int32_t id : word) text += texts_[size_t(id)];
    if (!std::ranges::equal(vocabulary_.encode(text), word)) return false;
    const size_t before = result.size();
    for (const std::string& piece : vocabulary_.segmenter().segment_word(text, &drops)) {
      const int32_t id = vocabulary_.dictionary().find(piece);
      if (id == vocabulary_.unk()) {
        result.resize(before);
        return false;
      }
      result.push_back(id);
    }
    return true;
  }

  const SubwordNmtVocabulary& vocabulary_;
  std::vector<std::string> texts_;  // text of each piece, without the separator
  std::vector<bool> continues_;     // whether the piece does not end a word
};

}  // namespace

std::unique_ptr<BpeDropout> SubwordNmtVocabulary::bpe_dropout() const {
  return std::make_unique<SubwordNmtDropout>(*this);
}

}  // namespace gyre
