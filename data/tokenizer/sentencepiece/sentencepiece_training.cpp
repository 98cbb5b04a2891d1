#include <sentencepiece_trainer.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/random.h"
#include "gyre/data/text/core_limit.h"
#include "gyre/data/text/document_text.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"

namespace gyre {

namespace {

// SentencePiece sums per thread, so its number of threads affects the model. It is therefore always the library's
// default; CoreLimit limits the cores that these threads share instead.
constexpr int kLibraryThreads = 16;

// Iterates over the good lines of several files, one file after another. With `sample_lines`, draws that many of them
// (selection sampling, Knuth vol. 2, 3.4.2, algorithm S).
class TrainingLines final : public sentencepiece::SentenceIterator {
 public:
  TrainingLines(TextInputs files, const SentencePieceOptions& options)
      : options_(options),
        random_(options.seed, hash_name("vocabulary sample")),
        text_(std::move(files), options.text.format(), options.text.on_bad_line) {
    set_limits();
    if (options.sample_lines > 0) count_lines();
    Next();
  }

  bool done() const override { return done_; }
  const std::string& value() const override { return part_.text; }
  sentencepiece::util::Status status() const override { return {}; }

  void Next() override {
    while (next_good()) {
      if (options_.sample_lines == 0) return;
      const bool drawn = random_.below(unseen_--) < wanted_;
      if (!drawn) continue;
      --wanted_;
      return;
    }
    done_ = true;
  }

  std::vector<LineReport> reports() { return text_.reports(); }

 private:
  void set_limits() {
    for (LineReport& report : text_.reports()) report.limit = concat(options_.max_sentence_bytes, " bytes");
  }

  bool next_good() {
    while (text_.next(part_)) {
      if (options_.text.on_progress && ++lines_ % kLinesPerReport == 0)
        options_.text.on_progress(text_.file_bytes_read(), text_.file_bytes());
      if (part_.text.size() <= size_t(options_.max_sentence_bytes)) return true;
      LineReport& report = text_.reports()[part_.file];
      report.skip(BadLine::too_long, part_.line, text_.place(part_));
      report.require_clean(options_.text.on_bad_line);
      if (report.unit == "line") --report.kept;
    }
    return false;
  }

  void count_lines() {
    while (next_good()) ++unseen_;
    wanted_ = std::min(options_.sample_lines, unseen_);
    text_.rewind();
    set_limits();
  }

  static constexpr uint64_t kLinesPerReport = 10000;
  const SentencePieceOptions& options_;
  RandomStream random_;
  DocumentText text_;
  DocumentPart part_;
  bool done_ = false;
  uint64_t lines_ = 0;
  uint64_t unseen_ = 0, wanted_ = 0;  // number of remaining good lines, and of those still to be drawn
};

// The piece of a user symbol: normalized text, in which pieces are found, has U+2581 for each space.
std::string piece_of_symbol(std::string symbol) {
  for (size_t at; (at = symbol.find(' ')) != std::string::npos;) symbol.replace(at, 1, "\u2581");
  return symbol;
}

std::string comma_separated(const std::vector<std::string>& symbols) {
  std::string text;
  for (const std::string& symbol : symbols) {
    require(symbol.find_first_of(",\"") == std::string::npos,
            "[vocabulary] expected a user symbol without commas and quotes, got ", symbol);
    if (!text.empty()) text += ',';
    text += piece_of_symbol(symbol);
  }
  return text;
}

// Normalization may change a symbol: it squeezes white space, for example.
void require_symbols_found(const SentencePieceVocabulary& vocabulary, const std::vector<std::string>& symbols) {
  for (const std::string& symbol : symbols) {
    const std::vector<int32_t> ids = vocabulary.encode("a" + symbol + "b");
    const bool is_found = std::ranges::any_of(
        ids, [&, piece = piece_of_symbol(symbol)](int32_t id) { return vocabulary.piece(id) == piece; });
    require(is_found, "[vocabulary] expected user symbols that are found in text, got '", symbol,
            "', which the normalization of text changes; see --normalization and --keep-whitespace");
  }
}

std::unordered_map<std::string, std::string> trainer_arguments(const SentencePieceOptions& options) {
  const bool is_bounded = options.type == "char" || options.type == "word";
  std::unordered_map<std::string, std::string> arguments{
      {"model_type", options.type},
      {"vocab_size", std::to_string(options.size)},
      {"character_coverage", concat(options.character_coverage)},
      {"normalization_rule_name", options.normalization},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"num_threads", std::to_string(kLibraryThreads)},
      {"max_sentence_length", std::to_string(options.max_sentence_bytes)},
      {"unk_id", "0"},
      {"bos_id", "1"},
      {"eos_id", "2"},
      {"pad_id", "-1"},
      {"hard_vocab_limit", is_bounded ? "false" : "true"},
      {"minloglevel", "3"},
  };
  if (options.keep_whitespace) {
    arguments["add_dummy_prefix"] = arguments["remove_extra_whitespaces"] = "false";
  }
  if (!options.user_symbols.empty()) arguments["user_defined_symbols"] = comma_separated(options.user_symbols);
  return arguments;
}

void validate(const TextInputs& files, const SentencePieceOptions& options) {
  if (options.sample_lines > 0 && !files.can_rewind())
    throw UsageError("[vocabulary] --sample-lines reads the text twice: expected files, got a pipe");
  const auto& type = options.type;
  if (type != "unigram" && type != "bpe" && type != "char" && type != "word") {
    throw UsageError("[vocabulary] --type: expected unigram, bpe, char or word, got ", type);
  }
  if (options.size < 4 || options.size > kMaxDimension) {
    throw UsageError("[vocabulary] --size: expected 4 to ", kMaxDimension, " pieces, got ", options.size);
  }
  if (!(options.character_coverage > 0 && options.character_coverage <= 1)) {
    throw UsageError("[vocabulary] --character-coverage: expected a share in (0, 1], got ", options.character_coverage);
  }
}

}  // namespace

std::vector<LineReport> train_sentencepiece(TextInputs files, const SentencePieceOptions& options, const Path& output) {
  validate(files, options);
  const std::string names = files.describe();
  TrainingLines lines(std::move(files), options);
  require(!lines.done(), "[vocabulary] ", names, ": no usable line to train on");
  std::string model;
  const CoreLimit limit(threads());
  const auto status = sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &lines, &model);
  require(status.ok(), "[vocabulary] SentencePiece cannot train ", options.size, " pieces: ", status.ToString());
  // Load the model before saving it, to check that it is valid.
  const SentencePieceVocabulary vocabulary(output.string(), std::move(model));
  require_symbols_found(vocabulary, options.user_symbols);
  vocabulary.save(output);
  return lines.reports();
}

}  // namespace gyre
