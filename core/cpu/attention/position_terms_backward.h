// Gradients of the relative-position terms of attention (position_terms.h). With dx the gradient of the scores before
// their scale, and sums for distance t over all pairs (i, j) of that distance:
//   dquery_table[t] = sum of dx_ij q_i;       dq_i += sum_j dx_ij query_table[t]
//   dkey_table[t] = sum of dx_ij k_j;         dk_j += sum_i dx_ij key_table[t]
//   dvalue_table[t] = sum of p_ij dout_i;     dbias[t] = sum of dx_ij / scale
//   dpos_queries[i] = sum_j dx_ij pos_keys[j];    dpos_keys[j] = sum_i dx_ij pos_queries[i]
// Each job writes to separate rows, which are added in the order of the jobs.
#pragma once

#include <vector>

#include "gyre/core/cpu/attention/position_terms.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// The gradient of one table: the partial sums of each job (a head of a segment), and their sum.
template <class T>
class TablePartials {
 public:
  struct TableRows {
    int64_t first, count;
  };

  // `requested` is the gradient to compute; it may be undefined. used[s]: rows of the table that segment s uses.
  // `width`: columns per head.
  TablePartials(const Tensor& requested, int64_t heads, int64_t width, const std::vector<TableRows>& used)
      : sum_(requested), heads_(heads), width_(width) {
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

  void reduce() const {
    if (!sum_) return;
    const int64_t columns = sum_.cols();
    parallel_ranges(sum_.rows(), columns * int64_t(used_.size()), [&](int64_t begin, int64_t end) {
      std::fill(sum_.data<T>() + begin * columns, sum_.data<T>() + end * columns, T(0));
      for (int64_t job = 0; job < heads_ * int64_t(used_.size()); ++job) add_job(job, begin, end);
    });
  }

 private:
  // Adds the partial sums of a job to rows begin .. end - 1 of the table. If the heads share the columns, all heads add
  // to the same ones.
  void add_job(int64_t job, int64_t begin, int64_t end) const {
    const auto [first, count] = used_[size_t(job / heads_)];
    const int64_t columns = sum_.cols(), column = columns == width_ ? 0 : job % heads_ * width_;
    const Rows<T> from = of_job(job);
    for (int64_t row = std::max(begin, first); row < std::min(end, first + count); ++row)
      for (int64_t f = 0; f < width_; ++f) sum_.data<T>()[row * columns + column + f] += *from.at(row - first, f);
  }

  Tensor sum_, partials_;
  int64_t heads_, width_;
  std::vector<TableRows> used_;   // indexed by segment
  std::vector<int64_t> offsets_;  // offset of the first job of each segment
};

// The gradients of all tables of a call.
template <class T>
struct PositionGradients {
  TablePartials<T> bias, query, key, value, pos_queries, pos_keys;

  PositionGradients(const PositionTables& requested, const PositionTableRows<T>& tables, const AttentionCall& call,
                    int64_t width)
      : PositionGradients(requested, tables, call.shape.heads, width, distances(tables, call), positions(call.keys)) {}

  void reduce() const {
    for (const auto* table : {&bias, &query, &key, &value, &pos_queries, &pos_keys}) table->reduce();
  }

 private:
  using Used = std::vector<typename TablePartials<T>::TableRows>;

  PositionGradients(const PositionTables& requested, const PositionTableRows<T>& tables, int64_t heads, int64_t width,
                    const Used& distances, const Used& positions)
      : bias(requested.bias, heads, 1, distances),
        query(requested.query_table, heads, width, distances),
        key(requested.key_table, heads, width, distances),
        value(requested.value_table, heads, width, distances),
        pos_queries(requested.pos_queries, heads, tables.pos_width, positions),
        pos_keys(requested.pos_keys, heads, tables.pos_width, positions) {}

