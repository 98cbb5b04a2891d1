// Tests every row of the op table: comparison with the composed definition and with finite differences, frozen inputs,
// accumulation, independence of the number of threads, and bf16. Covers all instruction sets that the CPU supports;
// emulates bf16 if the CPU cannot multiply it.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cpu.h"
#include "tests/amx_in_scope.h"
#include "tests/autograd/op_run.h"
#include "tests/emulated_bf16.h"
#include "tests/report.h"

using namespace gyre;

namespace {

void check_against(const OpRun& expected, const OpRun& actual, const OpCase& row, double tolerance) {
  CAPTURE(row.name);
  CHECK_LE(relative_error(actual.output, expected.output), tolerance);
  // The error of a gradient that is zero up to rounding is measured relative to the other gradients.
  const double floor = 0.1 * largest_magnitude(expected.gradients);
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    CAPTURE(row.inputs[i].name);
    CHECK_LE(relative_error(actual.gradients[i], expected.gradients[i], floor), tolerance);
  }
}

void check_against_definition(Kernels& kernels, const OpCase& row, DType dtype, double tolerance) {
  CAPTURE(kernels.name());
  CAPTURE(to_string(dtype));
  check_against(run_exactly(row, dtype), run_op(kernels, row, dtype), row, tolerance);
}

// Largest relative error of rounding to bf16: half the distance between neighboring numbers.
constexpr double kBf16Rounding = 0x1p-8;
constexpr double kFp32Share = 1.01;  // allowance for the fp32 arithmetic between roundings

// The exact run rounds the operands of products as the kernels do, so the only remaining rounding is that of the
// result. The ops listed here round twice: attention also rounds its weights, which the exact run does not; backward
// reads a result that forward stored in bf16; or, in the rows of several ops, a gradient is a rounded sum of rounded
// terms.
double bf16_tolerance(std::string_view name) {
  const std::string_view op = name.substr(0, name.find('/'));
  const bool twice = op == "rope" || op == "head_softmax" || op == "linear_cross_entropy" || op == "linear_r_drop" ||
                     op == "binary_cross_entropy" || op == "composite" || op == "attention" || op == "softmax" ||
                     op == "log_softmax";
  return (twice ? 2 : 1) * kBf16Rounding * kFp32Share;
}

void check_thread_invariance(const OpCase& row, DType dtype, bool composed = false) {
  const auto run_on = [&](int n) {
    const ThreadsInScope scope(n);
    return composed ? run_composed(cpu_kernels(), row, dtype) : run_op(cpu_kernels(), row, dtype);
  };
  CAPTURE(row.name);
  const SmallWorkInParallel for_rows_of_any_size;
  const OpRun one = run_on(1);
  for (int n : {2, 5}) {
    CAPTURE(n);
    check_same_bits(one, run_on(n));
  }
}

std::vector<OpCase> bf16_cases() {
  std::vector<OpCase> rows = chosen_rows();
  std::erase_if(rows, [](const OpCase& row) { return !runs_in_bf16(row); });
  return rows;
}

#ifdef __aarch64__
constexpr const char* kLevels[] = {"cpu_armv8", "cpu_armv8_bf16"};
#else
constexpr const char* kLevels[] = {"cpu_v3", "cpu_v4"};
#endif

// Registers, for the report at the end of the tests, the kernels that ran and those that this CPU does not support.
void report_kernels(const std::string& dtype, const std::vector<Kernels*>& covered) {
  std::string line = dtype;
  for (const char* level : kLevels) {
    if (std::any_of(covered.begin(), covered.end(), [&](Kernels* k) { return k->name() == level; })) {
      line += std::string(" ") + level;
    } else {
      report_skipped(dtype + " on " + level + ": the CPU lacks its instructions");
    }
  }
  report_covered(line);
}

// The kernels of the CPU lack those of an op while this exists.
class KernelsLack {
 public:
  explicit KernelsLack(FusedOp& op) : op_(op) { op_.has_kernels = false; }
  ~KernelsLack() { op_.has_kernels = true; }
  KernelsLack(const KernelsLack&) = delete;
  KernelsLack& operator=(const KernelsLack&) = delete;

 private:
  FusedOp& op_;
};

// The names of the ops that a tape records for the row.
std::vector<std::string> recorded_ops(const OpCase& row) {
  Tape tape(cpu_kernels(), kOpCaseTape);
  record(row, tape);
  std::vector<std::string> names;
  for (const Node& node : tape.nodes()) names.emplace_back(node.name());
  return names;
}

}  // namespace

TEST_CASE("every row has a name of its own") {
  std::set<std::string> names;
  for (const OpCase& row : op_cases()) CHECK_MESSAGE(names.insert(row.name).second, row.name);
}

