#include "gyre/data/tokenizer/hugging_face/legacy_files.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_classes.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {

namespace {

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

// Reads an object with the ids of pieces, which are 0 .. number of pieces - 1. Returns the pieces by id.
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

TemplateToken named_piece(const Json& config, const char* key, const std::vector<std::string>& pieces,
                          const std::string& context) {
  const std::string token = find_token_setting(config, key, context);
  const auto place = std::find(pieces.begin(), pieces.end(), token);
  require(place != pieces.end(), context, "expected ", quoted_for_message(token), ", the ", key,
          " of RoBERTa's class, among the pieces");
  return {token, int32_t(place - pieces.begin())};
}

// Those of the directories that name no class at all, which transformers does not read.
std::vector<AddedToken> usual_specials(const std::vector<std::string>& pieces) {
  const auto place = std::find(pieces.begin(), pieces.end(), "<|endoftext|>");
  if (place == pieces.end()) return {};
  return {{.content = *place, .id = int32_t(place - pieces.begin()), .special = true}};
}

// The class that the settings name, or else that of the model type.
TokenizerFamily family_of(const Path& vocab_json, const Json& config) {
  const std::string name = tokenizer_class_of(config), type = find_model_type(vocab_json.parent_path());
  const bool is_free = name.empty() || follows_tokenizer_json(name);
  if (is_free && type.empty()) return TokenizerFamily::gpt2;
  const TokenizerFamily family = is_free ? family_of_model_type(type) : family_of_class(name);
  require(family == TokenizerFamily::gpt2 || family == TokenizerFamily::roberta || family == TokenizerFamily::qwen2 ||
              family == TokenizerFamily::gpt_neox,
          "[vocabulary] ", vocab_json.string(), ": expected a tokenizer_class of GPT-2, GPT-NeoX, RoBERTa or Qwen2 in ",
          "tokenizer_config.json, or their model_type in config.json, got ", cut_for_message(is_free ? type : name),
          ": transformers converts it, AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
  return family;
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

std::string tokenizer_json_of_merges(const Path& vocab_json, Json& config) {
  const Path merges = vocab_json.parent_path() / "merges.txt";
  require(std::filesystem::exists(merges), "[vocabulary] ", vocab_json.string(),
          ": expected merges.txt beside it, because the pieces alone do not say how text is divided into them");
  const TokenizerFamily family = family_of(vocab_json, config);
  TokenizerJsonText text;
  const std::string context = concat("[vocabulary] ", vocab_json.string(), ": ");
  text.pieces = read_pieces(parse_strict_json(read_file(vocab_json), 1, context, "the file"), context);
  text.merges = read_merges(merges);
  for (const Json& merge : text.merges)
    require(!merge[1].get_ref<const std::string&>().ends_with("</w>"), "[vocabulary] ", merges.string(),
            ": expected byte-level BPE, as of GPT-2, got BPE with </w> at the ends of words");
  const bool is_nameless = tokenizer_class_of(config).empty() && find_model_type(vocab_json.parent_path()).empty();
  if (is_nameless)
    text.added = usual_specials(text.pieces);
  else
    set_default_tokens(family, config);
  text.normalizer = normalizer_of(family, config, context);
  text.pre_tokenizer = pre_tokenizer_of(family, config, context);
  text.post_processor = byte_level(true, true);
  if (family == TokenizerFamily::roberta) {
    const TemplateToken sep = named_piece(config, "sep_token", text.pieces, context),
                        cls = named_piece(config, "cls_token", text.pieces, context);
    text.post_processor = {{"type", "RobertaProcessing"},
                           {"sep", {sep.content, sep.id}},
                           {"cls", {cls.content, cls.id}},
                           {"trim_offsets", true},
                           {"add_prefix_space", false}};
  }
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