  static Used distances(const PositionTableRows<T>& tables, const AttentionCall& call) {
    Used used;
    for (int s = 0; s < call.queries.count(); ++s) {
      const SegmentHead h = head_of(call, s, 0, 1);
      const DistanceRange<T> range(h);
      used.push_back({tables.zero_offset + range.low, h.queries > 0 && h.keys > 0 ? range.count() : 0});
    }
    return used;
  }
  static Used positions(const Segments& keys) {
    Used used;
    for (int s = 0; s < keys.count(); ++s) used.push_back({0, keys.length(s)});
    return used;
  }
};

// Workspace for the gradients of any head of a call.
template <class T>
struct PositionGradientTiles {
  Tile<T> query, value, key;      // tiles with the layout of those of the tables
  Tile<T> pos_queries, pos_keys;  // (keys, pos_width)
  Tile<T> block_pos_queries;      // (queries, pos_width) of a block
  Tile<T> bias;                   // (distances, lanes): one sum per lane

  PositionGradientTiles(TileMemory<T>& memory, const PositionTableRows<T>& tables, const SegmentHead& longest) {
    const DistanceRange<T> range(longest);
    if (tables.query) query = memory.take(range.rows, longest.width);
    if (tables.value) value = memory.take(range.rows, longest.width);
    if (tables.key) key = memory.take(range.mirrored_rows, longest.width);
    if (tables.bias) bias = memory.take(range.rows, kLanes<T>);
    if (!tables.pos_queries) return;
    pos_queries = memory.take(longest.keys, tables.pos_width);
    block_pos_queries = memory.take(kQueryBlock<T>, tables.pos_width);
    pos_keys = memory.take(longest.keys, tables.pos_width);
  }
};

// The gradients of one head of one segment.
template <class T>
struct HeadPositionGradients {
  const HeadPositionTerms<T>& terms;
  const PositionGradients<T>& requested;
  const PositionGradientTiles<T>& d;

  // Inputs and results of a block of queries: dx and weights are (keys, queries).
  struct Block {
    const QueryBlock<T>& queries;
    Tile<T> dx, weights;
    Tile<T> q, dout, dq;  // (queries, width)
    Tile<T> k, dk;        // (keys, width)
  };

  // Sets the tiles of the gradients to zero. Called before the first block.
  void clear() const {
    const int64_t width = terms.h.width, rows = terms.range.rows, pos_width = terms.tables.pos_width;
    if (requested.query) terms.clear_rows(d.query, 0, rows, width);
    if (requested.value) terms.clear_rows(d.value, 0, rows, width);
    if (requested.key) terms.clear_rows(d.key, 0, terms.range.mirrored_rows, width);
    if (requested.bias) terms.clear_rows(d.bias, 0, rows, kLanes<T>);
    if (requested.pos_queries) terms.clear_rows(d.pos_queries, 0, terms.h.keys, pos_width);
    if (requested.pos_keys) terms.clear_rows(d.pos_keys, 0, terms.h.keys, pos_width);
  }

  // Adds the terms of a block to the gradients of the tables, and to dq and dk.
  void add(const Block& b) const {
    if (b.queries.keys == 0) return;
    if (terms.tables.query || requested.bias) add_band(b);
    if (terms.tables.key) add_diagonal_blocks(b);
    if (requested.pos_queries) add_pos_queries(b);
    if (requested.pos_keys) {
      multiply<false>(rows_from(d.pos_keys, b.queries.first), b.dx, terms.t.pos_queries, b.queries.keys, pos_features(),
                      b.queries.count, true);
    }
    if (!requested.value) return;
    terms.make_band(b.weights, b.queries);
    add_rows(d.value, b.dout, b.queries);
  }

