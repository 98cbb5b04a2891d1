// gyre inspect step: one goes through a backward pass, node by node.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <memory>

#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/inspect/step_browser.h"
#include "tools/inspect/subject.h"
#include "tools/program.h"

namespace gyre {
namespace {

struct InspectStep {
  Subject subject;
  DeviceChoice device;
  CpuThreads threads;
  std::string precision = "fp32";
  Path script;
  OptionTable* table = nullptr;
};

// Each line is shown with what it does; one that cannot be followed ends the program.
void follow_script(StepBrowser& browser, const Path& script) {
  std::ifstream in(script);
  require(in.is_open(), script.string(), ": cannot be read");
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::cout << "> " << line << '\n';
    try {
      if (!browser.obey(line)) return;
    } catch (const UsageError& error) {
      throw UsageError(script.string(), ":", number, ": ", error.what());
    }
  }
}

// An empty line does again what the last one did.
void follow_user(StepBrowser& browser) {
  const bool prompts = isatty(STDIN_FILENO) == 1;
  std::string last = "next";
  for (std::string line;;) {
    if (prompts) std::cout << "(step) " << std::flush;
    if (!std::getline(std::cin, line)) return;
    if (line.empty()) line = last;
    last = line;
    try {
      if (!browser.obey(line)) return;
    } catch (const UsageError& error) {
      std::cout << error.what() << '\n';
    }
  }
}

int step(InspectStep& call) {
  call.threads.use();
  Kernels& kernels = call.device.kernels();
  const Precision precision = parse_precision(call.precision, kernels);
  const std::unique_ptr<Workload> work = make_subject(*call.table, call.subject, {kernels.device()});
  BackwardRecord record;
  {
    Tape tape(kernels, {.record = true, .training = true, .seed = 1, .precision = precision});
    tape.add_observer(record);
    const LossResult result = work->loss(tape);
    std::cout << work->batches() << ": loss " << result.sums.loss << " over " << result.sums.tokens << " predictions\n";
    tape.backward(result.loss);
  }
  StepBrowser browser(record.steps(), std::cout);
  call.script.empty() ? follow_user(browser) : follow_script(browser, call.script);
  return 0;
}

}  // namespace

void add_inspect_step_command(Program& program) {
  auto call = std::make_shared<InspectStep>();
  OptionTable& table =
      program.command("inspect step", "go through a backward pass, node by node", [call] { return step(*call); });
  call->table = &table;
  table.add("--script", call->script, "FILE", "the commands, instead of the terminal; help lists them");
  call->device.add_row(table);
  call->threads.add_row(table);
  table.add_choice("--precision", call->precision, precision_names(), "of activations and products");
  add_subject_options(table, call->subject);
}

}  // namespace gyre
