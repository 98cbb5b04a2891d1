// gyre inspect page: writes an HTML page that shows a training step with its numbers.
#include "tools/page/page.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/file.h"
#include "gyre/core/option_checks.h"
#include "tools/inspect/inspect_target.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/model_choice.h"
#include "tools/options/precision_choice.h"
#include "tools/page/assets.h"
#include "tools/page/tape/step_data.h"
#include "tools/page/tape/text_workload.h"
#include "tools/program.h"

namespace gyre {
namespace {

struct InspectPageArgs {
  InspectTarget target;
  DeviceChoice device;
  CpuThreads threads;
  PrecisionChoice precision;
  Path output;
  StepText text;
  int64_t differences = 512;
  OptionTable* table = nullptr;
};

// The text of the options, or random tokens.
std::unique_ptr<Workload> make_page_workload(const InspectPageArgs& args, Device device) {
  const bool given = args.table->given("text");
  args.table->reject_unused("target", given, "there is no --text");
  args.table->reject_unused("text", !args.target.model.empty(), "there is no --model");
  if (!given) return make_target_workload(*args.table, args.target, {device});
  for (const char* name : {"segments", "length"}) args.table->reject_unused(name, false, "--text is given");
  reject_preset_options(*args.table);
  print_model_choice(args.target.model, args.target.checkpoint);
  return text_workload(args.target.model, args.target.checkpoint, args.text, device);
}

int page(InspectPageArgs& args) {
  expect_at_least(0, "--differences", args.differences);
  args.threads.use();
  Kernels& kernels = args.device.kernels();
  const Precision precision = args.precision.on(kernels);
  const std::unique_ptr<Workload> work = make_page_workload(args, kernels.device());
  nlohmann::ordered_json data = training_step_json(*work, kernels, precision, args.differences);
  const std::string model = args.target.model.empty() ? args.target.preset : args.target.model.string();
  data["setting"] = {{"model", model},
                     {"batch", work->batches()},
                     {"device", kernels.device().text()},
                     {"precision", precision_name(precision)}};
  write_page(args.output, make_page(page_asset("tape/page.html"), model + ": a training step", data));
  return 0;
}

}  // namespace

void add_inspect_page_command(Program& program) {
  auto args = std::make_shared<InspectPageArgs>();
  args->target.segments = 1;
  OptionTable& table =
      program.command("inspect page", "web page of a training step: every op, forward and backward, with numbers",
                      [args] { return page(*args); });
  args->table = &table;
  table.add("--output,-o", args->output, "FILE", "HTML file to write; it needs no network");
  table.required("output");
  args->device.add_row(table);
  args->threads.add_row(table);
  args->precision.add_row(table);
  table.add("--differences", args->differences, "NUMBER",
            "most elements of gradients to compare with finite differences; large models get fewer");
  add_target_options(table, args->target);
  table.group("Text");
  table.add("--text", args->text.text, "TEXT", "train on this text instead of random tokens, with --model");
  table.add("--target", args->text.target, "TEXT", "its translation, for a translation model");
}

}  // namespace gyre
