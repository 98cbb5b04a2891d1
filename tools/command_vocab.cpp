// gyre vocab: trains a SentencePiece or WordPiece vocabulary, or joins the files of another kind into one vocabulary
// file.
#include <algorithm>
#include <iostream>
#include <memory>

#include "core/output_target.h"
#include "data/byte_vocabulary.h"
#include "data/dictionary_vocabulary.h"
#include "data/sentencepiece_vocabulary.h"
#include "data/wordpiece_training.h"
#include "data/wordpiece_vocabulary.h"
#include "tools/cpu_threads.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct Vocab {
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

void reject_idle(const Vocab& call) {
  const std::string& type = call.sentencepiece.type;
  const std::string reason = "--type is " + type;
  const bool is_sentencepiece = is_any(type, {"unigram", "bpe", "char", "word"});
  const bool is_wordpiece = type == "wordpiece";
  if (is_wordpiece && call.input.empty() == call.dictionary.empty())
    throw UsageError("--type wordpiece: expected --input, text to train on, or --dictionary, a vocab.txt");
  const bool trains = is_sentencepiece || (is_wordpiece && !call.input.empty());
  for (const char* name : {"input", "size", "cpu-threads", "on-bad-line"})
    call.table->reject_idle(name, trains, is_wordpiece ? "--dictionary is trained already" : reason);
  for (const char* name : {"character-coverage", "normalization", "byte-fallback", "keep-whitespace", "user-symbols",
                           "sample-lines", "seed", "max-sentence-bytes"})
    call.table->reject_idle(name, is_sentencepiece, reason);
  for (const char* name : {"min-frequency", "limit-alphabet"})
    call.table->reject_idle(name, is_wordpiece && trains, is_wordpiece ? "--dictionary is trained already" : reason);
  const bool reads_dictionary = !trains && type != "bytes";
  call.table->reject_idle("dictionary", reads_dictionary, reason);
  call.table->reject_idle("vocabulary-threshold", is_any(type, {"subword-nmt", "words"}), reason);
  call.table->reject_idle("codes", type == "subword-nmt", reason);
  call.table->reject_idle("separator", type == "subword-nmt", reason);
  call.table->reject_idle("lower-case", is_wordpiece, reason);
  if (trains && call.input.empty()) throw UsageError("--input is missing: text to train on");
  if (reads_dictionary && call.dictionary.empty())
    throw UsageError("--dictionary is missing: the pieces of --type ", type);
  if (type == "subword-nmt" && call.codes.empty()) throw UsageError("--codes is missing: the merges of subword-nmt");
}

std::vector<LineReport> train(Vocab& call) {
  call.threads.use();
  const OnBadLine on_bad_line = parse_on_bad_line(call.on_bad_line);
  if (call.sentencepiece.type == "wordpiece") {
    call.wordpiece.merges.size = call.sentencepiece.size;
    call.wordpiece.on_bad_line = on_bad_line;
    return train_wordpiece(call.input, call.wordpiece, call.output);
  }
  call.sentencepiece.on_bad_line = on_bad_line;
  return train_sentencepiece(call.input, call.sentencepiece, call.output);
}

int make_vocabulary(Vocab& call) {
  require_no_input(call.output, call.input);
  require_no_input(call.output, {call.codes, call.dictionary});
  reject_idle(call);
  const std::string& type = call.sentencepiece.type;
  if (type == "subword-nmt") {
    write_subword_nmt_vocabulary(call.codes, call.dictionary, call.threshold, call.separator, call.output);
  } else if (type == "words") {
    write_word_vocabulary(call.dictionary, call.threshold, call.output);
  } else if (type == "wordpiece" && call.input.empty()) {
    write_wordpiece_vocabulary(call.dictionary, call.wordpiece.lower_case, call.output);
  } else if (type == "bytes") {
    ByteVocabulary().save(call.output);
  } else {
    for (const auto& report : train(call)) std::cerr << report.describe() << '\n';
  }
  if (!is_file_output(call.output)) return 0;  // what went into a pipe cannot be read back
  const auto vocabulary = load_vocabulary(call.output);
  std::cerr << call.output.string() << ": " << vocabulary->size() << " pieces (" << vocabulary->kind() << ")\n";
  return 0;
}

