// gyre generate: continues prompts and conversations with a causal language model.
#include "gyre/models/decode/generate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/random.h"
#include "gyre/data/chat/chat_template.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/strip.h"
#include "gyre/data/tokenizer/continuation.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/command_line/messages.h"
#include "tools/commands/greedy_generation.h"
#include "tools/lines.h"
#include "tools/options/computing_options.h"
#include "tools/options/model_choice.h"
#include "tools/program.h"

namespace gyre {

namespace {

// Sets the options that the user did not give, and the ids that end a text, as generation_config.json in the run
// directory of an imported model says, if there is one, and prints them. Throws an Error for a file that cannot be
// read.
void apply_generation_config(const Path& run, const OptionTable& table, GenerationOptions& options, int& max_tokens) {
  const Path file = run / kGenerationConfigFile;
  if (!std::filesystem::exists(file)) return;
  const GenerationConfig config = parse_generation_config(read_file(file), file.string() + ": ");
  constexpr int64_t kDefaultTopK = 50;  // default of transformers, which does not sample by default
  std::string applied;
  const auto given = [&](const char* name) { return table.given(name); };
  const auto apply = [&](const char* name, auto& field, const auto& value) {
    if (!value || given(name)) return;
    field = std::decay_t<decltype(field)>(*value);
    applied += concat(applied.empty() ? "" : ", ", "--", name, " ", field);
  };
  if (config.do_sample == true) {
    apply("temperature", options.temperature, config.temperature);
    apply("top-k", options.top_k, std::optional(config.top_k.value_or(kDefaultTopK)));
    apply("top-p", options.top_p, config.top_p);
    apply("min-p", options.min_p, config.min_p);
  } else if (std::ranges::none_of(std::array{"top-k", "top-p", "min-p"}, given)) {
    apply("temperature", options.temperature, std::optional(0.0));
  }
  apply("repetition-penalty", options.repetition_penalty, config.repetition_penalty);
  apply("max-tokens", max_tokens, config.max_new_tokens);
  options.ends = config.eos;
  if (!applied.empty()) print_message(concat(kGenerationConfigFile, ": ", applied));
}

struct GenerateArgs {
  Path model, vocabulary, input, output;
  std::string checkpoint, prompt, system;
  GenerationOptions generation;
  DecodeOptions beams{.beam_size = 1, .length_penalty = 1, .stop = StopRule::present_length};
  int max_tokens = 128, samples = 1;
  std::vector<std::string> stops;
  uint64_t mini_batch = 16;
  bool echo = true, line_breaks = false, json = false, chat = false;
  BadLineChoice bad_lines;
  BosChoice bos;
  DeviceChoice device;
  PrecisionChoice precision;
  CpuThreads threads;
  const OptionTable* table = nullptr;
};

// Tokens and seconds of the reading of prompts, and of all other steps. Every step reads all weights.
struct Speed {
  uint64_t tokens = 0;
  double seconds = 0, weight_bytes = 0;

