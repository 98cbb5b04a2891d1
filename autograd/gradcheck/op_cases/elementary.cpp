// Rows of the elementary ops (autograd/elementary.h). They have no composed definition: finite differences and golden
// values check them.
#include <utility>

#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre::op_rows {
namespace {

using Arithmetic = Var (*)(const Var&, const Var&);
using Function = Var (*)(const Var&);

OpCase pair_case(const std::string& name, const Input& a, const Input& b, Arithmetic f) {
  return make_case(name, {a, b}, [f](const Vars& in) { return f(in[0], in[1]); });
}

// Divisors are away from 0.
Input operand(const std::string& name, const Shape& shape, bool is_parameter = false) {
  return name == "b" ? Input{name, shape, 0.5, 3, is_parameter} : Input{name, shape, 1, 0, is_parameter};
}

void add_arithmetic(std::vector<OpCase>& rows) {
  const std::pair<const char*, Arithmetic> functions[] = {
      {"add", &add}, {"subtract", &subtract}, {"multiply", &multiply}, {"divide", &divide}};
  for (const auto& [name, f] : functions) {
    const auto row = [&, function = name, op = f](const std::string& variant, const Input& a, const Input& b) {
      rows.push_back(pair_case(concat(function, "/", variant), a, b, op));
    };
    row("equal-shapes", operand("a", {37, 29}), operand("b", {37, 29}));
    row("row", operand("a", {35, 17}), operand("b", {17}, true));
    row("row-first", operand("a", {1, 1100}, true), operand("b", {70, 1100}));
    row("column", operand("a", {65, 19}), operand("b", {65, 1}));
    row("column-first", operand("a", {3, 1}), operand("b", {3, 2100}));
    row("element", operand("a", {33, 67}), operand("b", {1}, true));
    row("element-first", operand("a", {1, 1}), operand("b", {2, 3, 5}));
    row("row-and-column", operand("a", {9}), operand("b", {31, 1}));
    row("one-number", operand("a", {1, 1}), operand("b", {1, 1}));
    row("no-rows", operand("a", {0, 5}), operand("b", {5}, true));
    row("no-columns", operand("a", {5, 0}), operand("b", {5, 1}));
  }
  add_case(rows, "multiply/by-itself", {{"x", {7, 5}}}, [](const Vars& in) { return multiply(in[0], in[0]); });
  rows.push_back(pair_case("maximum/odd-sizes", {"a", {37, 29}}, {"b", {37, 29}}, &maximum));
  rows.push_back(pair_case("maximum/row-and-column", {"a", {17}}, {"b", {31, 1}}, &maximum));
  rows.push_back(pair_case("maximum/element", {"a", {5, 7}}, parameter("b", {1}), &maximum));
  add_case(rows, "maximum/equal", {{"x", {3, 5}}}, [](const Vars& in) { return maximum(in[0], in[0]); });
  add_case(rows, "cast", {{"x", {35, 67}}},
           [](const Vars& in) { return cast(exp(cast(in[0], DType::f64)), in[0].value().dtype()); });
  add_case(rows, "scale/offset", {{"x", {13, 11}}}, [](const Vars& in) { return affine(in[0], 0.5, 2); });
}

void add_functions(std::vector<OpCase>& rows) {
  const auto function = [&](const std::string& name, const Input& x, Function f) {
    add_case(rows, name, {x}, [f](const Vars& in) { return f(in[0]); });
  };
  function("exp", {"x", {35, 67}, 2}, &exp);
  function("log", {"x", {35, 67}, 0.5, 3}, &log);
  function("sqrt", {"x", {35, 67}, 0.5, 3}, &sqrt);
  function("sin", {"x", {35, 67}, 3}, &sin);
  function("cos", {"x", {35, 67}, 3}, &cos);
  function("erf", {"x", {35, 67}}, &erf);
  function("relu/elementary", {"x", {35, 67}}, &relu);
  function("sigmoid", {"x", {35, 67}, 3}, &sigmoid);
  for (const double exponent : {-2.0, -1.0, -0.5, 0.0, 1.0, 2.0, 3.0, 1.5}) {
    add_case(rows, concat("pow/", exponent), {{"x", {9, 131}, 0.5, 3}},
             [exponent](const Vars& in) { return pow(in[0], exponent); });
  }
}

void add_products_and_shapes(std::vector<OpCase>& rows) {
  // bf16 products round both operands.
  for (const auto& [variant, transpose_a, transpose_b] :
       {std::tuple("plain", false, false), std::tuple("transpose-a", true, false),
        std::tuple("transpose-b", false, true), std::tuple("transpose-both", true, true)}) {
    const Input a{"a", transpose_a ? Shape{33, 17} : Shape{17, 33}};
    const Input b = parameter("b", transpose_b ? Shape{65, 33} : Shape{33, 65});
    add_case(rows, concat("matmul/", variant), {a, b}, [ta = transpose_a, tb = transpose_b](const Vars& in) {
      return matmul(in[0], as_stored(in[1], Stored::value), ta, tb);
    });
  }
  add_case(rows, "matmul/of-data", {{"a", {5, 7}}, {"b", {7, 3}}}, [](const Vars& in) { return matmul(in[0], in[1]); });
  add_case(rows, "matmul/no-rows", {{"a", {0, 7}}, {"b", {7, 3}}}, [](const Vars& in) { return matmul(in[0], in[1]); });
  add_case(rows, "matmul/no-summands", {{"a", {5, 0}}, {"b", {0, 3}}},
           [](const Vars& in) { return matmul(in[0], in[1]); });
  add_case(rows, "transpose", {{"x", {35, 67}}}, [](const Vars& in) { return transpose(in[0]); });
  add_case(rows, "transpose/column", {{"x", {35, 1}}}, [](const Vars& in) { return transpose(in[0]); });
  add_case(rows, "reshape", {{"x", {6, 35}}}, [](const Vars& in) { return reshape(in[0], {2, 15, 7}); });
  // The gradient of the sum is shared by both of its operands, and by x through the views.
  add_case(rows, "reshape/shared-gradient", {{"x", {6, 4}}}, [](const Vars& in) {
    const Var flat = reshape(in[0], {24}), doubled = scale(in[0], 2);
    return add(add(reshape(flat, {6, 4}), doubled), in[0]);
  });
  add_case(rows, "slice/rows", {{"x", {9, 5}}}, [](const Vars& in) { return slice(in[0], 0, 2, 4); });
  add_case(rows, "slice/columns", {{"x", {9, 37}}}, [](const Vars& in) { return slice(in[0], 1, 3, 17); });
  add_case(rows, "slice/overlapping", {{"x", {7, 9}}},
           [](const Vars& in) { return add(slice(in[0], 1, 0, 5), slice(in[0], 1, 3, 5)); });
  add_case(rows, "slice/none", {{"x", {9, 5}}}, [](const Vars& in) {
    return concat({slice(in[0], 1, 3, 0), in[0]}, 1);
  });
  add_case(rows, "concat/by-itself", {{"x", {7, 5}}}, [](const Vars& in) { return concat({in[0], in[0]}, 1); });
  add_case(rows, "concat/columns", {{"a", {7, 3}}, parameter("b", {7, 9}), {"c", {7, 1}}},
           [](const Vars& in) { return concat(in, 1); });
  add_case(rows, "concat/rows", {{"a", {3, 5}}, {"b", {0, 5}}, {"c", {4, 5}}},
           [](const Vars& in) { return concat(in, 0); });
  add_case(rows, "gather_rows/none", {{"x", {5, 7}}}, [](const Vars& in) {
    return gather_rows(in[0], ids_tensor({-1, 3, 3, -1, 0}));
  });
}

void add_sums_and_maxima(std::vector<OpCase>& rows) {
  for (const int axis : {0, 1}) {
    add_case(rows, concat("sum/axis-", axis), {{"x", {67, 35}}}, [axis](const Vars& in) { return sum(in[0], axis); });
    add_case(rows, concat("sum/wide-", axis), {{"x", {3, 2100}}}, [axis](const Vars& in) { return sum(in[0], axis); });
    add_case(rows, concat("sum/empty-", axis), {{"x", {0, 5}}}, [axis](const Vars& in) { return sum(in[0], axis); });
    add_case(rows, concat("mean/axis-", axis), {{"x", {67, 35}}}, [axis](const Vars& in) { return mean(in[0], axis); });
    add_case(rows, concat("max/axis-", axis), {{"x", {35, 67}}}, [axis](const Vars& in) { return max(in[0], axis); });
    add_case(rows, concat("max/ties-", axis), {{"x", {35, 67}}}, [axis](const Vars& in) {
      return max(concat({in[0], in[0]}, axis), axis);
    });
    // Rows wider than two vectors, and narrower than one.
    add_case(rows, concat("max/narrow-", axis), {{"x", {131, 3}}}, [axis](const Vars& in) { return max(in[0], axis); });
  }
  add_case(rows, "mean/empty", {{"x", {0, 5}}}, [](const Vars& in) { return mean(in[0], 1); });
  add_case(rows, "max/empty", {{"x", {0, 5}}}, [](const Vars& in) { return max(in[0], 1); });
  add_case(rows, "max/vector", {{"x", {35}}}, [](const Vars& in) { return max(in[0], 0); });
  add_case(rows, "sum/all", {{"x", {2, 3, 1700}}}, [](const Vars& in) { return sum(in[0]); });
  add_case(rows, "sum/vector", {{"x", {35}}}, [](const Vars& in) { return sum(in[0], 1); });
  add_case(rows, "softmax", {{"x", {35, 67}, 2}}, [](const Vars& in) { return softmax(in[0]); });
  add_case(rows, "softmax/narrow", {{"x", {531, 3}, 2}}, [](const Vars& in) { return softmax(in[0]); });
  add_case(rows, "log_softmax", {{"x", {35, 67}, 2}}, [](const Vars& in) { return log_softmax(in[0]); });
}

Tensor mask_tensor(const Shape& shape) { return ids_tensor(random_ids(shape.elements(), 2)).reshape(shape); }

void add_choices(std::vector<OpCase>& rows) {
  const auto choice = [&](const std::string& variant, const Shape& mask, const Input& a, const Input& b) {
    add_case(rows, "where/" + variant, {a, b},
             [mask](const Vars& in) { return where(mask_tensor(mask), in[0], in[1]); });
  };
  choice("equal-shapes", {35, 17}, {"a", {35, 17}}, {"b", {35, 17}});
  choice("row-mask", {17}, {"a", {35, 17}}, {"b", {35, 1}});
  choice("column-mask", {35, 1}, parameter("a", {17}), {"b", {35, 17}});
  choice("mask-of-result", {9, 5}, {"a", {1}}, {"b", {5}});
  add_case(rows, "masked_fill", {{"x", {35, 17}}}, [](const Vars& in) {
    return masked_fill(in[0], mask_tensor({35, 17}), -2);
  });
}

}  // namespace

void add_elementary(std::vector<OpCase>& rows) {
  add_arithmetic(rows);
  add_functions(rows);
  add_products_and_shapes(rows);
  add_sums_and_maxima(rows);
  add_choices(rows);
}

}  // namespace gyre::op_rows
