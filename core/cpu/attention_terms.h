// What order adds to the scores and the values of one head (AttentionTerms in core/kernels.h). A block of queries meets
// a table of distances in one product, of a band of distances as long as its keys; the skew turns the band into scores:
//   band(t, i) = table[t] . q_i;  scores(j, i) += band(j - i, i)
// A table that keys meet runs along the other diagonal: it is met a chunk of keys at a time, where the band is a chunk
// wider than the queries. No table of pairs is ever made.
#pragma once

#include "core/cpu/attention_head.h"
#include "core/cpu/attention_skew.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// The tables of a call; a missing one has no data.
template <class T>
struct TermTables {
  Rows<T> bias, query, key, value;
  Rows<T> query_places, key_places;
  int64_t zero, place_width;

  TermTables(const AttentionTerms& terms, int64_t heads)
      : bias(rows_of<T>({terms.bias})),
        query(rows_of<T>({terms.query_table})),
        key(rows_of<T>({terms.key_table})),
        value(rows_of<T>({terms.value_table})),
        query_places(rows_of<T>({terms.query_places})),
        key_places(rows_of<T>({terms.key_places})),
        zero(terms.zero),
        place_width(terms.query_places ? terms.query_places.cols() / heads : 0) {}

  bool any() const { return bias || query || key || value || query_places; }
};

// The distances of the queries and keys of a head, and where they lie in its tiles. Bands begin before the distance of
// the last query of a block and end behind that of the first: tiles have rows of zeros there.
template <class T>
struct DistanceRange {
  int64_t low, high;  // that some query and key have
  int64_t origin;     // row of distance 0
  int64_t rows;
  int64_t mirrored_origin;  // the same where rows run from keys ahead to keys behind, in whole chunks of keys
  int64_t mirrored_rows;

  DistanceRange(const Head& h)
      : low(-std::min(h.keys - 1, h.back)),
        high(std::min(h.queries - 1, h.ahead)),
        origin(h.keys + kQueryBlock<T> - 2),
        rows(origin + h.queries + 2),
        mirrored_origin(round_up(h.keys, kLanes<T>) - h.keys + h.queries),
        mirrored_rows(round_up(mirrored_origin + h.keys + kQueryBlock<T>, kLanes<T>)) {}

  int64_t count() const { return high - low + 1; }
  // Where the band of a block begins, and its length.
  int64_t band(const QueryBlock<T>& b) const { return b.first - b.place - (b.chunks() * kLanes<T> - 1) + origin; }
  static int64_t band_rows(const QueryBlock<T>& b) { return b.keys + b.chunks() * kLanes<T> - 1; }
  // The same of a block and a chunk of keys, in the mirrored rows.
  int64_t corner(const QueryBlock<T>& b, int64_t key) const { return b.place - key - kLanes<T> + mirrored_origin; }
};

// Room for the terms of any head of a call.
template <class T>
struct TermTiles {
  Tile<T> query, value;                                       // (distances, width)
  Tile<T> key, key_transposed;                                // (distances mirrored, width) and its transpose
  Tile<T> key_places, query_places, query_places_transposed;  // (keys, place width); of a block of queries
  Tile<T> bias;                                               // one row: distances mirrored
  Tile<T> band;                                               // (distances, queries)
  Tile<T> corner;                                             // (a chunk of keys, a chunk more than queries)

  TermTiles(TileMemory<T>& memory, const TermTables<T>& tables, const Head& longest) {
    constexpr int64_t lanes = kLanes<T>, block = kQueryBlock<T>;
    const DistanceRange<T> range(longest);
    const int64_t width = longest.width, places = tables.place_width;
    if (tables.query) query = memory.take(range.rows, width);
    if (tables.value) value = memory.take(range.rows, width);
    if (tables.query || tables.value || tables.bias) band = memory.take(longest.keys + block + 2, block);
    if (tables.bias) bias = memory.take(round_up(range.rows, lanes) / lanes + 1, lanes);
    if (tables.key) {
      key = memory.take(range.mirrored_rows, width);
      key_transposed = memory.take(round_up(width, lanes), range.mirrored_rows);
      corner = memory.take(lanes, block + lanes);
    }
    if (!tables.query_places) return;
    key_places = memory.take(longest.keys, places);
    query_places = memory.take(block, places);
    query_places_transposed = memory.take(round_up(places, lanes), block);
  }
};

// The terms of one head of one segment.
template <class T>
struct HeadTerms {
  using Vector = typename Tile<T>::Vector;

  const TermTables<T>& tables;
  const TermTiles<T>& t;
  const Head& h;
  T scale;
  DistanceRange<T> range;

  HeadTerms(const TermTables<T>& tables, const TermTiles<T>& tiles, const Head& head, T scale)
      : tables(tables), t(tiles), h(head), scale(scale), range(head) {}

  // Before the first block.
  void load() const {
    if (h.queries == 0 || h.keys == 0) return;
    if (tables.query) load_table(t.query, tables.query);
    if (tables.value) load_table(t.value, tables.value);
    if (tables.key) load_mirrored_table();
    if (tables.bias) load_bias();
    if (tables.key_places)
      copy_rows<T>(t.key_places, tables.key_places.from(0, h.index * tables.place_width), h.keys, 0,
                   tables.place_width);
  }