  void print(const char* what) const {
    const double rate = seconds > 0 ? 1 / seconds : 0;
    std::fprintf(stderr, "%s: %llu tokens in %.2f s, %.1f tokens/s", what, static_cast<unsigned long long>(tokens),
                 seconds, double(tokens) * rate);
    if (weight_bytes > 0) std::fprintf(stderr, ", %.1f GB/s of weights", weight_bytes * rate / 1e9);
    std::fputc('\n', stderr);
  }
};

constexpr const char* end_name(Generation::End end) {
  return end == Generation::End::eos ? "eos" : end == Generation::End::stopped ? "stop" : "length";
}

// The chat template of a model. Throws an Error if it has none. The vocabulary must outlive the result.
ChatTemplate load_chat_template(const Path& model, const Vocabulary& vocabulary) {
  const std::string text = find_chat_template(find_run(model), vocabulary);
  require(!text.empty(), "[--chat] ", model.string(), ": expected a model with a chat template, from gyre train lm ",
          "--format chat or gyre import, found none");
  return {kChatTemplate, text, vocabulary};
}

constexpr const char* kWhiteSpace = " \t\r\n";  // which some templates put around an answer

struct PromptLine {
  std::string text;
  std::vector<int32_t> ids;
  bool is_skipped = false;  // because of a bad line; has no ids
};

class Generator {
 public:
  explicit Generator(GenerateArgs& args)
      : args_(args),
        trained_(load_language_model(args.model, args.checkpoint, args.vocabulary, args.device.kernels().device())),
        output_(args.output) {
    const Vocabulary& vocabulary = *trained_.vocabulary;
    GenerationOptions& options = args.generation;
    before_ = args.bos.before_text(args.model, args.checkpoint, vocabulary);
    if (args.chat) {
      chat_.emplace(load_chat_template(args.model, vocabulary));
      const ChatTemplate::End end = chat_->end_of_answer();
      if (end.id) options.ends.push_back(*end.id);
      if (!end.text.empty()) args.stops.push_back(end.text);
    }
    set_special_ids(options, vocabulary);
    options.precision = args.precision.on(args.device.kernels());
    options.packed = packed_for_continuing(nullptr, args.device.kernels(), options.precision);
    args.beams.bos = vocabulary.bos();
    args.beams.eos = options.eos;
    args.beams.suppressed = options.suppressed;
    args.beams.precision = options.precision;
    args.beams.packed = options.packed;
    if (options.packed) pack_weights();
  }

  void run() {
    if (args_.table->given("prompt")) {
      const std::string text = chat_ ? json_text({{"messages", {message("user", args_.prompt)}}}) : args_.prompt;
      PromptLine prompt{text, encode(text)};
      if (const auto fault = length_fault(prompt)) throw Error("--prompt: ", *fault);
      keeps_line_breaks_ = args_.line_breaks || (args_.samples == 1 && args_.beams.n_best == 1);
      continue_prompts({prompt}, 0);
    } else {
      InputLines input(args_.input, args_.bad_lines.policy);
      input.set_limit(concat(trained_.model->longest(), " tokens"));
      keeps_line_breaks_ = args_.line_breaks || (input.is_terminal() && is_standard(args_.output));
      if (chat_ && input.is_terminal()) {
        talk(input);
      } else {
        continue_lines(input);
      }
      input.print_report();
    }
    output_.commit();
    if (args_.generation.packed) std::fprintf(stderr, "weights: packed for int8 in %.2f s\n", packing_seconds_);
    if (args_.beams.beam_size == 1) prompts_.print("prompts");
    continuations_.print("continuations");
  }

 private:
  using Results = std::vector<std::vector<std::string>>;  // the lines of output of each prompt

  // Packs all weights by a step over one token, so that the time of the first prompt is its own.
  void pack_weights() {
    const Stopwatch clock;
    Generation(*trained_.model, args_.device.kernels(), {{{0}, 0, 1}}, args_.generation).step();
    packing_seconds_ = clock.seconds();
  }

  static Json message(const char* role, const std::string& content) { return {{"role", role}, {"content", content}}; }

  void continue_lines(InputLines& input) {
    if (chat_) input.expect_json();
    for_each_window<PromptLine>(
        input.window(size_t(args_.mini_batch)), output_, [&](PromptLine& prompt) { return read(input, prompt); },
        [&](const std::vector<PromptLine>& prompts, uint64_t first) { continue_prompts(prompts, first); });
    progress_.reset();
  }

