#include "gyre/data/tokenizer/gguf_vocabulary.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/json_vocabulary.h"
#include "gyre/data/tokenizer/hugging_face/pre_tokenizer.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_classes.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const char* what, const std::string& expected, const Parts&... got) {
  throw Error("[gguf] llama.cpp has no such vocabulary: ", what, ": expected ", expected, ", got ", got...);
}

// The pieces of a vocabulary, from which the lists of a file follow.
struct GgufPieces {
  std::vector<std::string> texts;
  std::vector<int32_t> types;  // a PieceType each: the format has the same numbers
  std::vector<float> scores{};

  explicit GgufPieces(const Vocabulary& vocabulary) : types(size_t(vocabulary.size()), int32_t(PieceType::normal)) {
    for (int id = 0; id < vocabulary.size(); ++id) {
      texts.push_back(vocabulary.piece(id));
      if (!texts.back().empty()) continue;
      texts.back() = concat("[PAD", id, "]");  // the name that llama.cpp's converter gives to an id without a piece
      set(id, PieceType::unused);
    }
  }
  void set(int32_t id, PieceType type) { types[size_t(id)] = int32_t(type); }
};

// The keys that all vocabularies have, after those of their kind.
void add_special_ids(const Vocabulary& vocabulary, std::vector<GgufKey>& keys) {
  // Without these ids, llama.cpp takes others, and would end a text at an ordinary piece.
  if (!vocabulary.has_ends()) refuse("eos", "a token that ends a text", "none");
  const auto [before, after] = vocabulary.around_text();
  const auto is_only = [](const std::vector<int32_t>& ids, int id) { return ids == std::vector<int32_t>{id}; };
  if (!before.empty() && !is_only(before, vocabulary.bos()))
    refuse("tokens before a text", "the bos_token or none", before.size(), " others");
  if (!after.empty() && !is_only(after, vocabulary.eos()))
    refuse("tokens after a text", "the eos_token or none", after.size(), " others");
  const auto add_id = [&](const char* name, int id) {
    if (id >= 0) keys.push_back({name, uint32_t(id)});
  };
  add_id("tokenizer.ggml.bos_token_id", vocabulary.bos());
  add_id("tokenizer.ggml.eos_token_id", vocabulary.eos());
  add_id("tokenizer.ggml.unknown_token_id", vocabulary.unk());
  add_id("tokenizer.ggml.padding_token_id", vocabulary.pad());
  keys.push_back({"tokenizer.ggml.add_bos_token", !before.empty()});
  keys.push_back({"tokenizer.ggml.add_eos_token", !after.empty()});
}

// ---- SentencePiece -------------------------------------------------------------------------------------------------

// The keys of pieces with scores, for one of llama.cpp's tokenizers.
std::vector<GgufKey> keys_of(const char* tokenizer, const GgufPieces& pieces, const SentencePieceRules& rules) {
  std::vector<GgufKey> keys{
      {"tokenizer.ggml.model", std::string(tokenizer)}, {"tokenizer.ggml.pre", std::string("default")},
      {"tokenizer.ggml.tokens", pieces.texts},          {"tokenizer.ggml.scores", pieces.scores},
      {"tokenizer.ggml.token_type", pieces.types},      {"tokenizer.ggml.add_space_prefix", rules.adds_space}};
  keys.push_back({"tokenizer.ggml.remove_extra_whitespaces", rules.merges_spaces});
  if (rules.character_map.empty()) return keys;
  const std::vector<uint8_t> map(rules.character_map.begin(), rules.character_map.end());
  keys.push_back({"tokenizer.ggml.precompiled_charsmap", map});
  return keys;
}

