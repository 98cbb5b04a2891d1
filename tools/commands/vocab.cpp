// gyre vocab: trains a SentencePiece, WordPiece, WoBERT, byte-level BPE or subword-nmt vocabulary, or converts existing
// files to a vocabulary file.
#include <algorithm>
#include <memory>

#include "gyre/core/io/file.h"
#include "gyre/data/text/document_options.h"
#include "gyre/data/tokenizer/byte_bpe/byte_bpe_training.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/data/tokenizer/subword_nmt/subword_nmt_training.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/data/tokenizer/wobert/wobert_training.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_training.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"
#include "tools/command_line/messages.h"
#include "tools/commands/text_progress.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct VocabArgs {
  std::vector<Path> input;
  Path output, codes, dictionary, vocabulary, codes_output;
  SentencePieceOptions sentencepiece;
  std::string documents = "blank-line", text_field = "text";
  std::optional<LineEnds> line_ends;
  OnBadLine on_bad_line = OnBadLine::by_kind;
  SubwordNmtTraining subword_nmt;
  WordPieceTraining wordpiece;  // options of WordPiece; the size is that of sentencepiece
  WobertTraining wobert;        // options of WoBERT; the others are those of wordpiece
  ByteBpeTraining byte_bpe;     // options of byte-level BPE; the others are those of sentencepiece
  uint64_t min_frequency = 2;
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
  const bool is_wordpiece = type == "wordpiece", is_subword_nmt = type == "subword-nmt", is_wobert = type == "wobert";
  const bool has_text = !args.input.empty();
  if (is_wordpiece && has_text == !args.dictionary.empty())
    throw UsageError("--type wordpiece: expected either --input (text to train on) or --dictionary (a vocab.txt)");
  if (is_subword_nmt && has_text == !(args.codes.empty() && args.dictionary.empty()))
    throw UsageError(
        "--type subword-nmt: expected either --input (text to learn merges from), or --codes and "
        "--dictionary (files of subword-nmt)");
  if (is_wobert && has_text == !args.vocabulary.empty())
    throw UsageError("--type wobert: expected either --input (text to train on) or --vocab (a vocab.txt)");
  const bool learns_merges = has_text && (is_wordpiece || is_subword_nmt || is_wobert);
  const bool is_byte_bpe = type == "byte-bpe";
  const bool trains = is_sentencepiece || is_byte_bpe || learns_merges;
  const std::string unused = is_wordpiece && !trains     ? "--dictionary is trained already"
                             : is_subword_nmt && !trains ? "--codes is learned already"
                             : is_wobert && !trains      ? "--vocab is trained already"
                                                         : reason;
  for (const char* name : {"input", "cpu-threads", "on-bad-line", "text-field"})
    args.table->reject_unused(name, trains, unused);
  args.table->reject_unused("size", trains && !is_subword_nmt, is_subword_nmt ? reason + ": use --merges" : unused);
  for (const char* name : {"character-coverage", "normalization", "byte-fallback", "keep-whitespace", "sample-lines",
                           "seed", "max-sentence-bytes"})
    args.table->reject_unused(name, is_sentencepiece, reason);
  args.table->reject_unused("user-symbols", is_sentencepiece || is_byte_bpe, reason);
  for (const char* name : {"pre-tokenizer", "documents", "line-ends"})
    args.table->reject_unused(name, is_byte_bpe, reason);
  args.table->reject_unused("line-ends", args.documents != "whole", "--documents is whole, which keeps all line ends");
  args.table->reject_unused("min-frequency", is_byte_bpe || learns_merges, unused);
  args.table->reject_unused("limit-alphabet", trains && (is_wordpiece || is_wobert), unused);
  for (const char* name : {"merges", "codes-output"}) args.table->reject_unused(name, is_subword_nmt && trains, unused);
  const bool reads_dictionary = is_wobert || (!trains && type != "bytes");
  args.table->reject_unused("dictionary", reads_dictionary, reason);
  args.table->reject_unused("vocabulary-threshold", is_any(type, {"subword-nmt", "words"}), reason);
  args.table->reject_unused("codes", is_subword_nmt, reason);
  args.table->reject_unused("separator", is_subword_nmt, reason);
  args.table->reject_unused("lower-case", is_wordpiece || (is_wobert && trains), unused);
  args.table->reject_unused("vocab", is_wobert, reason);
  if (trains && !has_text) throw UsageError("--input is missing: expected text to train on");
  if (reads_dictionary && args.dictionary.empty())
    throw UsageError("--dictionary is missing: expected the tokens of --type ", type);
  if (is_subword_nmt && !trains && args.codes.empty())
    throw UsageError("--codes is missing: expected the merges of subword-nmt");
}

