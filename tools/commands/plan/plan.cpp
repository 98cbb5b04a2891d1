// gyre plan TASK: estimates memory, time and scaling of a training job. Takes the options of gyre train. The cost of
// the model is predicted, for the CPU of this machine from a few measured products, or for GPUs of a kind (--device
// h200); on a GPU of this machine it is measured. The speed of the link is given by options.
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "gyre/train/tasks/language/language_stages.h"
#include "gyre/train/tasks/require_positions.h"
#include "tools/command_line/foreign_options.h"
#include "tools/command_line/messages.h"
#include "tools/commands/plan/plan_steps.h"
#include "tools/commands/plan/plan_totals.h"
#include "tools/options/layer_options.h"
#include "tools/options/model_options.h"
#include "tools/options/tasks/classify_options.h"
#include "tools/options/tasks/encoder_options.h"
#include "tools/options/tasks/fine_tuning_options.h"
#include "tools/options/tasks/language_options.h"
#include "tools/options/tasks/match_options.h"
#include "tools/options/tasks/nmt_options.h"
#include "tools/options/tasks/pretrained_row.h"
#include "tools/print_summary.h"
#include "tools/program.h"
#include "tools/workload/training_load.h"

namespace gyre {
namespace {

// The figures behind a plan for GPUs, none of which was measured.
void print_assumptions(const std::vector<std::string>& assumptions) {
  if (assumptions.empty()) return;
  std::cout << "\nNothing of this was measured. The figures behind it:\n";
  for (const std::string& line : assumptions) std::cout << "  " << line << '\n';
}

const char* rank_word(const std::string& device) { return planned_gpu(device) != nullptr ? "GPUs" : "ranks"; }

// Only the sum over a run reads --epoch-items.
void check_epoch_items(const PlanArgs& args, const TrainOptions& options) {
  args.table->reject_unused("epoch-items", options.stop.after.unit == Period::Unit::epochs,
                            "--after is not a number of epochs");
  args.table->reject_unused("epoch-items", !args.weak, "with --weak, the updates of an epoch depend on the ranks");
}

// Call it once the options have been checked: an error is the only line that a call prints.
void print_foreign_notes(const PlanArgs& args) {
  for (const std::string& note : foreign_notes(*args.table)) print_message(note);
}

// The number of updates of the run for each row; empty if it is unknown.
std::vector<uint64_t> updates_of_run(const PlanArgs& args, const TrainOptions& options, const PlannedSteps& planned) {
  const Period& after = options.stop.after;
  std::vector<uint64_t> updates;
  for (const double tokens : planned.target_tokens) {
    const uint64_t of_row =
        after.unit == Period::Unit::target_tokens
            ? uint64_t(std::ceil(double(after.amount) / tokens))
            : after.in_updates(uint64_t(std::ceil(double(args.epoch_items) / planned.items_per_step)));
    if (of_row == 0) return {};
    updates.push_back(of_row);
  }
  return updates;
}

// Says why there is no sum over the run.
void print_unknown_end(const PlanArgs& args, const TrainOptions& options) {
  const bool in_epochs = options.stop.after.amount > 0 && options.stop.after.unit == Period::Unit::epochs;
  const bool is_zero =
      in_epochs ? args.table->given("epoch-items") : args.table->given("after") || args.table->given("after-epochs");
  print_message(concat("note: the time of the whole run needs ", is_zero ? "a positive " : "",
                       in_epochs ? "--epoch-items, because --after is in epochs"
                                 : "--after, such as 100Ku (updates) or 20Gt (target tokens)"));
}

// Plans a run without stages. plan(): its steps.
template <class Plan>
int report(const PlanArgs& args, const TrainOptions& options, Plan&& plan) {
  check_epoch_items(args, options);
  PlannedSteps planned = plan();
  print_foreign_notes(args);
  PlanTotals totals;
  const std::vector<uint64_t> updates = updates_of_run(args, options, planned);
  const bool has_end = !updates.empty();
  if (has_end) totals.add(planned.rows, updates);
  if (has_end && args.json) planned.summary["run"] = totals.json();
  print_summary(planned.summary, args.json);
  if (!has_end) print_unknown_end(args, options);
  if (args.json) return 0;
  planned.print();
  if (has_end) totals.print(rank_word(options.device.name));
  print_assumptions(planned.assumptions);
  return 0;
}

// Plans a run stage by stage, and adds the stages up. plan_stage(options of the stage): its steps.
template <class PlanStage>
int report_stages(const PlanArgs& args, const LanguageOptions& options, PlanStage&& plan_stage) {
  check_epoch_items(args, options);
  const std::vector<RunStage> stages = run_stages(options);
  PlanTotals totals;
  Json summary{{"stages", Json::array()}};
  std::vector<std::string> assumptions;
  for (size_t i = 0; i < stages.size(); ++i) {
    PlannedSteps planned = plan_stage(options_of_stage(options, options.stages[i]));
    if (i == 0) print_foreign_notes(args);
    totals.add(planned.rows, std::vector<uint64_t>(planned.rows.size(), stages[i].updates));
    assumptions = planned.assumptions;
    Json head{{"stage", concat(i + 1, " of ", stages.size())},
              {"updates", stages[i].updates},
              {"max_length", stages[i].max_length}};
    head.update(planned.summary);
    if (args.json) {
      summary["stages"].push_back(head);
      continue;
    }
    if (i > 0) std::cout << '\n';
    print_summary(head, false);
    planned.print();
  }
  if (args.json) {
    summary["run"] = totals.json();
    print_summary(summary, true);
    return 0;
  }
  totals.print(rank_word(options.device.name));
  print_assumptions(assumptions);
  return 0;
}

void add_plan_rows(OptionTable& table, PlanArgs& args) {
  args.table = &table;
  table.describe_again("device",
                       concat("kind of the GPUs to plan for: ", joined(gpu_model_names(), ", "),
                              "; cpu: this machine, whose matrix products and memory are measured for seconds; cuda or "
                              "cuda:N: measure the model on this GPU"));
  table.group("Plan");
  table.add_list("--ranks,--gpus", args.ranks, "NUMBER,...",
                 "numbers of ranks to plan for: of --cpu-threads threads, or of one GPU each");
  table.add("--epoch-items", args.epoch_items, "NUMBER",
            "pairs, samples or rows of the training data, to add up the time of a run whose --after is in epochs");
  table.add("--vocab-size", args.vocabulary_size, "PIECES", "size of the vocabulary; default: the size of --vocab");
  table.add("--link-gbit", args.link_gbit, "GBIT", "link rate of a rank in Gbit/s (see gyre bench allreduce)");
  table.add("--latency-us", args.latency_us, "MICROSECONDS", "latency of a message (see gyre bench allreduce)");
  table.add(
      "--gflops", args.gflops, "GFLOP/S",
      "compute rate of a rank in training steps, or of a GPU in large matrix products of --precision; 0: measure it "
      "here, or assume that of the GPU");
  table.add("--memory-gb", args.memory_gb, "GB/S",
            "memory bandwidth of a rank; 0: measure it here, or assume that of the GPU");
  table.add("--gpus-per-node", args.gpus_per_node, "NUMBER", "for --device h200, h100 or a100: GPUs of a node");
  table.add("--node-link-gb", args.node_link_gb, "GB/S",
            "likewise: rate between GPUs of a node in each direction; 0: of the data sheet");
  table.add("--launch-us", args.launch_us, "MICROSECONDS", "likewise: host time per launch of a kernel; 0: assumed");
  table.add_flag("--weak", args.weak, "weak scaling: every rank has a batch of the given size instead of a part of it");
  table.add_flag("--json", args.json, "print one JSON object");
  for (const char* name : {"model", "train-sets", "vocab"}) table.required(name, false);
  // Replaces the common options of training by those that affect the plan.
  table.set_common(split_list(
      {"config,task,preset,architecture,dim-emb,enc-depth,dec-depth,layers,position,attention,vocab,max-length",
       "mini-batch-words,mini-batch,optimizer-delay,zero,gradient-dtype,after,device,precision,cpu-threads,ranks",
       "vocab-size,epoch-items,sentence-length,link-gbit,latency-us,gflops,memory-gb,gpus-per-node,node-link-gb",
       "launch-us,weak,json"}));
}

struct PlanNmtArgs : PlanArgs {
  NmtOptions train;
  ModelArgs model;
};

void add_nmt(Program& program) {
  auto args = std::make_shared<PlanNmtArgs>();
  OptionTable& table = program.command("plan nmt", "plan the training of a translation model", [args] {
    check_pretrained_model(args->train, args->model.config);
    args->model.config.vocab_size = args->pieces(args->train.data.vocabulary);
    validate_model(*args->table, [&] { args->model.config.validate(); });
    expect_finite_at_least(0, "--r-drop", args->train.r_drop);
    const double pair = 2.0 * args->sentence_length;
    const auto make = [&](int items, Device device) {
      return translation_workload(args->model.config, items, args->sentence_length, {device}, args->train.r_drop);
    };
    return report(*args, args->train, [&] {
      return plan_steps(*args, args->train, args->model.config.vocab_size, {pair, 2, make});
    });
  });
  table.accept_config_files();
  add_model_options(table, args->model);
  add_nmt_options(table, args->train, args->model.config);
  add_plan_rows(table, *args);
  table.add("--sentence-length", args->sentence_length, "TOKENS", "average length of a sentence");
}

template <class Options>
struct PlanLanguage : PlanArgs {
  explicit PlanLanguage(const std::string& preset) : model(preset) {}
  Options train;
  EncoderArgs model;

