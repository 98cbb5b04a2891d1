// Relative-position terms of the scores and values of one head (PositionTables in
// core/kernels/arguments.h). A block of queries is multiplied by a table of distances in one matrix product,
// over the band of distances between the block and its keys. A relative shift (relative_shift.h) turns the band into
// scores:
//   band(t, i) = table[t] . q_i;  scores(j, i) += band(j - i, i)
// The key table runs along the other diagonal. It is multiplied by one chunk of keys at a time, with a band that is one
// chunk wider than the block of queries. Terms for all pairs of queries and keys are never materialized.
#pragma once

#include "gyre/core/cpu/attention/attention_head.h"
#include "gyre/core/cpu/attention/relative_shift.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// The tables of a call. The data of an absent table is null.
template <class T>
struct PositionTableRows {
  Rows<T> bias, query, key, value;
  Rows<T> pos_queries, pos_keys;
  int64_t zero_offset, pos_width;

  PositionTableRows(const PositionTables& terms, int64_t heads)
      : bias(rows_of<T>({terms.bias})),
        query(rows_of<T>({terms.query_table})),
        key(rows_of<T>({terms.key_table})),
        value(rows_of<T>({terms.value_table})),
        pos_queries(rows_of<T>({terms.pos_queries})),
        pos_keys(rows_of<T>({terms.pos_keys})),
        zero_offset(terms.zero_offset),
        pos_width(terms.pos_queries ? terms.pos_queries.cols() / heads : 0) {}

  bool any() const { return bias || query || key || value || pos_queries; }
};

// The range of relative distances of a head, and their rows in the tiles of tables. A band extends beyond the range at
// both ends, where the tiles have rows of zeros.
template <class T>
struct DistanceRange {
  int64_t low, high;  // smallest and largest distance of a query and a visible key
  int64_t origin;     // row of distance 0
  int64_t rows;
  int64_t mirrored_origin;  // row of distance 0 in mirrored tiles, where rows are in order of descending distance
  int64_t mirrored_rows;    // whole chunks

  DistanceRange(const SegmentHead& h)
      : low(-std::min(h.keys - 1, h.back)),
        high(std::min(h.queries - 1, h.ahead)),
        origin(h.keys + kQueryBlock<T> - 2),
        rows(origin + h.queries + 2),
        mirrored_origin(round_up(h.keys, kLanes<T>) - h.keys + h.queries),
        mirrored_rows(round_up(mirrored_origin + h.keys + kQueryBlock<T>, kLanes<T>)) {}

  int64_t count() const { return high - low + 1; }
  // The first row of the band of a block, and the number of its rows.
  int64_t band(const QueryBlock<T>& b) const { return b.first - b.position - (b.chunks() * kLanes<T> - 1) + origin; }
  static int64_t band_rows(const QueryBlock<T>& b) { return b.keys + b.chunks() * kLanes<T> - 1; }
  // The first row, in mirrored tiles, of the band of a block and the chunk of keys that begins at `key`.
  int64_t diagonal_block(const QueryBlock<T>& b, int64_t key) const {
    return b.position - key - kLanes<T> + mirrored_origin;
  }
};

// Workspace for the terms of any head of a call.
template <class T>
struct PositionTiles {
  Tile<T> query, value;                                   // (distances, width)
  Tile<T> key, key_transposed;                            // (mirrored distances, width) and its transpose
  Tile<T> pos_keys, pos_queries, pos_queries_transposed;  // (keys, pos_width); (queries, pos_width) of a block
  Tile<T> bias;                                           // one row of mirrored distances
  Tile<T> band;                                           // (distances, queries)
  Tile<T> diagonal_block;                                 // (one chunk of keys, queries + one chunk)

