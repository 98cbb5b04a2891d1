#include <cmath>

#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre::op_rows {

void add_embeddings(std::vector<OpCase>& rows) {
  for (const auto& [variant, n, v, d] :
       {std::tuple("one-token", 1, 3, 5), std::tuple("repeats", 65, 7, 2), std::tuple("large", 300, 130, 129)}) {
    const Ints ids = random_ids(n, uint64_t(v));
    const double factor = std::sqrt(double(d));
    rows.push_back(make_case(
        concat("embedding/", variant), {parameter("table", {v, d})},
        [=](Tape&, const Vars& in) { return embedding(in[0], ids_tensor(ids), factor); },
        [=](const Values& in) { return reference::embedding(in[0], ids, factor); }));
  }
  const Ints ids{4, 0, 4, 2};
  rows.push_back(make_case(
      "embedding/tied", {parameter("table", {5, 7})},
      [=](Tape&, const Vars& in) { return linear(embedding(in[0], ids_tensor(ids), 2), in[0]); },
      [=](const Values& in) { return reference::linear(reference::embedding(in[0], ids, 2), in[0]); }));
  // y is used twice: as a whole, and some of its rows.
  const Ints some{4, 0, 4, 2, 4};
  rows.push_back(make_case(
      "gather_rows", {{"x", {5, 7}}},
      [=](Tape&, const Vars& in) {
        const Var y = scale(in[0], 3);
        return add(y, gather_rows(y, ids_tensor(some)));
      },
      [=](const Values& in) {
        const Value y = reference::scale(in[0], 3);
        return y + reference::embedding(y, some, 1);
      }));
}

}  // namespace gyre::op_rows
