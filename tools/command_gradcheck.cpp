// gyre gradcheck: hand-written gradients against finite differences in f64: of the rows of the op table, or of the
// loss of a model by its parameters.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "autograd/op_cases.h"
#include "tools/device_choice.h"
#include "tools/facts.h"
#include "tools/inspect/gradcheck_report.h"
#include "tools/inspect/subject.h"
#include "tools/program.h"

namespace gyre {

namespace {

constexpr int64_t kOpEntries = GradcheckOptions().max_entries;
constexpr int64_t kModelEntries = 4;  // of a parameter: transformer-tiny takes seconds

struct Gradcheck {
  OptionTable* table = nullptr;
  std::string op = "all", dtype = "f64";
  Subject subject;
  DeviceChoice device;
  int64_t entries = 0, worst = 0;
  double tolerance = 0;
  uint64_t seed = 1;
  bool json = false;

  DType type() const { return dtype == "f64" ? DType::f64 : DType::f32; }
  double bound() const { return tolerance > 0 ? tolerance : gradcheck_tolerance(type()); }
  GradcheckOptions options(int64_t default_entries, const Tape::Options& tape) const {
    return {.tolerance = bound(), .max_entries = entries > 0 ? entries : default_entries, .seed = seed, .tape = tape};
  }
};

// Whether a model was asked for; without one its options are rejected.
bool is_of_model(const Gradcheck& call) {
  const OptionTable& table = *call.table;
  const bool of_model = table.given("preset") || table.given("model");
  if (of_model && table.given("op")) throw UsageError("--op: expected neither --preset nor --model beside it");
  if (of_model) return true;
  for (const char* group : {"Model and batch", "Attention", "Position encoding"})
    table.reject_group(group, "there is neither --preset nor --model");
  return false;
}

GradcheckReport check_ops(const Gradcheck& call) {
  GradcheckReport report;
  const GradcheckOptions options = call.options(kOpEntries, kOpCaseTape);
  for (OpCheck& check : run_gradcheck(call.op, call.device.kernels(), options, call.type()))
    report.rows.push_back({check.op, std::move(check.inputs)});
  return report;
}

ParameterFunction loss_of(Workload& work) {
  return {work.parameters(), [&work](Tape& tape) { return work.loss(tape).loss; }};
}

// Its loss as a step of training computes it, dropout included: the tape's seed keeps the masks.
GradcheckReport check_model(const Gradcheck& call, nlohmann::ordered_json& facts) {
  Kernels& kernels = call.device.kernels();
  const auto make = [&](DType dtype) {
    return make_subject(*call.table, call.subject, {.device = kernels.device(), .dtype = dtype});
  };
  const std::unique_ptr<Workload> exact = make(DType::f64);
  const std::unique_ptr<Workload> single = call.type() == DType::f32 ? make(DType::f32) : nullptr;
  facts["model"] = call.subject.model.empty() ? call.subject.preset : call.subject.model.string();
  facts["batch"] = exact->batches();
  const GradcheckOptions options =
      call.options(kModelEntries, {.training = true, .seed = call.seed, .unit_cotangent = true});
  GradcheckReport report{.of_ops = false, .rows = {}};
  for (GradcheckResult& result : gradcheck(kernels, loss_of(single ? *single : *exact), loss_of(*exact), options))
    report.rows.push_back({result.input, {std::move(result)}});
  return report;
}

int gradcheck(const Gradcheck& call) {
  if (call.entries < 0) throw UsageError("--entries: expected at least 0, got ", call.entries);
  if (call.worst < 0) throw UsageError("--worst: expected at least 0, got ", call.worst);
  if (!(call.tolerance >= 0)) throw UsageError("--tolerance: expected at least 0, got ", call.tolerance);
  nlohmann::ordered_json facts{{"dtype", call.dtype}, {"tolerance", call.bound()}};
  const GradcheckReport report = is_of_model(call) ? check_model(call, facts) : check_ops(call);
  if (call.json) {
    std::cout << report.to_json(facts, size_t(call.worst)).dump() << '\n';
  } else {
    print_facts(facts, false);
    report.print(size_t(call.worst));
  }
  return report.passed() ? 0 : 1;
}

void add_own_rows(OptionTable& table, Gradcheck& call) {
  table.add("--op", call.op, "NAME", "an op (rope), a row of its table (rope/half-split), or all");
  table.add_choice("--dtype", call.dtype, {"f64", "f32"}, "of the gradients; differences are always of f64");
  table.add("--tolerance", call.tolerance, "NUMBER",
            concat("largest error that passes: |analytic - numeric|, over the larger of both, but for the rounding of "
                   "differences; 0: ",
                   toml_value(gradcheck_tolerance(DType::f64)), " in f64 (differences are rounded), ",
                   toml_value(gradcheck_tolerance(DType::f32)), " in f32 (terms that cancel were rounded)"));
  table.add("--entries", call.entries, "NUMBER",
            concat("compared of each input or parameter, a sample; 0: ", kOpEntries, " of an op's input, ",
                   kModelEntries, " of a model's parameter"));
  table.add("--worst", call.worst, "NUMBER", "list so many entries with the largest errors of all");
  table.add("--seed", call.seed, "NUMBER", "of the sample, of an op's cotangent and of a model's dropout");
  call.device.add_row(table);
  table.add_flag("--json", call.json, "print one JSON object");
}

}  // namespace

void add_gradcheck_command(Program& program) {
  auto call = std::make_shared<Gradcheck>();
  OptionTable& table = program.command("gradcheck", "gradients of ops, or of a model, against finite differences",
                                       [call] { return gradcheck(*call); });
  call->table = &table;
  add_own_rows(table, *call);
  add_subject_options(table, call->subject);
}

}  // namespace gyre
