// Gradients of the terms of attention (attention_terms.h). With dx the gradient of the scores before their scale:
//   dquery_table[t] = sum of dx_ij q_i over the pairs of distance t;   dq_i += sum_j dx_ij query_table[t]
//   dkey_table[t] = sum of dx_ij k_j;                                  dk_j += sum_i dx_ij key_table[t]
//   dvalue_table[t] = sum of p_ij dout_i;   dbias[t] = sum of dx_ij / scale
//   dquery_places[i] = sum_j dx_ij key_places[j];   dkey_places[j] = sum_i dx_ij query_places[i]
// Each job writes rows of its own; they are added in the order of the jobs.
#pragma once

#include <vector>

#include "core/cpu/attention_terms.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// The gradient of one table: the rows that each job (a head of a segment) found, then their sum.
template <class T>
class TablePartials {
 public:
  struct TableRows {
    int64_t first, count;
  };

  // `wanted` may be undefined; used[s]: the rows of the table that segment s uses; `width` columns of each head.
  TablePartials(const Tensor& wanted, int64_t heads, int64_t width, const std::vector<TableRows>& used)
      : sum_(wanted), heads_(heads), width_(width) {
    if (!sum_) return;
    used_ = used;
    int64_t elements = 0;
    for (const TableRows& rows : used_) {
      offsets_.push_back(elements);
      elements += heads * rows.count * width;
    }
    partials_ = Tensor::zeros({elements}, dtype_of<T>());
  }
  explicit operator bool() const { return sum_.defined(); }

  Rows<T> of_job(int64_t job) const {
    const auto s = size_t(job / heads_);
    return {partials_.data<T>() + offsets_[s] + job % heads_ * used_[s].count * width_, width_};
  }

  void add_up() const {
    if (!sum_) return;
    const int64_t columns = sum_.cols();
    parallel_ranges(sum_.rows(), columns * int64_t(used_.size()), [&](int64_t begin, int64_t end) {
      std::fill(sum_.data<T>() + begin * columns, sum_.data<T>() + end * columns, T(0));
      for (int64_t job = 0; job < heads_ * int64_t(used_.size()); ++job) add_job(job, begin, end);
    });
  }

 private:
  // To rows begin .. end - 1 of the table, of one head's columns or, where the heads share them, of all.
  void add_job(int64_t job, int64_t begin, int64_t end) const {
    const auto [first, count] = used_[size_t(job / heads_)];
    const int64_t columns = sum_.cols(), column = columns == width_ ? 0 : job % heads_ * width_;
    const Rows<T> from = of_job(job);
    for (int64_t row = std::max(begin, first); row < std::min(end, first + count); ++row)
      for (int64_t f = 0; f < width_; ++f) sum_.data<T>()[row * columns + column + f] += *from.at(row - first, f);
  }

  Tensor sum_, partials_;
  int64_t heads_, width_;
  std::vector<TableRows> used_;   // by segment
  std::vector<int64_t> offsets_;  // of a segment's first job
};

// The gradients of a call.
template <class T>
struct TermGradients {
  TablePartials<T> bias, query, key, value, query_places, key_places;

  TermGradients(const AttentionTerms& wanted, const TermTables<T>& tables, const Segments& queries,
                const Segments& keys, int64_t width, const AttentionShape& shape)
      : TermGradients(wanted, tables, shape.heads, width, distances(tables, queries, keys, shape), places(keys)) {}

  void add_up() const {
    for (const auto* table : {&bias, &query, &key, &value, &query_places, &key_places}) table->add_up();
  }

 private:
  using Used = std::vector<typename TablePartials<T>::TableRows>;

  TermGradients(const AttentionTerms& wanted, const TermTables<T>& tables, int64_t heads, int64_t width,
                const Used& distances, const Used& places)
      : bias(wanted.bias, heads, 1, distances),
        query(wanted.query_table, heads, width, distances),
        key(wanted.key_table, heads, width, distances),
        value(wanted.value_table, heads, width, distances),
        query_places(wanted.query_places, heads, tables.place_width, places),
        key_places(wanted.key_places, heads, tables.place_width, places) {}

