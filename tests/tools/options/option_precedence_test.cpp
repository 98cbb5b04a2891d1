// Tests the precedence of rows that set the same field, for all pairs of rows in every table that reads configuration
// files: the command line overrides every file, a later file overrides an earlier one, and within a source the last one
// wins.
#include <doctest/doctest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "tests/errors.h"
#include "tools/command_line/equivalents.h"
#include "tools/help/help_topics.h"
#include "tools/options/model_options.h"
#include "tools/options/train_options.h"

using namespace gyre;

namespace {

using Words = std::vector<std::string>;
using ResolvedOptions = std::map<std::string, std::string>;  // values by name, as in run/train.toml

// The table of a command, with the fields that it sets.
struct Call {
  CLI::App app;
  OptionTable table{app};
  virtual ~Call() = default;
};

struct NmtCall : Call {
  ModelArgs model;
  NmtOptions train;
  NmtCall() {
    table.accept_config_files();
    add_model_options(table, model);
    add_nmt_options(table, train, model.config);
  }
};

struct MaskedCall : Call {
  EncoderArgs model{"roformer-mini"};
  MaskedOptions train;
  MaskedCall() {
    table.accept_config_files();
    add_encoder_options(table, model, "--preset,--task,--arch", encoder_presets());
    add_language_options(table, train, model.config);
  }
};

struct CausalCall : Call {
  EncoderArgs model{"lm-tiny"};
  LanguageOptions train;
  CausalCall() {
    table.accept_config_files();
    add_encoder_options(table, model, "--preset,--task,--arch", EncoderOnlyConfig::preset_names());
    add_language_options(table, train, model.config);
  }
};

template <TextTaskKind kKind>
struct TextCall : Call {
  ClassifyArgs task{kKind};
  EncoderArgs model{"roformer-mini"};
  TextCall() {
    table.accept_config_files();
    add_classify_options(table, task);
    add_encoder_options(table, model, "--architecture", encoder_presets());
  }
};

struct MatchCall : Call {
  MatchOptions train;
  EncoderArgs model{"roformer-mini"};
  MatchCall() {
    table.accept_config_files();
    add_match_options(table, train);
    add_encoder_options(table, model, "--architecture", encoder_presets());
  }
};

struct Command {
  std::string name;
  std::function<std::unique_ptr<Call>()> make;
};
template <class T>
std::unique_ptr<Call> make() {
  return std::make_unique<T>();
}
const std::vector<Command>& commands() {
  static const std::vector<Command> all{{"nmt", make<NmtCall>},
                                        {"mlm", make<MaskedCall>},
                                        {"lm", make<CausalCall>},
                                        {"classify", make<TextCall<TextTaskKind::classify>>},
                                        {"pair", make<TextCall<TextTaskKind::pair>>},
                                        {"regress", make<TextCall<TextTaskKind::regress>>},
                                        {"match", make<MatchCall>}};
  return all;
}

// The name of a row with values that it accepts.
struct Setting {
  std::string name;
  Words values;
  bool flag = false;

  std::string line() const { return name + " = [\"" + joined("\", \"") + "\"]\n"; }
  Words words() const {
    if (flag) return {"--" + name + "=" + values.front()};
    Words all{"--" + name};
    all.insert(all.end(), values.begin(), values.end());
    return all;
  }
  std::string joined(const char* between) const {
    std::string text;
    for (const auto& value : values) text += (text.empty() ? "" : between) + value;
    return text;
  }
};

// The resolved options for these files and this command line.
ResolvedOptions resolve(const Command& command, const std::vector<std::string>& files, Words words) {
  const Path folder = std::filesystem::temp_directory_path();
  std::vector<Path> paths;
  for (const std::string& text : files) {
    paths.push_back(folder / concat("gyre-precedence-", getpid(), "-", paths.size(), ".toml"));
    std::ofstream(paths.back()) << text;
    words.insert(words.end(), {"--config", paths.back().string()});
  }
  const auto args = command.make();
  for (const OptionDescription& option : args->table.describe())
    if (option.required) args->table.required(option.name().substr(2), false);
  std::reverse(words.begin(), words.end());
  try {
    args->app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  args->table.resolve();
  for (const Path& path : paths) std::filesystem::remove(path);
  ResolvedOptions result;
  std::istringstream lines(args->table.toml());
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find(" = ");
    const std::string name = line.substr(0, equals), value = line.substr(equals + 3);
    result[name] = value;
    if (name != "optimizer-params") continue;  // three fields in one row
    result.erase(name);
    int count = 0;
    std::istringstream items(value.substr(1));
    for (std::string item; std::getline(items, item, ',');) result[concat("optimizer-params ", count++)] = item;
  }
  return result;
}

// The resolved options that differ from the defaults.
ResolvedOptions effect(const Command& command, const Setting& setting) {
  static std::map<std::string, ResolvedOptions> defaults, known;
  const std::string key = command.name + " " + setting.line();
  if (known.contains(key)) return known[key];
  if (!defaults.contains(command.name)) defaults[command.name] = resolve(command, {}, {});
  ResolvedOptions changed = resolve(command, {}, setting.words());
  std::erase_if(changed, [&](const auto& option) {
    const auto found = defaults[command.name].find(option.first);
    return found != defaults[command.name].end() && found->second == option.second;
  });
  return known[key] = changed;
}

// Values of the row that change the most options; none if no values change anything.
std::optional<Setting> sample(const Command& command, const OptionDescription& option) {
  std::vector<Words> candidates{{"true"},  {"false"}, {"7"}, {"0.25"}, {"7u"}, {"0.7", "0.6"}, {"0.7", "0.6", "0.5"},
                                {"*=0.25"}};
  for (const auto& choice : option.choices) candidates.push_back({choice});
  std::optional<Setting> best;
  size_t most = 0;
  for (const Words& values : candidates) {
    const Setting setting{option.name().substr(2), values, option.max_values == 0};
    ResolvedOptions changed;
    const std::string error = error_of([&] { changed = effect(command, setting); });
    if (error != "no error" || changed.size() <= most) continue;
    most = changed.size();
    best = setting;
  }
  return best;
}

bool holds(const ResolvedOptions& all, const ResolvedOptions& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& option) {
    const auto found = all.find(option.first);
    return found != all.end() && found->second == option.second;
  });
}

