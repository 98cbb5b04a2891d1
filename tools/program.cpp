#include "tools/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <sstream>

#include "core/nearest.h"
#include "tools/build_info.h"

namespace gyre {

namespace {

std::vector<std::string> subcommand_names(CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// Words that the parser could not place: the first is the culprit, the others may be its values.
void reject_unknown(CLI::App& app) {
  const auto words = app.remaining();
  if (words.empty()) return;
  if (words.front().starts_with('-')) {
    const std::string name = words.front().substr(0, words.front().find('='));
    throw UsageError("unknown option ", name, did_you_mean(name, option_names(app)));
  }
  const auto subcommands = subcommand_names(app);
  if (subcommands.empty()) throw UsageError("unexpected argument '", words.front(), "'");
  throw UsageError("unknown subcommand ", words.front(), did_you_mean(words.front(), subcommands));
}

}  // namespace

Program::Program()
    : app_(std::make_unique<CLI::App>("Gyre trains transformers from scratch on CPUs, over MPI.", "gyre")) {
  app_->allow_extras()->require_subcommand(0, 1);
  app_->add_flag("--version", version_, "print the version");
  app_->add_flag("--build-info", build_info_, "print how this program was built and which libraries it runs on");
}

Program::~Program() = default;

void Program::describe_group(const std::string& word, const std::string& help) {
  app_->add_subcommand(word, help)->allow_extras()->require_subcommand(0, 1);
}

OptionTable& Program::command(const std::string& words, const std::string& help, std::function<int()> run) {
  CLI::App* app = app_.get();
  std::istringstream stream(words);
  std::string word;
  while (stream >> word) {
    const auto known = app->get_subcommands([&word](CLI::App* sub) { return sub->get_name() == word; });
    app = known.empty() ? app->add_subcommand(word, help)->allow_extras() : known.front();
  }
  commands_.push_back({app, std::make_unique<OptionTable>(*app), std::move(run)});
  return *commands_.back().options;
}

int Program::run_selected(CLI::App& app) {
  reject_unknown(app);
  const auto selected = app.get_subcommands();
  if (!selected.empty()) return run_selected(*selected.front());
  const auto command =
      std::find_if(commands_.begin(), commands_.end(), [&](const Command& c) { return c.app == &app; });
  if (command == commands_.end()) {
    std::cerr << app.help();
    throw UsageError("a subcommand is missing");
  }
  command->options->resolve();
  return command->run();
}

int Program::run(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help
    return app_->exit(request);
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

}  // namespace gyre
