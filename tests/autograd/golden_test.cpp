// Compares every op with PyTorch and other independent implementations: golden/ops.json, which golden/make_golden.py
// writes, has outputs of rows of the op table.
#include <cxxabi.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <typeinfo>

#include "gyre/autograd/ops.h"
#include "gyre/core/io/file.h"
#include "tests/autograd/op_run.h"
#include "tests/source_dir.h"

using namespace gyre;
using nlohmann::json;

namespace {

json golden_cases() { return json::parse(std::ifstream(source_dir() / "tests/autograd/golden/ops.json")); }

const OpCase& row_of(const json& golden) {
  static const std::vector<OpCase> rows = op_cases();
  const auto name = golden["row"].get<std::string>();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const OpCase& r) { return r.name == name; });
  REQUIRE_MESSAGE(row != rows.end(), name, " is no row of the op table");
  return *row;
}

// The elements of an output that the file has.
Tensor sample(const Tensor& output, const json& golden) {
  REQUIRE(output.size() == golden["elements"].get<int64_t>());
  std::vector<double> elements;
  for (int64_t i = 0; i < output.size(); i += golden["distance"].get<int64_t>())
    elements.push_back(output.data<double>()[i]);
  return Tensor::from<double>({int64_t(elements.size())}, elements);
}

// The names of the classes derived from Op, as the sources in autograd/ops define them.
std::set<std::string> op_classes() {
  std::set<std::string> names;
  const std::regex definition("struct (\\w+) final : Op ");
  for (const auto& file : std::filesystem::recursive_directory_iterator(source_dir() / "autograd/ops")) {
    if (!file.is_regular_file()) continue;
    const std::string text = read_file(file.path());
    for (std::sregex_iterator match(text.begin(), text.end(), definition), end; match != end; ++match)
      names.insert((*match)[1]);
  }
  return names;
}

// The class name without namespaces: "Linear" for gyre::(anonymous namespace)::Linear.
std::string class_name(const Op& op) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(typeid(op).name(), nullptr, nullptr, &status),
                                                    std::free);
  const std::string full = name.get();
  return full.substr(full.rfind(':') + 1);
}

}  // namespace

TEST_CASE("every op agrees with its independent implementation") {
  Tape::Options composed = kOpCaseTape;
  composed.composed = true;
  for (const json& golden : golden_cases()) {
    const OpCase& row = row_of(golden);
    const auto output = golden["output"].get<std::vector<double>>();
    const Tensor expected = Tensor::from<double>({int64_t(output.size())}, output);
    CAPTURE(row.name);
    for (Kernels* kernels : available_cpu_kernels()) {
      CAPTURE(kernels->name());
      Tape tape(*kernels, kOpCaseTape);
      CHECK_LE(relative_error(sample(record(row, tape).value(), golden), expected), 1e-12);
      Tape definition(*kernels, composed);
      CHECK_LE(relative_error(sample(record(row, definition).value(), golden), expected), 1e-12);
    }
  }
}

TEST_CASE("every op class has a golden case") {
  std::set<std::string> checked;
  for (const json& golden : golden_cases()) {
    for (const bool composed : {false, true}) {
      Tape::Options options = kOpCaseTape;
      options.composed = composed;
      Tape tape(cpu_kernels(), options);
      record(row_of(golden), tape);
      for (const Node& node : tape.nodes()) {
        if (node.op) checked.insert(class_name(*node.op));
      }
    }
  }
  const std::set<std::string> classes = op_classes();
  CHECK_GT(classes.size(), 20);
  for (const std::string& name : classes) CHECK_MESSAGE(checked.contains(name), name, " has no case in ops.json");
}

// No row of the op table has such exponents, whose finite differences would be those of a constant.
TEST_CASE("favor+ features: exponents end at 60, and their gradient is zero from there on") {
  Tape tape(cpu_kernels(), kOpCaseTape);
  const Var p = tape.leaf(Tensor::from<double>({1, 3}, {100, 59, 0}));
  const Var y = favor_features(p, tape.constant(Tensor::zeros({1, 1}, DType::f64)), 1, FavorSide::keys);
  tape.backward(y, Tensor::from<double>({1, 3}, {1, 1, 1}));
  const double norm = 1 / std::sqrt(3.0), exponents[] = {60, 59, 0};
  for (int i = 0; i < 3; ++i) {
    const double e = std::exp(exponents[i]);
    CHECK(y.value().data<double>()[i] == doctest::Approx(norm * (e + 1e-4)).epsilon(1e-12));
    CHECK(tape.gradient(p).data<double>()[i] == doctest::Approx(i == 0 ? 0 : norm * e).epsilon(1e-12));
  }
}