  PositionTiles(TileMemory<T>& memory, const PositionTableRows<T>& tables, const SegmentHead& longest) {
    constexpr int64_t lanes = kLanes<T>, block = kQueryBlock<T>;
    const DistanceRange<T> range(longest);
    const int64_t width = longest.width, pos_width = tables.pos_width;
    if (tables.query) query = memory.take(range.rows, width);
    if (tables.value) value = memory.take(range.rows, width);
    if (tables.query || tables.value || tables.bias) band = memory.take(longest.keys + block + 2, block);
    if (tables.bias) bias = memory.take(round_up(range.rows, lanes) / lanes + 1, lanes);
    if (tables.key) {
      key = memory.take(range.mirrored_rows, width);
      key_transposed = memory.take(round_up(width, lanes), range.mirrored_rows);
      diagonal_block = memory.take(lanes, block + lanes);
    }
    if (!tables.pos_queries) return;
    pos_keys = memory.take(longest.keys, pos_width);
    pos_queries = memory.take(block, pos_width);
    pos_queries_transposed = memory.take(round_up(pos_width, lanes), block);
  }
};

// The terms of one head of one segment.
template <class T>
struct HeadPositionTerms {
  using Vector = typename Tile<T>::Vector;

  const PositionTableRows<T>& tables;
  const PositionTiles<T>& t;
  const SegmentHead& h;
  T scale;
  DistanceRange<T> range;

  HeadPositionTerms(const PositionTableRows<T>& tables, const PositionTiles<T>& tiles, const SegmentHead& head, T scale)
      : tables(tables), t(tiles), h(head), scale(scale), range(head) {}

  // Loads the tables into tiles. Called before the first block.
  void load() const {
    if (h.queries == 0 || h.keys == 0) return;
    if (tables.query) load_table(t.query, tables.query);
    if (tables.value) load_table(t.value, tables.value);
    if (tables.key) load_mirrored_table();
    if (tables.bias) load_bias();
    if (tables.pos_keys)
      copy_rows<T>(t.pos_keys, tables.pos_keys.block(0, h.index * tables.pos_width), h.keys, 0, tables.pos_width);
  }

  // Adds the terms to scores(keys, queries) of a block, before they are multiplied by `scale`. k: all keys of the head.
  void add_scores(Tile<T> scores, Tile<T> q_transposed, Tile<T> k, const QueryBlock<T>& block) const {
    if (block.keys == 0) return;
    if (tables.query) add_band(scores, t.query, q_transposed, block);
    if (tables.bias) add_bias(scores, block);
    if (tables.key) add_key_scores(scores, k, block);
    if (tables.pos_queries) add_pos_scores(scores, block);
  }

  // dweights(keys, queries) += dout_i . value_table[t]
  void add_value_scores(Tile<T> dweights, Tile<T> dout_transposed, const QueryBlock<T>& block) const {
    if (tables.value && block.keys > 0) add_band(dweights, t.value, dout_transposed, block);
  }

  // out(queries, width) += weights^T value table
  void add_values(Tile<T> out, Tile<T> weights, const QueryBlock<T>& block) const {
    if (!tables.value || block.keys == 0) return;
    make_band(weights, block);
    multiply<true>(out, t.band, rows_from(t.value, range.band(block)), block.count, chunks_of<T>(h.width),
                   range.band_rows(block), true);
  }

