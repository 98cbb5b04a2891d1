// gyre train classify | regress | pair: fine-tunes an encoder on labeled texts, on one process or under mpirun.
#include "gyre/train/tasks/classification/classify.h"

#include <memory>

#include "tools/commands/train/train_command.h"
#include "tools/options/model_options.h"
#include "tools/options/tasks/classify_options.h"

namespace gyre {

namespace {

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

}  // namespace

void add_train_classify_commands(Program& program) {
  add(program, TextTaskKind::classify, "fine-tune a pretrained encoder to classify texts");
  add(program, TextTaskKind::regress, "fine-tune a pretrained encoder for regression on texts or text pairs");
  add(program, TextTaskKind::pair, "fine-tune a pretrained encoder to classify pairs of texts");
}

}  // namespace gyre