  // scores(keys, queries), not yet scaled, of a block. k: the keys of the head.
  void add_scores(Tile<T> scores, Tile<T> q_transposed, Tile<T> k, const QueryBlock<T>& block) const {
    if (block.keys == 0) return;
    if (tables.query) add_band(scores, t.query, q_transposed, block);
    if (tables.bias) add_bias(scores, block);
    if (tables.key) add_key_scores(scores, k, block);
    if (tables.query_places) add_place_scores(scores, block);
  }

  // To dweights(keys, queries) what the weights meet in the value table.
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

  // The tile `band` becomes that of scores; lanes without a query are zero.
  void make_band(Tile<T> scores, const QueryBlock<T>& block) const {
    constexpr int64_t lanes = kLanes<T>;
    const int64_t all = round_up(range.band_rows(block), 2);
    for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
      auto* rows = t.band.vectors(chunk);
      const int64_t first = (block.chunks() - 1 - chunk) * lanes;
      std::fill(rows, rows + first, Vector{});
      for (int64_t j = 0; j < block.keys; ++j)
        rows[first + j] = first_lanes<T>(scores.vector(j, chunk), block.count - chunk * lanes);
      std::fill(rows + first + block.keys, rows + all, Vector{});
      unskew_rows<T>(rows + first, block.keys);
    }
  }

  // Calls f(first key, count, first mirrored row) for each chunk of the block's keys.
  template <class F>
  void for_each_corner(const QueryBlock<T>& block, const F& f) const {
    const int64_t end = block.first + block.keys;
    for (int64_t key = block.first; key < end; key += kLanes<T>)
      f(key, std::min(kLanes<T>, end - key), range.corner(block, key));
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
    copy_rows<T>(rows_from(tile, first), table.from(tables.zero + range.low, first_column(table)), range.count(), 0,
                 h.width);
    clear_rows(tile, end, range.rows, h.width);
  }

  void load_mirrored_table() const {
    const Rows<T> last = tables.key.from(tables.zero + range.high, first_column(tables.key));
    const int64_t first = range.mirrored_origin - range.high, end = first + range.count();
    clear_rows(t.key, 0, first, h.width);
    copy_rows<T>(rows_from(t.key, first), Rows<T>{last.data, -last.stride}, range.count(), 0, h.width);
    clear_rows(t.key, end, range.mirrored_rows, h.width);
    transpose_tile(t.key_transposed, t.key, range.mirrored_rows, h.width);
  }

  // Behind distance 0, which lies at `queries`, come those of keys behind.
  void load_bias() const {
    std::fill_n(t.bias.data, range.rows, T(0));
    const T* zero = tables.bias.at(tables.zero, h.index);
    for (int64_t distance = range.low; distance <= range.high; ++distance)
      t.bias.data[h.queries - distance] = zero[distance * tables.bias.stride] / scale;
  }

  void add_band(Tile<T> scores, Tile<T> table, Tile<T> transposed, const QueryBlock<T>& block) const {
    multiply<false>(t.band, rows_from(table, range.band(block)), transposed, range.band_rows(block), block.chunks(),
                    h.width, false);
    for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
      auto* rows = t.band.vectors(chunk) + (block.chunks() - 1 - chunk) * kLanes<T>;
      skew_rows<T>(rows, block.keys);
      for (int64_t j = 0; j < block.keys; ++j) scores.vector(j, chunk) += rows[j];
    }
  }

  void add_bias(Tile<T> scores, const QueryBlock<T>& block) const {
    for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
      const T* row = t.bias.data + h.queries + block.place + chunk * kLanes<T> - block.first;
      for (int64_t j = 0; j < block.keys; ++j) scores.vector(j, chunk) += load_vector(row - j);
    }
  }

  void add_key_scores(Tile<T> scores, Tile<T> k, const QueryBlock<T>& block) const {
    for_each_corner(block, [&](int64_t key, int64_t count, int64_t row) {
      multiply<false>(t.corner, rows_from(k, key), chunks_from(t.key_transposed, row / kLanes<T>), count,
                      block.chunks() + 1, h.width, false);
      for (int64_t chunk = 0; chunk < block.chunks(); ++chunk)
        for (int64_t j = 0; j < count; ++j)
          scores.vector(key - block.first + j, chunk) +=
              lanes_between<T>(t.corner.vector(j, chunk), t.corner.vector(j, chunk + 1), kLanes<T> - j);
    });
  }

  void add_place_scores(Tile<T> scores, const QueryBlock<T>& block) const {
    const int64_t width = tables.place_width;
    const int64_t before = std::clamp<int64_t>(-block.place, 0, block.count);  // queries before the first place
    clear_rows(t.query_places, 0, before, width);
    copy_rows<T>(rows_from(t.query_places, before), tables.query_places.from(block.place + before, h.index * width),
                 block.count - before, 0, width);
    transpose_tile(t.query_places_transposed, t.query_places, block.count, width);
    multiply<false>(scores, rows_from(t.key_places, block.first), t.query_places_transposed, block.keys, block.chunks(),
                    width, true);
  }
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
