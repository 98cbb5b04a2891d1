// gyre train classify | regress | pair: fine-tunes an encoder on labelled texts, on one process or under mpirun.
#include <memory>

#include "tools/classify_options.h"
#include "tools/encoder_options.h"
#include "tools/program.h"
#include "tools/train_options.h"
#include "train/classify.h"
#include "train/communicator.h"

namespace gyre {

namespace {

struct TrainClassify {
  explicit TrainClassify(TextTaskKind kind) : call(kind) {}
  ClassifyCall call;
  EncoderCall model{"roformer-mini"};
  OptionTable* table = nullptr;
};

int train(TrainClassify& command) {
  ClassifyOptions& options = command.call.train;
  check_classify_options(*command.table, command.call);
  check_encoder_options(*command.table, command.model.config);
  options.validate();
  record_train_options(*command.table, options);
  return with_communicator(nullptr, nullptr,
                           [&](Communicator& ranks) { return train_classify(options, command.model.config, ranks); });
}

void add(Program& program, TextTaskKind kind, const std::string& help) {
  auto command = std::make_shared<TrainClassify>(kind);
  OptionTable& table =
      program.command("train " + std::string(enum_name(kind)), help, [command] { return train(*command); });
  command->table = &table;
  table.accept_config_files();
  table.goes_on_from("train.toml");
  add_classify_options(table, command->call);
  add_encoder_options(table, command->model, "--architecture", encoder_presets());
}

}  // namespace

void add_train_classify_commands(Program& program) {
  add(program, TextTaskKind::classify, "train a classifier of texts, from a pretrained encoder");
  add(program, TextTaskKind::regress, "train a regression on texts or pairs of texts, from a pretrained encoder");
  add(program, TextTaskKind::pair, "train a classifier of pairs of texts, from a pretrained encoder");
}

}  // namespace gyre
