// gyre translate: translates lines of text by beam search or by sampling, in the order of the input.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/models/decode/alignment.h"
#include "gyre/models/decode/sampling.h"
#include "tools/commands/decoding_run.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct TranslateArgs {
  DecodingRun decoding;
  Path input, output;
  DecodeOptions decode;
  bool sampling = false;
  SamplingOptions sample;
  int max_length = 1000;
  BadLineChoice bad_lines;
  bool crop = false, allow_unk = false;
  std::string prefix;
  Path prefix_file;
  bool alignment = false;
  int alignment_layer = -1;
  const OptionTable* table = nullptr;
};

class Translator {
 public:
  explicit Translator(const TranslateArgs& args)
      : args_(args),
        decoder_(args.decoding, args.decode, args.allow_unk),
        limit_(size_t(std::min<int64_t>(args.max_length, decoder_.trained.ensemble.longest()))),
        input_(args.input, args.bad_lines.policy),
        output_(args.output),
        progress_(args.decoding.quiet ? nullptr : line_progress(args.output)) {
    input_.set_limit(concat(limit_, " tokens"));
    if (!args.prefix_file.empty()) prefixes_.emplace(args.prefix_file);
    if (!args.prefix.empty()) prefix_ = encode_prefix(args.prefix, "--prefix");
    if (args.alignment) check_layer();
  }

  DecodedLines run() {
    const auto next = [&](Line& line) { return read_line(line); };
    const auto count =
        for_each_window<Line>(input_.window(args_.decoding.window()), output_, next,
                              [&](const std::vector<Line>& lines, uint64_t first) { translate_lines(lines, first); });
    output_.commit();
    progress_.reset();
    input_.print_report();
    return {count, input_.seconds()};
  }

 private:
  using Ids = std::vector<int32_t>;
  struct Line {
    Ids source, prefix;
  };

  // An empty line has no ids, and neither has one that is skipped.
  bool read_line(Line& line) {
    std::string text;
    if (!input_.next(text)) {
      require(!prefixes_ || !prefixes_->next(text), prefixes_ ? prefixes_->name() : "",
              ": expected a line for each line of ", input_.name(), ", got more than ", input_.line());
      return false;
    }
    line.source = encode(text);
    line.prefix = prefix_;
    if (!prefixes_) return true;
    require(prefixes_->next(text), prefixes_->name(), ": expected a line for each line of ", input_.name(),
            ", got only ", prefixes_->line());
    line.prefix = encode_prefix(text, concat(prefixes_->name(), ":", prefixes_->line()));
    return true;
  }

