// gyre train mlm | lm: trains a masked or a causal language model, on one process or under mpirun.
#include <memory>

#include "tools/encoder_options.h"
#include "tools/language_options.h"
#include "tools/program.h"
#include "tools/train_options.h"
#include "train/communicator.h"
#include "train/language.h"

namespace gyre {

namespace {

constexpr const char* kPresetNames = "--preset,--task,--arch";

template <class Options>
struct TrainLanguage {
  explicit TrainLanguage(const std::string& preset) : model(preset) {}
  Options train;
  EncoderCall model;
  OptionTable* table = nullptr;

  template <class Train>
  int run(Train run_training) {
    reject_idle_language_options(*table, train);
    check_encoder_options(*table, model.config);
    train.validate();
    record_train_options(*table, train);
    return with_communicator(nullptr, nullptr,
                             [&](Communicator& ranks) { return run_training(train, model.config, ranks); });
  }
};

void add_masked(Program& program) {
  auto call = std::make_shared<TrainLanguage<MaskedOptions>>("roformer-mini");
  OptionTable& table = program.command("train mlm", "train a masked language model (BERT, RoFormer)",
                                       [call] { return call->run(train_masked_language); });
  call->table = &table;
  table.accept_config_files();
  table.goes_on_from("train.toml");
  add_encoder_options(table, call->model, kPresetNames, encoder_presets());
  add_masked_options(table, call->train);
}

// Any preset will do: the mask makes it causal.
void add_causal(Program& program) {
  auto call = std::make_shared<TrainLanguage<LanguageOptions>>("lm-tiny");
  OptionTable& table = program.command("train lm", "train a causal language model", [call] {
    call->model.config.causal = true;
    return call->run(train_causal_language);
  });
  call->table = &table;
  table.accept_config_files();
  table.goes_on_from("train.toml");
  add_encoder_options(table, call->model, kPresetNames, EncoderOnlyConfig::preset_names());
  add_language_options(table, call->train);
}

}  // namespace

void add_train_language_commands(Program& program) {
  add_masked(program);
  add_causal(program);
}

}  // namespace gyre