  int run(bool causal) {
    model.config.causal = model.config.causal || causal;
    check_pretrained_model(train, model.config);
    model.config.vocab_size = pieces(train.data.vocabulary);
    validate_model(*table, [&] { model.config.validate(); });
    require_positions(train, EncoderOnly(model.config).longest());
    const auto plan_for = [&](const LanguageOptions& options) {
      const int length = options.data.max_length;
      const auto make = [&, length](int items, Device device) {
        return language_workload(model.config, items, length, {device});
      };
      return plan_steps(*this, options, model.config.vocab_size, {double(length), 1, make});
    };
    if (!train.stages.empty()) return report_stages(*this, train, plan_for);
    return report(*this, train, [&] { return plan_for(train); });
  }
};

template <class Options>
void add_language(Program& program, const std::string& words, const std::string& help, const std::string& preset,
                  const std::vector<std::string>& presets,
                  void (*add_options)(OptionTable&, Options&, EncoderOnlyConfig&)) {
  constexpr bool kCausal = std::is_same_v<Options, LanguageOptions>;
  auto args = std::make_shared<PlanLanguage<Options>>(preset);
  OptionTable& table = program.command(words, help, [args] { return args->run(kCausal); });
  table.accept_config_files();
  add_encoder_options(table, args->model, "--preset,--task,--arch", presets);
  add_options(table, args->train, args->model.config);
  add_plan_rows(table, *args);
}

// A task with a classification head on encoded rows of --max-length tokens.
template <class Task>
struct PlanFineTuning : PlanArgs {
  template <class... Args>
  explicit PlanFineTuning(Args... args) : task(args...) {}
  Task task;
  EncoderArgs model{"roformer-mini"};

