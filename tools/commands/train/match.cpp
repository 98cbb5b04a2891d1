// gyre train match: trains an encoder to tell which of two texts is nearer to a third one, on one process or under
// mpirun.
#include "gyre/train/tasks/matching/match.h"

#include <memory>

#include "tools/commands/train/train_command.h"
#include "tools/options/model_options.h"
#include "tools/options/tasks/fine_tuning_options.h"
#include "tools/options/tasks/match_options.h"

namespace gyre {

namespace {

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

}  // namespace

void add_train_match_command(Program& program) {
  auto args = std::make_shared<TrainMatchArgs>();
  OptionTable& table = add_train_command(program, "match", "fine-tune a pretrained encoder to match texts, on triplets",
                                         [args] { return train(*args); });
  args->table = &table;
  add_match_options(table, args->train);
  add_encoder_options(table, args->model, "--architecture", encoder_presets());
}

}  // namespace gyre
