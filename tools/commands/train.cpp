// gyre train: trains a model, on one process or under mpirun.
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gyre/train/options.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/step.h"
#include "gyre/train/tasks/classification/classify.h"
#include "gyre/train/tasks/language/language.h"
#include "gyre/train/tasks/matching/match.h"
#include "gyre/train/tasks/translation/nmt.h"
#include "tools/options/model_options.h"
#include "tools/options/train_options.h"
#include "tools/program.h"

namespace gyre {
namespace {

// Adds gyre train NAME. It reads --config files, and the options of the run that it resumes.
OptionTable& add_train_command(Program& program, const std::string& name, const std::string& help,
                               std::function<int()> run) {
  OptionTable& table = program.command("train " + name, help, std::move(run), Program::Processes::ranks);
  table.accept_config_files();
  table.resume_from("train.toml");
  return table;
}

// If the call continues a run with the run's own options, replaces the path of the vocabulary, or those of two, by that
// of the run's copy: since the run began, the path may have become that of another file.
void use_own_vocabulary(const OptionTable& table, DataOptions& data, const StartOptions& start) {
  if (!table.resumes_run() || table.given_in_call("vocab") || data.vocabulary.empty() || !continues(start)) return;
  const auto own = own_vocabulary(start.directory);
  if (!own) return;
  data.vocabulary = *own;
  data.target_vocabulary.clear();
}

// Prints a report of the replay.
void print_replay(const ReplayResult& result) {
  if (const auto& anomaly = result.anomaly) {
    std::cout << "update " << anomaly->update << ": the norm of the gradient is " << anomaly->gradient_norm << "; "
              << anomaly->cause << '\n';
  } else {
    std::cout << "updates " << result.first << " to " << result.last << ": all gradients are finite\n";
  }
}

// Validates the options and calls `train` with them on all ranks: train(resolved options, communicator). Returns the
// exit status.
template <class Options, class Train>
int run_training(const OptionTable& table, Options options, Train&& train) {
  record_train_options(table, options);
  use_own_vocabulary(table, options.data, options.start);
  const Resolved<Options> resolved(std::move(options));
  return with_communicator([&](Communicator& ranks) {  // prints the errors of several ranks itself
    return with_given_names(table, [&] {
      const std::optional<ReplayResult> replay = train(resolved, ranks);
      if (replay && ranks.rank() == 0) print_replay(*replay);
      return 0;
    });
  });
}

// gyre train nmt: trains an encoder-decoder on sentence pairs.
struct TrainNmtArgs {
  NmtOptions train;
  ModelArgs model;
  OptionTable* table = nullptr;
};

int train(TrainNmtArgs& args) {
  use_pretrained_vocabulary(args.train.pretrained_model, args.train);
  check_nmt_options(*args.table, args.train, args.model.config);
  return run_training(*args.table, args.train, [&](const Resolved<NmtOptions>& options, Communicator& ranks) {
    return train_nmt(options, args.model.config, ranks);
  });
}

void add_train_nmt_command(Program& program) {
  auto args = std::make_shared<TrainNmtArgs>();
  OptionTable& table = add_train_command(program, "nmt", "train a translation model (encoder-decoder transformer)",
                                         [args] { return train(*args); });
  args->table = &table;
  add_model_options(table, args->model);
  add_nmt_options(table, args->train, args->model.config);
}

// ---- gyre train mlm | lm: trains a masked or a causal language model -----------------------------------------------

constexpr const char* kPresetNames = "--preset,--task,--arch";

template <class Options>
struct TrainLanguage {
  explicit TrainLanguage(const std::string& preset) : model(preset) {}
  Options train;
  EncoderArgs model;
  OptionTable* table = nullptr;

