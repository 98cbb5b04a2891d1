// gyre vocab: trains a SentencePiece or WordPiece vocabulary, or converts existing files to a vocabulary file.
#include <algorithm>
#include <iostream>
#include <memory>

#include "gyre/core/io/output_target.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece_vocabulary.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_training.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"
#include "tools/options/cpu_threads.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct VocabArgs {
  std::vector<Path> input;
  Path output, codes, dictionary;
  SentencePieceOptions sentencepiece;
  std::string on_bad_line = "default";
  uint64_t threshold = 0;
  std::string separator = "@@";
  WordPieceTraining wordpiece;  // its size is that of sentencepiece
  CpuThreads threads;
  const OptionTable* table = nullptr;
};

bool is_any(const std::string& type, std::initializer_list<const char*> kinds) {
  return std::find(kinds.begin(), kinds.end(), type) != kinds.end();
}

void reject_unused(const VocabArgs& args) {
  const std::string& type = args.sentencepiece.type;
  const std::string reason = "--type is " + type;
  const bool is_sentencepiece = is_any(type, {"unigram", "bpe", "char", "word"});
  const bool is_wordpiece = type == "wordpiece";
  if (is_wordpiece && args.input.empty() == args.dictionary.empty())
    throw UsageError("--type wordpiece: expected either --input (text to train on) or --dictionary (a vocab.txt)");
  const bool trains = is_sentencepiece || (is_wordpiece && !args.input.empty());
  for (const char* name : {"input", "size", "cpu-threads", "on-bad-line"})
    args.table->reject_unused(name, trains, is_wordpiece ? "--dictionary is trained already" : reason);
  for (const char* name : {"character-coverage", "normalization", "byte-fallback", "keep-whitespace", "user-symbols",
                           "sample-lines", "seed", "max-sentence-bytes"})
    args.table->reject_unused(name, is_sentencepiece, reason);
  for (const char* name : {"min-frequency", "limit-alphabet"})
    args.table->reject_unused(name, is_wordpiece && trains, is_wordpiece ? "--dictionary is trained already" : reason);
  const bool reads_dictionary = !trains && type != "bytes";
  args.table->reject_unused("dictionary", reads_dictionary, reason);
  args.table->reject_unused("vocabulary-threshold", is_any(type, {"subword-nmt", "words"}), reason);
  args.table->reject_unused("codes", type == "subword-nmt", reason);
  args.table->reject_unused("separator", type == "subword-nmt", reason);
  args.table->reject_unused("lower-case", is_wordpiece, reason);
  if (trains && args.input.empty()) throw UsageError("--input is missing: expected text to train on");
  if (reads_dictionary && args.dictionary.empty())
    throw UsageError("--dictionary is missing: expected the tokens of --type ", type);
  if (type == "subword-nmt" && args.codes.empty())
    throw UsageError("--codes is missing: expected the merges of subword-nmt");
}

std::vector<LineReport> train(VocabArgs& args) {
  args.threads.use();
  const OnBadLine on_bad_line = parse_on_bad_line(args.on_bad_line);
  if (args.sentencepiece.type == "wordpiece") {
    args.wordpiece.merges.size = args.sentencepiece.size;
    args.wordpiece.on_bad_line = on_bad_line;
    return train_wordpiece(args.input, args.wordpiece, args.output);
  }
  args.sentencepiece.on_bad_line = on_bad_line;
  return train_sentencepiece(args.input, args.sentencepiece, args.output);
}

int make_vocabulary(VocabArgs& args) {
  require_no_input(args.output, args.input);
  require_no_input(args.output, {args.codes, args.dictionary});
  reject_unused(args);
  const std::string& type = args.sentencepiece.type;
  if (type == "subword-nmt") {
    write_subword_nmt_vocabulary(args.codes, args.dictionary, args.threshold, args.separator, args.output);
  } else if (type == "words") {
    write_word_vocabulary(args.dictionary, args.threshold, args.output);
  } else if (type == "wordpiece" && args.input.empty()) {
    write_wordpiece_vocabulary(args.dictionary, args.wordpiece.lower_case, args.output);
  } else if (type == "bytes") {
    ByteVocabulary().save(args.output);
  } else {
    for (const auto& report : train(args)) std::cerr << report.describe() << '\n';
  }
  if (!is_file_output(args.output)) return 0;  // a pipe cannot be read back
  const auto vocabulary = load_vocabulary(args.output);
  std::cerr << args.output.string() << ": " << vocabulary->size() << " pieces (" << vocabulary->kind() << ")\n";
  return 0;
}