  // Answers line by line until the end of the input, and keeps what was said.
  void talk(InputLines& input) {
    expect(args_.samples == 1 && args_.beams.beam_size == 1, "--samples", "1, and --beam-size 1, on a terminal",
           "more");
    auto messages = Json::array();
    uint64_t turn = 0;
    for (std::string line; input.next(line);) {
      if (input.is_skipped() || is_blank(line)) continue;
      messages.push_back(message("user", line));
      const std::vector<Prompt> prompts{
          {fitting_prompt(messages), mix(mix(hash_name("generate"), turn++), 0), args_.max_tokens}};
      std::vector<Continuation> continuations = continuations_of({""}, prompts);
      const std::string nothing;
      const Generation::Text text = generate(prompts, continuations, args_.json ? nullptr : &nothing).front();
      const std::string answer(strip(continuations.front().text(), kWhiteSpace));
      if (args_.json)
        output_.write(
            line_of(json_text({{"messages", messages}}), answer, end_name(text.end), text.ids, text.log_probs));
      messages.push_back(message("assistant", answer));
    }
  }

  // The ids of a conversation, without its oldest questions and answers if the model has no positions for them.
  std::vector<int32_t> fitting_prompt(Json& messages) const {
    for (bool has_noted = false;; has_noted = true) {
      std::vector<int32_t> ids = encode(json_text({{"messages", messages}}));
      const auto length = int64_t(ids.size()), longest = trained_.model->longest();
      if (length < longest && (length + args_.max_tokens <= longest || messages.size() < 3)) return ids;
      require(messages.size() >= 3, "expected a message of at most ", longest,
              " tokens, the positions of the model, got ", length, " with the chat template");
      messages.erase(0);
      messages.erase(0);
      if (!has_noted) print_message("the conversation is longer than the model can read: it forgets the beginning");
    }
  }

  // False at the end of the input.
  bool read(InputLines& input, PromptLine& prompt) const {
    if (!input.next(prompt.text)) return false;
    prompt.ids.clear();
    try {
      if (!input.is_skipped()) prompt.ids = encode(prompt.text);
    } catch (const Error& error) {
      if (!chat_) throw;
      input.reject(BadLine::bad_json, error.what());
    }
    if (const auto fault = length_fault(prompt)) input.reject(BadLine::too_long, *fault);
    prompt.is_skipped = input.is_skipped();
    return true;
  }

  // The ids of a prompt, with those before a text. The text of a conversation is JSON.
  std::vector<int32_t> encode(const std::string& text) const {
    if (chat_) return chat_->prompt(conversation_of(text));
    std::vector<int32_t> ids = trained_.vocabulary->encode(text);
    put_before_text(before_, *trained_.vocabulary, ids);
    return ids;
  }

  // With the message of --system, unless it has one of its own.
  Json conversation_of(const std::string& text) const {
    Json conversation = parse_conversation(text);
    Json& messages = conversation["messages"];
    if (!args_.system.empty() && messages[0]["role"] != "system")
      messages.insert(messages.begin(), message("system", args_.system));
    return conversation;
  }

  // Why the model cannot continue a prompt, if it has no positions for it.
  std::optional<std::string> length_fault(const PromptLine& prompt) const {
    const int64_t longest = trained_.model->longest();
    if (int64_t(prompt.ids.size()) <= longest) return std::nullopt;
    return concat("expected a prompt of at most ", longest, " tokens, the positions of the model, got ",
                  prompt.ids.size());
  }

  // Writes the continuations of each prompt; `first` is the number of prompts before them.
  void continue_prompts(const std::vector<PromptLine>& lines, uint64_t first) {
    const bool searches = args_.beams.beam_size > 1;
    const int samples = searches ? 1 : args_.samples;
    std::vector<Prompt> prompts;
    std::vector<std::string> texts;  // texts of `prompts`
    for (size_t i = 0; i < lines.size(); ++i) {
      for (int sample = 0; !lines[i].is_skipped && sample < samples; ++sample) {
        const uint64_t stream = mix(mix(hash_name("generate"), first + i), uint64_t(sample));
        prompts.push_back({lines[i].ids, stream, args_.max_tokens});
        texts.push_back(lines[i].text);
      }
    }
    const bool stream = lines.size() == 1 && prompts.size() == 1 && !searches && !args_.json;
    Results results;
    if (progress_ && first > 0) progress_->show(int64_t(first));
    if (!prompts.empty()) results = searches ? search(texts, prompts) : sample(texts, prompts, stream);
    if (stream) return;
    auto result = results.begin();
    for (const PromptLine& line : lines) {
      for (int i = 0; line.is_skipped && i < std::max(samples, args_.beams.n_best); ++i)
        output_.write(skipped_line(line.text));
      for (int i = 0; !line.is_skipped && i < samples; ++i, ++result)
        for (const std::string& text : *result) output_.write(text);
    }
  }