  // Writes the translations of some lines; `first` is the number of the first one, from 0.
  void translate_lines(const std::vector<Line>& all, uint64_t first) {
    std::vector<Ids> sources, prefixes;
    std::vector<uint64_t> lines;  // numbers of the filled lines
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].source.empty()) continue;
      sources.push_back(all[i].source);
      if (prefixes_ || !prefix_.empty()) prefixes.push_back(all[i].prefix);
      lines.push_back(first + i);
    }
    const auto results = decode(sources, prefixes, lines);
    if (progress_) progress_->show(int64_t(first + all.size()));
    auto result = results.begin();
    for (size_t i = 0; i < all.size(); ++i)
      write(first + i, all[i].source, all[i].source.empty() ? std::vector<Hypothesis>(1) : *result++);
  }

  std::vector<std::vector<Hypothesis>> decode(const std::vector<Ids>& sources, const std::vector<Ids>& prefixes,
                                              const std::vector<uint64_t>& lines) {
    const auto show = [&](size_t done) {
      if (progress_ && done > 0) progress_->show(int64_t(lines[0] + done));
    };
    const Ensemble& ensemble = decoder_.trained.ensemble;
    const DecodingBatchLimits& batches = args_.decoding.batches;
    if (!args_.sampling)
      return translate(ensemble, decoder_.kernels, sources, decoder_.options, batches, show, nullptr, prefixes);
    return sample_translations(ensemble, decoder_.kernels, sources, lines, decoder_.options, args_.sample, batches);
  }

  Ids encode(const std::string& line) {
    Ids ids = decoder_.trained.vocabulary->side(0).encode(line);
    if (ids.empty()) return ids;
    if (ids.size() >= limit_ && args_.crop) {
      ids.resize(limit_ - 1);
      input_.crop();
    } else if (ids.size() >= limit_) {
      input_.reject(BadLine::too_long, concat("expected at most ", limit_, " tokens, got ", ids.size() + 1,
                                              "; --max-length-crop truncates such lines"));
      return {};
    }
    ids.push_back(decoder_.options.eos);
    return ids;
  }

  // place: the name of the text in messages.
  Ids encode_prefix(const std::string& text, const std::string& place) {
    Ids ids = decoder_.trained.vocabulary->side(1).encode(text);
    const auto longest = size_t(decoder_.trained.ensemble.longest());
    const auto bad = std::ranges::find_if(
        ids, [&](int32_t id) { return id == decoder_.options.eos || !decoder_.options.produces(id); });
    if (bad != ids.end())
      throw Error(place, ": expected a prefix of pieces that a translation may have, got ",
                  decoder_.trained.vocabulary->side(1).piece(*bad), "; --allow-unk permits the unknown piece");
    require(ids.size() < longest, place, ": expected a prefix of fewer than ", longest, " tokens, got ", ids.size());
    return ids;
  }

  void check_layer() {
    const Ensemble& ensemble = decoder_.trained.ensemble;
    int64_t layers = ensemble[0].config().decoder_layers;
    for (size_t i = 1; i < ensemble.size(); ++i) layers = std::min(layers, ensemble[i].config().decoder_layers);
    if (args_.alignment_layer >= layers)
      throw UsageError("--alignment-layer: expected a number below ", layers, ", the number of decoder layers, got ",
                       args_.alignment_layer);
    alignment_layer_ = args_.alignment_layer < 0 ? int(layers) - 1 : args_.alignment_layer;
  }

  // " ||| 0-0 1-1": the numbers of aligned tokens of source and translation.
  std::string alignment(const Ids& source, const Hypothesis& hypothesis) {
    if (!args_.alignment) return "";
    std::string pairs;
    for (const auto& [from, to] :
         align(decoder_.trained.ensemble, decoder_.kernels, source, hypothesis.ids, decoder_.options, alignment_layer_))
      pairs += concat(" ", from, "-", to);
    return " |||" + pairs;
  }

  // Writes one translation as plain text, or n-best lists in Marian's form: id ||| text ||| F0= log P ||| score. With
  // alignments, they follow.
  void write(uint64_t id, const Ids& source, const std::vector<Hypothesis>& hypotheses) {
    const auto text = [&](const Hypothesis& h) { return one_line(decoder_.trained.vocabulary->side(1).decode(h.ids)); };
    if (n_best() == 1) return output_.write(text(hypotheses.front()) + alignment(source, hypotheses.front()));
    for (const auto& hypothesis : hypotheses) {
      char scores[64];
      std::snprintf(scores, sizeof scores, " ||| F0= %.6f ||| %.6f", hypothesis.log_probability, hypothesis.score);
      output_.write(std::to_string(id) + " ||| " + text(hypothesis) + scores + alignment(source, hypothesis));
    }
  }

  int n_best() const { return args_.sampling ? args_.sample.samples : decoder_.options.n_best; }

  const TranslateArgs& args_;
  LoadedDecoder decoder_;
  size_t limit_;  // tokens of a source, EOS included
  InputLines input_;
  std::optional<InputLines> prefixes_;  // lines of --prefix-file
  Ids prefix_;                          // ids of --prefix
  int alignment_layer_ = 0;
  OutputLines output_;
  std::unique_ptr<WorkProgress> progress_;  // may be null
};

// Checks the options of the search, or moves them to those of sampling.
void check_search(TranslateArgs& args) {
  for (const char* name : {"temperature", "top-k", "top-p", "seed"})
    args.table->reject_unused(name, args.sampling, "--sampling is not given");
  for (const char* name : {"beam-size", "stop-rule", "prefix", "prefix-file"})
    args.table->reject_unused(name, !args.sampling, "--sampling draws --n-best translations");
  for (const char* name : {"length-penalty", "length-penalty-form"})
    args.table->reject_unused(name, !args.sampling || args.decode.n_best > 1,
                              "a single sample is printed without a score");
  if (args.sampling) args.sample.samples = std::exchange(args.decode.n_best, 1);
  args.decode.validate_search();
  if (args.sampling) args.sample.validate();
}