GgufVocabulary sentencepiece_vocabulary(const SentencePieceVocabulary& vocabulary) {
  const bool is_unigram = vocabulary.kind() == "unigram";
  const SentencePieceRules& rules = vocabulary.rules();
  if (rules.space_is_suffix) refuse("SentencePiece", "spaces before words", "spaces after words");
  if (!rules.escapes_spaces) refuse("SentencePiece", "spaces escaped as U+2581", "plain ones");
  GgufVocabulary gguf;
  GgufPieces pieces(vocabulary);
  bool has_bytes = false, has_symbols = false;
  for (int id = 0; id < vocabulary.size(); ++id) {
    const PieceType type = vocabulary.type(id);
    pieces.set(id, type);
    pieces.scores.push_back(vocabulary.score(id));
    has_bytes = has_bytes || type == PieceType::byte;
    if (type != PieceType::user_defined) continue;
    has_symbols = true;
    pieces.scores.back() = 0;
    // Unigram finds the piece by its score. A user-defined piece of llama.cpp begins a new text after it, with a space.
    if (is_unigram) pieces.set(id, PieceType::normal);
    if (!is_unigram) pieces.texts[size_t(id)] = with_spaces(pieces.texts[size_t(id)]);
  }
  if (is_unigram && has_bytes)
    gguf.notes.emplace_back("llama.cpp reads a character without a piece as <unk>, not as its bytes");
  if (!is_unigram && !has_bytes)
    gguf.notes.emplace_back(
        "llama.cpp fails at a character without a piece, such as a line end: gyre vocab --byte-fallback avoids it");
  if (!is_unigram && (!rules.character_map.empty() || rules.merges_spaces))
    gguf.notes.emplace_back(
        "llama.cpp does not normalize texts for BPE of SentencePiece: runs of spaces and characters such as U+FF21 get "
        "other ids");
  if (!is_unigram && has_symbols)
    gguf.notes.emplace_back("llama.cpp reads a space behind each user-defined piece in a text");
  gguf.keys = keys_of(is_unigram ? "t5" : "llama", pieces, rules);
  return gguf;
}

// ---- tokenizer.json ------------------------------------------------------------------------------------------------

IndexedJson part_of(const IndexedJson& json, const char* key) {
  return json.is_object() ? json.value(key, IndexedJson()) : IndexedJson();
}

// The parts of a Sequence, nested ones too, or a part alone.
std::vector<IndexedJson> steps_of(const IndexedJson& part, const char* list) {
  if (part.is_null()) return {};
  if (part_of(part, "type") != "Sequence") return {part};
  std::vector<IndexedJson> steps;
  for (const IndexedJson& each : part_of(part, list))
    for (IndexedJson& step : steps_of(each, list)) steps.push_back(std::move(step));
  return steps;
}

using Merge = std::pair<std::string, std::string>;

// A file has them as "left right" or as pairs.
std::vector<Merge> merges_of(const IndexedJson& model) {
  std::vector<Merge> merges;
  for (const IndexedJson& merge : part_of(model, "merges")) {
    if (merge.is_array()) {
      merges.emplace_back(merge[0], merge[1]);
      continue;
    }
    const auto& joined = merge.get_ref<const std::string&>();
    const size_t space = joined.find(' ');
    merges.emplace_back(joined.substr(0, space), joined.substr(space + 1));
  }
  return merges;
}

// Added tokens stand for their content, and other programs find them in a text; special ones write nothing.
void add_added_tokens(const JsonVocabulary& vocabulary, GgufPieces& pieces, std::vector<std::string>& notes) {
  bool has_flags = false;
  for (const AddedToken& token : vocabulary.added_tokens()) {
    pieces.texts[size_t(token.id)] = token.content;
    pieces.set(token.id, token.special ? PieceType::control : PieceType::user_defined);
    has_flags = has_flags || token.lstrip || token.rstrip || token.single_word;
  }
  if (has_flags) notes.emplace_back("llama.cpp ignores lstrip, rstrip and single_word of added tokens");
}

// A pre-tokenizer as regular expressions, each of which cuts the words of those before it.
using Patterns = std::vector<std::string>;

constexpr const char* kTekkenWords = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
                                     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
                                     R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// llama.cpp's name of a pre-tokenizer; its code has the expressions, and whether a word that is a piece stays whole.
struct NamedPatterns {
  const char* name;
  Patterns patterns;
  bool ignores_merges;
};

const std::vector<NamedPatterns>& named_patterns() {
  static const std::vector<NamedPatterns> all{
      {"gpt-2", {kGpt2Words}, false},      {"smollm", {R"(\p{N})", kGpt2Words}, false},
      {"llama-bpe", {kLlama3Words}, true}, {"smaug-bpe", {kLlama3Words}, false},
      {"qwen2", {kQwen2Words}, false},     {"tekken", {kTekkenWords}, true}};
  return all;
}