  // Fills the tile `band` from scores(keys, queries) by the inverse shift. Lanes without a query are zero.
  void make_band(Tile<T> scores, const QueryBlock<T>& block) const {
    constexpr int64_t lanes = kLanes<T>;
    const int64_t all = round_up(range.band_rows(block), 2);
    for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
      auto* rows = t.band.vectors(chunk);
      const int64_t first = (block.chunks() - 1 - chunk) * lanes;
      for (int64_t row = 0; row < first; ++row) rows[row] = Vector{};
      for (int64_t j = 0; j < block.keys; ++j)
        rows[first + j] = first_lanes<T>(scores.vector(j, chunk), block.count - chunk * lanes);
      for (int64_t row = first + block.keys; row < all; ++row) rows[row] = Vector{};
      unshift_rows<T>(rows + first, block.keys);
    }
  }

  // Calls f(first key, count, first mirrored row) for each chunk of the block's keys.
  template <class F>
  void for_each_diagonal_block(const QueryBlock<T>& block, const F& f) const {
    const int64_t end = block.first + block.keys;
    for (int64_t key = block.first; key < end; key += kLanes<T>)
      f(key, std::min(kLanes<T>, end - key), range.diagonal_block(block, key));
  }

  static void clear_rows(Tile<T> tile, int64_t begin, int64_t end, int64_t width) {
    for (int64_t chunk = 0; chunk < chunks_of<T>(width); ++chunk)
      std::fill_n(tile.at(begin, chunk), (end - begin) * kLanes<T>, T(0));
  }

 private:
  int64_t first_column(const Rows<T>& table) const { return table.stride == h.width ? 0 : h.feature(); }

  void load_table(Tile<T> tile, const Rows<T>& table) const {
    const int64_t first = range.origin + range.low, end = range.origin + range.high + 1;
    clear_rows(tile, 0, first, h.width);
    copy_rows<T>(rows_from(tile, first), table.block(tables.zero_offset + range.low, first_column(table)),
                 range.count(), 0, h.width);
    clear_rows(tile, end, range.rows, h.width);
  }

  void load_mirrored_table() const {
    const Rows<T> last = tables.key.block(tables.zero_offset + range.high, first_column(tables.key));
    const int64_t first = range.mirrored_origin - range.high, end = first + range.count();
    clear_rows(t.key, 0, first, h.width);
    copy_rows<T>(rows_from(t.key, first), Rows<T>{last.data, -last.stride}, range.count(), 0, h.width);
    clear_rows(t.key, end, range.mirrored_rows, h.width);
    transpose_tile(t.key_transposed, t.key, range.mirrored_rows, h.width);
  }

  // Distance 0 is at index h.queries, followed by the distances of earlier keys.
  void load_bias() const {
    std::fill_n(t.bias.data, range.rows, T(0));
    const T* zero_offset = tables.bias.at(tables.zero_offset, h.index);
    for (int64_t distance = range.low; distance <= range.high; ++distance)
      t.bias.data[h.queries - distance] = zero_offset[distance * tables.bias.stride] / scale;
  }

  void add_band(Tile<T> scores, Tile<T> table, Tile<T> transposed, const QueryBlock<T>& block) const {
    multiply<false>(t.band, rows_from(table, range.band(block)), transposed, range.band_rows(block), block.chunks(),
                    h.width, false);
    for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
      auto* rows = t.band.vectors(chunk) + (block.chunks() - 1 - chunk) * kLanes<T>;
      shift_rows<T>(rows, block.keys);
      for (int64_t j = 0; j < block.keys; ++j) scores.vector(j, chunk) += rows[j];
    }
  }

  void add_bias(Tile<T> scores, const QueryBlock<T>& block) const {
    for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
      const T* row = t.bias.data + h.queries + block.position + chunk * kLanes<T> - block.first;
      for (int64_t j = 0; j < block.keys; ++j) scores.vector(j, chunk) += load_vector(row - j);
    }
  }

  void add_key_scores(Tile<T> scores, Tile<T> k, const QueryBlock<T>& block) const {
    for_each_diagonal_block(block, [&](int64_t key, int64_t count, int64_t row) {
      multiply<false>(t.diagonal_block, rows_from(k, key), chunks_from(t.key_transposed, row / kLanes<T>), count,
                      block.chunks() + 1, h.width, false);
      for (int64_t chunk = 0; chunk < block.chunks(); ++chunk)
        for (int64_t j = 0; j < count; ++j)
          scores.vector(key - block.first + j, chunk) +=
              lanes_between<T>(t.diagonal_block.vector(j, chunk), t.diagonal_block.vector(j, chunk + 1), kLanes<T> - j);
    });
  }

  void add_pos_scores(Tile<T> scores, const QueryBlock<T>& block) const {
    const int64_t width = tables.pos_width;
    const int64_t before = std::clamp<int64_t>(-block.position, 0, block.count);  // queries at negative positions
    clear_rows(t.pos_queries, 0, before, width);
    copy_rows<T>(rows_from(t.pos_queries, before), tables.pos_queries.block(block.position + before, h.index * width),
                 block.count - before, 0, width);
    transpose_tile(t.pos_queries_transposed, t.pos_queries, block.count, width);
    multiply<false>(scores, rows_from(t.pos_keys, block.first), t.pos_queries_transposed, block.keys, block.chunks(),
                    width, true);
  }
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
