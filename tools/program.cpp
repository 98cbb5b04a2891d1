#include "tools/program.h"

#include <spdlog/version.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <CLI/Version.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <typeinfo>

#include "gyre/core/error.h"
#include "gyre/core/hardware/blas.h"
#include "gyre/core/hardware/cpu.h"
#include "gyre/core/hardware/cuda.h"
#include "gyre/core/kernels/fused_op.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_values.h"
#include "gyre/core/version.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/launcher.h"
#include "tools/command_line/equivalents.h"

namespace gyre {
namespace {

// Version, build and hardware information for bug reports: `gyre --version`, `gyre --build-info`.
#ifdef __clang__
constexpr const char* kCompiler = __VERSION__;  // version with the name

#else
constexpr const char* kCompiler = "g++ " __VERSION__;

#endif

const char* yes_or_no(bool has) { return has ? "yes" : "no"; }

std::string kernel_names() {
  std::string names;
  for (const Kernels* kernels : available_cpu_kernels())
    names.append(names.empty() ? "" : ", ").append(kernels->name());
  return names;
}

std::string version_line() { return "gyre " + std::string(kVersion); }

// `name: value` lines: compiler, build type, processor, OpenBLAS and its kernels, MPI, libraries.
std::string build_info() {
  std::ostringstream text;
  const auto fact = [&text](const std::string& name, const auto&... parts) {
    text << name << ": ";
    (text << ... << parts) << '\n';
  };
  fact("version", kVersion);
  fact("build", GYRE_BUILD_TYPE);
  fact("compiler", kCompiler);
  fact("threads", threads());
  fact("CPU kernels", cpu_kernels().name());
  fact("CPU kernels available", kernel_names());
  for (const auto& [extension, present] : cpu_extensions()) fact("CPU has " + extension, yes_or_no(present));
  fact("BLAS kernels", blas_kernels());
  if (const std::string advice = blas_advice(); !advice.empty()) fact("BLAS advice", advice);
  fact("CUDA", cuda_description());
  fact("composed ops on the CPU", composed_ops(cpu_kernels()));
  fact("composed ops on GPUs", composed_ops(virtual_kernels()));  // a real GPU lacks the same kernels
  fact("MPI", mpi_library());
  fact("CLI11", CLI11_VERSION);
  fact("spdlog", SPDLOG_VER_MAJOR, '.', SPDLOG_VER_MINOR, '.', SPDLOG_VER_PATCH);
  fact("nlohmann-json", NLOHMANN_JSON_VERSION_MAJOR, '.', NLOHMANN_JSON_VERSION_MINOR, '.',
       NLOHMANN_JSON_VERSION_PATCH);
  return text.str();
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* sub : subcommands(app)) names.push_back(sub->get_name());
  return names;
}

// "train nmt"
std::string words_of(const CLI::App& command) {
  const CLI::App* group = command.get_parent();
  const bool is_grouped = group != nullptr && group->get_parent() != nullptr;
  return (is_grouped ? group->get_name() + " " : "") + command.get_name();
}

// Null if there is no such subcommand.
CLI::App* find_subcommand(CLI::App& app, const std::string& word) {
  const auto known = app.get_subcommands([&word](CLI::App* sub) { return sub->get_name() == word; });
  return known.empty() ? nullptr : known.front();
}

// Whether a word is an option and not a value such as -0.5.
bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 &&
         word[1] != '.';
}

// The long names.
std::vector<std::string> option_names(const CommandDescription& command) {
  std::vector<std::string> names;
  for (const OptionDescription& option : command.options)
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name);
  return names;
}

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

// Replaces whole names only: --vocab is a part of --vocab-size.
void replace_name(std::string& text, const std::string& name, const std::string& other) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const size_t end = at + name.size();
    const bool is_whole = (at == 0 || !is_of_name(text[at - 1])) && (end == text.size() || !is_of_name(text[end]));
    if (is_whole) text.replace(at, name.size(), other);
    at += is_whole ? other.size() : name.size();
  }
}

// The message with the names by which options were given.
std::string in_given_names(std::string message, const OptionTable& table) {
  for (const OptionDescription& option : table.describe()) {
    if (option.is_positional()) continue;
    for (const std::string& name : option.names) {
      const bool is_alias = name.starts_with("--") && name != option.name();
      if (is_alias && table.given_as(name.substr(2))) replace_name(message, option.name(), name);
    }
  }
  return message;
}

// Throws a UsageError in the first of several processes. The others wait for its message, because mpirun ends all
// processes as soon as one has failed.
bool is_only_process(const std::string& command) {
  const Launch launch = launch_of_process();
  if (launch.processes == 1) return true;
  if (launch.process == 0) throw UsageError(not_parallel_message(launch, command));
  sleep(1);
  return false;
}