// Gives the first setting and then the second, in all ways. The second must take full effect, with equal results.
void check_second_wins(const Command& command, const Setting& first, const Setting& second) {
  CAPTURE(command.name);
  CAPTURE(first.line());
  CAPTURE(second.line());
  Words both = first.words();
  for (const std::string& word : second.words()) both.push_back(word);
  const ResolvedOptions expected = resolve(command, {}, both);
  CHECK(holds(expected, effect(command, second)));
  CHECK(resolve(command, {first.line()}, second.words()) == expected);
  CHECK(resolve(command, {first.line(), second.line()}, {}) == expected);
  CHECK(resolve(command, {first.line() + second.line()}, {}) == expected);
  CHECK(resolve(command, {second.line(), first.line()}, second.words()) == expected);
}

bool is_preset(const Setting& s) { return s.name == "task" || s.name == "preset" || s.name == "architecture"; }

// Explicit options override a preset, wherever either is given.
void check_preset_yields(const Command& command, const Setting& preset, const Setting& other) {
  CAPTURE(command.name);
  CAPTURE(preset.line());
  CAPTURE(other.line());
  const ResolvedOptions wanted = effect(command, other);
  CHECK(holds(resolve(command, {preset.line()}, other.words()), wanted));
  CHECK(holds(resolve(command, {other.line()}, preset.words()), wanted));
  CHECK(holds(resolve(command, {other.line(), preset.line()}, {}), wanted));
}

bool overlap(const ResolvedOptions& a, const ResolvedOptions& b) {
  return std::ranges::any_of(a, [&](const auto& option) { return b.contains(option.first); });
}

const Command& command_named(const std::string& name) {
  return *std::ranges::find_if(commands(), [&](const Command& c) { return c.name == name; });
}

}  // namespace

TEST_CASE("rows that set the same field: the source of higher precedence wins, then the later row") {
  // Rows that run/train.toml does not contain.
  const std::set<std::string> unwritten{"config",         "replay",       "replay-updates",
                                        "auto-resume",    "overwrite",    "optimizer-reload",
                                        "restore-corpus", "restore-best", "quiet"};
  std::set<std::string> idle, effective;  // rows without effect in every command; rows with an effect in some command
  std::set<std::pair<std::string, std::string>> pairs;
  for (const Command& command : commands()) {
    std::vector<std::pair<Setting, ResolvedOptions>> rows;
    for (const OptionDescription& option : command.make()->table.describe()) {
      const std::optional<Setting> setting = sample(command, option);
      (setting ? effective : idle).insert(option.name().substr(2));
      if (setting) rows.emplace_back(*setting, effect(command, *setting));
    }
    for (const auto& [first, changed] : rows) {
      for (const auto& [second, also_changed] : rows) {
        if (first.name == second.name || !overlap(changed, also_changed) || is_preset(second)) continue;
        pairs.emplace(first.name, second.name);
        if (is_preset(first)) {
          check_preset_yields(command, first, second);
        } else {
          check_second_wins(command, first, second);
        }
      }
    }
  }
  for (const std::string& name : effective) idle.erase(name);
  std::string names;
  for (const std::string& name : idle) names += name + " ";
  CAPTURE(names);
  CHECK(idle == unwritten);
  // The pairs include those that are known.
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{{"mini-batch", "mini-batch-words"},
                                                                             {"mini-batch", "batch-unit"},
                                                                             {"after", "after-epochs"},
                                                                             {"position", "encoder-learned-pos"},
                                                                             {"ema", "exponential-smoothing"},
                                                                             {"optimizer-params", "adam-betas"},
                                                                             {"optimizer-params", "adam-eps"},
                                                                             {"fill", "sample-break-mode"},
                                                                             {"across-documents", "sample-break-mode"},
                                                                             {"norm", "transformer-postprocess"},
                                                                             {"norm", "encoder-normalize-before"},
                                                                             {"header", "no-header"}}) {
    CAPTURE(a);
    CAPTURE(b);
    CHECK((pairs.contains({a, b}) && pairs.contains({b, a})));
  }
}

