// gyre inspect step: steps interactively through a backward pass, node by node.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/data/text/printable.h"
#include "tools/inspect/inspect_target.h"
#include "tools/inspect/tape/step_browser.h"
#include "tools/inspect/tape/step_report.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/precision_choice.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {
namespace {

struct InspectStepArgs {
  InspectTarget target;
  DeviceChoice device;
  CpuThreads threads;
  PrecisionChoice precision;
  Path script;
  bool json = false;
  OptionTable* table = nullptr;
};

// Prints each command and its output; an invalid command ends the program.
void follow_script(StepBrowser& browser, const Path& script) {
  std::ifstream in(script);
  require(in.is_open(), script.string(), ": cannot be read");
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::cout << "> " << printable_line(line) << '\n';
    try {
      if (!browser.execute(line)) return;
    } catch (const UsageError& error) {
      throw UsageError(script.string(), ":", number, ": ", error.what());
    }
  }
}

// Reads commands from standard input; an empty line repeats the last command.
void follow_user(StepBrowser& browser) {
  const bool prompts = isatty(STDIN_FILENO) == 1;
  std::string last = "next";
  for (std::string line;;) {
    if (prompts) std::cout << "(step) " << std::flush;
    if (!std::getline(std::cin, line)) return;
    if (line.empty()) line = last;
    last = line;
    try {
      if (!browser.execute(line)) return;
    } catch (const UsageError& error) {
      std::cout << printable_message(error.what()) << '\n';
    }
  }
}

int step(InspectStepArgs& args) {
  args.table->reject_unused("script", !args.json, "--json is given");
  args.threads.use();
  Kernels& kernels = args.device.kernels();
  const Precision precision = args.precision.on(kernels);
  const std::unique_ptr<Workload> work = make_target_workload(*args.table, args.target, {kernels.device()});
  BackwardTrace record;
  CrossEntropySums sums;
  {
    Tape tape(kernels, {.record = true, .training = true, .seed = 1, .precision = precision});
    tape.add_observer(record);
    const LossResult result = work->loss(tape);
    sums = result.sums();
    tape.backward(result.loss);
  }
  if (args.json) {
    print_summary({{"batch", work->batches()},
                   {"precision", precision_name(precision)},
                   {"loss", sums.loss},
                   {"predictions", sums.tokens},
                   {"steps", steps_json(record.steps())}},
                  true);
    return 0;
  }
  std::cout << work->batches() << ": loss " << sums.loss << " over " << sums.tokens << " predictions\n";
  StepBrowser browser(record.steps(), std::cout);
  args.script.empty() ? follow_user(browser) : follow_script(browser, args.script);
  return 0;
}

}  // namespace

void add_inspect_step_command(Program& program) {
  auto args = std::make_shared<InspectStepArgs>();
  OptionTable& table =
      program.command("inspect step", "step through a backward pass, node by node", [args] { return step(*args); });
  args->table = &table;
  table.add("--script", args->script, "FILE",
            "read commands from this file instead of the terminal; the command help lists them");
  table.add_flag("--json", args->json, "print all steps as one JSON object instead, with the range of each tensor");
  args->device.add_row(table);
  args->threads.add_row(table);
  args->precision.add_row(table);
  add_target_options(table, args->target);
}

}  // namespace gyre