// The options that a command needs beside the given words, for those who give their values without names. Empty if it
// needs none.
std::string required_options(const CommandDescription& command, const std::vector<std::string>& given) {
  const auto is_given = [&](const std::string& name) { return std::count(given.begin(), given.end(), name) > 0; };
  std::vector<std::string> options;
  for (const OptionDescription& option : command.options) {
    if (!option.required || option.is_positional()) continue;
    if (std::any_of(option.names.begin(), option.names.end(), is_given)) continue;
    options.push_back(option.name() + " " + (option.choices.size() == 1 ? option.choices.front() : option.unit));
  }
  return options.empty() ? "" : ": expected " + joined(options);
}

// ---- Help: the text of a command for --help and --help-all, from its option table -----------------------------------

constexpr size_t kWidth = 100, kIndent = 30;

// Formats `text` next to or below `head`, in lines of at most kWidth characters.
std::string entry(const std::string& head, const std::string& text) {
  std::string result = "  " + head;
  size_t column = result.size();
  if (column + 2 > kIndent) {
    result += '\n';
    column = 0;
  }
  result += std::string(kIndent - column, ' ');
  column = kIndent;
  std::istringstream words(text);
  for (std::string word; words >> word; column += word.size()) {
    if (column > kIndent && column + 1 + word.size() > kWidth) {
      result += "\n" + std::string(kIndent, ' ');
      column = kIndent;
    } else if (column > kIndent) {
      result += ' ';
      ++column;
    }
    result += word;
  }
  return result + '\n';
}

std::string spellings(const OptionDescription& option, bool all) {
  std::string names;
  for (const std::string& name : option.names)
    if (all || name == option.name()) names += (names.empty() ? "" : ", ") + name;
  return option.unit.empty() || option.is_positional() ? names : names + " " + option.unit;
}

std::string help_text(const OptionDescription& option) {
  std::string text = option.help;
  if (option.required) text += " (required)";
  if (!option.default_value.empty()) text += " [" + option.default_value + "]";
  return text;
}

bool has_common(const CommandDescription& command) {
  return std::any_of(command.options.begin(), command.options.end(), [](const auto& option) { return option.common; });
}

// all: lists every option with all its names. Otherwise lists only the options marked as common, if there are any, with
// their first names.
std::string command_help(const CommandDescription& command, bool all) {
  all = all || !has_common(command);
  std::string text = command.help + "\n\nUsage: gyre " + command.words + " [OPTIONS]\n", group;
  size_t left_out = 0;
  for (const OptionDescription& option : command.options) {
    if (!all && !option.common && !option.required && !option.names.back().starts_with("--help")) {
      ++left_out;
      continue;
    }
    if (option.group != group) text += "\n" + option.group + ":\n";
    group = option.group;
    text += entry(spellings(option, all), help_text(option));
  }
  if (!command.subcommands.empty()) text += "\nSubcommands:\n";
  for (const CommandDescription& sub : command.subcommands) text += entry(sub.last_word(), sub.help);
  if (left_out > 0)
    text += "\n" + std::to_string(left_out) + " more options and all aliases: gyre " + command.words + " --help-all\n";
  return text;
}

}  // namespace

Program::Program()
    : app_(std::make_unique<CLI::App>("Gyre trains transformers from scratch on CPUs and GPUs, over MPI.", "gyre")) {
  app_->allow_extras()->require_subcommand(0, 1);
  app_->set_help_flag("-h,--help", "print this help");
  app_->set_help_all_flag("--help-all", "print this help with every option");
  app_->add_flag("--version", version_, "print the version");
  app_->add_flag("--build-info", build_info_, "print the build configuration, the hardware and the libraries");
}

Program::~Program() = default;

void Program::describe_group(const std::string& word, const std::string& help) {
  app_->add_subcommand(word, help)->allow_extras()->require_subcommand(0, 1);
}

OptionTable& Program::command(const std::string& words, const std::string& help, std::function<int()> run,
                              Processes processes) {
  CLI::App* app = app_.get();
  std::istringstream stream(words);
  std::string word;
  while (stream >> word) {
    CLI::App* known = find_subcommand(*app, word);
    app = known == nullptr ? app->add_subcommand(word, help)->allow_extras() : known;
  }
  commands_.push_back({app, std::make_unique<OptionTable>(*app), std::move(run), processes});
  return *commands_.back().options;
}

std::string Program::help(const std::vector<std::string>& words) const {
  CLI::App* app = app_.get();
  for (const std::string& word : words) {
    CLI::App* sub = find_subcommand(*app, word);
    if (sub == nullptr) throw unknown_subcommand(word, *app);
    app = sub;
  }
  return help(*app, false);
}

std::string Program::help(const CLI::App& app, bool all) const {
  std::string words;
  for (const CLI::App* at = &app; at != app_.get(); at = at->get_parent())
    words = at->get_name() + (words.empty() ? "" : " ") + words;
  if (find_command(app) != nullptr) return command_help(describe(app, words), all);
  return app.help(words.empty() ? "" : "gyre " + words.substr(0, words.size() - app.get_name().size()));
}

std::string Program::help_of_parsed(bool all) const {
  const CLI::App* app = app_.get();
  for (auto parsed = app->get_subcommands(); !parsed.empty(); parsed = app->get_subcommands()) app = parsed.front();
  return help(*app, all);
}