TEST_CASE("an overridden shorthand has no effect on other fields") {
  const Command& nmt = command_named("nmt");
  ResolvedOptions f = resolve(nmt, {"mini-batch = 32\n"}, {"--mini-batch-words", "999"});
  CHECK(f.at("mini-batch-words") == "999");
  CHECK(f.at("batch-unit") == "\"target\"");
  f = resolve(nmt, {"batch-unit = \"source\"\n", "mini-batch = 32\n"}, {"--mini-batch-words", "999"});
  CHECK(f.at("batch-unit") == "\"source\"");
  f = resolve(nmt, {"mini-batch-words = 999\n"}, {"--mini-batch", "32"});
  CHECK(f.at("mini-batch-words") == "32");
  CHECK(f.at("batch-unit") == "\"sentences\"");
  f = resolve(command_named("lm"), {"sample-break-mode = \"complete\"\n"}, {"--fill", "segment"});
  CHECK(f.at("across-documents") == "false");
}

TEST_CASE("all spellings of a row are equivalent") {
  const Command& nmt = command_named("nmt");
  CHECK(resolve(nmt, {"lr = 0.5\n"}, {"-l", "0.25"}).at("learn-rate") == "0.25");
  CHECK(resolve(nmt, {"learn-rate = 0.5\n", "lr = 0.25\n"}, {}).at("learn-rate") == "0.25");
  CHECK(resolve(nmt, {"learn-rate = 0.5\nlr = 0.25\n"}, {}).at("learn-rate") == "0.25");
  CHECK(resolve(nmt, {"no-tied-output = true\n"}, {}).at("tied-output") == "false");
  CHECK(resolve(nmt, {"no-tied-output = true\n"}, {"--tied-embeddings"}).at("tied-output") == "true");
  CHECK(resolve(nmt, {"valid-metrics = [\"bleu\"]\n", "valid-metrics = []\n"}, {}).at("valid-metrics") == "[]");
  CHECK(resolve(nmt, {"encoder-learned-pos = true\n"}, {"--encoder-learned-pos=false"}).at("position") == "\"rope\"");
}

TEST_CASE("names with a different meaning in Marian or fairseq cause one note each") {
  const auto notes = [](const std::string& command, const std::string& file, const Words& words) {
    const Path path = std::filesystem::temp_directory_path() / concat("gyre-notes-", getpid(), ".toml");
    std::ofstream(path) << file;
    const auto args = command_named(command).make();
    Words all = words;
    all.insert(all.end(), {"--config", path.string()});
    args->table.remember_words(all);
    for (const char* name : {"model", "train-sets", "vocab"}) args->table.required(name, false);
    std::reverse(all.begin(), all.end());
    args->app.parse(all);
    args->table.resolve();
    std::filesystem::remove(path);
    return args->table.notes();
  };
  CHECK(
      notes("nmt", "", {"--max-tokens", "3000", "--max-tokens=3001", "--lr", "1"}) ==
      Words{"note: --max-tokens: in fairseq: the batch of each GPU, counted by the longer side with padding; here: the "
            "global batch, in the unit of --batch-unit (gyre help configuration)"});
  CHECK(notes("nmt", "max-tokens = 3000\nupdate-freq = 2\n", {}).size() == 2);
  CHECK(notes("nmt", "max-tokens = 3000\n", {"--mini-batch-words", "3000"}).empty());
  CHECK(notes("nmt", "", {"--optimizer-delay", "2"}).size() == 1);
  CHECK(notes("nmt", "optimizer-delay = 2\n", {}).empty());  // as in train.toml
  CHECK(notes("nmt", "", {"--encoder-learned-pos"}).size() == 1);
  CHECK(notes("mlm", "", {"--encoder-learned-pos", "--clip-norm", "1"}).empty());
  const std::string page = help_topic("configuration")->page();
  size_t count = 0;
  for (const Option& option : declared_options())
    for (const OtherMeaning& meaning : option.elsewhere)
      for (const std::string& name : meaning.names) {
        CAPTURE(name);
        CHECK(contains(page, "--" + name + (meaning.is_noted ? " *" : "")));
        ++count;
      }
  CHECK(count > 20);
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("options of a single call are not written to run/train.toml") {
  const Command& nmt = command_named("nmt");
  const ResolvedOptions f =
      resolve(nmt, {}, {"--overwrite", "--no-auto-resume", "--reset-optimizer", "--reset-meters"});
  for (const char* name : {"overwrite", "auto-resume", "optimizer-reload", "restore-corpus", "restore-best"})
    CHECK_FALSE(f.contains(name));
}
