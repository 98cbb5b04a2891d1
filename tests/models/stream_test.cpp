// Tests the reading of a text in chunks by a causal model, with a window of unrotated keys.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/models/tiny_encoder.h"

namespace gyre {
namespace {

using test::causal_encoder;
using test::ids_of;

constexpr int kRows = 23;

std::vector<int32_t> text() {
  std::vector<int32_t> ids;
  for (int i = 0; i < kRows; ++i) ids.push_back(3 + (i * i + i / 3) % 8);
  return ids;
}

// Output of the stack for all rows, from a single forward pass.
std::vector<double> states_at_once(const EncoderOnly& model) {
  Tape tape(cpu_kernels(), {.record = false});
  return model.encode(tape, ids_of(text()), Segments::from_lengths({kRows})).value().to_vector<double>();
}

std::vector<double> states_in_chunks(const EncoderOnly& model, int64_t reach, size_t chunk) {
  const std::vector<int32_t> ids = text();
  std::vector<double> all;
  TokenCache cache(int(model.config().layers), {{.tokens = kRows, .first_chunk = int32_t(chunk)}}, reach + 1,
                   TokenCache::Keys::unrotated);
  for (size_t begin = 0; begin < ids.size(); begin += chunk) {
    const size_t end = std::min(begin + chunk, ids.size());
    Tape tape(cpu_kernels(), {.record = false});
    const Var states = model.advance(tape, ids_of({ids.begin() + ptrdiff_t(begin), ids.begin() + ptrdiff_t(end)}),
                                     Segments::from_lengths({int32_t(end - begin)}), cache);
    const auto some = states.value().to_vector<double>();
    all.insert(all.end(), some.begin(), some.end());
  }
  CHECK(cache.capacity() == std::min<int64_t>(kRows, std::max<int64_t>(int64_t(chunk), reach + 1) + reach + 1));
  return all;
}

void check_close(const std::vector<double>& got, const std::vector<double>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-10));
}

bool streams(const std::string& position) { return EncoderOnly(causal_encoder(position)).positions().is_relative(); }

}  // namespace

TEST_CASE("stream: with an unlimited window, the result equals a causal forward pass") {
  for (const std::string& position : position_encoding_names()) {
    if (!streams(position)) continue;
    CAPTURE(position);
    for (const NormPlacement norm : {NormPlacement::pre, NormPlacement::post}) {
      EncoderOnly model(causal_encoder(position, norm));
      test::allocate_nonzero(model.parameters(), 5, DType::f64);
      const std::vector<double> wanted = states_at_once(model);
      for (const size_t chunk : {1, 4, 5, 23}) check_close(states_in_chunks(model, kRows, chunk), wanted);
    }
  }
}

TEST_CASE("stream: variants of layers") {
  for (const EncoderOnlyConfig& config : test::tiny_decoders()) {
    CAPTURE(config.to_json().dump());
    EncoderOnly model(config);
    test::allocate_nonzero(model.parameters(), 5, DType::f64);
    const std::vector<double> wanted = states_at_once(model);
    for (const size_t chunk : {1, 4, 23}) check_close(states_in_chunks(model, kRows, chunk), wanted);
  }
}

TEST_CASE("stream: the result does not depend on the size of the chunks") {
  for (const std::string& position : position_encoding_names()) {
    if (!streams(position)) continue;
    CAPTURE(position);
    EncoderOnly model(causal_encoder(position));
    test::allocate_nonzero(model.parameters(), 5, DType::f64);
    for (const int64_t reach : {0, 1, 6}) {
      const std::vector<double> wanted = states_in_chunks(model, reach, kRows);
      for (const size_t chunk : {1, 4, 7}) check_close(states_in_chunks(model, reach, chunk), wanted);
    }
  }
}

TEST_CASE("stream: with one layer, a row attends to exactly the window") {
  EncoderOnlyConfig config = causal_encoder("rope");
  config.layers = 1;
  EncoderOnly model(config);
  test::allocate_nonzero(model.parameters(), 5, DType::f64);
  const std::vector<double> got = states_in_chunks(model, 4, 6);
  const std::vector<int32_t> ids = text();
  for (int row : {2, 4, 5, 11, 22}) {
    const int first = std::max(0, row - 4);
    Tape tape(cpu_kernels(), {.record = false});
    const auto states = model
                            .encode(tape, ids_of({ids.begin() + first, ids.begin() + row + 1}),
                                    Segments::from_lengths({row + 1 - first}))
                            .value()
                            .to_vector<double>();
    for (size_t j = 0; j < 8; ++j)
      CHECK(got[size_t(row) * 8 + j] == doctest::Approx(states[states.size() - 8 + j]).epsilon(1e-10));
  }
}

TEST_CASE("stream: absolute positions need a cache of rotated keys") {
  Tape tape(cpu_kernels(), {.record = false});
  TokenCache cache(2, {{4}}, 4, TokenCache::Keys::unrotated);
  EncoderOnly learned(causal_encoder("learned"));
  CHECK_THROWS_WITH_AS(learned.advance(tape, ids_of({4}), Segments::from_lengths({1}), cache),
                       "[encoder] expected positions that are relative, or a cache of rotated keys", Error);
}

}  // namespace gyre