void check(TranslateArgs& args) {
  args.decoding.check();
  args.table->reject_unused("alignment-layer", args.alignment, "--alignment is not given");
  expect_at_least(0, "--alignment-layer", args.table->given("alignment-layer") ? args.alignment_layer : 0);
  args.table->reject_unused("prefix", args.prefix_file.empty(), "--prefix-file is given");
  if (is_standard(args.input) && args.table->given("prefix-file") && is_standard(args.prefix_file))
    throw UsageError("--input, --prefix-file: expected at most one of them to be standard input");
  require_no_input(args.output, {args.input, args.prefix_file, args.decoding.ensemble.vocabulary(),
                                 args.decoding.ensemble.target_vocabulary()});
  expect_at_least(2, "--max-length", args.max_length);
  check_search(args);
}

int run(TranslateArgs& args) {
  check(args);
  args.decoding.run([&] { return Translator(args).run(); });
  return 0;
}

void add_search_rows(OptionTable& table, DecodeOptions& o) {
  table.group("Search");
  table.add("--beam-size,-b,--beam", o.beam_size, "HYPOTHESES", "beam size; 1 is greedy search");
  table.add("--length-penalty,--normalize,-n,--lenpen", o.length_penalty, "NUMBER",
            "exponent a of the length penalty; 0: no penalty");
  table.add_enum("--length-penalty-form", o.form, "score log P / |Y|^a, or log P / ((5 + |Y|) / 6)^a");
  table.add("--n-best,--nbest", o.n_best, "TRANSLATIONS",
            "translations per line, as: id ||| text ||| F0= log P ||| score; with --sampling, the number of samples");
  table.add("--max-length-factor,--max-len-a", o.max_length_factor, "NUMBER",
            "maximum output length as a multiple of the source length");
  table.add("--max-length-extra,--max-len-b", o.max_length_extra, "TOKENS",
            "tokens added to the maximum output length");
  table.add_enum(
      "--stop-rule", o.stop,
      "beam-finished: stop once --beam-size hypotheses have ended; exact: once no other can win; present-length: "
      "once none would win if it ended now");
}

void add_sampling_rows(OptionTable& table, bool& sampling, SamplingOptions& o) {
  table.group("Sampling");
  table.add_flag("--sampling", sampling, "draw random translations instead of beam search, for back-translation");
  table.add("--temperature", o.temperature, "NUMBER", "draw from p^(1 / temperature); near 0 this is greedy search");
  table.add("--top-k,--sampling-topk", o.top_k, "TOKENS", "draw from the most probable tokens only; 0: from all");
  table.add("--top-p,--sampling-topp", o.top_p, "SHARE",
            "draw from the most probable tokens that hold this share of the probability");
  table.add("--seed", o.seed, "NUMBER", "a sample depends on the seed, the number of its line and its own number");
}

}  // namespace

void add_translate_command(Program& program) {
  auto args = std::make_shared<TranslateArgs>();
  OptionTable& table =
      program.command("translate", "translate text with a trained model", [args] { return run(*args); });
  args->table = &table;
  args->decoding.ensemble.add_rows(table);
  table.add("--input,-i", args->input, "FILE", "text, one sentence per line; default: standard input");
  table.add("--output,-o", args->output, "FILE", "translations; default: standard output");
  table.add("--max-length", args->max_length, "TOKENS", "maximum source length, </s> included; a longer line is bad");
  table.add_flag("--max-length-crop", args->crop, "truncate longer lines instead");
  args->bad_lines.add_row(table, "too long or not UTF-8");
  table.add("--prefix", args->prefix, "TEXT", "begin every translation with this text");
  table.add("--prefix-file", args->prefix_file, "FILE",
            "begin each translation with the text of its line of this file, which may be empty");
  table.add_flag("--alignment", args->alignment,
                 "print ||| and the aligned tokens after each translation, as source-target, both from 0");
  table.add("--alignment-layer", args->alignment_layer, "LAYER",
            "decoder layer, from 0, whose cross-attention aligns a token with the one that it attends to most, by the "
            "mean of the heads; default: the last");
  table.add_flag("--allow-unk", args->allow_unk, "allow the unknown token in translations");
  add_search_rows(table, args->decode);
  add_sampling_rows(table, args->sampling, args->sample);
  args->decoding.add_execution_rows(table, "sentences", "source tokens");
}

}  // namespace gyre
