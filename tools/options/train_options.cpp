#include "tools/options/train_options.h"

#include <filesystem>
#include <tuple>

#include "gyre/train/checkpoint/run_directory.h"
#include "tools/command_line/config_file.h"

namespace gyre {

void set_common_training_rows(OptionTable& table) {
  table.set_common(split_list(
      {"config,task,preset,architecture,dim-emb,enc-depth,dec-depth,layers,position,attention,transformer-dropout",
       "train-sets,valid-sets,vocab,documents,max-length,labels,text-column,label-column,pretrained-model",
       "mini-batch-words,mini-batch,learn-rate,lr-schedule,lr-warmup,after,patience,disp-freq,save-freq",
       "valid-freq,valid-metrics,overwrite,device,precision,cpu-threads,seed"}));
}

void record_train_options(const OptionTable& table, TrainOptions& options) {
  options.record.toml = table.toml();
  options.record.notes = table.notes();
  if (table.resumes_run())
    options.record.notes.push_back("options: read from " + (options.start.directory / "train.toml").string());
}

void set_fine_tuning_warmup(const OptionTable& table, TrainOptions& options) {
  if (table.given("lr-warmup")) return;
  const Path file = options.start.directory / "train.toml";
  if (continues(options.start) && std::filesystem::exists(file)) {
    // Earlier versions began such runs with the default of other runs.
    for (const ConfigEntry& entry : read_config_file(file).entries)
      if (entry.name == "lr-warmup") {
        ScheduleOptions& schedule = options.optimizer.schedule;
        std::tie(schedule.warmup, schedule.warmup_percent) = parse_updates_or_share(entry.values.back());
        return;
      }
  }
  options.optimizer.schedule.warmup_percent = options.has_total_updates() ? kFineTuningWarmup : 0;
}

void check_train_options(const OptionTable& table, TrainOptions& options) {
  OptimizerOptions& optimizer = options.optimizer;
  if (optimizer.kind == "lion" && !table.given("optimizer-params") && !table.given("adam-betas"))
    optimizer.beta1 = 0.9, optimizer.beta2 = 0.99;
  if (optimizer.kind == "adam" && !table.given("weight-decay")) optimizer.weight_decay = 0;
  table.reject_unused();
}

}  // namespace gyre