// nullopt: a pre-tokenizer that llama.cpp cannot have.
std::optional<Patterns> patterns_of(const IndexedJson& pre_tokenizer) {
  Patterns patterns;
  const auto steps = steps_of(pre_tokenizer, "pretokenizers");
  for (const IndexedJson& step : steps) {
    const auto is = [&](const char* key, const IndexedJson& otherwise, const IndexedJson& wanted) {
      return step.value(key, otherwise) == wanted;
    };
    if (step["type"] == "ByteLevel") {
      if (&step != &steps.back() || !is("add_prefix_space", true, false)) return std::nullopt;
      if (is("use_regex", true, true)) patterns.emplace_back(kGpt2Words);
    } else if (step["type"] == "Digits" && is("individual_digits", false, true)) {
      patterns.emplace_back(R"(\p{N})");
    } else if (step["type"] == "Split" && part_of(step["pattern"], "Regex").is_string()) {
      // The words are the matches: every character is in one, so that to remove the others removes nothing.
      const bool keeps = is("behavior", "", "Isolated") && is("invert", false, false);
      const bool removes = is("behavior", "", "Removed") && is("invert", false, true);
      if (!keeps && !removes) return std::nullopt;
      patterns.push_back(step["pattern"]["Regex"]);
    } else {
      return std::nullopt;
    }
  }
  return patterns;
}

std::string pre_tokenizer_name(const IndexedJson& tokenizer) {
  const IndexedJson pre_tokenizer = part_of(tokenizer, "pre_tokenizer");
  const bool ignores = part_of(tokenizer["model"], "ignore_merges") == true;
  const auto patterns = patterns_of(pre_tokenizer);
  for (const NamedPatterns& named : named_patterns())
    if (patterns == named.patterns && ignores == named.ignores_merges) return named.name;
  refuse("pre_tokenizer", "that of GPT-2, SmolLM, Llama 3, Qwen2 or Tekken",
         cut_for_message(concat(pre_tokenizer.dump(), ignores ? " with" : " without", " ignore_merges")));
}

// Empty: texts stay as they are.
std::string normalization_note(const IndexedJson& tokenizer) {
  const auto steps = steps_of(part_of(tokenizer, "normalizer"), "normalizers");
  if (steps.empty()) return "";
  if (steps.size() > 1 || steps[0]["type"] != "NFC")
    refuse("normalizer", "null or NFC", cut_for_message(tokenizer["normalizer"].dump()));
  return "llama.cpp does not normalize texts to NFC: letters with combining accents get other ids";
}

GgufVocabulary byte_level_vocabulary(const JsonVocabulary& vocabulary, const IndexedJson& tokenizer) {
  GgufVocabulary gguf;
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const IndexedJson affix = part_of(tokenizer["model"], key);
    if (!affix.is_null() && affix != "") refuse(key, "none", cut_for_message(affix.dump()));
  }
  const std::string name = pre_tokenizer_name(tokenizer);
  if (const std::string note = normalization_note(tokenizer); !note.empty()) gguf.notes.push_back(note);
  if (vocabulary.unk() >= 0) gguf.notes.emplace_back("llama.cpp leaves out bytes without a piece");
  GgufPieces pieces(vocabulary);
  add_added_tokens(vocabulary, pieces, gguf.notes);
  std::vector<std::string> merges;
  for (const auto& [left, right] : merges_of(tokenizer["model"])) merges.push_back(concat(left, " ", right));
  gguf.keys = {{"tokenizer.ggml.model", std::string("gpt2")},
               {"tokenizer.ggml.pre", name},
               {"tokenizer.ggml.tokens", pieces.texts},
               {"tokenizer.ggml.token_type", pieces.types},
               {"tokenizer.ggml.merges", merges}};
  return gguf;
}

// SentencePiece's rules of a tokenizer.json that was converted from such a model: a space before a text, or none.
bool adds_space(const IndexedJson& tokenizer) {
  const auto normalizers = steps_of(part_of(tokenizer, "normalizer"), "normalizers"),
             words = steps_of(part_of(tokenizer, "pre_tokenizer"), "pretokenizers");
  const auto is_space = [](const IndexedJson& step) { return part_of(step["pattern"], "String") == " "; };
  if (words.empty() && !normalizers.empty()) {
    const IndexedJson& last = normalizers.back();
    const bool replaces = last["type"] == "Replace" && is_space(last) && last["content"] == kMarkedSpace;
    const bool prepends =
        normalizers.size() == 2 && normalizers[0]["type"] == "Prepend" && normalizers[0]["prepend"] == kMarkedSpace;
    if (replaces && (prepends || normalizers.size() == 1)) return prepends;
  }
  if (words.size() == 1 && normalizers.empty() && words[0]["type"] == "Metaspace" &&
      words[0].value("replacement", IndexedJson()) == kMarkedSpace &&
      words[0].value("split", IndexedJson(true)) == false) {
    const bool adds = words[0].value("add_prefix_space", IndexedJson(true)) == true;
    return words[0].value("prepend_scheme", IndexedJson(adds ? "always" : "never")) != "never";
  }
  refuse("pre_tokenizer", "that of a SentencePiece model, in which words are not split",
         cut_for_message(
             concat(part_of(tokenizer, "normalizer").dump(), " with ", part_of(tokenizer, "pre_tokenizer").dump())));
}

