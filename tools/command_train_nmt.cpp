// gyre train nmt: trains an encoder-decoder on sentence pairs, on one process or under mpirun.
#include <memory>

#include "tools/model_options.h"
#include "tools/nmt_options.h"
#include "tools/program.h"
#include "tools/train_options.h"
#include "train/communicator.h"
#include "train/nmt.h"

namespace gyre {

namespace {

struct TrainNmt {
  NmtOptions train;
  ModelCall model;
  OptionTable* table = nullptr;
};

int train(TrainNmt& call) {
  reject_idle_nmt_options(*call.table, call.train);
  check_model_options(*call.table, call.model.config);
  call.train.validate();
  record_train_options(*call.table, call.train);
  return with_communicator(nullptr, nullptr,
                           [&](Communicator& ranks) { return train_nmt(call.train, call.model.config, ranks); });
}

}  // namespace

void add_train_nmt_command(Program& program) {
  auto call = std::make_shared<TrainNmt>();
  OptionTable& table = program.command("train nmt", "train a translation model (encoder-decoder transformer)",
                                       [call] { return train(*call); });
  call->table = &table;
  table.accept_config_files();
  table.goes_on_from("train.toml");
  add_model_options(table, call->model);
  add_nmt_options(table, call->train);
}

}  // namespace gyre