TEST_CASE("every op agrees with its composed definition") {
  const std::vector<OpCase> rows = chosen_rows();
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const OpCase& row : rows) {
      check_against_definition(*kernels, row, DType::f64, 1e-11);
      check_against_definition(*kernels, row, DType::f32, 5e-5);
    }
  }
  report_kernels("fp64", available_cpu_kernels());
  report_kernels("fp32", available_cpu_kernels());
}

// The formulas run in the dtype of the data: bf16 is stored between the ops and not within.
TEST_CASE("composed definitions run in every dtype") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const OpCase& row : chosen_rows()) {
    check_against(run_exactly(row, DType::f32), run_composed(cpu_kernels(), row, DType::f32), row, 1e-4);
    if (runs_in_bf16(row))
      check_against(run_exactly(row, DType::bf16), run_composed(cpu_kernels(), row, DType::bf16), row, 2e-2);
  }
}

TEST_CASE("a tape that composes every op records none that is fused") {
  Tape::Options options = kOpCaseTape;
  options.composed = true;
  std::set<std::string_view> fused{"linear_relu", "linear_gelu", "linear_tanh", "linear_silu", "linear_gelu_tanh"};
  for (const FusedOp* op : cpu_kernels().fused_ops()) fused.insert(op->name);
  for (const OpCase& row : chosen_rows()) {
    CAPTURE(row.name);
    Tape tape(cpu_kernels(), options);
    record(row, tape);
    for (const Node& node : tape.nodes()) CHECK_MESSAGE(!fused.contains(node.name()), node.name());
  }
}

TEST_CASE("every op runs composed with kernels that lack it, and agrees with itself") {
  for (FusedOp* op : cpu_kernels().fused_ops()) {
    const std::string_view name = op->name;
    CAPTURE(name);
    int rows_with_op = 0;
    for (const OpCase& row : op_cases()) {
      const std::vector<std::string> fused = recorded_ops(row);
      const KernelsLack lack(*op);
      const std::vector<std::string> composed = recorded_ops(row);
      if (composed == fused) continue;
      ++rows_with_op;
      CAPTURE(row.name);
      CHECK(std::ranges::find(composed, name) == composed.end());
      const OpRun actual = run_op(cpu_kernels(), row, DType::f64);
      check_against(run_exactly(row, DType::f64), actual, row, 1e-11);
    }
    CHECK(rows_with_op > 0);
  }
}

TEST_CASE("every op agrees with finite differences") {
  const ThreadsInScope one_thread(1);  // thousands of small calls: on a busy machine, several threads would only wait
  for (const OpCheck& check : run_gradcheck("all", cpu_kernels())) {
    for (const GradcheckResult& result : check.inputs) {
      CAPTURE(check.op);
      CAPTURE(result.input);
      CAPTURE(result.worst().index);
      CAPTURE(result.worst().analytic);
      CAPTURE(result.worst().numeric);
      CAPTURE(result.worst().error);
      CHECK(result.passed);
    }
    CHECK(all_passed(check.inputs));
  }
}

TEST_CASE("a frozen input gets no gradient and does not change the others") {
  for (const OpCase& row : chosen_rows()) {
    const OpRun full = run_op(cpu_kernels(), row, DType::f32);
    for (size_t frozen = 0; frozen < row.inputs.size(); ++frozen) {
      CAPTURE(row.name);
      CAPTURE(row.inputs[frozen].name);
      const OpRun run = run_op(cpu_kernels(), row, DType::f32, int(frozen));
      CHECK(same_bits(run.output, full.output));
      for (size_t i = 0; i < row.inputs.size(); ++i) {
        CHECK(same_bits(run.gradients[i], i == frozen ? Tensor() : full.gradients[i]));
      }
    }
  }
}

TEST_CASE("an op of constants records nothing") {
  for (const OpCase& row : chosen_rows()) {
    CAPTURE(row.name);
    Tape tape(cpu_kernels(), kOpCaseTape);
    std::vector<Var> constants;
    for (const NamedInput& input : row.inputs) constants.push_back(tape.constant(input.value));
    CHECK_FALSE(row.op(tape, constants).requires_gradient());
    CHECK(tape.nodes().empty());
  }
}

