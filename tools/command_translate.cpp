// gyre translate: beam search over lines of text, standard input to standard output, in the order of the input.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>

#include "core/output_target.h"
#include "models/decode/translate.h"
#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/lines.h"
#include "tools/model_choice.h"
#include "tools/program.h"
#include "train/decoding.h"
#include "train/stopwatch.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

struct Translate {
  Path model, vocabulary, input, output;
  std::string checkpoint, precision = "fp32";
  DecodeOptions decode;
  TranslateBatches batches;
  int maxi_batch = 100;
  int max_length = 1000;
  bool crop = false, allow_unk = false, quiet = false;
  DeviceChoice device;
  CpuThreads threads;
};

class Translator {
 public:
  explicit Translator(const Translate& call)
      : call_(call),
        kernels_(call.device.kernels()),
        trained_(load_trained_model<EncoderDecoder>(call.model, call.checkpoint, call.vocabulary, kernels_.device())),
        input_(call.input),
        output_(call.output),
        decode_(call.decode) {
    decode_.precision = parse_precision(call.precision, kernels_);
    set_vocabulary(decode_, *trained_.vocabulary, call.allow_unk);
  }

  // Lines are read a window at a time, sorted by length within it, and written before the next is read.
  uint64_t run() {
    const size_t window = size_t(call_.maxi_batch) * size_t(call_.batches.sentences);
    while (translate_window(window)) output_.flush();
    output_.commit();
    return input_.line();
  }

 private:
  bool translate_window(size_t window) {
    const uint64_t first = input_.line();
    std::vector<std::vector<int32_t>> sources;  // empty for an empty line
    std::string line;
    while (sources.size() < window && input_.next(line)) sources.push_back(encode(line));
    std::vector<std::vector<int32_t>> filled;
    std::copy_if(sources.begin(), sources.end(), std::back_inserter(filled), [](const auto& s) { return !s.empty(); });
    const auto results = translate(*trained_.model, kernels_, filled, decode_, call_.batches);
    auto result = results.begin();
    for (size_t i = 0; i < sources.size(); ++i)
      write(first + i, sources[i].empty() ? std::vector<Hypothesis>(1) : *result++);
    return sources.size() == window;
  }

  std::vector<int32_t> encode(const std::string& line) {
    std::vector<int32_t> ids = trained_.vocabulary->encode(line);
    if (ids.empty()) return ids;
    const auto limit = size_t(std::min<int64_t>(call_.max_length, trained_.model->longest()));
    if (ids.size() >= limit) {
      require(call_.crop, input_.name(), ":", input_.line(), ": expected at most ", limit, " tokens, got ",
              ids.size() + 1, "; --max-length-crop would cut such lines");
      ids.resize(limit - 1);
    }
    ids.push_back(decode_.eos);
    return ids;
  }

  // A single best translation as plain text; n-best in Marian's shape: id ||| text ||| F0= log P ||| score.
  void write(uint64_t id, const std::vector<Hypothesis>& hypotheses) {
    if (decode_.n_best == 1) return output_.write(trained_.vocabulary->decode(hypotheses.front().ids));
    for (const auto& hypothesis : hypotheses) {
      char scores[64];
      std::snprintf(scores, sizeof scores, " ||| F0= %.6f ||| %.6f", hypothesis.log_probability, hypothesis.score);
      output_.write(std::to_string(id) + " ||| " + trained_.vocabulary->decode(hypothesis.ids) + scores);
    }
  }

  const Translate& call_;
  Kernels& kernels_;
  TrainedModel<EncoderDecoder> trained_;
  InputLines input_;
  OutputLines output_;
  DecodeOptions decode_;
};

void check(const Translate& call) {
  require_no_input(call.output, {call.input, call.vocabulary});
  for (const auto& [name, value] : {std::pair{"mini-batch", call.batches.sentences},
                                    {"maxi-batch", call.maxi_batch},
                                    {"max-length", call.max_length - 1}})
    if (value < 1) throw UsageError("--", name, " is too small");
  if (call.batches.tokens < 1) throw UsageError("--mini-batch-words is too small");
  call.decode.validate_search();
}

int run(const Translate& call) {
  check(call);
  call.threads.use();
  const Stopwatch clock;
  if (!call.quiet) print_model_choice(call.model, call.checkpoint);
  Translator translator(call);
  const uint64_t lines = translator.run();
  if (!call.quiet)
    std::fprintf(stderr, "%llu lines in %.1f s\n", static_cast<unsigned long long>(lines), clock.seconds());
  return 0;
}

void add_search_rows(OptionTable& table, DecodeOptions& o) {
  table.group("Search");
  table.add("--beam-size,-b,--beam", o.beam_size, "HYPOTHESES", "kept in the search; 1 is greedy");
  table.add("--length-penalty,--normalize,-n,--lenpen", o.length_penalty, "NUMBER", "exponent a; 0: none");
  table.add_enum("--length-penalty-form", o.form, "log P / |Y|^a, or log P / ((5 + |Y|) / 6)^a");
  table.add("--n-best,--nbest", o.n_best, "TRANSLATIONS", "of each line, as: id ||| text ||| F0= log P ||| score");
  table.add("--max-length-factor,--max-len-a", o.max_length_factor, "NUMBER",
            "longest output, times the source's tokens");
  table.add("--max-length-extra,--max-len-b", o.max_length_extra, "TOKENS", "longest output, plus this");
  table.add_enum("--stop-rule", o.stop, "a line is done when enough hypotheses ended, or when none can win any more");
}

}  // namespace

void add_translate_command(Program& program) {
  auto call = std::make_shared<Translate>();
  OptionTable& table =
      program.command("translate", "translate text with a trained model", [call] { return run(*call); });
  table.add("--model,-m", call->model, "DIRECTORY", "a run directory, a checkpoint in it, or its model.safetensors");
  table.required("model");
  table.add(
      "--checkpoint", call->checkpoint, "NAME",
      "of the run: best, last, average, a step-... directory or a path; absent: best where there is one, else last");
  table.add("--vocab,--vocabs,-v", call->vocabulary, "FILE", "a vocabulary other than the run's own");
  table.add("--input,-i", call->input, "FILE", "text, one sentence a line; standard input when absent");
  table.add("--output,-o", call->output, "FILE", "the translations; standard output when absent");
  table.add("--max-length", call->max_length, "TOKENS", "a longer line, with its end, is an error");
  table.add_flag("--max-length-crop", call->crop, "or is cut");
  table.add_flag("--allow-unk", call->allow_unk, "translations may hold the unknown piece");
  add_search_rows(table, call->decode);
  table.group("Work");
  table.add("--mini-batch,--batch-size", call->batches.sentences, "SENTENCES", "translated together, at most");
  table.add("--mini-batch-words,--max-tokens", call->batches.tokens, "TOKENS", "the same in source tokens");
  call->device.add_row(table);
  table.add_choice("--precision", call->precision, precision_names(), "of activations and products");
  table.add("--maxi-batch", call->maxi_batch, "BATCHES",
            "read ahead and sorted by length; 1 answers line by line soonest");
  call->threads.add_row(table);
  table.add_flag("--quiet", call->quiet, "no line about the time taken");
}

}  // namespace gyre