  template <class Train>
  int run(Train train_model) {
    use_pretrained_vocabulary(train.pretrained_model, train);
    check_language_options(*table, train);
    check_encoder_options(*table, model.config);
    return run_training(*table, train, [&](const Resolved<Options>& options, Communicator& ranks) {
      return train_model(options, model.config, ranks);
    });
  }
};

void add_masked(Program& program) {
  auto args = std::make_shared<TrainLanguage<MaskedOptions>>("roformer-mini");
  OptionTable& table = add_train_command(program, "mlm", "train a masked language model (BERT, NEZHA, RoFormer)",
                                         [args] { return args->run(train_masked_language); });
  args->table = &table;
  add_encoder_options(table, args->model, kPresetNames, encoder_presets());
  add_language_options(table, args->train, args->model.config);
}

// Accepts every preset, because the causal mask makes any model causal.
void add_causal(Program& program) {
  auto args = std::make_shared<TrainLanguage<LanguageOptions>>("lm-tiny");
  args->train.optimizer = causal_optimizer();
  OptionTable& table = add_train_command(program, "lm", "train a causal language model", [args] {
    args->model.config.causal = true;
    return args->run(train_causal_language);
  });
  args->table = &table;
  add_encoder_options(table, args->model, kPresetNames, EncoderOnlyConfig::preset_names());
  add_language_options(table, args->train, args->model.config);
}

void add_train_language_commands(Program& program) {
  add_masked(program);
  add_causal(program);
}

// ---- gyre train classify | regress | pair: fine-tunes an encoder on labeled texts ----------------------------------

struct TrainClassifyArgs {
  explicit TrainClassifyArgs(TextTaskKind kind) : args(kind) {}
  ClassifyArgs args;
  EncoderArgs model{"roformer-mini"};
  OptionTable* table = nullptr;
};

int train(TrainClassifyArgs& command) {
  check_classify_options(*command.table, command.args);
  check_encoder_options(*command.table, command.model.config);
  return run_training(*command.table, command.args.train,
                      [&](const Resolved<ClassifyOptions>& options, Communicator& ranks) {
                        return train_classify(options, command.model.config, ranks);
                      });
}

void add(Program& program, TextTaskKind kind, const std::string& help) {
  auto command = std::make_shared<TrainClassifyArgs>(kind);
  OptionTable& table =
      add_train_command(program, std::string(enum_name(kind)), help, [command] { return train(*command); });
  command->table = &table;
  add_classify_options(table, command->args);
  add_encoder_options(table, command->model, "--architecture", encoder_presets());
}

void add_train_classify_commands(Program& program) {
  add(program, TextTaskKind::classify, "fine-tune a pretrained encoder to classify texts");
  add(program, TextTaskKind::regress, "fine-tune a pretrained encoder for regression on texts or text pairs");
  add(program, TextTaskKind::pair, "fine-tune a pretrained encoder to classify pairs of texts");
}

// gyre train match: trains an encoder to tell which of two texts is nearer to a third one.
struct TrainMatchArgs {
  MatchOptions train;
  EncoderArgs model{"roformer-mini"};
  OptionTable* table = nullptr;
};

int train(TrainMatchArgs& args) {
  check_fine_tuning_options(*args.table, args.train);
  check_encoder_options(*args.table, args.model.config);
  return run_training(*args.table, args.train, [&](const Resolved<MatchOptions>& options, Communicator& ranks) {
    return train_match(options, args.model.config, ranks);
  });
}

void add_train_match_command(Program& program) {
  auto args = std::make_shared<TrainMatchArgs>();
  OptionTable& table = add_train_command(program, "match", "fine-tune a pretrained encoder to match texts, on triplets",
                                         [args] { return train(*args); });
  args->table = &table;
  add_match_options(table, args->train);
  add_encoder_options(table, args->model, "--architecture", encoder_presets());
}

}  // namespace

void add_train_commands(Program& program) {
  program.describe_group("train", "train a model");
  // The order is that of the help.
  constexpr void (*kTasks[])(Program&) = {add_train_nmt_command, add_train_language_commands,
                                          add_train_classify_commands, add_train_match_command};
  for (const auto add : kTasks) add(program);
}

}  // namespace gyre