std::vector<LineReport> train(VocabArgs& args) {
  args.threads.use();
  TextProgress progress(false);
  TrainingText text{.text_field = args.text_field,
                    .on_bad_line = args.on_bad_line,
                    .on_progress = progress.callback(),
                    .on_merge = progress.merges()};
  if (args.sentencepiece.type == "wordpiece") {
    args.wordpiece.merges.size = args.sentencepiece.size;
    args.wordpiece.merges.min_frequency = args.min_frequency;
    args.wordpiece.text = text;
    return train_wordpiece(args.input, args.wordpiece, args.output);
  }
  if (args.sentencepiece.type == "wobert") {
    WobertTraining& o = args.wobert;
    o.merges.size = args.sentencepiece.size;
    o.merges.min_frequency = args.min_frequency;
    if (args.table->given("limit-alphabet")) o.merges.limit_alphabet = args.wordpiece.merges.limit_alphabet;
    o.lower_case = args.wordpiece.lower_case;
    o.text = text;
    return train_wobert(args.input, args.dictionary, o, args.output);
  }
  if (args.sentencepiece.type == "byte-bpe") {
    ByteBpeTraining& o = args.byte_bpe;
    o.size = args.sentencepiece.size;
    o.min_frequency = args.min_frequency;
    o.user_symbols = args.sentencepiece.user_symbols;
    text.end = parse_document_end(args.documents);
    text.line_ends = args.line_ends.value_or(LineEnds::keep);
    o.text = text;
    return train_byte_bpe(args.input, o, args.output);
  }
  if (args.sentencepiece.type == "subword-nmt") {
    args.subword_nmt.min_frequency = args.min_frequency;
    args.subword_nmt.text = text;
    return train_subword_nmt(args.input, args.subword_nmt, args.output, args.codes_output);
  }
  args.sentencepiece.text = text;
  return train_sentencepiece(args.input, args.sentencepiece, args.output);
}

int make_vocabulary(VocabArgs& args) {
  args.input = expand_paths(args.input);
  require_no_input(args.output, args.input);
  require_no_input(args.output, {args.codes, args.dictionary, args.vocabulary});
  require_no_input(args.codes_output, args.input, "--codes-output");
  if (!args.codes_output.empty() && is_same_output(args.codes_output, args.output))
    throw UsageError("--codes-output: expected another file than --output, got ", args.output.string(), " for both");
  reject_unused(args);
  const std::string& type = args.sentencepiece.type;
  const SubwordNmtTraining& o = args.subword_nmt;
  if (type == "subword-nmt" && args.input.empty()) {
    write_subword_nmt_vocabulary(args.codes, args.dictionary, o.threshold, o.separator, args.output);
  } else if (type == "words") {
    write_word_vocabulary(args.dictionary, o.threshold, args.output);
  } else if (type == "wordpiece" && args.input.empty()) {
    write_wordpiece_vocabulary(args.dictionary, args.wordpiece.lower_case, args.output);
  } else if (type == "wobert" && args.input.empty()) {
    load_vocabulary(args.vocabulary, TokenizerChoice{TokenizerKind::wobert, args.dictionary})->save(args.output);
  } else if (type == "bytes") {
    ByteVocabulary().save(args.output);
  } else {
    for (const auto& report : train(args)) print_message(report.describe());
  }
  if (!is_file_output(args.output)) return 0;  // a pipe cannot be read back
  const auto vocabulary = load_vocabulary(args.output);
  print_message(concat(args.output.string(), ": ", vocabulary->size(), " pieces (", vocabulary->kind(), ")"));
  return 0;
}