  // Continues each prompt with tokens that are drawn. With `stream`, writes the text of a single one as it comes.
  Results sample(const std::vector<std::string>& texts, const std::vector<Prompt>& prompts, bool stream) {
    std::vector<Continuation> continuations = continuations_of(texts, prompts);
    const std::vector<Generation::Text> generated = generate(prompts, continuations, stream ? &texts[0] : nullptr);
    Results results;
    for (size_t i = 0; i < prompts.size(); ++i) {
      const Generation::Text& text = generated[i];
      results.push_back({line_of(texts[i], continuations[i].text(), end_name(text.end), text.ids, text.log_probs)});
    }
    return results;
  }

  std::vector<Continuation> continuations_of(const std::vector<std::string>& texts,
                                             const std::vector<Prompt>& prompts) const {
    std::vector<Continuation> continuations;
    for (size_t i = 0; i < prompts.size(); ++i)
      continuations.emplace_back(*trained_.vocabulary, prompts[i].ids, args_.stops,
                                 chat_ ? std::string_view() : texts[i]);
    return continuations;
  }

  // Searches the n best continuations of each prompt.
  Results search(const std::vector<std::string>& texts, const std::vector<Prompt>& prompts) {
    std::vector<Continuation> continuations = continuations_of(texts, prompts);
    const auto is_end = [&](int32_t id) { return std::ranges::count(args_.generation.ends, id) > 0; };
    ContinuationRules rules{.repetition_penalty = args_.generation.repetition_penalty};
    rules.ends = [&](size_t i, std::span<const int32_t> ids) {
      return is_end(ids.back()) || (!args_.stops.empty() && continuations[i].set(ids));
    };
    const Stopwatch clock;
    const auto results = search_continuations(*trained_.model, args_.device.kernels(), prompts, args_.beams, rules);
    continuations_.seconds += clock.seconds();
    Results lines(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      for (const Hypothesis& best : results[i]) {
        std::vector<int32_t> ids = best.ids;
        if (!ids.empty() && is_end(ids.back())) ids.pop_back();
        const bool has_eos = best.token_log_probs.size() > ids.size(), stopped = continuations[i].set(ids);
        const auto end = has_eos ? Generation::End::eos : stopped ? Generation::End::stopped : Generation::End::length;
        continuations_.tokens += ids.size();
        std::vector<float> log_probs = best.token_log_probs;
        log_probs.resize(ids.size());  // the value of EOS is left out
        lines[i].push_back(line_of(texts[i], continuations[i].text(), end_name(end), ids, log_probs, &best.score));
      }
    }
    return lines;
  }

  // Continues the prompts. With the text of a single one, `stream`, writes it and its continuation as it comes.
  std::vector<Generation::Text> generate(const std::vector<Prompt>& prompts, std::vector<Continuation>& continuations,
                                         const std::string* stream) {
    Generation generation(*trained_.model, args_.device.kernels(), prompts, args_.generation);
    if (stream != nullptr && args_.echo) output_.write_part(shown(*stream));
    size_t written = 0;
    std::vector<bool> live(prompts.size(), true);
    for (bool is_first = true; !generation.done(); is_first = false) {
      measured_step(generation, prompts, is_first);
      for (size_t i = 0; i < prompts.size(); ++i) {
        const Generation::Text& text = generation.texts()[i];
        if (live[i] && continuations[i].set(text.ids)) generation.stop(i);
        live[i] = text.end == Generation::End::live;
      }
      if (stream == nullptr) continue;
      const std::string& text = continuations[0].text();
      const size_t settled = generation.done() ? text.size() : continuations[0].settled();
      if (chat_ && written == 0) written = std::min(text.find_first_not_of(kWhiteSpace), settled);
      if (settled <= written) continue;
      output_.write_part(shown(text.substr(written, settled - written)));
      written = settled;
    }
    if (stream != nullptr) output_.write("");
    return generation.texts();
  }