  static Used distances(const TermTables<T>& tables, const Segments& queries, const Segments& keys,
                        const AttentionShape& shape) {
    Used used;
    for (int s = 0; s < queries.count(); ++s) {
      const Head h = head_of(queries, keys, s, 0, 1, shape);
      const DistanceRange<T> range(h);
      used.push_back({tables.zero + range.low, h.queries > 0 && h.keys > 0 ? range.count() : 0});
    }
    return used;
  }
  static Used places(const Segments& keys) {
    Used used;
    for (int s = 0; s < keys.count(); ++s) used.push_back({0, keys.length(s)});
    return used;
  }
};

// Room for the gradients of any head of a call.
template <class T>
struct TermGradientTiles {
  Tile<T> query, value, key;         // as the tiles of the tables
  Tile<T> query_places, key_places;  // (keys, place width)
  Tile<T> block_places;              // (queries, place width) of a block
  Tile<T> bias;                      // (distances, lanes): a sum for each lane

  TermGradientTiles(TileMemory<T>& memory, const TermTables<T>& tables, const Head& longest) {
    const DistanceRange<T> range(longest);
    if (tables.query) query = memory.take(range.rows, longest.width);
    if (tables.value) value = memory.take(range.rows, longest.width);
    if (tables.key) key = memory.take(range.mirrored_rows, longest.width);
    if (tables.bias) bias = memory.take(range.rows, kLanes<T>);
    if (!tables.query_places) return;
    query_places = memory.take(longest.keys, tables.place_width);
    block_places = memory.take(kQueryBlock<T>, tables.place_width);
    key_places = memory.take(longest.keys, tables.place_width);
  }
};

// The gradients of one head of one segment.
template <class T>
struct HeadTermGradients {
  const HeadTerms<T>& terms;
  const TermGradients<T>& wanted;
  const TermGradientTiles<T>& d;

  // What a block of queries had: dx and the weights (keys, queries), its rows and their gradients.
  struct Block {
    const QueryBlock<T>& queries;
    Tile<T> dx, weights;
    Tile<T> q, dout, dq;  // (queries, width)
    Tile<T> k, dk;        // (keys, width)
  };

  // Before the first block.
  void clear() const {
    const int64_t width = terms.h.width, rows = terms.range.rows, places = terms.tables.place_width;
    if (wanted.query) terms.clear_rows(d.query, 0, rows, width);
    if (wanted.value) terms.clear_rows(d.value, 0, rows, width);
    if (wanted.key) terms.clear_rows(d.key, 0, terms.range.mirrored_rows, width);
    if (wanted.bias) terms.clear_rows(d.bias, 0, rows, kLanes<T>);
    if (wanted.query_places) terms.clear_rows(d.query_places, 0, terms.h.keys, places);
    if (wanted.key_places) terms.clear_rows(d.key_places, 0, terms.h.keys, places);
  }

  // Adds to dq and dk too.
  void add(const Block& b) const {
    if (b.queries.keys == 0) return;
    if (terms.tables.query || wanted.bias) add_band(b);
    if (terms.tables.key) add_corners(b);
    if (wanted.query_places) add_query_places(b);
    if (wanted.key_places) {
      multiply<false>(rows_from(d.key_places, b.queries.first), b.dx, terms.t.query_places, b.queries.keys,
                      place_features(), b.queries.count, true);
    }
    if (!wanted.value) return;
    terms.make_band(b.weights, b.queries);
    add_rows(d.value, b.dout, b.queries);
  }

