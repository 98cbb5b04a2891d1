#include "gyre/train/tasks/language/language_options.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "gyre/core/option_checks.h"
#include "gyre/data/text/document_options.h"
#include "gyre/data/text/document_text.h"
#include "gyre/train/optim/schedule.h"
#include "gyre/train/tasks/language/language_stages.h"

namespace gyre {

// Runs compare the data, the weights and the end of a stage besides (stage_run_options()), and its learning rates as
// those of its schedule.
void LanguageStage::declare(OptionList& list) {
  using Words = OptionValue::Words;
  list.add(OnResume::same_bits, "--updates",
           {1, 1,
            [this](const Words& words) {
              const Period period = Period::parse(words.back());
              if (period.unit != Period::Unit::updates)
                throw UsageError("expected a number of updates, got ", words.back());
              updates = period.amount;
            },
            [this] { return toml_value(updates); }},
           "UPDATES", "number of updates: 12500, 200K", {.required = true});
  list.add(OnResume::other_data, "--max-length,--tokens-per-sample", &max_length, "TOKENS", "tokens per sample");
  list.add(OnResume::other_data, "--mini-batch-words,--max-tokens", &batch_size, "TOKENS",
           "size of the global batch, in the unit of --batch-unit, the run's unless the stage gives one");
  list.add(OnResume::other_data, "--batch-unit", one_of(&batch_unit, "", LanguageOptions::batch_units()),
           "unit of --mini-batch-words: tokens or sentences (samples)");
  list.add_shorthand("--mini-batch,--batch-size",
                     {1, 1,
                      [this](const Words& words) {
                        parse_value(words.back(), batch_size);
                        batch_unit = BatchUnit::sentences;
                      }},
                     "SAMPLES", "samples per global batch", {.shorthand_of = "mini-batch-words"});
  list.add(OnResume::other_bits, "--learn-rate,--lr", &learning_rate, "RATE",
           "peak learning rate; the schedule of the run goes on with it unless the stage has one of its own");
  list.add(OnResume::other_bits, "--lr-schedule,--lr-scheduler",
           {1, 1, [this](const Words& words) { schedule = chosen_word(words.back(), schedule_names()); },
            [this] { return toml_value(schedule); }},
           "WORD", "a learning rate schedule for this stage alone");
  list.add(OnResume::other_bits, "--lr-warmup,--warmup-updates",
           {1, 1,
            [this](const Words& words) {
              uint64_t given = 0;
              std::tie(given, warmup_percent) = parse_updates_or_share(words.back());
              warmup = given;
            },
            [this] { return warmup ? updates_or_share_toml(*warmup, warmup_percent) : std::string(); }},
           "UPDATES",
           "warm-up from the beginning of this stage, which starts the schedule anew; 10%: share of its updates");
  list.add(OnResume::other_bits, "--lr-cooldown",
           {1, 1, [this](const Words& words) { std::tie(cooldown, cooldown_percent) = parse_cooldown(words.back()); },
            [this] { return cooldown_percent ? cooldown_toml(cooldown, *cooldown_percent) : std::string(); }},
           "UPDATES", "updates of the decay at the end of lr-schedule wsd; 20%: share of the stage's updates");
  list.add(OnResume::other_bits, "--lr-cooldown-form", one_of(&cooldown_form, ""), "shape of this decay");
  list.add(OnResume::other_bits, "--lr-power,--power", &power, "NUMBER", "exponent of lr-schedule polynomial");
  list.add(OnResume::same_bits, "--train-sets,-t",
           {1, OptionValue::kAnyNumber, [this](const Words& words) { train_sets.assign(words.begin(), words.end()); },
            [this] { return train_sets.empty() ? std::string() : toml_value(train_sets); }},
           "FILE...", "training data, in the form of the run's --train-sets");
  list.add(OnResume::same_bits, "--train-weights",
           {1, OptionValue::kAnyNumber,
            [this](const Words& words) {
              train_weights.emplace();
              for (const std::string& word : words) parse_value(word, train_weights->emplace_back());
            },
            [this] { return train_weights ? toml_value(*train_weights) : std::string(); }},
           "WEIGHT...", "shares of the samples from each of the training files");
}

SampleOptions LanguageOptions::samples(SampleOptions::Task task) const {
  return {.task = task,
          .fill = fill,
          .across_documents = across_documents,
          .documents_apart = documents_attend == DocumentsAttend::apart,
          .max_length = data.max_length,
          .validation_share = validation_share};
}

namespace {

// fairseq has a single option for how samples are filled and whether they cross document boundaries.
Option break_mode(LanguageOptions& o) {
  using Fill = SampleOptions::Fill;
  static const std::map<std::string, std::pair<Fill, bool>> modes{{"none", {Fill::full, true}},
                                                                  {"complete", {Fill::sentences, true}},
                                                                  {"complete-doc", {Fill::sentences, false}},
                                                                  {"eos", {Fill::segment, false}}};
  std::vector<std::string> words;
  for (const auto& [word, meaning] : modes) words.push_back(word);
  return {"--sample-break-mode",
          {1, 1,
           [&o, words](const OptionValue::Words& given) {
             std::tie(o.fill, o.across_documents) = modes.at(chosen_word(given.back(), words));
           }},
          "WORD",
          "fairseq's name for --fill and --across-documents: none, complete, complete-doc, eos",
          {.completions = words, .shorthand_of = "fill"}};
}

// A validation set that is there twice would count twice in the mean.
void expect_different(const std::vector<Path>& sets) {
  for (size_t i = 0; i < sets.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      std::error_code missing;  // missing files are an error later
      expect(sets[i] != sets[j] && !std::filesystem::equivalent(sets[i], sets[j], missing), "--valid-sets",
             "different sets", sets[i].string() + " twice");
    }
  }
}

// The metrics of a validation. Bits per byte need the probability of a whole text, which masked models do not give.
std::vector<std::string> language_metrics(bool is_causal) {
  std::vector<std::string> metrics{"cross-entropy", "perplexity", "accuracy"};
  if (is_causal) metrics.emplace_back("bits-per-byte");
  return metrics;
}

// The schedule that a stage has for itself.
ScheduleOptions own_schedule(const LanguageStage& stage, const ScheduleOptions& run) {
  ScheduleOptions own;
  own.kind = stage.schedule.value_or(run.kind);
  own.learning_rate = stage.learning_rate.value_or(run.learning_rate);
  own.warmup = stage.warmup.value_or(0);
  own.warmup_percent = stage.warmup_percent;
  own.warmup_initial = std::min(run.warmup_initial, own.learning_rate);
  own.minimum_rate = run.minimum_rate;
  own.cooldown = stage.cooldown;
  own.cooldown_percent = stage.cooldown_percent.value_or(own.cooldown_percent);
  own.cooldown_form = stage.cooldown_form.value_or(own.cooldown_form);
  own.power = stage.power.value_or(own.power);
  own.validate();
  return resolve_schedule(own, stage.updates);
}

// The learning rates of a stage. `run`: the schedule of the run, with the numbers of updates.
RateStage rates_of(const LanguageStage& stage, uint64_t begin, const ScheduleOptions& run) {
  if (stage.restarts_schedule())
    return {.begin = begin, .origin = begin, .schedule = own_schedule(stage, run), .is_own = true};
  RateStage rates{.begin = begin, .origin = 0, .schedule = run, .is_own = false};
  rates.schedule.learning_rate = stage.learning_rate.value_or(run.learning_rate);
  rates.schedule.warmup_initial = std::min(run.warmup_initial, rates.schedule.learning_rate);
  return rates;
}

// Rejects options of a schedule that the stage does not have.
void check_schedule_options(const LanguageStage& stage, const std::string& run_kind) {
  const bool has_own = stage.restarts_schedule();
  const std::string kind = stage.schedule.value_or(run_kind), got = has_own ? kind : "the schedule of the run";
  const Schedule own = has_own ? find_schedule(kind) : Schedule{};
  const bool gives_cooldown = stage.cooldown || stage.cooldown_percent || stage.cooldown_form;
  expect(!gives_cooldown || own.has_cooldown, "lr-cooldown", "lr-schedule wsd in the stage", got);
  expect(!stage.power || own.has_power, "lr-power", "lr-schedule polynomial in the stage", got);
}

// One weight for each file, or none.
void expect_weights(const std::vector<double>& weights, size_t files, Shuffle shuffle) {
  if (weights.empty()) return;
  expect(weights.size() == files, "--train-weights",
         concat("a weight for each of the ", files, " files of --train-sets"), concat(weights.size(), " weights"));
  for (const double weight : weights)
    expect(std::isfinite(weight) && weight > 0, "--train-weights", "numbers above 0", weight);
  expect(shuffle == Shuffle::data, "--shuffle", "data with --train-weights, which draws samples at random",
         enum_name(shuffle));
}

void check_stage(const LanguageStage& stage) {
  expect_at_least(uint64_t{1}, "updates", stage.updates);
  if (stage.max_length) expect_at_least(3, "max-length", *stage.max_length);
  if (stage.batch_size) expect_at_least(uint64_t{1}, "mini-batch-words", *stage.batch_size);
  if (std::optional<BatchUnit> unit = stage.batch_unit) {
    const OptionValue value = one_of(&unit, "", LanguageOptions::batch_units());
    expect_one_of(value.choices, "batch-unit", value.text());
  }
}

}  // namespace