void add_training_rows(OptionTable& table, VocabArgs& args) {
  table.group("Training (unigram, bpe, char, word, wordpiece)");
  table.add("--input,-i,--train-sets", args.input, "FILE...",
            "text, one sentence per line; files of both languages for a joint vocabulary");
  table.add("--size,--vocab-size,--dim-vocabs", args.sentencepiece.size, "PIECES",
            "number of tokens, including special tokens");
  args.threads.add_row(table, ",--num-threads");
  table.add_choice("--on-bad-line", args.on_bad_line, {"default", "error", "skip"},
                   "handling of bad lines; default: error for invalid UTF-8, skip for empty and overlong lines");
}

void add_sentencepiece_rows(OptionTable& table, VocabArgs& args) {
  SentencePieceOptions& o = args.sentencepiece;
  table.group("Training with SentencePiece (unigram, bpe, char, word)");
  table.add("--character-coverage", o.character_coverage, "SHARE",
            "share of the characters that the vocabulary covers");
  table.add_custom(
      "--normalization,--normalization-rule-name", 1, 1, "WORD",
      "normalization rule of SentencePiece: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf, identity",
      [&o](const auto& values) { o.normalization = values.back(); }, [&o] { return toml_value(o.normalization); });
  table.set_completions({"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"});
  table.add_flag("--byte-fallback", o.byte_fallback,
                 "encode unknown characters as bytes; takes 256 tokens of the vocabulary");
  table.add_flag(
      "--keep-whitespace", o.keep_whitespace,
      "neither add nor remove whitespace; with --normalization identity --byte-fallback, decoding restores any text "
      "without U+2581");
  table.add("--user-symbols,--user-defined-symbols", o.user_symbols, "PIECE...", "symbols that are never split");
  table.add("--sample-lines,--input-sentence-size", o.sample_lines, "LINES",
            "number of randomly sampled training lines; 0: all");
  table.add("--seed", o.seed, "NUMBER", "random seed of the sample");
  table.add("--max-sentence-bytes,--max-sentence-length", o.max_sentence_bytes, "BYTES",
            "maximum length of a line; longer lines are skipped");
}

void add_wordpiece_rows(OptionTable& table, VocabArgs& args) {
  WordPieceMerges& o = args.wordpiece.merges;
  table.group("WordPiece");
  table.add_flag("--lower-case,!--cased", args.wordpiece.lower_case,
                 "lower-case text and strip accents; stored in tokenizer_config.json next to a trained vocabulary");
  table.add("--min-frequency", o.min_frequency, "COUNT", "minimum frequency of a pair to merge");
  table.add("--limit-alphabet", o.limit_alphabet, "CHARACTERS",
            "keep only this many most frequent characters; words with other characters are unknown");
}

}  // namespace

void add_vocab_command(Program& program) {
  auto args = std::make_shared<VocabArgs>();
  OptionTable& table =
      program.command("vocab", "train or convert a subword vocabulary", [args] { return make_vocabulary(*args); });
  args->table = &table;
  table.add("--output,-o", args->output, "FILE", "vocabulary to write");
  table.required("output");
  table.add_choice("--type,--model-type", args->sentencepiece.type,
                   {"unigram", "bpe", "char", "word", "subword-nmt", "words", "wordpiece", "bytes"},
                   "kind of vocabulary: the first four are trained, the next two are converted, wordpiece is either, "
                   "bytes needs no input");
  add_training_rows(table, *args);
  add_sentencepiece_rows(table, *args);
  add_wordpiece_rows(table, *args);
  table.group("From files (subword-nmt, words, wordpiece)");
  table.add("--dictionary", args->dictionary, "FILE", "tokens, one per line, with or without counts");
  table.add("--codes", args->codes, "FILE", "file of merges of subword-nmt");
  table.add("--vocabulary-threshold", args->threshold, "COUNT", "minimum count of a token; 0: no limit");
  table.add("--separator", args->separator, "TEXT", "marker of tokens that do not end a word");
}

}  // namespace gyre
