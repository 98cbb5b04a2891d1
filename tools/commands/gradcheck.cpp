// gyre gradcheck: compares gradients with finite differences in f64, for the rows of the op table or for the loss of a
// model with respect to its parameters.
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/autograd/gradcheck/op_cases.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "tools/inspect/gradcheck_report.h"
#include "tools/inspect/inspect_target.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {

namespace {

constexpr int64_t kOpEntries = GradcheckOptions().max_entries;
constexpr int64_t kModelEntries = 4;  // number per parameter; transformer-tiny then takes seconds

struct GradcheckArgs {
  OptionTable* table = nullptr;
  std::string op = "all";
  DType dtype = DType::f64;
  InspectTarget target;
  DeviceChoice device;
  int64_t entries = 0, worst = 0;
  double tolerance = 0;
  uint64_t seed = 1;
  bool json = false;

  double bound() const { return tolerance > 0 ? tolerance : gradcheck_tolerance(dtype); }
  GradcheckOptions options(int64_t default_entries, const Tape::Options& tape) const {
    return {.tolerance = bound(), .max_entries = entries > 0 ? entries : default_entries, .seed = seed, .tape = tape};
  }
};

// Whether to check a model. Without one, throws UsageError for the options of models.
bool is_of_model(const GradcheckArgs& args) {
  const OptionTable& table = *args.table;
  const bool of_model = table.given("preset") || table.given("model");
  if (of_model && table.given("op")) throw UsageError("--op: expected neither --preset nor --model with it");
  if (of_model) return true;
  const std::string reason = "there is neither --preset nor --model";
  table.reject_group("Model and batch", reason);
  reject_preset_options(table, reason);
  return false;
}

GradcheckReport check_ops(const GradcheckArgs& args) {
  GradcheckReport report;
  const GradcheckOptions options = args.options(kOpEntries, kOpCaseTape);
  for (OpCheck& check : run_gradcheck(args.op, args.device.kernels(), options, args.dtype))
    report.rows.push_back({check.op, std::move(check.inputs)});
  return report;
}

ParameterFunction loss_of(Workload& work) {
  return {work.parameters(), [&work](Tape& tape) { return work.loss(tape).loss; }};
}

// Checks the loss of a training step, including dropout: the seed of the tape fixes the dropout masks.
GradcheckReport check_model(const GradcheckArgs& args, Json& summary) {
  Kernels& kernels = args.device.kernels();
  const auto make = [&](DType dtype) {
    return make_target_workload(*args.table, args.target, {.device = kernels.device(), .dtype = dtype});
  };
  const std::unique_ptr<Workload> exact = make(DType::f64);
  const std::unique_ptr<Workload> single = args.dtype == DType::f32 ? make(DType::f32) : nullptr;
  summary["model"] = args.target.model.empty() ? args.target.preset : args.target.model.string();
  summary["batch"] = exact->batches();
  const GradcheckOptions options =
      args.options(kModelEntries, {.training = true, .seed = args.seed, .loss_seeded = true});
  GradcheckReport report{.of_ops = false, .rows = {}};
  for (GradcheckResult& result : gradcheck(kernels, loss_of(single ? *single : *exact), loss_of(*exact), options))
    report.rows.push_back({result.input, {std::move(result)}});
  return report;
}

int gradcheck(const GradcheckArgs& args) {
  expect_at_least(0, "--entries", args.entries);
  expect_at_least(0, "--worst", args.worst);
  expect_at_least(0, "--tolerance", args.tolerance);
  Json summary{{"dtype", to_string(args.dtype)}, {"tolerance", args.bound()}};
  const GradcheckReport report = is_of_model(args) ? check_model(args, summary) : check_ops(args);
  if (args.json) {
    print_summary(report.to_json(summary, size_t(args.worst)), true);
  } else {
    print_summary(summary, false);
    report.print(size_t(args.worst));
  }
  return report.passed() ? 0 : 1;
}

void add_own_rows(OptionTable& table, GradcheckArgs& args) {
  table.add("--op", args.op, "NAME", "op (rope), one case of an op (rope/half-split), or all");
  table.add({"--dtype", one_of(&args.dtype, {DType::f64, DType::f32}), "",
             "data type of the gradients; finite differences are always f64"});
  table.add("--tolerance", args.tolerance, "NUMBER",
            concat("maximum relative error: |analytic - numeric| / the larger of both, without the rounding error of "
                   "differences; 0: ",
                   toml_value(gradcheck_tolerance(DType::f64)), " for f64 (rounding of differences), ",
                   toml_value(gradcheck_tolerance(DType::f32)), " for f32 (rounding of terms that cancel)"));
  table.add("--entries", args.entries, "NUMBER",
            concat("number of sampled entries of each input or parameter; 0: ", kOpEntries, " per input of an op, ",
                   kModelEntries, " per parameter of a model"));
  table.add("--worst", args.worst, "NUMBER", "number of entries with the largest errors to list");
  table.add("--seed", args.seed, "NUMBER",
            "random seed of the sample, of the output gradient of an op and of a model's dropout");
  args.device.add_row(table);
  table.add_flag("--json", args.json, "print one JSON object");
}

}  // namespace

void add_gradcheck_command(Program& program) {
  auto args = std::make_shared<GradcheckArgs>();
  OptionTable& table = program.command("gradcheck", "compare gradients of ops or of a model with finite differences",
                                       [args] { return gradcheck(*args); });
  args->table = &table;
  add_own_rows(table, *args);
  add_target_options(table, args->target);
}

}  // namespace gyre