void LanguageOptions::set_stages(std::vector<LanguageStage> all) {
  uint64_t end = 0;
  for (const LanguageStage& stage : all) end += stage.updates;
  expect(stop.after.amount == 0 || (stop.after.unit == Period::Unit::updates && stop.after.amount == end), "--after",
         concat("nothing, or the ", end, " updates of all stages"), to_string(stop.after));
  stop.after = {end, Period::Unit::updates};
  optimizer.rate_stages.clear();
  const ScheduleOptions run = resolve_schedule(optimizer.schedule, end);
  uint64_t begin = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    try {
      check_stage(all[i]);
      check_schedule_options(all[i], optimizer.schedule.kind);
      optimizer.rate_stages.push_back(rates_of(all[i], begin, run));
      optimizer.rate_stages.back().schedule.validate();
    } catch (const UsageError& error) {
      throw UsageError("[stage ", i + 1, "] ", error.what());
    }
    begin += all[i].updates;
  }
  stages = std::move(all);
}

void LanguageOptions::declare_data(OptionList& list) {
  list.group("Data");
  // Runs compare the data, and not the names of its files.
  list.add(OnResume::same_bits, "--train-sets,-t", &data.train_sets, "FILE...",
           "training data: text, JSON lines (also compressed), folders, patterns, or token stores from gyre data build "
           "--documents; several are one corpus, in this order",
           {.required = true});
  list.add(OnResume::other_data, "--train-weights", &train_weights, "WEIGHT...",
           "shares of the samples from each of --train-sets; without it, every sample occurs once per epoch");
  list.add(OnResume::same_bits, "--valid-sets", &data.valid_sets, "FILE...",
           "validation data, in the same forms, each with a cross-entropy of its own beside that of all",
           {.also_called = {"validation-file", "valid-file", "valid-data", "val-data", "val-data-path", "eval-data",
                            "eval-dataset", "dev-sets", "valid-path"}});
  list.add(OnResume::other_data, "--valid-share", &validation_share, "SHARE",
           "share of --train-sets that is held out for validation instead of --valid-sets: of its documents, or the "
           "end of a single document; 0.2 is the paper's 8:2 split",
           {.bounds = fraction(),
            .also_called = {"split", "val-split-fraction", "validation-split-percentage", "val-split", "val-size"}});
  const auto without_validation = [this] { return has_validation_data() ? "" : "there is no validation data"; };
  list.add(OnResume::same_bits, "--valid-samples", &validation_samples, "SAMPLES",
           "number of validation samples, evenly spaced; 0: all",
           {.unused = without_validation, .also_called = {"eval-iters", "eval.max-iters", "max-eval-samples"}});
  list.add(OnResume::same_bits, "--vocab,--vocabs,-v", &data.vocabulary, "FILE", "vocabulary, from gyre vocab",
           {.supplied_by = "pretrained-model",
            .required = true,
            .also_called = {"tokenizer-name", "tokenizer-model", "tokenizer-path", "tokenizer-dir",
                            "tokenizer-name-or-path", "vocab-file", "merge-file", "srcdict", "tgtdict", "vocab-path"}});
  tokenizer.declare(list);
  list.add(OnResume::other_data, documents_option(&documents, ""));
  list.add(OnResume::other_data, line_ends_option(&line_ends, "keep if the vocabulary can write line ends, else none"));
  list.at("line-ends").unused = [this] {
    return documents == "whole" ? "--documents is whole, which keeps all line ends" : "";
  };
  list.add(OnResume::same_bits, text_field_option(&text_field));
  list.add(
      OnResume::other_data, "--max-length,--tokens-per-sample", &data.max_length, "TOKENS",
      "tokens per sample, <s> and </s> included",
      {.bounds = at_least(3),
       .also_called = {"max-seq-length", "seq-length", "seq-len", "max-seq-len", "sequence-length", "block-size",
                       "context-length", "ctx-len", "max-source-length", "max-target-length", "max-sequence-length"}});
  list.add(OnResume::other_data, "--fill", &fill,
           "content of a sample: as many tokens as fit, whole sentences, or one sentence");
  list.add(OnResume::other_data, "--across-documents", &across_documents,
           "let samples continue into the next document, with </s> between documents",
           OptionDetails{.also_called = {"packing"}});
  list.add(
      OnResume::other_data, "--documents-attend", &documents_attend,
      "attention within a sample of several documents: across their boundaries; or apart, as if each document were a "
      "sample, with positions that restart at 0",
      {.unused = [this] { return across_documents ? "" : "without --across-documents, a sample holds one document"; },
       .values_called = {{"apart", {"reset-attention-mask", "reset-position-ids"}}}});
  list.add(OnResume::same_bits, break_mode(*this));
  list.group("Initialization");
  list.add(OnResume::other_bits, pretrained_model_option(&pretrained_model));
  lora.declare(list);
}