void add_training_rows(OptionTable& table, VocabArgs& args) {
  table.group("Training (unigram, bpe, char, word, byte-bpe, wordpiece, wobert, subword-nmt)");
  table.add(
      "--input,-i,--train-sets", args.input, "FILE...",
      "text, one sentence per line, or JSON lines (also compressed), folders and patterns; files of both languages "
      "for a joint vocabulary");
  table.add(text_field_option(&args.text_field));
  table.add("--size,--vocab-size,--dim-vocabs", args.sentencepiece.size, "PIECES",
            "number of tokens, including special tokens (not for subword-nmt, which has --merges)");
  args.threads.add_row(table, ",--num-threads");
  table.add("--min-frequency", args.min_frequency, "COUNT",
            "minimum frequency of a pair to merge (byte-bpe, wordpiece, wobert, subword-nmt) or of a Chinese word");
  table.add_enum("--on-bad-line", args.on_bad_line,
                 "handling of bad lines; default: error for invalid UTF-8 and bad JSON, skip for empty and overlong "
                 "lines");
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
  table.add("--user-symbols,--user-defined-symbols", o.user_symbols, "PIECE...",
            "symbols that are never split (also byte-bpe)");
  table.add("--sample-lines,--input-sentence-size", o.sample_lines, "LINES",
            "number of randomly sampled training lines; 0: all");
  table.add("--seed", o.seed, "NUMBER", "random seed of the sample");
  table.add("--max-sentence-bytes,--max-sentence-length", o.max_sentence_bytes, "BYTES",
            "maximum length of a line; longer lines are skipped");
}

void add_wordpiece_rows(OptionTable& table, VocabArgs& args) {
  WordPieceMerges& o = args.wordpiece.merges;
  table.group("WordPiece (wordpiece, wobert)");
  table.add_flag("--lower-case,!--cased", args.wordpiece.lower_case,
                 "lower-case text and strip accents; stored next to a trained vocabulary (tokenizer_config.json) or in "
                 "it (wobert)");
  table.add("--limit-alphabet", o.limit_alphabet, "CHARACTERS",
            "keep only this many most frequent characters; words with others are unknown, but for whole words of "
            "wobert, whose default is 6000");
}

void add_byte_bpe_rows(OptionTable& table, VocabArgs& args) {
  table.group("Byte-level BPE (byte-bpe)");
  table.add_enum("--pre-tokenizer", args.byte_bpe.pre_tokenizer,
                 "regular expression that splits text into words, and special tokens: those of GPT-2 or Llama 3");
  table.add(documents_option(&args.documents, ", as in gyre train lm"));
  table.add(line_ends_option(&args.line_ends, "keep"));
}

void add_subword_nmt_rows(OptionTable& table, VocabArgs& args) {
  SubwordNmtTraining& o = args.subword_nmt;
  table.group("Learning subword-nmt merges");
  table.add("--merges,--symbols,-s", o.merges, "MERGES", "maximum number of merges");
  table.add("--codes-output", args.codes_output, "FILE", "also write the merges as a file of subword-nmt");
}

}  // namespace

void add_vocab_command(Program& program) {
  auto args = std::make_shared<VocabArgs>();
  OptionTable& table =
      program.command("vocab", "train or convert a subword vocabulary", [args] { return make_vocabulary(*args); });
  args->table = &table;
  table.add("--output,-o", args->output, "FILE", "vocabulary to write");
  table.required("output");
  table.add_choice(
      "--type,--model-type", args->sentencepiece.type,
      {"unigram", "bpe", "char", "word", "byte-bpe", "subword-nmt", "words", "wordpiece", "wobert", "bytes"},
      "kind of vocabulary: the first five are trained, words is converted, subword-nmt, wordpiece and "
      "wobert are either, bytes needs no input");
  add_training_rows(table, *args);
  add_sentencepiece_rows(table, *args);
  add_byte_bpe_rows(table, *args);
  add_wordpiece_rows(table, *args);
  add_subword_nmt_rows(table, *args);
  table.group("From files (subword-nmt, words, wordpiece, wobert)");
  table.add("--dictionary", args->dictionary, "FILE",
            "tokens, one per line, with or without counts; for wobert: words and frequencies in jieba's format");
  table.add("--vocab", args->vocabulary, "FILE", "vocab.txt for wobert, instead of --input");
  table.add("--codes", args->codes, "FILE", "file of merges of subword-nmt");
  table.add("--vocabulary-threshold", args->subword_nmt.threshold, "COUNT", "minimum count of a token; 0: no limit");
  table.add("--separator", args->subword_nmt.separator, "TEXT", "marker of tokens that do not end a word");
}

}  // namespace gyre
