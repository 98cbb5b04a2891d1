// gyre train mlm | lm: trains a masked or a causal language model, on one process or under mpirun.
#include "gyre/train/tasks/language/language.h"

#include <memory>

#include "tools/commands/train/train_command.h"
#include "tools/options/model_options.h"
#include "tools/options/tasks/language_options.h"
#include "tools/options/tasks/pretrained_row.h"

namespace gyre {

namespace {

constexpr const char* kPresetNames = "--preset,--task,--arch";

template <class Options>
struct TrainLanguage {
  explicit TrainLanguage(const std::string& preset) : model(preset) {}
  Options train;
  EncoderArgs model;
  OptionTable* table = nullptr;

  template <class Train>
  int run(Train train_model) {
    check_pretrained_model(train, model.config);
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

}  // namespace

void add_train_language_commands(Program& program) {
  add_masked(program);
  add_causal(program);
}

}  // namespace gyre
