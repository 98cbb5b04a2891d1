// Rows of embeddings, of gathered rows, and of means over segments.
#include <cmath>

#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre::op_rows {

void add_embeddings(std::vector<OpCase>& rows) {
  for (const auto& [variant, n, v, d] :
       {std::tuple("one-token", 1, 3, 5), std::tuple("repeats", 65, 7, 2), std::tuple("large", 300, 130, 129)}) {
    const Ints ids = random_ids(n, uint64_t(v));
    const double factor = std::sqrt(double(d));
    add_case(rows, concat("embedding/", variant), {parameter("table", {v, d})},
             [=](const Vars& in) { return embedding(in[0], ids_tensor(ids), factor); });
  }
  const Ints ids{4, 0, 4, 2};
  add_case(rows, "embedding/tied", {parameter("table", {5, 7})},
           [=](const Vars& in) { return linear(embedding(in[0], ids_tensor(ids), 2), in[0]); });
  // y is used twice: as a whole, and some of its rows.
  const Ints some{4, 0, 4, 2, 4};
  add_case(rows, "gather_rows", {{"x", {5, 7}}}, [=](const Vars& in) {
    const Var y = scale(in[0], 3);
    return add(y, gather_rows(y, ids_tensor(some)));
  });
}

void add_segment_means(std::vector<OpCase>& rows) {
  for (const auto& [variant, lengths, d] :
       {std::tuple("one-row", Ints{1}, 1), std::tuple("no-segments", Ints{}, 3),
        std::tuple("odd-sizes", Ints{3, 1, 17, 9}, 5), std::tuple("wide", Ints{2, 70, 1}, 259),
        std::tuple("aligned", Ints{33, 8}, 128)}) {
    const Segments segments = Segments::from_lengths(lengths);
    add_case(rows, concat("segment_mean/", variant), {{"x", {segments.tokens(), d}}},
             [=](const Vars& in) { return segment_mean(in[0], segments); });
  }
}

}  // namespace gyre::op_rows