void LanguageOptions::declare_run(OptionList& list, std::vector<std::string> valid_metrics) {
  declare_training(list, {.batch_units = batch_units(),
                          .batch_unit_help = "unit of --mini-batch-words: tokens or sentences (samples)",
                          .valid_metrics = std::move(valid_metrics)});
  list.at("on-bad-line").unused = [this] { return documents == "whole" ? "--documents is whole" : ""; };
  list.group("Optimizer");
  list.add(OnResume::other_bits, "--z-loss", &z_loss, "NUMBER",
           "factor of the squared logarithm of the softmax's denominator in the loss, which keeps logits small (PaLM: "
           "1e-4); 0: none",
           {.bounds = finite_at_least(0)});
  list.group("Stopping, saving, validation");
  list.add(OnResume::same_bits, "--valid-mini-batch,--batch-size-valid", &validation.mini_batch, "SAMPLES",
           "samples per validation batch", {.bounds = at_least(1), .unused = [this] {
                                              return has_validation_data() ? "" : "there is no validation data";
                                            }});
}

// A sample with answers is read as it stands.
void LanguageOptions::declare_format(OptionList& list) {
  list.group("Data");
  list.add(
      OnResume::other_data, "--format", &format,
      "what a line of --train-sets and --valid-sets is: text of documents; completion: "
      R"({"prompt": "..", "completion": ".."}; chat: {"messages": [{"role": "user", "content": ".."}, ..]}. )"
      "Of the last two, only completions and the answers of the assistant are predicted, and samples do not attend "
      "to each other");
  list.add(OnResume::same_bits, "--chat-template", &chat_template, "NAME|FILE",
           concat("how a conversation becomes a text: ", joined(built_in_chat_templates()),
                  ", or a file in Jinja; default: the template of --pretrained-model or of the vocabulary"),
           {.unused = [this] { return format == SampleFormat::chat ? "" : "--format is not chat"; },
            .completions = built_in_chat_templates()});
  for (const char* name : {"documents", "line-ends", "text-field", "fill", "across-documents", "documents-attend"}) {
    Option& option = list.at(name);
    option.unused = [this, before = option.unused]() -> std::string {
      if (has_answers()) return concat("--format is ", enum_name(format), ", whose samples are read as they stand");
      return before ? before() : "";
    };
  }
}