  // After the last one.
  void store(int64_t job) const {
    const DistanceRange<T>& range = terms.range;
    const int64_t width = terms.h.width, places = terms.tables.place_width, keys = terms.h.keys;
    if (terms.h.queries == 0 || keys == 0) return;
    const int64_t first = range.origin + range.low, count = range.count();
    if (wanted.query) copy_rows<T>(wanted.query.of_job(job), rows_from(d.query, first), count, 0, width);
    if (wanted.value) copy_rows<T>(wanted.value.of_job(job), rows_from(d.value, first), count, 0, width);
    if (wanted.key) {
      const Rows<T> to = wanted.key.of_job(job).from(count - 1, 0);
      copy_rows<T>(Rows<T>{to.data, -to.stride}, rows_from(d.key, range.mirrored_origin - range.high), count, 0, width);
    }
    if (wanted.bias) store_bias(wanted.bias.of_job(job));
    if (wanted.query_places) copy_rows<T>(wanted.query_places.of_job(job), d.query_places, keys, 0, places);
    if (wanted.key_places) copy_rows<T>(wanted.key_places.of_job(job), d.key_places, keys, 0, places);
  }

 private:
  int64_t features() const { return chunks_of<T>(terms.h.width); }
  int64_t place_features() const { return chunks_of<T>(terms.tables.place_width); }

  // table += band rows
  void add_rows(Tile<T> table, Tile<T> rows, const QueryBlock<T>& block) const {
    multiply<false>(rows_from(table, terms.range.band(block)), terms.t.band, rows, terms.range.band_rows(block),
                    features(), block.count, true);
  }

  void add_band(const Block& b) const {
    const int64_t first = terms.range.band(b.queries), rows = terms.range.band_rows(b.queries);
    terms.make_band(b.dx, b.queries);
    if (terms.tables.query)
      multiply<true>(b.dq, terms.t.band, rows_from(terms.t.query, first), b.queries.count, features(), rows, true);
    if (wanted.query) add_rows(d.query, b.q, b.queries);
    for (int64_t chunk = 0; wanted.bias && chunk < b.queries.chunks(); ++chunk)
      for (int64_t row = 0; row < rows; ++row) d.bias.vector(first + row, 0) += terms.t.band.vector(row, chunk);
  }

  // The corner of dx that a chunk of keys has, and its products.
  void add_corners(const Block& b) const {
    const int64_t chunks = b.queries.chunks(), lanes = kLanes<T>;
    terms.for_each_corner(b.queries, [&](int64_t key, int64_t count, int64_t row) {
      for (int64_t j = 0; j < count; ++j) {
        auto left = typename Tile<T>::Vector{};
        for (int64_t chunk = 0; chunk <= chunks; ++chunk) {
          auto right = typename Tile<T>::Vector{};
          if (chunk < chunks)
            right = first_lanes<T>(b.dx.vector(key - b.queries.first + j, chunk), b.queries.count - chunk * lanes);
          terms.t.corner.vector(j, chunk) = lanes_between<T>(left, right, j);
          left = right;
        }
      }
      const int64_t columns = (chunks + 1) * lanes;
      multiply<false>(rows_from(b.dk, key), terms.t.corner, rows_from(terms.t.key, row), count, features(), columns,
                      true);
      if (wanted.key)
        multiply<true>(rows_from(d.key, row), terms.t.corner, rows_from(b.k, key), columns, features(), count, true);
    });
  }

  // Queries before the first place have none.
  void add_query_places(const Block& b) const {
    const int64_t place = b.queries.place, before = std::clamp<int64_t>(-place, 0, b.queries.count);
    multiply<true>(d.block_places, b.dx, rows_from(terms.t.key_places, b.queries.first), b.queries.count,
                   place_features(), b.queries.keys, false);
    copy_rows<T>(rows_from(d.query_places, place + before), rows_from(d.block_places, before), b.queries.count - before,
                 0, terms.tables.place_width);
  }

  void store_bias(const Rows<T>& to) const {
    for (int64_t i = 0; i < terms.range.count(); ++i) {
      const auto lanes = d.bias.vector(terms.range.origin + terms.range.low + i, 0);
      T sum = 0;
      for (int64_t l = 0; l < kLanes<T>; ++l) sum += lanes[l];
      *to.at(i, 0) = sum / terms.scale;
    }
  }
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