  // Writes the gradients to the rows of the job. Called after the last block.
  void store(int64_t job) const {
    const DistanceRange<T>& range = terms.range;
    const int64_t width = terms.h.width, pos_width = terms.tables.pos_width, keys = terms.h.keys;
    if (terms.h.queries == 0 || keys == 0) return;
    const int64_t first = range.origin + range.low, count = range.count();
    if (requested.query) copy_rows<T>(requested.query.of_job(job), rows_from(d.query, first), count, 0, width);
    if (requested.value) copy_rows<T>(requested.value.of_job(job), rows_from(d.value, first), count, 0, width);
    if (requested.key) {
      const Rows<T> to = requested.key.of_job(job).block(count - 1, 0);
      copy_rows<T>(Rows<T>{to.data, -to.stride}, rows_from(d.key, range.mirrored_origin - range.high), count, 0, width);
    }
    if (requested.bias) store_bias(requested.bias.of_job(job));
    if (requested.pos_queries) copy_rows<T>(requested.pos_queries.of_job(job), d.pos_queries, keys, 0, pos_width);
    if (requested.pos_keys) copy_rows<T>(requested.pos_keys.of_job(job), d.pos_keys, keys, 0, pos_width);
  }

 private:
  int64_t features() const { return chunks_of<T>(terms.h.width); }
  int64_t pos_features() const { return chunks_of<T>(terms.tables.pos_width); }

  // table(distances, width) += band(distances, queries) rows(queries, width)
  void add_rows(Tile<T> table, Tile<T> rows, const QueryBlock<T>& block) const {
    multiply<false>(rows_from(table, terms.range.band(block)), terms.t.band, rows, terms.range.band_rows(block),
                    features(), block.count, true);
  }

  void add_band(const Block& b) const {
    const int64_t first = terms.range.band(b.queries), rows = terms.range.band_rows(b.queries);
    terms.make_band(b.dx, b.queries);
    if (terms.tables.query)
      multiply<true>(b.dq, terms.t.band, rows_from(terms.t.query, first), b.queries.count, features(), rows, true);
    if (requested.query) add_rows(d.query, b.q, b.queries);
    for (int64_t chunk = 0; requested.bias && chunk < b.queries.chunks(); ++chunk)
      for (int64_t row = 0; row < rows; ++row) d.bias.vector(first + row, 0) += terms.t.band.vector(row, chunk);
  }

  // For each chunk of keys, shifts its rows of dx into a diagonal block, and adds the products to dk and dkey_table.
  void add_diagonal_blocks(const Block& b) const {
    const int64_t chunks = b.queries.chunks(), lanes = kLanes<T>;
    terms.for_each_diagonal_block(b.queries, [&](int64_t key, int64_t count, int64_t row) {
      for (int64_t j = 0; j < count; ++j) {
        auto left = typename Tile<T>::Vector{};
        for (int64_t chunk = 0; chunk <= chunks; ++chunk) {
          auto right = typename Tile<T>::Vector{};
          if (chunk < chunks)
            right = first_lanes<T>(b.dx.vector(key - b.queries.first + j, chunk), b.queries.count - chunk * lanes);
          terms.t.diagonal_block.vector(j, chunk) = lanes_between<T>(left, right, j);
          left = right;
        }
      }
      const int64_t columns = (chunks + 1) * lanes;
      multiply<false>(rows_from(b.dk, key), terms.t.diagonal_block, rows_from(terms.t.key, row), count, features(),
                      columns, true);
      if (requested.key)
        multiply<true>(rows_from(d.key, row), terms.t.diagonal_block, rows_from(b.k, key), columns, features(), count,
                       true);
    });
  }

  // Queries at negative positions have no row in pos_queries.
  void add_pos_queries(const Block& b) const {
    const int64_t position = b.queries.position, before = std::clamp<int64_t>(-position, 0, b.queries.count);
    multiply<true>(d.block_pos_queries, b.dx, rows_from(terms.t.pos_keys, b.queries.first), b.queries.count,
                   pos_features(), b.queries.keys, false);
    copy_rows<T>(rows_from(d.pos_queries, position + before), rows_from(d.block_pos_queries, before),
                 b.queries.count - before, 0, terms.tables.pos_width);
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