  // outputs: of the head. rows: of an item of a batch.
  int run(const FineTuningOptions& train, int64_t outputs, int rows) {
    reject_pretrained_options(*table, train);
    table->reject_unused("vocab", train.pretrained_model.empty(), "--pretrained-model has its own vocabulary");
    EncoderOnlyConfig encoder = initial_encoder(train, model.config).config;
    if (train.pretrained_model.empty() || table->given("vocab-size"))
      encoder.vocab_size = pieces(train.data.vocabulary);
    const ClassifierConfig config = classifier_config(train, encoder, outputs);
    validate_model(*table, [&] { config.validate(); });
    const int length = train.data.max_length;
    require_positions(length, EncoderOnly(encoder).longest());
    const auto make = [&](int items, Device device) {
      return classification_workload(config, items * rows, length, {device});
    };
    return report(*this, train, [&] {
      return plan_steps(*this, train, encoder.vocab_size, {double(length) * rows, 1, make});
    });
  }
};

using PlanClassify = PlanFineTuning<ClassifyArgs>;

int64_t outputs_of(const ClassifyArgs& task) {
  if (task.kind == TextTaskKind::regress) return 1;
  return std::max<int64_t>(2, int64_t(task.train.format.classes.size()));
}

void add_classify(Program& program, TextTaskKind kind, const std::string& help) {
  auto args = std::make_shared<PlanClassify>(kind);
  OptionTable& table = program.command(concat("plan ", enum_name(kind)), help,
                                       [args] { return args->run(args->task.train, outputs_of(args->task), 1); });
  table.accept_config_files();
  add_classify_options(table, args->task);
  add_encoder_options(table, args->model, "--architecture", encoder_presets());
  add_plan_rows(table, *args);
}

// A triplet is two pairs of texts.
void add_match(Program& program) {
  auto args = std::make_shared<PlanFineTuning<MatchOptions>>();
  OptionTable& table = program.command("plan match", "plan the fine-tuning of an encoder to match texts",
                                       [args] { return args->run(args->task, 1, 2); });
  table.accept_config_files();
  add_match_options(table, args->task);
  add_encoder_options(table, args->model, "--architecture", encoder_presets());
  add_plan_rows(table, *args);
}

}  // namespace

void add_plan_commands(Program& program) {
  program.describe_group("plan", "estimate memory, time and scaling of a training job");
  add_nmt(program);
  add_language<MaskedOptions>(program, "plan mlm", "plan the training of a masked language model", "roformer-mini",
                              encoder_presets(), add_masked_options);
  add_language<LanguageOptions>(program, "plan lm", "plan the training of a causal language model", "lm-tiny",
                                EncoderOnlyConfig::preset_names(), add_language_options);
  add_classify(program, TextTaskKind::classify, "plan the fine-tuning of an encoder to classify texts");
  add_classify(program, TextTaskKind::regress, "plan the fine-tuning of an encoder for regression");
  add_classify(program, TextTaskKind::pair, "plan the fine-tuning of an encoder to classify pairs of texts");
  add_match(program);
}

}  // namespace gyre
