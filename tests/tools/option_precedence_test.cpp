// Of several rows that set the same field the command line wins over every file, a later file over an earlier one, and
// what stands later over what stands before it; in every table that reads configuration files, for every two rows.
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
#include "tools/classify_options.h"
#include "tools/encoder_options.h"
#include "tools/foreign_options.h"
#include "tools/help_topics.h"
#include "tools/language_options.h"
#include "tools/model_options.h"
#include "tools/nmt_options.h"

using namespace gyre;

namespace {

using Words = std::vector<std::string>;
using Figures = std::map<std::string, std::string>;  // value by name, as run/train.toml has them

// The table of a command, with the fields that it fills.
struct Call {
  CLI::App app;
  OptionTable table{app};
  virtual ~Call() = default;
};

struct NmtCall : Call {
  ModelCall model;
  NmtOptions train;
  NmtCall() {
    table.accept_config_files();
    add_model_options(table, model);
    add_nmt_options(table, train);
  }
};

struct MaskedCall : Call {
  EncoderCall model{"roformer-mini"};
  MaskedOptions train;
  MaskedCall() {
    table.accept_config_files();
    add_encoder_options(table, model, "--preset,--task,--arch", encoder_presets());
    add_masked_options(table, train);
  }
};

struct CausalCall : Call {
  EncoderCall model{"lm-tiny"};
  LanguageOptions train;
  CausalCall() {
    table.accept_config_files();
    add_encoder_options(table, model, "--preset,--task,--arch", EncoderOnlyConfig::preset_names());
    add_language_options(table, train);
  }
};

template <TextTaskKind kKind>
struct TextCall : Call {
  ClassifyCall task{kKind};
  EncoderCall model{"roformer-mini"};
  TextCall() {
    table.accept_config_files();
    add_classify_options(table, task);
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
                                        {"regress", make<TextCall<TextTaskKind::regress>>}};
  return all;
}

// A row's name and values that it takes.
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

// What the options come to, with these files and this command line.
Figures figures(const Command& command, const std::vector<std::string>& files, Words words) {
  const Path folder = std::filesystem::temp_directory_path();
  std::vector<Path> paths;
  for (const std::string& text : files) {
    paths.push_back(folder / concat("gyre-precedence-", getpid(), "-", paths.size(), ".toml"));
    std::ofstream(paths.back()) << text;
    words.insert(words.end(), {"--config", paths.back().string()});
  }
  const auto call = command.make();
  for (const OptionDescription& option : call->table.describe())
    if (option.required) call->table.required(option.name().substr(2), false);
  std::reverse(words.begin(), words.end());
  try {
    call->app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  call->table.resolve();
  for (const Path& path : paths) std::filesystem::remove(path);
  Figures result;
  std::istringstream lines(call->table.toml());
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

// What differs from the defaults.
Figures effect(const Command& command, const Setting& setting) {
  static std::map<std::string, Figures> defaults, known;
  const std::string key = command.name + " " + setting.line();
  if (known.contains(key)) return known[key];
  if (!defaults.contains(command.name)) defaults[command.name] = figures(command, {}, {});
  Figures changed = figures(command, {}, setting.words());
  std::erase_if(changed, [&](const auto& figure) {
    const auto found = defaults[command.name].find(figure.first);
    return found != defaults[command.name].end() && found->second == figure.second;
  });
  return known[key] = changed;
}

// Values for the row that change as much as any; none where none change anything.
std::optional<Setting> sample(const Command& command, const OptionDescription& option) {
  std::vector<Words> candidates{{"true"}, {"false"}, {"7"}, {"0.25"}, {"7u"}, {"0.7", "0.6"}, {"0.7", "0.6", "0.5"}};
  for (const auto& choice : option.choices) candidates.push_back({choice});
  std::optional<Setting> best;
  size_t most = 0;
  for (const Words& values : candidates) {
    const Setting setting{option.name().substr(2), values, option.most_values == 0};
    Figures changed;
    const std::string error = error_of([&] { changed = effect(command, setting); });
    if (error != "no error" || changed.size() <= most) continue;
    most = changed.size();
    best = setting;
  }
  return best;
}

bool holds(const Figures& all, const Figures& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& figure) {
    const auto found = all.find(figure.first);
    return found != all.end() && found->second == figure.second;
  });
}

// However the first and then the second is given, the second holds in full, and the results are the same.
void check_second_wins(const Command& command, const Setting& first, const Setting& second) {
  CAPTURE(command.name);
  CAPTURE(first.line());
  CAPTURE(second.line());
  Words both = first.words();
  for (const std::string& word : second.words()) both.push_back(word);
  const Figures expected = figures(command, {}, both);
  CHECK(holds(expected, effect(command, second)));
  CHECK(figures(command, {first.line()}, second.words()) == expected);
  CHECK(figures(command, {first.line(), second.line()}, {}) == expected);
  CHECK(figures(command, {first.line() + second.line()}, {}) == expected);
  CHECK(figures(command, {second.line(), first.line()}, second.words()) == expected);
}

bool is_preset(const Setting& s) { return s.name == "task" || s.name == "preset" || s.name == "architecture"; }

// Explicit options change what a preset sets, wherever either was given.
void check_preset_yields(const Command& command, const Setting& preset, const Setting& other) {
  CAPTURE(command.name);
  CAPTURE(preset.line());
  CAPTURE(other.line());
  const Figures wanted = effect(command, other);
  CHECK(holds(figures(command, {preset.line()}, other.words()), wanted));
  CHECK(holds(figures(command, {other.line()}, preset.words()), wanted));
  CHECK(holds(figures(command, {other.line(), preset.line()}, {}), wanted));
}

bool overlap(const Figures& a, const Figures& b) {
  return std::ranges::any_of(a, [&](const auto& figure) { return b.contains(figure.first); });
}

const Command& command_named(const std::string& name) {
  return *std::ranges::find_if(commands(), [&](const Command& c) { return c.name == name; });
}

}  // namespace

