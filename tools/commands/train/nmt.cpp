// gyre train nmt: trains an encoder-decoder on sentence pairs, on one process or under mpirun.
#include "gyre/train/tasks/translation/nmt.h"

#include <memory>

#include "tools/commands/train/train_command.h"
#include "tools/options/model_options.h"
#include "tools/options/tasks/nmt_options.h"
#include "tools/options/tasks/pretrained_row.h"

namespace gyre {

namespace {

struct TrainNmtArgs {
  NmtOptions train;
  ModelArgs model;
  OptionTable* table = nullptr;
};

int train(TrainNmtArgs& args) {
  check_pretrained_model(args.train, args.model.config);
  check_nmt_options(*args.table, args.train, args.model.config);
  return run_training(*args.table, args.train, [&](const Resolved<NmtOptions>& options, Communicator& ranks) {
    return train_nmt(options, args.model.config, ranks);
  });
}

}  // namespace

void add_train_nmt_command(Program& program) {
  auto args = std::make_shared<TrainNmtArgs>();
  OptionTable& table = add_train_command(program, "nmt", "train a translation model (encoder-decoder transformer)",
                                         [args] { return train(*args); });
  args->table = &table;
  add_model_options(table, args->model);
  add_nmt_options(table, args->train, args->model.config);
}

}  // namespace gyre
