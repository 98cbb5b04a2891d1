#include "gyre/data/tokenizer/vocabulary.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/random.h"
#include "gyre/data/tokenizer/bpe_dropout.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/data/tokenizer/marian_vocabulary.h"
#include "gyre/data/tokenizer/pair_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/data/tokenizer/vocabulary_bundle.h"
#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

namespace {

namespace fs = std::filesystem;

bool is_readable(const Path& file) {
  try {
    load_vocabulary(file);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The file to name instead of a directory, of a model of Hugging Face or a run: the first that can be read, or else the
// first. Empty if there is none.
Path vocabulary_in(const Path& directory) {
  std::vector<Path> files, others;
  for (const char* name :
       {"tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.model", "vocab.txt"})
    if (fs::is_regular_file(directory / name)) files.push_back(directory / name);
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().stem() == "vocab" && entry.is_regular_file() && std::ranges::count(files, entry.path()) == 0)
      others.push_back(entry.path());
  std::ranges::sort(others);
  // A copy of the vocabulary in a run has the extension of the original, whatever that is.
  for (const auto* paths : {&files, &others})
    for (const Path& file : *paths)
      if (is_readable(file)) return file;
  return files.empty() ? Path() : files.front();
}

void require_no_directory(const Path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return;
  const Path file = vocabulary_in(path);
  throw Error("[vocabulary] ", path.string(), ": expected a file, got a directory",
              file.empty() ? " without a tokenizer.json, tokenizer.model, spiece.model or vocab.* file"
                           : concat(": give ", file.string()));
}

using Loaded = std::shared_ptr<const Vocabulary>;

Loaded load_bytes(const std::string& /*name*/, const VocabularyBundle& /*bundle*/) {
  return std::make_shared<ByteVocabulary>();
}

template <class V>
Loaded load_kind(const std::string& name, const VocabularyBundle& bundle) {
  return std::make_shared<V>(name, bundle);
}

Loaded vocabulary_of(const Path& path, std::string content);

Loaded load_pair(const std::string& name, const VocabularyBundle& bundle) {
  const auto side = [&](const char* part) {
    const std::string& content = bundle.part(name, part);
    const bool is_pair = VocabularyBundle::recognizes(content) && VocabularyBundle::parse(name, content).kind == "pair";
    require(!is_pair, "[vocabulary] ", name, ": expected a vocabulary of one language as ", part, ", got a pair");
    return vocabulary_of(Path(name) / part, content);
  };
  return std::make_shared<PairVocabulary>(name, side("source"), side("target"));
}

constexpr struct {
  const char* kind;
  Loaded (*load)(const std::string& name, const VocabularyBundle& bundle);
} kKinds[] = {{"bytes", load_bytes},
              {"words", load_kind<WordVocabulary>},
              {"subword-nmt", load_kind<SubwordNmtVocabulary>},
              {"wordpiece", load_kind<WordPieceVocabulary>},
              {"wobert", load_kind<WobertVocabulary>},
              {"byte-bpe", load_kind<JsonVocabulary>},
              {"hugging-face", load_kind<JsonVocabulary>},
              {"sentencepiece", load_kind<SentencePieceVocabulary>},
              {"marian", load_kind<MarianVocabulary>},
              {"pair", load_pair}};

// The vocabulary with this content, of a file with this path.
Loaded vocabulary_of(const Path& path, std::string content) {
  const std::string name = path.string();
  if (SentencePieceVocabulary::recognizes(content)) {
    auto vocabulary = std::make_shared<SentencePieceVocabulary>(name, std::move(content));
    if (path.filename() == "tokenizer.model")
      vocabulary->look_for_added_tokens(find_tokenizer_config(path.parent_path()));
    return vocabulary;
  }
  if (VocabularyBundle::recognizes(content)) {
    const auto bundle = VocabularyBundle::parse(name, content);
    std::string kinds;
    for (const auto& [kind, load] : kKinds) {
      if (bundle.kind == kind) return load(name, bundle);
      kinds += concat(kinds.empty() ? "" : kind == std::rbegin(kKinds)->kind ? " or " : ", ", kind);
    }
    throw Error("[vocabulary] ", name, ": expected kind ", kinds, ", got ", cut_for_message(bundle.kind));
  }
  if (auto vocabulary = load_hugging_face_vocabulary(path, content)) return vocabulary;
  throw Error("[vocabulary] ", name,
              ": expected a SentencePiece model, a file written by gyre vocab, BERT's vocab.txt, or a tokenizer.json");
}

}  // namespace

Vocabulary::Vocabulary(std::string content) : content_(std::move(content)), fingerprint_(hash_name(content_)) {}

Vocabulary::Vocabulary(std::string content, std::string_view identity)
    : content_(std::move(content)), fingerprint_(hash_name(identity)) {}

int Vocabulary::bos() const { return special_.bos >= 0 ? special_.bos : eos(); }

int Vocabulary::eos() const {
  require(special_.eos >= 0, "[vocabulary] expected a token that ends a text, found none: name it in a ",
          R"(tokenizer_config.json beside the vocabulary, as {"eos_token": "<|endoftext|>"})");
  return special_.eos;
}

IdsAroundText Vocabulary::around_text() const { return around_ ? *around_ : IdsAroundText{{bos()}, {}}; }

std::unique_ptr<BpeDropout> Vocabulary::bpe_dropout() const { return nullptr; }

void Vocabulary::require_id(int id) const {
  require(id >= 0 && id < size(), "[vocabulary] expected an id in [0, ", size(), "), got ", id);
}

std::vector<int32_t> Vocabulary::shown(std::span<const int32_t> ids) const {
  std::vector<int32_t> kept;
  kept.reserve(ids.size());
  for (const int32_t id : ids) {
    require_id(id);
    if (id != special_.bos && id != special_.eos && id != special_.pad) kept.push_back(id);
  }
  return kept;
}

std::shared_ptr<const Vocabulary> load_vocabulary(const Path& path) {
  require_no_directory(path);
  return vocabulary_of(path, read_file(path));
}

}  // namespace gyre
