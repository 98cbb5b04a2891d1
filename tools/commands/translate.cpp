// gyre translate: translates lines of text by beam search or by sampling, in the order of the input.
#include "gyre/models/decode/translate.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "gyre/core/io/output_target.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/models/decode/sampling.h"
#include "gyre/train/log/stopwatch.h"
#include "gyre/train/tasks/translation/decoding.h"
#include "tools/lines.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/ensemble_choice.h"
#include "tools/options/precision_choice.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct TranslateArgs {
  EnsembleChoice ensemble;
  Path input, output;
  PrecisionChoice precision;
  DecodeOptions decode;
  bool sampling = false;
  SamplingOptions sample;
  TranslateBatches batches;
  int maxi_batch = 100;
  int max_length = 1000;
  bool crop = false, allow_unk = false, quiet = false;
  DeviceChoice device;
  CpuThreads threads;
  const OptionTable* table = nullptr;
};

class Translator {
 public:
  explicit Translator(const TranslateArgs& args)
      : call_(args),
        kernels_(args.device.kernels()),
        trained_(args.ensemble.load(kernels_.device())),
        input_(args.input),
        output_(args.output),
        decode_(args.decode) {
    decode_.precision = args.precision.on(kernels_);
    set_vocabulary(decode_, *trained_.vocabulary, args.allow_unk);
  }

  // Reads a window of lines, sorts them by length, and writes the translations before it reads the next window. Returns
  // the number of lines.
  uint64_t run() {
    const size_t window = size_t(call_.maxi_batch) * size_t(call_.batches.sentences);
    while (translate_window(window)) output_.flush();
    output_.commit();
    return input_.line();
  }

 private:
  bool translate_window(size_t window) {
    const uint64_t first = input_.line();
    std::vector<std::vector<int32_t>> sources;  // an empty line has no ids
    std::string line;
    while (sources.size() < window && input_.next(line)) sources.push_back(encode(line));
    std::vector<std::vector<int32_t>> filled;
    std::vector<uint64_t> lines;  // of the filled ones
    for (size_t i = 0; i < sources.size(); ++i) {
      if (sources[i].empty()) continue;
      filled.push_back(sources[i]);
      lines.push_back(first + i);
    }
    const auto results = decode(filled, lines);
    auto result = results.begin();
    for (size_t i = 0; i < sources.size(); ++i)
      write(first + i, sources[i].empty() ? std::vector<Hypothesis>(1) : *result++);
    return sources.size() == window;
  }

  std::vector<std::vector<Hypothesis>> decode(const std::vector<std::vector<int32_t>>& sources,
                                              const std::vector<uint64_t>& lines) {
    if (!call_.sampling) return translate(trained_.ensemble, kernels_, sources, decode_, call_.batches);
    return sample_translations(trained_.ensemble, kernels_, sources, lines, decode_, call_.sample, call_.batches);
  }

  std::vector<int32_t> encode(const std::string& line) {
    std::vector<int32_t> ids = trained_.vocabulary->encode(line);
    if (ids.empty()) return ids;
    const auto limit = size_t(std::min<int64_t>(call_.max_length, trained_.ensemble.longest()));
    if (ids.size() >= limit) {
      require(call_.crop, input_.name(), ":", input_.line(), ": expected at most ", limit, " tokens, got ",
              ids.size() + 1, "; --max-length-crop truncates such lines");
      ids.resize(limit - 1);
    }
    ids.push_back(decode_.eos);
    return ids;
  }

  // Writes one translation as plain text, or n-best lists in Marian's form: id ||| text ||| F0= log P ||| score.
  void write(uint64_t id, const std::vector<Hypothesis>& hypotheses) {
    const auto text = [&](const Hypothesis& h) { return one_line(trained_.vocabulary->decode(h.ids)); };
    if (n_best() == 1) return output_.write(text(hypotheses.front()));
    for (const auto& hypothesis : hypotheses) {
      char scores[64];
      std::snprintf(scores, sizeof scores, " ||| F0= %.6f ||| %.6f", hypothesis.log_probability, hypothesis.score);
      output_.write(std::to_string(id) + " ||| " + text(hypothesis) + scores);
    }
  }

  int n_best() const { return call_.sampling ? call_.sample.samples : decode_.n_best; }

  const TranslateArgs& call_;
  Kernels& kernels_;
  LoadedEnsemble trained_;
  InputLines input_;
  OutputLines output_;
  DecodeOptions decode_;
};

// Checks the options of the search, or moves them to those of sampling.
void check_search(TranslateArgs& args) {
  for (const char* name : {"temperature", "top-k", "top-p", "seed"})
    args.table->reject_unused(name, args.sampling, "--sampling is not given");
  for (const char* name : {"beam-size", "stop-rule"})
    args.table->reject_unused(name, !args.sampling, "--sampling draws --n-best translations");
  for (const char* name : {"length-penalty", "length-penalty-form"})
    args.table->reject_unused(name, !args.sampling || args.decode.n_best > 1,
                              "a single sample is printed without a score");
  if (args.sampling) args.sample.samples = std::exchange(args.decode.n_best, 1);
  args.decode.validate_search();
  if (args.sampling) args.sample.validate();
}

void check(TranslateArgs& args) {
  args.ensemble.check();
  require_no_input(args.output, {args.input, args.ensemble.vocabulary()});
  expect_at_least(1, "--mini-batch", args.batches.sentences);
  expect_at_least(1, "--maxi-batch", args.maxi_batch);
  expect_at_least(2, "--max-length", args.max_length);
  expect_at_least(1, "--mini-batch-words", args.batches.tokens);
  check_search(args);
}

int run(TranslateArgs& args) {
  check(args);
  args.threads.use();
  const Stopwatch clock;
  if (!args.quiet) args.ensemble.print();
  Translator translator(args);
  const uint64_t lines = translator.run();
  if (!args.quiet)
    std::fprintf(stderr, "%llu lines in %.1f s\n", static_cast<unsigned long long>(lines), clock.seconds());
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
  table.add_enum("--stop-rule", o.stop, "stop when enough hypotheses are finished, or when no other can win");
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
  args->ensemble.add_rows(table);
  table.add("--input,-i", args->input, "FILE", "text, one sentence per line; default: standard input");
  table.add("--output,-o", args->output, "FILE", "translations; default: standard output");
  table.add("--max-length", args->max_length, "TOKENS",
            "maximum source length, </s> included; a longer line is an error");
  table.add_flag("--max-length-crop", args->crop, "truncate longer lines instead");
  table.add_flag("--allow-unk", args->allow_unk, "allow the unknown token in translations");
  add_search_rows(table, args->decode);
  add_sampling_rows(table, args->sampling, args->sample);
  table.group("Execution");
  table.add("--mini-batch,--batch-size", args->batches.sentences, "SENTENCES", "maximum sentences per batch");
  table.add("--mini-batch-words,--max-tokens", args->batches.tokens, "TOKENS", "maximum source tokens per batch");
  args->device.add_row(table);
  args->precision.add_row(table);
  table.add("--maxi-batch", args->maxi_batch, "BATCHES",
            "number of batches that are read ahead and sorted by length; 1 has the lowest latency");
  args->threads.add_row(table);
  table.add_flag("--quiet", args->quiet, "do not print the model and the time");
}

}  // namespace gyre