void LanguageOptions::declare(OptionList& list) {
  declare_data(list);
  declare_format(list);
  declare_run(list, language_metrics(true));
}

void LanguageOptions::validate() const {
  TrainOptions::validate();
  tokenizer.check();
  lora.validate(!pretrained_model.empty());
  expect(!data.train_sets.empty(), "--train-sets", "text files or a token store", "nothing");
  parse_document_end(documents);
  expect_different(data.valid_sets);
  expect(documents != "whole" || fill == SampleOptions::Fill::full, "--fill",
         "full with --documents whole, which has no sentences", enum_name(fill));
  expect(!across_documents || fill != SampleOptions::Fill::segment, "--across-documents", "off with --fill segment",
         "on");
  expect(validation_share == 0 || data.valid_sets.empty(), "--valid-share", "0 with --valid-sets", validation_share);
  expect_weights(train_weights, data.train_sets.size(), batch.shuffle);
  for (const LanguageStage& stage : stages) {
    const LanguageOptions of_stage = options_of_stage(*this, stage);
    expect_weights(of_stage.train_weights, of_stage.data.train_sets.size(), batch.shuffle);
  }
  for (const LanguageStage& stage : stages)
    expect(validation_share == 0 || stage.train_sets.empty(), "--valid-share",
           "0, and --valid-sets, if a stage has train-sets of its own", validation_share);
  for (const std::string& metric : validation.metrics) {
    expect_one_of(language_metrics(true), "--valid-metrics", metric);
    expect(metric != "bits-per-byte" || !has_answers(), "--valid-metrics", "bits-per-byte only with --format text",
           metric);
  }
}