TEST_CASE("every two rows that set the same field: the stronger source wins, then the later one") {
  // Rows whose fields no other row sets and run/train.toml does not have.
  const std::set<std::string> unwritten{"config",    "replay",           "replay-updates", "auto-resume",
                                        "overwrite", "optimizer-reload", "restore-corpus", "restore-best"};
  std::set<std::string> idle, effective;  // in no command, in any
  std::set<std::pair<std::string, std::string>> pairs;
  for (const Command& command : commands()) {
    std::vector<std::pair<Setting, Figures>> rows;
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
  CHECK(idle == unwritten);
  // The walk finds what is known to be there.
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

TEST_CASE("what a shorthand also set goes with it") {
  const Command& nmt = command_named("nmt");
  Figures f = figures(nmt, {"mini-batch = 32\n"}, {"--mini-batch-words", "999"});
  CHECK(f.at("mini-batch-words") == "999");
  CHECK(f.at("batch-unit") == "\"target\"");
  f = figures(nmt, {"batch-unit = \"source\"\n", "mini-batch = 32\n"}, {"--mini-batch-words", "999"});
  CHECK(f.at("batch-unit") == "\"source\"");
  f = figures(nmt, {"mini-batch-words = 999\n"}, {"--mini-batch", "32"});
  CHECK(f.at("mini-batch-words") == "32");
  CHECK(f.at("batch-unit") == "\"sentences\"");
  f = figures(command_named("lm"), {"sample-break-mode = \"complete\"\n"}, {"--fill", "segment"});
  CHECK(f.at("across-documents") == "false");
}

TEST_CASE("all spellings of one row") {
  const Command& nmt = command_named("nmt");
  CHECK(figures(nmt, {"lr = 0.5\n"}, {"-l", "0.25"}).at("learn-rate") == "0.25");
  CHECK(figures(nmt, {"learn-rate = 0.5\n", "lr = 0.25\n"}, {}).at("learn-rate") == "0.25");
  CHECK(figures(nmt, {"learn-rate = 0.5\nlr = 0.25\n"}, {}).at("learn-rate") == "0.25");
  CHECK(figures(nmt, {"no-tied-output = true\n"}, {}).at("tied-output") == "false");
  CHECK(figures(nmt, {"no-tied-output = true\n"}, {"--tied-embeddings"}).at("tied-output") == "true");
  CHECK(figures(nmt, {"valid-metrics = [\"bleu\"]\n", "valid-metrics = []\n"}, {}).at("valid-metrics") == "[]");
  CHECK(figures(nmt, {"encoder-learned-pos = true\n"}, {"--encoder-learned-pos=false"}).at("position") == "\"rope\"");
}

TEST_CASE("names that mean something else in Marian or fairseq are told of, once") {
  const auto notes = [](const std::string& command, const std::string& file, const Words& words) {
    const Path path = std::filesystem::temp_directory_path() / concat("gyre-notes-", getpid(), ".toml");
    std::ofstream(path) << file;
    const auto call = command_named(command).make();
    Words all = words;
    all.insert(all.end(), {"--config", path.string()});
    call->table.remember_words(all);
    for (const char* name : {"model", "train-sets", "vocab"}) call->table.required(name, false);
    std::reverse(all.begin(), all.end());
    call->app.parse(all);
    call->table.resolve();
    std::filesystem::remove(path);
    return foreign_notes(call->table);
  };
  CHECK(notes("nmt", "", {"--max-tokens", "3000", "--max-tokens=3001", "--lr", "1"}) ==
        Words{"note: --max-tokens: in fairseq it is the batch of each GPU, by the longer side with padding; here: the "
              "global batch, counted as --batch-unit says (gyre help configuration)"});
  CHECK(notes("nmt", "max-tokens = 3000\nupdate-freq = 2\n", {}).size() == 2);
  CHECK(notes("nmt", "max-tokens = 3000\n", {"--mini-batch-words", "3000"}).empty());
  CHECK(notes("nmt", "", {"--optimizer-delay", "2"}).size() == 1);
  CHECK(notes("nmt", "", {"--optimizer-delay", "1"}).empty());
  CHECK(notes("nmt", "optimizer-delay = 2\n", {}).empty());  // as train.toml has it
  CHECK(notes("nmt", "", {"--encoder-learned-pos"}).size() == 1);
  CHECK(notes("lm", "", {"--encoder-learned-pos"}).empty());
  const std::string_view page = help_topic("configuration")->text;
  for (const ForeignMeaning& m : foreign_meanings()) {
    CAPTURE(m.name);
    CHECK(contains(page, m.name));
  }
}

TEST_CASE("what a call asks for once is not written to run/train.toml") {
  const Command& nmt = command_named("nmt");
  const Figures f = figures(nmt, {}, {"--overwrite", "--no-auto-resume", "--reset-optimizer", "--reset-meters"});
  for (const char* name : {"overwrite", "auto-resume", "optimizer-reload", "restore-corpus", "restore-best"})
    CHECK_FALSE(f.contains(name));
}
