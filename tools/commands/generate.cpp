// gyre generate: continues prompts with a causal language model.
#include "gyre/models/decode/generate.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/io/output_target.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/random.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/continuation.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/lines.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/model_choice.h"
#include "tools/options/precision_choice.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct GenerateArgs {
  Path model, vocabulary, input, output;
  std::string checkpoint, prompt;
  GenerationOptions generation;
  int max_tokens = 128, samples = 1;
  std::vector<std::string> stops;
  uint64_t mini_batch = 16;
  bool echo = true, json = false;
  DeviceChoice device;
  PrecisionChoice precision;
  CpuThreads threads;
  const OptionTable* table = nullptr;
};

TrainedModel<EncoderOnly> load(const GenerateArgs& args) {
  const std::string kind = model_kind(find_run(args.model));
  expect(kind == EncoderOnlyConfig::kModel, "--model", "a causal language model, from gyre train lm", kind);
  print_model_choice(args.model, args.checkpoint);
  return load_trained_model<EncoderOnly>(args.model, args.checkpoint, args.vocabulary, args.device.kernels().device());
}

// Tokens and seconds of the reading of prompts, and of all other steps.
struct Speed {
  uint64_t tokens = 0;
  double seconds = 0;

  void print(const char* what) const {
    std::fprintf(stderr, "%s: %llu tokens in %.2f s, %.1f tokens/s\n", what, static_cast<unsigned long long>(tokens),
                 seconds, seconds > 0 ? double(tokens) / seconds : 0);
  }
};

constexpr const char* end_name(Generation::End end) {
  return end == Generation::End::eos ? "eos" : end == Generation::End::stopped ? "stop" : "length";
}

class Generator {
 public:
  explicit Generator(GenerateArgs& args) : args_(args), trained_(load(args)), output_(args.output) {
    const Vocabulary& vocabulary = *trained_.vocabulary;
    GenerationOptions& options = args.generation;
    options.eos = vocabulary.eos();
    options.suppressed = {vocabulary.unk()};
    if (vocabulary.bos() != vocabulary.eos()) options.suppressed.push_back(vocabulary.bos());
    if (vocabulary.pad() >= 0) options.suppressed.push_back(vocabulary.pad());
    for (int id = 0; id < vocabulary.size(); ++id)
      if (vocabulary.piece(id) == "[MASK]") options.suppressed.push_back(id);
    options.precision = args.precision.on(args.device.kernels());
  }

  void run() {
    if (args_.table->given("prompt")) {
      continue_prompts({args_.prompt}, 0);
    } else {
      InputLines input(args_.input);
      for_each_window<std::string>(
          size_t(args_.mini_batch), output_, [&](std::string& line) { return input.next(line); },
          [&](const std::vector<std::string>& lines, uint64_t first) { continue_prompts(lines, first); });
    }
    output_.commit();
    prompts_.print("prompts");
    continuations_.print("continuations");
  }

 private:
  // Writes the samples of each prompt; `first` is the number of prompts before them.
  void continue_prompts(const std::vector<std::string>& texts, uint64_t first) {
    if (texts.empty()) return;
    std::vector<Prompt> prompts;
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<int32_t> ids = trained_.vocabulary->encode(texts[i]);
      ids.insert(ids.begin(), trained_.vocabulary->bos());
      for (int sample = 0; sample < args_.samples; ++sample) {
        const uint64_t stream = mix(mix(hash_name("generate"), first + i), uint64_t(sample));
        prompts.push_back({ids, stream, args_.max_tokens});
      }
    }
    std::vector<Continuation> continuations;
    for (const Prompt& prompt : prompts) continuations.emplace_back(*trained_.vocabulary, prompt.ids, args_.stops);
    const bool stream = prompts.size() == 1 && !args_.json;
    if (stream && args_.echo) output_.write_part(texts[0]);
    const auto samples = size_t(args_.samples);
    const std::vector<Generation::Text> generated = generate(prompts, continuations, stream);
    for (size_t i = 0; !stream && i < prompts.size(); ++i)
      output_.write(result(texts[i / samples], continuations[i].text(), generated[i]));
  }

  // Continues the prompts, and writes the text of a single one as it comes.
  std::vector<Generation::Text> generate(const std::vector<Prompt>& prompts, std::vector<Continuation>& continuations,
                                         bool stream) {
    Generation generation(*trained_.model, args_.device.kernels(), prompts, args_.generation);
    size_t written = 0;
    std::vector<bool> live(prompts.size(), true);
    for (bool is_first = true; !generation.done(); is_first = false) {
      measured_step(generation, prompts, is_first);
      for (size_t i = 0; i < prompts.size(); ++i) {
        const Generation::Text& text = generation.texts()[i];
        if (live[i] && continuations[i].set(text.ids)) generation.stop(i);
        live[i] = text.end == Generation::End::live;
      }
      if (!stream) continue;
      const size_t settled = generation.done() ? continuations[0].text().size() : continuations[0].settled();
      if (settled <= written) continue;
      output_.write_part(continuations[0].text().substr(written, settled - written));
      written = settled;
    }
    if (stream) output_.write("");
    return generation.texts();
  }

  void measured_step(Generation& generation, const std::vector<Prompt>& prompts, bool is_first) {
    using Clock = std::chrono::steady_clock;
    Speed& speed = is_first ? prompts_ : continuations_;
    for (size_t i = 0; i < prompts.size(); ++i) {
      if (is_first)
        speed.tokens += prompts[i].ids.size();
      else
        speed.tokens += generation.texts()[i].end == Generation::End::live;
    }
    const Clock::time_point begin = Clock::now();
    generation.step();
    speed.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  }

  std::string result(const std::string& prompt, const std::string& text, const Generation::Text& generated) const {
    if (!args_.json) return (args_.echo ? prompt : "") + text;
    using Json = nlohmann::ordered_json;
    const Json json{{"prompt", prompt},
                    {"text", text},
                    {"end", end_name(generated.end)},
                    {"ids", generated.ids},
                    {"log_probs", generated.log_probs}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);  // bytes need not be whole characters
  }

  GenerateArgs& args_;
  TrainedModel<EncoderOnly> trained_;
  OutputLines output_;
  Speed prompts_, continuations_;
};