  void measured_step(Generation& generation, const std::vector<Prompt>& prompts, bool is_first) {
    Speed& speed = is_first ? prompts_ : continuations_;
    for (size_t i = 0; i < prompts.size(); ++i) {
      if (is_first)
        speed.tokens += prompts[i].ids.size();
      else
        speed.tokens += generation.texts()[i].end == Generation::End::live;
    }
    const Stopwatch clock;
    generation.step();
    speed.seconds += clock.seconds();
    if (!is_first) speed.weight_bytes += generation.weight_bytes();
  }

  // The line of output of a continuation; `score`: that of a beam search.
  std::string line_of(const std::string& prompt, const std::string& text, const char* end,
                      const std::vector<int32_t>& ids, const std::vector<float>& log_probs,
                      const double* score = nullptr) const {
    const std::string answer(chat_ ? strip(text, kWhiteSpace) : text);
    if (!args_.json) return shown((args_.echo ? prompt : "") + answer);
    Json json = chat_ ? Json{{"messages", conversation_of(prompt)["messages"]}} : Json{{"prompt", prompt}};
    json.update({{"text", answer}, {"end", end}, {"ids", ids}, {"log_probs", log_probs}});
    if (score != nullptr) json["score"] = *score;
    return json_text(json);
  }

  std::string skipped_line(const std::string& prompt) const {
    if (!args_.json) return "";
    return json_text({{chat_ ? "messages" : "prompt", chat_ ? Json() : Json(prompt)},
                      {"text", nullptr},
                      {"end", "skipped"},
                      {"ids", Json::array()},
                      {"log_probs", Json::array()}});
  }

  // Several texts are a line each.
  std::string shown(const std::string& text) const { return keeps_line_breaks_ ? text : one_line(text); }

  GenerateArgs& args_;
  TrainedModel<EncoderOnly> trained_;
  OutputLines output_;
  std::unique_ptr<WorkProgress> progress_ = line_progress(args_.output);  // may be null
  std::vector<int32_t> before_;                                           // ids before a prompt
  std::optional<ChatTemplate> chat_;                                      // with --chat
  Speed prompts_, continuations_;
  double packing_seconds_ = 0;  // with --precision int8
  bool keeps_line_breaks_ = false;
};

// Rejects options that the choice of tokens does not read.
void reject_unused_choices(const GenerateArgs& args) {
  const OptionTable& table = *args.table;
  const bool searches = args.beams.beam_size > 1, greedy = args.generation.temperature == 0;
  for (const char* name : {"temperature", "top-k", "top-p", "min-p", "seed", "samples"})
    table.reject_unused(name, !searches, "--beam-size is above 1");
  for (const char* name : {"length-penalty", "length-penalty-form", "n-best", "stop-rule"})
    table.reject_unused(name, searches, "--beam-size is 1");
  for (const char* name : {"top-k", "top-p", "min-p", "seed", "samples"})
    table.reject_unused(name, !greedy, "--temperature is 0");
}

void check(const GenerateArgs& args) {
  expect_between(1, 1 << 30, "--max-tokens", args.max_tokens);
  expect_between(1, 1000, "--samples", args.samples);
  expect_between<uint64_t>(1, 1 << 20, "--mini-batch", args.mini_batch);
  for (const std::string& stop : args.stops) expect(!stop.empty(), "--stop", "text", "an empty text");
  args.generation.validate();
  args.beams.validate_search();
  reject_unused_choices(args);
  for (const char* name : {"input", "mini-batch", "on-bad-line"})
    args.table->reject_unused(name, !args.table->given("prompt"), "there is a --prompt");
  args.table->reject_unused("echo", !args.json, "--json has the prompts");
  for (const char* name : {"echo", "bos"})
    args.table->reject_unused(name, !args.chat, "--chat writes answers, and the chat template what is before them");
  args.table->reject_unused("system", args.chat, "there is no --chat");
  args.table->reject_unused("line-breaks", !args.json, "--json has the line breaks");
  require_no_input(args.output, {args.input});
}

int run(GenerateArgs& args) {
  apply_generation_config(find_run(args.model), *args.table, args.generation, args.max_tokens);
  check(args);
  if (args.chat) args.echo = false;
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
            "lower the logits of tokens that are in the text already by this factor, or the log-probabilities "
            "in a beam search; 1: none");
  table.add("--seed", o.seed, "NUMBER", "random seed");
}

void add_beam_rows(OptionTable& table, DecodeOptions& o) {
  table.group("Beam search");
  table.add("--beam-size,-b,--beam,--num-beams", o.beam_size, "HYPOTHESES",
            "search for the most probable continuations instead of drawing tokens; 1: no search");
  table.add("--length-penalty,--normalize,--lenpen", o.length_penalty, "NUMBER",
            "exponent a of the length penalty; 0: no penalty");
  table.add_enum("--length-penalty-form", o.form, "score log P / |Y|^a, or log P / ((5 + |Y|) / 6)^a");
  table.add("--n-best,--nbest", o.n_best, "CONTINUATIONS", "continuations of each prompt, best first");
  table.add_enum(
      "--stop-rule", o.stop,
      "beam-finished: stop once --beam-size hypotheses have ended; exact: once no other can win; present-length: "
      "once none would win if it ended now");
}

}  // namespace

