// gyre gradcheck: hand-written gradients against finite differences in f64, row by row of the op table.
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "autograd/op_cases.h"
#include "tools/device_choice.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct Gradcheck {
  std::string op = "all";
  DeviceChoice device;
  bool json = false;
};

nlohmann::ordered_json to_json(const OpCheck& check) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const auto& input : check.inputs)
    inputs.push_back({{"input", input.input},
                      {"passed", input.passed},
                      {"error", input.error},
                      {"analytic", input.analytic},
                      {"numeric", input.numeric}});
  return {{"op", check.op}, {"passed", check.passed}, {"max_error", check.max_error}, {"inputs", inputs}};
}

void print_line(const OpCheck& check) {
  std::printf("%-36s %s  largest error %.2e\n", check.op.c_str(), check.passed ? "passed" : "FAILED", check.max_error);
  for (const auto& input : check.inputs)
    if (!input.passed)
      std::printf("  %s[%lld]: analytic %.9g, numeric %.9g\n", input.input.c_str(),
                  static_cast<long long>(input.worst_index), input.analytic, input.numeric);
}

int gradcheck(const Gradcheck& call) {
  const auto checks = run_gradcheck(call.op, call.device.kernels());
  size_t failed = 0;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& check : checks) {
    failed += !check.passed;
    if (call.json) {
      rows.push_back(to_json(check));
    } else {
      print_line(check);
    }
  }
  if (call.json) {
    std::cout << nlohmann::ordered_json{{"passed", failed == 0}, {"ops", rows}}.dump() << '\n';
  } else {
    std::printf("%zu of %zu passed\n", checks.size() - failed, checks.size());
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

void add_gradcheck_command(Program& program) {
  auto call = std::make_shared<Gradcheck>();
  OptionTable& table = program.command("gradcheck", "compare the ops' gradients with finite differences in f64",
                                       [call] { return gradcheck(*call); });
  table.add("--op", call->op, "NAME", "an op (rope), a row of its table (rope/half-split), or all");
  call->device.add_row(table);
  table.add_flag("--json", call->json, "print one JSON object");
}

}  // namespace gyre
