#include "gyre/data/tokenizer/hugging_face/legacy_files.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"

namespace gyre {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Lines of two pieces, after a first line "#version: 0.2".
Json read_merges(const Path& file) {
  const std::string content = read_file(file);
  std::string_view rest = content, line;
  Json merges = Json::array();
  for (size_t number = 1; take_line(rest, line); ++number) {
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    const bool is_pair = space != line.npos && line.find(' ', space + 1) == line.npos && !first_invalid_utf8(line);
    require(is_pair, "[vocabulary] ", file.string(), ":", number,
            ": expected two pieces with a space between them, got \"", cut_for_message(line), "\"");
    merges.push_back(Json::array({std::string(line.substr(0, space)), std::string(line.substr(space + 1))}));
  }
  return merges;
}

std::string class_of(const Json& config) {
  const auto name = config.find("tokenizer_class");
  std::string text = name != config.end() && name->is_string() ? name->get<std::string>() : "";
  if (text.ends_with("Fast")) text.resize(text.size() - 4);
  return text;
}

// The special tokens that a class of transformers has by default, those of the vocabulary.
std::vector<AddedToken> default_specials(const std::vector<std::string>& pieces, bool is_roberta) {
  std::vector<std::string> names{"<|endoftext|>"};
  if (is_roberta) names = {"<s>", "</s>", "<unk>", "<pad>", "<mask>"};
  std::vector<AddedToken> specials;
  for (const std::string& name : names) {
    const auto place = std::find(pieces.begin(), pieces.end(), name);
    if (place != pieces.end())
      specials.push_back({.content = name, .id = int32_t(place - pieces.begin()), .special = true});
  }
  std::sort(specials.begin(), specials.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return specials;
}

const AddedToken* find(const std::vector<AddedToken>& tokens, std::string_view content) {
  for (const AddedToken& token : tokens)
    if (token.content == content) return &token;
  return nullptr;
}

}  // namespace

// Looks at the first piece only, such as {"!": 0.
bool is_vocab_json(std::string_view content) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto skip = [&](size_t at) { return std::min(content.size(), content.find_first_not_of(kSpace, at)); };
  const auto holds = [&](size_t at, char c) { return at < content.size() && content[at] == c; };
  const size_t begin = skip(0), quote = skip(begin + 1);
  if (!holds(begin, '{') || !holds(quote, '"')) return false;
  size_t end = quote + 1;
  while (end < content.size() && content[end] != '"') end += content[end] == '\\' ? 2 : 1;
  const size_t colon = skip(end + 1), value = skip(colon + 1);
  return holds(colon, ':') && value < content.size() && content[value] >= '0' && content[value] <= '9';
}

std::vector<std::string> read_pieces(const nlohmann::json& vocab, const std::string& context) {
  std::vector<std::string> pieces(vocab.size());
  std::vector<bool> taken(vocab.size());
  for (const auto& [piece, id] : vocab.items()) {
    const bool fits = id.is_number_unsigned() && id < pieces.size() && !taken[id.get<size_t>()];
    require(fits, context, "piece ", quoted_for_message(piece), ": expected a unique id below ", pieces.size(),
            ", got ", cut_for_message(id.dump()));
    taken[id.get<size_t>()] = true;
    pieces[id.get<size_t>()] = piece;
  }
  return pieces;
}

std::string tokenizer_json_of_merges(const Path& vocab_json, const Json& config) {
  const Path merges = vocab_json.parent_path() / "merges.txt";
  require(std::filesystem::exists(merges), "[vocabulary] ", vocab_json.string(),
          ": expected merges.txt beside it, because the pieces alone do not say how text is divided into them");
  const std::string name = class_of(config);
  constexpr std::string_view kGpt2Classes[] = {"", "PreTrainedTokenizer", "TokenizersBackend", "GPT2Tokenizer"};
  constexpr std::string_view kRobertaClasses[] = {"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer",
                                                  "LEDTokenizer"};
  const bool is_qwen = name == "Qwen2Tokenizer", is_roberta = std::ranges::count(kRobertaClasses, name) > 0;
  require(is_qwen || is_roberta || std::ranges::count(kGpt2Classes, name) > 0, "[vocabulary] ", vocab_json.string(),
          ": expected a tokenizer_class of GPT-2, RoBERTa or Qwen2 in tokenizer_config.json, got ",
          cut_for_message(name), ": transformers converts it, AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
  TokenizerJsonText text;
  const std::string context = concat("[vocabulary] ", vocab_json.string(), ": ");
  text.pieces = read_pieces(parse_strict_json(read_file(vocab_json), 1, context, "the file"), context);
  text.merges = read_merges(merges);
  for (const Json& merge : text.merges)
    require(!merge[1].get_ref<const std::string&>().ends_with("</w>"), "[vocabulary] ", merges.string(),
            ": expected byte-level BPE, as of GPT-2, got BPE with </w> at the ends of words");
  text.added = default_specials(text.pieces, is_roberta);
  if (is_qwen) {
    text.normalizer = {{"type", "NFC"}};
    text.pre_tokenizer = byte_level_words(kQwen2Words);
  } else {
    text.pre_tokenizer = byte_level(false, true);
  }
  const AddedToken *bos = find(text.added, "<s>"), *eos = find(text.added, "</s>");
  if (is_roberta && bos != nullptr && eos != nullptr)
    text.post_processor = {{"type", "RobertaProcessing"},
                           {"sep", {eos->content, eos->id}},
                           {"cls", {bos->content, bos->id}},
                           {"trim_offsets", true},
                           {"add_prefix_space", false}};
  else
    text.post_processor = byte_level(true, true);
  text.decoder = byte_level(true, true);
  text.model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", ""},
                {"end_of_word_suffix", ""},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", false}};
  return text.write();
}

}  // namespace gyre