TEST_CASE("backward adds to existing gradients of parameters") {
  for (const OpCase& row : chosen_rows()) {
    CAPTURE(row.name);
    const OpRun plain = run_op(cpu_kernels(), row, DType::f64);
    Parameters parameters;
    for (const NamedInput& input : row.inputs) parameters.add(input.name, input.value.shape(), Init::constant(0));
    parameters.allocate(0, DType::f64);
    Tape tape(cpu_kernels(), kOpCaseTape);
    std::vector<Var> inputs;
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      parameters[i].value.copy_from(row.inputs[i].value);
      inputs.push_back(tape.parameter(parameters[i]));
    }
    for (double& g : parameters.gradients().span<double>()) g = 0.5;
    const Var output = row.op(tape, inputs);
    tape.backward(output, normal_tensor(output.shape(), DType::f64, 3, 0));
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      CAPTURE(row.inputs[i].name);
      Tensor expected = plain.gradients[i].clone();
      for (double& g : expected.span<double>()) g += 0.5;
      CHECK_LE(relative_error(parameters[i].gradient, expected), 1e-13);
    }
  }
}

TEST_CASE("results are bitwise independent of the number of threads") {
  for (const OpCase& row : chosen_rows()) {
    for (const bool composed : {false, true}) check_thread_invariance(row, DType::f32, composed);
    check_thread_invariance(row, DType::f64);
  }
}

TEST_CASE("bf16: every op agrees with its composed definition") {
  const EmulatedBf16 emulated;
  INFO("an op rounds its result once: see widened() and stored()");
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const OpCase& row : bf16_cases()) {
      check_against_definition(*kernels, row, DType::bf16, bf16_tolerance(row.name));
    }
  }
  report_kernels("bf16 (emulated)", available_cpu_kernels());
}

TEST_CASE("bf16: results are bitwise independent of the number of threads") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const OpCase& row : bf16_cases()) check_thread_invariance(row, DType::bf16);
}

TEST_CASE("bf16: the instruction and its emulation give the same bits") {
  if (!cpu_kernels().has_bf16()) return report_skipped(concat("this CPU has no ", bf16_extension()));
  const AmxInScope without_amx(false);
  for (const OpCase& row : bf16_cases()) {
    CAPTURE(row.name);
    const OpRun by_instruction = run_op(cpu_kernels(), row, DType::bf16);
    const EmulatedBf16 emulated;
    check_same_bits(by_instruction, run_op(cpu_kernels(), row, DType::bf16));
  }
  report_covered(concat("bf16 (", bf16_extension(), ") ", cpu_kernels().name()));
}

TEST_CASE("bf16: every op agrees with its composed definition with AMX") {
  if (cpu_kernels().name() != "cpu_v4") return report_skipped("AMX: the CPU lacks AVX-512");
  const EmulatedBf16 accepted = bf16_on_any_cpu();
  const AmxInScope amx;
  for (const OpCase& row : bf16_cases()) {
    check_against_definition(cpu_kernels(), row, DType::bf16, bf16_tolerance(row.name));
  }
}

TEST_CASE("attention does not read what earlier calls left in its workspace") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const ThreadsInScope one_thread(1);
  std::vector<OpCase> rows = op_cases();
  std::erase_if(rows, [](const OpCase& row) { return !row.name.starts_with("attention/"); });
  std::vector<OpCase> largest;  // rows with NaN in all inputs
  for (const OpCase& row : rows) {
    if (!row.name.starts_with("attention/tiles")) continue;
    largest.push_back(row);
    for (NamedInput& input : largest.back().inputs) {
      input.value = input.value.clone();
      for (double& x : input.value.span<double>()) x = std::numeric_limits<double>::quiet_NaN();
    }
  }
  REQUIRE(largest.size() > 3);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const OpCase& row : rows) {
      CAPTURE(row.name);
      const OpRun before = run_op(cpu_kernels(), row, dtype);
      for (const OpCase& poison : largest) run_op(cpu_kernels(), poison, dtype);
      check_same_bits(before, run_op(cpu_kernels(), row, dtype));
    }
  }
}

TEST_CASE("attention keeps NaN in its segment") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const DType dtype : {DType::f32, DType::bf16}) check_apart_from_nan(cpu_kernels(), dtype);
}

// Rows that compute nothing: they move elements, have none, or run no kernel.
static bool computes_nothing(const OpCase& row) {
  return row.name.starts_with("transpose") || row.name == "reshape" || row.name == "dropout/none" ||
         row.name.starts_with("matmul/no-");
}

TEST_CASE("bf16: kernels without support throw") {
  for (Kernels* kernels : available_cpu_kernels()) {
    if (kernels->has_bf16()) continue;
    for (const OpCase& row : bf16_cases()) {
      const bool has_data = std::find(row.parameters.begin(), row.parameters.end(), false) != row.parameters.end();
      if (computes_nothing(row) || !has_data) continue;
      CAPTURE(row.name);
      const std::string message = concat("[cpu kernels] bf16 needs a CPU with ", bf16_extension());
      CHECK_THROWS_WITH_AS(run_op(*kernels, row, DType::bf16), message.c_str(), Error);
    }
  }
}
