// gyre inspect page: writes an HTML page that shows a training step with its numbers. Under mpirun the page also shows
// the all-reduce of the gradients.
#include "tools/page/page.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/parallel/parallel_options.h"
#include "tools/inspect/inspect_target.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/model_choice.h"
#include "tools/options/precision_choice.h"
#include "tools/page/assets.h"
#include "tools/page/tape/text_workload.h"
#include "tools/page/tape/training_step.h"
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
  ParallelOptions parallel;
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

void validate_for(const InspectPageArgs& args, const Communicator& ranks) {
  args.table->reject_unused("bucket-mb", ranks.size() > 1, "there is one rank: run it by mpirun");
  args.parallel.validate();
  expect_at_least(0, "--differences", args.differences);
  if (ranks.size() > 1 && args.table->given("text"))
    throw UsageError("--text: expected one rank, got ", ranks.size(), ": each needs a batch of its own");
}

int page(InspectPageArgs& args, Communicator& ranks) {
  validate_for(args, ranks);
  if (ranks.size() > 1) {
    args.threads.use(ranks.cores());
  } else {
    args.threads.use();
  }
  Kernels& kernels = args.device.kernels(ranks.local_rank());
  const Precision precision = args.precision.on(kernels);
  const std::unique_ptr<Workload> work = make_page_workload(args, kernels.device());
  if (ranks.size() > 1) work->draw(uint64_t(ranks.rank()));
  const double bucket_mb = args.parallel.bucket_mb_on(kernels.device());
  Json data = training_step_json(*work, kernels, {precision, args.differences, bucket_mb}, ranks);
  if (ranks.rank() > 0) return 0;
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
  OptionTable& table = program.command(
      "inspect page", "web page of a training step: every op, forward and backward, with numbers",
      [args] { return with_communicator([args](Communicator& r) { return page(*args, r); }); },
      Program::Processes::ranks);
  args->table = &table;
  table.add("--output,-o", args->output, "FILE", "HTML file to write; it needs no network");
  table.required("output");
  table.add("--bucket-mb", args->parallel.bucket_mb, "MIB",
            "maximum size of a gradient bucket, with several ranks; default: 1, on GPUs 32");
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