void add_generate_command(Program& program) {
  auto args = std::make_shared<GenerateArgs>();
  OptionTable& table =
      program.command("generate", "continue prompts with a causal language model", [args] { return run(*args); });
  args->table = &table;
  add_model_rows(table, args->model, args->checkpoint);
  table.add("--vocab", args->vocabulary, "FILE", "vocabulary of a model without one");
  table.add_flag(
      "--chat", args->chat,
      "answer conversations with the chat template of the model: on a terminal line by line, until Ctrl-D; "
      R"(otherwise --input has one of JSON in each line, {"messages": [{"role": "user", "content": ".."}]})");
  table.add("--system", args->system, "TEXT", "with --chat: the message of the system with which conversations begin");
  table.add("--prompt", args->prompt, "TEXT",
            "the prompt, which may be empty, or a user's message with --chat; default: prompts from --input");
  table.add("--input,-i", args->input, "FILE", "one prompt per line; default: standard input");
  table.add(
      "--output,-o", args->output, "FILE",
      "file for the prompts with their continuations; default: standard output, where a single text appears as it "
      "is generated");
  table.add("--max-tokens,--max-new-tokens", args->max_tokens, "TOKENS", "maximum tokens of a continuation");
  table.add("--stop", args->stops, "TEXT...", "end a continuation before the first of these strings");
  table.add("--samples,-n", args->samples, "NUMBER", "continuations of each prompt");
  args->bos.add_row(table);
  table.add_flag("--echo,!--no-echo", args->echo, "write the prompt before its continuation");
  table.add_flag("--line-breaks", args->line_breaks,
                 "write the line breaks of several texts too; without it they become spaces, so that each text is a "
                 "line, except on a terminal and for a single --prompt");
  args->bad_lines.add_row(table, "too long for the model or not UTF-8");
  table.add_flag(
      "--json", args->json,
      "write a JSON object per continuation: its text, which may have several lines, ids, their log-probabilities "
      "before temperature and truncation, and why it ended");
  add_choice_rows(table, args->generation);
  add_beam_rows(table, args->beams);
  table.group("Execution");
  table.add("--mini-batch,--batch-size", args->mini_batch, "PROMPTS", "prompts that are continued together");
  args->device.add_row(table);
  args->precision.add_inference_row(table);
  args->threads.add_row(table);
}

}  // namespace gyre