OptimizerOptions causal_optimizer() {
  OptimizerOptions options = LanguageOptions().optimizer;
  options.kind = "adamw";
  options.beta2 = 0.95;
  options.epsilon = 1e-8;
  options.weight_decay = 0.1;
  options.clip_norm = 1;
  return options;
}

std::unique_ptr<TrainOptions> LanguageOptions::with_defaults() const {
  auto defaults = std::make_unique<LanguageOptions>();
  defaults->optimizer = causal_optimizer();
  defaults->line_ends = LineEnds::none;  // of checkpoints that record none
  return defaults;
}

std::unique_ptr<TrainOptions> MaskedOptions::with_defaults() const {
  auto defaults = std::make_unique<MaskedOptions>();
  defaults->line_ends = LineEnds::none;
  return defaults;
}

void MaskedOptions::declare(OptionList& list) {
  declare_data(list);
  list.group("Masking");
  list.add(
      OnResume::other_data, "--mask-share,--mask-prob", &mask_share, "SHARE",
      "share of the tokens to predict: 80 % of them masked, 10 % replaced by random tokens, 10 % unchanged",
      {.bounds =
           Bounds{.expected = "a number above 0 and up to 1", .minimum = 0, .maximum = 1, .includes_minimum = false},
       .also_called = {"mlm-probability"}});
  list.add(OnResume::other_data, "--mask-draw", &mask_draw,
           "exact: this share of every sample, as in BERT; independent: each token independently, and a batch without "
           "masks updates nothing");
  list.add(OnResume::other_data, "--whole-words,--mask-whole-words", &whole_words, "mask all pieces of a word or none");
  declare_run(list, language_metrics(false));
}

MaskingOptions MaskedOptions::masking() const {
  return {.share = mask_share, .draw = mask_draw, .whole_words = whole_words};
}

void MaskedOptions::validate() const {
  LanguageOptions::validate();
  for (const std::string& metric : validation.metrics)
    expect(metric != "bits-per-byte", "--valid-metrics", "bits-per-byte only for causal models", metric);
}

}  // namespace gyre