int run(GenerateArgs& args) {
  expect_between(1, 1 << 30, "--max-tokens", args.max_tokens);
  expect_between(1, 1000, "--samples", args.samples);
  expect_between<uint64_t>(1, 1 << 20, "--mini-batch", args.mini_batch);
  for (const std::string& stop : args.stops) expect(!stop.empty(), "--stop", "text", "an empty text");
  expect(!first_invalid_utf8(args.prompt), "--prompt", "UTF-8", "other bytes");
  args.generation.validate();
  const bool greedy = args.generation.temperature == 0;
  for (const char* name : {"top-k", "top-p", "min-p", "seed", "samples"})
    args.table->reject_unused(name, !greedy, "--temperature is 0");
  for (const char* name : {"input", "mini-batch"})
    args.table->reject_unused(name, !args.table->given("prompt"), "there is a --prompt");
  args.table->reject_unused("echo", !args.json, "--json has the prompts");
  require_no_input(args.output, {args.input});
  args.threads.use();
  Generator(args).run();
  return 0;
}

void add_choice_rows(OptionTable& table, GenerationOptions& o) {
  table.group("Choice of tokens");
  table.add("--temperature", o.temperature, "NUMBER",
            "draw tokens from p^(1/temperature), normalized; 0: the most probable token (greedy)");
  table.add("--top-k", o.top_k, "TOKENS", "draw from the most probable tokens only; 0: from all");
  table.add("--top-p", o.top_p, "SHARE", "draw from the most probable tokens that hold this share of the probability");
  table.add("--min-p", o.min_p, "SHARE", "draw from tokens with at least this share of the largest probability");
  table.add("--repetition-penalty", o.repetition_penalty, "NUMBER",
            "lower the logits of tokens that are in the text already by this factor; 1: none");
  table.add("--seed", o.seed, "NUMBER", "random seed");
}

}  // namespace

void add_generate_command(Program& program) {
  auto args = std::make_shared<GenerateArgs>();
  OptionTable& table =
      program.command("generate", "continue prompts with a causal language model", [args] { return run(*args); });
  args->table = &table;
  add_model_rows(table, args->model, args->checkpoint);
  table.add("--vocab", args->vocabulary, "FILE", "vocabulary of a model without one");
  table.add("--prompt", args->prompt, "TEXT", "the prompt, which may be empty; default: prompts from --input");
  table.add("--input,-i", args->input, "FILE", "one prompt per line; default: standard input");
  table.add(
      "--output,-o", args->output, "FILE",
      "file for the prompts with their continuations; default: standard output, where a single text appears as it "
      "is generated");
  table.add("--max-tokens,--max-new-tokens", args->max_tokens, "TOKENS", "maximum tokens of a continuation");
  table.add("--stop", args->stops, "TEXT...", "end a continuation before the first of these strings");
  table.add("--samples,-n", args->samples, "NUMBER", "continuations of each prompt");
  table.add_flag("--echo,!--no-echo", args->echo, "write the prompt before its continuation");
  table.add_flag(
      "--json", args->json,
      "write a JSON object per continuation: its text, which may have several lines, ids, log-probabilities, "
      "and why it ended");
  add_choice_rows(table, args->generation);
  table.group("Execution");
  table.add("--mini-batch,--batch-size", args->mini_batch, "PROMPTS", "prompts that are continued together");
  args->device.add_row(table);
  args->precision.add_row(table);
  args->threads.add_row(table);
}

}  // namespace gyre
