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

// (segments, rows): 1 / length where the row belongs to the segment.
static reference::Matrix mean_matrix(const Segments& segments) {
  reference::Matrix matrix(segments.count(), segments.tokens());
  for (int s = 0; s < segments.count(); ++s)
    for (int i = segments.begin(s); i < segments.end(s); ++i) matrix(s, i) = 1 / double(segments.length(s));
  return matrix;
}

void add_segment_means(std::vector<OpCase>& rows) {
  for (const auto& [variant, lengths, d] :
       {std::tuple("one-row", Ints{1}, 1), std::tuple("no-segments", Ints{}, 3),
        std::tuple("odd-sizes", Ints{3, 1, 17, 9}, 5), std::tuple("wide", Ints{2, 70, 1}, 259),
        std::tuple("aligned", Ints{33, 8}, 128)}) {
    const Segments segments = Segments::from_lengths(lengths);
    rows.push_back(make_case(
        concat("segment_mean/", variant), {{"x", {segments.tokens(), d}}},
        [=](Tape&, const Vars& in) { return segment_mean(in[0], segments); },
        [=](const Values& in) { return reference::matmul(in[0].graph->input(mean_matrix(segments)), in[0]); }));
  }
}

}  // namespace gyre::op_rows
