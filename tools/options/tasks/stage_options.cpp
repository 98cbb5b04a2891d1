#include "tools/options/tasks/stage_options.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gyre/train/checkpoint/progress.h"
#include "gyre/train/optim/optimizer_options.h"
#include "gyre/train/optim/schedule.h"
#include "tools/options/train_options.h"

namespace gyre {
namespace {

using Values = std::vector<std::string>;

uint64_t updates_in(const std::string& text) {
  const Period period = Period::parse(text);
  if (period.unit != Period::Unit::updates) throw UsageError("expected a number of updates, got ", text);
  return period.amount;
}

void add_batch_rows(OptionTable& table, LanguageStage& stage) {
  table.add("--max-length,--tokens-per-sample", stage.max_length, "TOKENS", "tokens per sample");
  table.add("--mini-batch-words,--max-tokens", stage.batch_size, "TOKENS",
            "size of the global batch, in the unit of --batch-unit, the run's unless the stage gives one");
  table.add({"--batch-unit", one_of(&stage.batch_unit, "", LanguageOptions::batch_units()), "",
             "unit of --mini-batch-words: tokens or sentences (samples)"});
  table.add_custom("--mini-batch,--batch-size", 1, 1, "SAMPLES", "samples per global batch",
                   [&stage](const Values& values) {
                     parse_value(values.back(), stage.batch_size);
                     stage.batch_unit = BatchUnit::sentences;
                   });
  table.shorthand_of("mini-batch-words");
}

// The options of a schedule of the stage's own.
void add_shape_rows(OptionTable& table, LanguageStage& stage) {
  table.add_custom(
      "--lr-cooldown", 1, 1, "UPDATES",
      "updates of the decay at the end of lr-schedule wsd; 20%: share of the stage's updates",
      [&stage](const Values& values) {
        std::tie(stage.cooldown, stage.cooldown_percent) = parse_cooldown(values.back());
      },
      [&stage] {
        return stage.cooldown_percent ? cooldown_toml(stage.cooldown, *stage.cooldown_percent) : std::string();
      });
  table.add_custom(
      "--lr-cooldown-form", 1, 1, "WORD", concat("shape of this decay (", enum_choices<CooldownForm>(), ")"),
      [&stage](const Values& values) {
        stage.cooldown_form = parse_enum<CooldownForm>("lr-cooldown-form", values.back());
      },
      [&stage] {
        return stage.cooldown_form ? toml_value(std::string(enum_name(*stage.cooldown_form))) : std::string();
      });
  table.add("--lr-power,--power", stage.power, "NUMBER", "exponent of lr-schedule polynomial");
}

void add_rate_rows(OptionTable& table, LanguageStage& stage) {
  table.add("--learn-rate,--lr", stage.learning_rate, "RATE",
            "peak learning rate; the schedule of the run goes on with it unless the stage has one of its own");
  table.add_custom(
      "--lr-schedule,--lr-scheduler", 1, 1, "WORD", "a learning rate schedule for this stage alone",
      [&stage](const Values& values) { stage.schedule = chosen_word(values.back(), schedule_names()); },
      [&stage] { return toml_value(stage.schedule); });
  table.add_custom(
      "--lr-warmup,--warmup-updates", 1, 1, "UPDATES",
      "warm-up from the beginning of this stage, which starts the schedule anew; 10%: share of its updates",
      [&stage](const Values& values) {
        uint64_t updates = 0;
        std::tie(updates, stage.warmup_percent) = parse_updates_or_share(values.back());
        stage.warmup = updates;
      },
      [&stage] { return stage.warmup ? updates_or_share_toml(*stage.warmup, stage.warmup_percent) : std::string(); });
  add_shape_rows(table, stage);
}

// The options of one stage.
void add_rows(OptionTable& table, LanguageStage& stage) {
  table.add_custom(
      "--updates", 1, 1, "UPDATES", "number of updates: 12500, 200K",
      [&stage](const Values& values) { stage.updates = updates_in(values.back()); },
      [&stage] { return toml_value(stage.updates); });
  table.required("updates");
  add_batch_rows(table, stage);
  add_rate_rows(table, stage);
  table.add_custom(
      "--train-sets,-t", 1, OptionTable::kAnyNumber, "FILE...", "training data, in the form of the run's --train-sets",
      [&stage](const Values& values) { stage.train_sets.assign(values.begin(), values.end()); },
      [&stage] { return stage.train_sets.empty() ? std::string() : toml_value(stage.train_sets); });
  table.add_custom(
      "--train-weights", 1, OptionTable::kAnyNumber, "WEIGHT...",
      "shares of the samples from each of the training files",
      [&stage](const Values& values) {
        stage.train_weights.emplace();
        for (const std::string& value : values) parse_value(value, stage.train_weights->emplace_back());
      },
      [&stage] { return stage.train_weights ? toml_value(*stage.train_weights) : std::string(); });
}

std::string toml_of(LanguageStage stage) {
  OptionTable table;
  add_rows(table, stage);
  return "\n[[stage]]\n" + table.toml();
}

}  // namespace

void add_stage_tables(OptionTable& table, LanguageOptions& options) {
  const auto read = [&options](const std::vector<ConfigTable>& tables) {
    std::vector<LanguageStage> stages;
    for (const ConfigTable& given : tables) {
      OptionTable rows;
      LanguageStage stage;
      add_rows(rows, stage);
      rows.resolve(given);
      stages.push_back(std::move(stage));
    }
    options.set_stages(std::move(stages));
  };
  const auto write = [&options] {
    std::string text;
    for (const LanguageStage& stage : options.stages) text += toml_of(stage);
    return text;
  };
  table.add_tables("stage", read, write);
  table.not_saved_if("after", [&options] { return !options.stages.empty(); });  // the stages end the run
}

}  // namespace gyre