UsageError Program::unknown_subcommand(const std::string& word, const CLI::App& app) const {
  std::vector<std::string> all;
  for_each_command(describe(), [&all](const CommandDescription& command) { all.push_back(command.words); });
  return UsageError("unknown subcommand ", word, suggest_subcommand(word, subcommand_names(app), all));
}

void Program::reject_unknown_subcommands() const {
  CLI::App* app = app_.get();
  for (const std::string& word : words_) {
    if (word.starts_with('-') || subcommands(*app).empty()) return;
    CLI::App* sub = find_subcommand(*app, word);
    if (sub == nullptr) throw unknown_subcommand(word, *app);
    app = sub;
  }
}

// Rejects the words that the parser could not assign: unknown options, which values may follow, or else a word that is
// too many.
void Program::reject_unknown(const CLI::App& app) const {
  const auto words = app.remaining();
  if (words.empty()) return;
  if (is_option(words.front()) && &app != app_.get() && !subcommands(app).empty()) {
    throw UsageError("[", app.get_name(), "] expected a subcommand before ", words.front(), ": ",
                     joined(subcommand_names(app)));
  }
  std::vector<std::string> options;
  for (const std::string& word : words)
    if (is_option(word)) options.push_back(word.substr(0, word.find('=')));
  if (!options.empty()) throw UsageError(unknown_options(options, option_names(describe(app, ""))));
  if (!subcommands(app).empty()) throw unknown_subcommand(words.front(), app);
  const std::string option = option_before(words.front());
  const std::string hint = explain_extra_value(option);
  const auto given = option.empty() ? std::vector<std::string>{} : words_;
  throw UsageError("unexpected argument '", words.front(), "'",
                   hint.empty() ? required_options(describe(app, ""), given) : hint);
}

// The option whose values a word of the command line follows.
std::string Program::option_before(const std::string& word) const {
  std::string option;
  for (const std::string& at : words_) {
    if (at == word) break;
    if (is_option(at)) option = at;
  }
  return option;
}

CommandDescription Program::describe() const { return describe(*app_, ""); }

CommandDescription Program::describe(const CLI::App& app, const std::string& words) const {
  CommandDescription d{.words = words, .help = app.get_description(), .options = {}, .subcommands = {}};
  const Command* command = find_command(app);
  if (command == nullptr) {
    for (const auto* option : app.get_options()) d.options.push_back(gyre::describe(*option));
  } else {
    d.options = command->options->describe();
    d.options.insert(d.options.begin(), {gyre::describe(*app.get_help_ptr()), gyre::describe(*app.get_help_all_ptr())});
  }
  for (const auto* sub : subcommands(app))
    d.subcommands.push_back(describe(*sub, words + (words.empty() ? "" : " ") + sub->get_name()));
  return d;
}

const Program::Command* Program::find_command(const CLI::App& app) const {
  const auto found = std::find_if(commands_.begin(), commands_.end(), [&](const Command& c) { return c.app == &app; });
  return found == commands_.end() ? nullptr : &*found;
}

int Program::run_selected(CLI::App& app) {
  reject_unknown(app);
  const auto selected = app.get_subcommands();
  if (!selected.empty()) return run_selected(*selected.front());
  const Command* command = find_command(app);
  if (command == nullptr) {
    std::cerr << app.help();
    throw UsageError("a subcommand is missing");
  }
  if (command->processes == Processes::one && !is_only_process(words_of(app))) return 2;
  command->options->remember_words(words_);
  command->options->resolve();
  try {
    return with_given_names(*command->options, command->run);
  } catch (const std::bad_alloc&) {  // an error of standard containers; tensors report the size that they requested
    throw Error("out of memory in gyre ", words_of(app),
                ": use smaller sizes or counts, or a machine with more memory");
  } catch (const std::filesystem::filesystem_error& error) {  // such as links in a circle
    throw Error(error.path1().string(), ": ", error.code().message());
  } catch (const std::length_error&) {  // a container larger than the address space
    throw Error("out of memory in gyre ", words_of(app), ": a size or a count exceeds the address space");
  }
}

int Program::run(int argc, const char* const* argv) {
  words_.assign(argv + 1, argv + argc);
  reject_unknown_subcommands();
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << help_of_parsed(false);
    return 0;
  } catch (const CLI::CallForAllHelp&) {
    std::cout << help_of_parsed(true);
    return 0;
  } catch (const CLI::Error& error) {
    throw UsageError(error.what());
  }
  if (version_) {
    std::cout << version_line() << '\n';
    return 0;
  }
  if (build_info_) {
    std::cout << build_info();
    return 0;
  }
  return run_selected(*app_);
}

int with_given_names(const OptionTable& table, const std::function<int()>& command) {
  try {
    return command();
  } catch (const UsageError& error) {
    throw UsageError(in_given_names(error.what(), table));
  } catch (const Error& error) {
    if (typeid(error) != typeid(Error)) throw;  // a new Error would lose the kind, such as that of a failed rank
    throw Error(in_given_names(error.what(), table));
  }
}

}  // namespace gyre