void add_training_rows(OptionTable& table, Vocab& call) {
  table.group("Training (unigram, bpe, char, word, wordpiece)");
  table.add("--input,-i,--train-sets", call.input, "FILE...",
            "text, one sentence a line; both languages for a joint one");
  table.add("--size,--vocab-size,--dim-vocabs", call.sentencepiece.size, "PIECES", "with the special ones");
  call.threads.add_row(table, ",--num-threads");
  table.add_choice("--on-bad-line", call.on_bad_line, {"default", "error", "skip"},
                   "default: error for bad UTF-8, skip for empty and overlong");
}

void add_sentencepiece_rows(OptionTable& table, Vocab& call) {
  SentencePieceOptions& o = call.sentencepiece;
  table.group("Training with SentencePiece (unigram, bpe, char, word)");
  table.add("--character-coverage", o.character_coverage, "SHARE", "of the characters that get a piece");
  table.add_custom(
      "--normalization,--normalization-rule-name", 1, 1, "WORD",
      "SentencePiece's rule: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf, identity",
      [&o](const auto& values) { o.normalization = values.back(); }, [&o] { return toml_value(o.normalization); });
  table.offer({"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"});
  table.add_flag("--byte-fallback", o.byte_fallback, "unknown characters become bytes; costs 256 pieces");
  table.add_flag(
      "--keep-whitespace", o.keep_whitespace,
      "none is added or taken away; with --normalization identity --byte-fallback any text but U+2581 comes back");
  table.add("--user-symbols,--user-defined-symbols", o.user_symbols, "PIECE...", "that are never split");
  table.add("--sample-lines,--input-sentence-size", o.sample_lines, "LINES",
            "to train on, drawn with the seed; 0: all");
  table.add("--seed", o.seed, "NUMBER", "of the sample");
  table.add("--max-sentence-bytes,--max-sentence-length", o.max_sentence_bytes, "BYTES", "longer lines are skipped");
}

void add_wordpiece_rows(OptionTable& table, Vocab& call) {
  WordPieceMerges& o = call.wordpiece.merges;
  table.group("WordPiece");
  table.add_flag("--lower-case,!--cased", call.wordpiece.lower_case,
                 "text is lower-cased and loses its accents; kept in tokenizer_config.json beside a trained one");
  table.add("--min-frequency", o.min_frequency, "COUNT", "rarer pairs of pieces are not merged");
  table.add("--limit-alphabet", o.limit_alphabet, "CHARACTERS", "the most frequent; words with another are unknown");
}

}  // namespace

void add_vocab_command(Program& program) {
  auto call = std::make_shared<Vocab>();
  OptionTable& table =
      program.command("vocab", "train a sub-word vocabulary", [call] { return make_vocabulary(*call); });
  call->table = &table;
  table.add("--output,-o", call->output, "FILE", "the vocabulary");
  table.required("output");
  table.add_choice("--type,--model-type", call->sentencepiece.type,
                   {"unigram", "bpe", "char", "word", "subword-nmt", "words", "wordpiece", "bytes"},
                   "the first four are trained, the next two read what other tools made, wordpiece does either, bytes "
                   "needs nothing");
  add_training_rows(table, *call);
  add_sentencepiece_rows(table, *call);
  add_wordpiece_rows(table, *call);
  table.group("From files (subword-nmt, words, wordpiece)");
  table.add("--dictionary", call->dictionary, "FILE", "pieces, one a line, with or without counts");
  table.add("--codes", call->codes, "FILE", "merges of subword-nmt");
  table.add("--vocabulary-threshold", call->threshold, "COUNT", "rarer pieces are left out; 0: none are");
  table.add("--separator", call->separator, "TEXT", "marks pieces inside a word");
}

}  // namespace gyre