// Scores with which llama.cpp, which joins the two pieces with the best score for their text, makes the same merges:
// the rank of the first merge that makes a piece. That needs a merge for each way to divide a piece into two, and the
// merges that make a piece to follow one another, as in files that were converted from SentencePiece.
std::vector<float> scores_of(const std::vector<Merge>& merges, const GgufPieces& pieces) {
  std::map<std::string, std::vector<size_t>, std::less<>> cuts;  // sizes of the left pieces by piece
  std::unordered_map<std::string, float> ranks;
  std::string previous;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string joined = merges[rank].first + merges[rank].second;
    if (!ranks.emplace(joined, float(rank)).second && joined != previous)
      refuse("merges", "those of a piece together", "others before the last one of ", quoted_for_message(joined));
    cuts[joined].push_back(merges[rank].first.size());
    previous = joined;
  }
  std::unordered_map<std::string_view, int32_t> types;
  for (size_t id = 0; id < pieces.texts.size(); ++id) types.emplace(pieces.texts[id], pieces.types[id]);
  std::vector<float> scores;
  for (size_t id = 0; id < pieces.texts.size(); ++id) {
    const std::string& text = pieces.texts[id];
    const auto rank = ranks.find(text);
    scores.push_back(rank == ranks.end() ? 0 : -rank->second);
    if (pieces.types[id] != int32_t(PieceType::normal)) continue;
    size_t at = 0;
    for (const std::string_view character : split_characters(text)) {
      at += character.size();
      const std::string_view left = std::string_view(text).substr(0, at), right = std::string_view(text).substr(at);
      if (!types.contains(left) || !types.contains(right)) continue;
      const auto& known = cuts[text];
      if (std::ranges::find(known, at) == known.end())
        refuse("merges", "one for any two pieces that are a piece together", "none for ", quoted_for_message(text),
               " after ", at, " bytes");
    }
  }
  return scores;
}

GgufVocabulary character_vocabulary(const JsonVocabulary& vocabulary, const IndexedJson& tokenizer) {
  GgufVocabulary gguf;
  const SentencePieceRules rules{.adds_space = adds_space(tokenizer), .merges_spaces = false};
  if (part_of(tokenizer["model"], "byte_fallback") != true) refuse("model.byte_fallback", "true", "false");
  GgufPieces pieces(vocabulary);
  add_added_tokens(vocabulary, pieces, gguf.notes);
  if (vocabulary.unk() >= 0) pieces.set(vocabulary.unk(), PieceType::unknown);
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const std::string name{'<', '0', 'x', kDigits[size_t(byte / 16)], kDigits[size_t(byte % 16)], '>'};
    const auto place = std::ranges::find(pieces.texts, name);
    if (place == pieces.texts.end()) refuse("model.vocab", "a piece for each byte", "none for ", name);
    pieces.set(int32_t(place - pieces.texts.begin()), PieceType::byte);
  }
  pieces.scores = scores_of(merges_of(tokenizer["model"]), pieces);
  gguf.keys = keys_of("llama", pieces, rules);
  return gguf;
}

}  // namespace

GgufVocabulary gguf_vocabulary(const Vocabulary& vocabulary) {
  const auto* sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary);
  const auto* json = dynamic_cast<const JsonVocabulary*>(&vocabulary);
  GgufVocabulary gguf;
  if (sentencepiece != nullptr && (vocabulary.kind() == "unigram" || vocabulary.kind() == "bpe")) {
    gguf = sentencepiece_vocabulary(*sentencepiece);
  } else if (json != nullptr && (vocabulary.kind() == "byte-bpe" || vocabulary.kind() == "character-bpe")) {
    IndexedJson tokenizer = parse_strict_json(json->tokenizer(), kTokenizerJsonDepth, "[gguf] ", "tokenizer.json");
    if (const auto add = prefix_space_setting(json->tokenizer_config(), "[gguf] ");
        add && tokenizer.contains("pre_tokenizer"))
      set_prefix_space(tokenizer["pre_tokenizer"], *add);
    gguf = vocabulary.kind() == "byte-bpe" ? byte_level_vocabulary(*json, tokenizer)
                                           : character_vocabulary(*json, tokenizer);
  } else {
    refuse("kind", "byte-level BPE, or unigram or BPE of SentencePiece", vocabulary.kind());
  }
  add_special_ids(vocabulary, gguf.keys);
  return gguf;
}

}  // namespace gyre
