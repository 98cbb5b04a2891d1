// Translations that begin with a forced prefix, and alignments from the cross-attention.
#include <doctest/doctest.h>

#include <cmath>

#include "gyre/models/decode/alignment.h"
#include "gyre/models/decode/translate.h"
#include "tests/models/tiny_model.h"

namespace gyre {
namespace {

using test::nonzero_model;
using test::tiny_config;

using Ids = std::vector<int32_t>;

std::vector<std::vector<Hypothesis>> forced(const EncoderDecoder& model, const std::vector<Ids>& sources,
                                            const std::vector<Ids>& prefixes, DecodeOptions options) {
  return translate(model, cpu_kernels(), sources, options, {.sentences = 2}, {}, nullptr, prefixes);
}

}  // namespace

TEST_CASE("a forced prefix begins every hypothesis, and its probability counts") {
  for (const char* position : {"rope", "learned", "shaw"}) {
    CAPTURE(position);
    const EncoderDecoder model = nonzero_model(tiny_config(position), 3);
    const std::vector<Ids> sources = test::random_sources(4, 5), prefixes{{4, 6}, {}, {7}, {5, 5, 3}};
    const DecodeOptions options{.beam_size = 3, .n_best = 3};
    const auto results = forced(model, sources, prefixes, options);
    for (size_t i = 0; i < sources.size(); ++i) {
      for (const Hypothesis& h : results[i]) {
        REQUIRE(h.ids.size() >= prefixes[i].size());
        CHECK(std::equal(prefixes[i].begin(), prefixes[i].end(), h.ids.begin()));
        Ids source = sources[i];
        source.pop_back();
        CHECK(h.log_probability == doctest::Approx(test::sentence_log_probability(model, source, h.ids)).epsilon(1e-4));
      }
    }
    // A prefix does not depend on its batch, and an empty one changes nothing.
    for (size_t i = 0; i < sources.size(); ++i) {
      const auto alone = prefixes[i].empty() ? translate(model, cpu_kernels(), {sources[i]}, options)
                                             : forced(model, {sources[i]}, {prefixes[i]}, options);
      test::check_same(alone, {results[i]});
    }
  }
}

TEST_CASE("greedy search continues the beginning of its own result") {
  const EncoderDecoder model = nonzero_model(tiny_config(), 3);
  const std::vector<Ids> sources = test::random_sources(3, 8);
  const DecodeOptions options{.beam_size = 1};
  const auto free = translate(model, cpu_kernels(), sources, options);
  for (size_t length = 1; length < 4; ++length) {
    std::vector<Ids> prefixes;
    for (const auto& result : free) {
      Ids ids = result.front().ids;
      ids.resize(std::min(ids.size(), length));
      prefixes.push_back(ids);
    }
    test::check_same(forced(model, sources, prefixes, options), free);
  }
}

TEST_CASE("prefixes that cannot be forced are errors") {
  const EncoderDecoder model = nonzero_model(tiny_config("learned"), 3);
  const std::vector<Ids> sources = test::random_sources(2, 8);
  CHECK(contains(error_of([&] { beam_search(model, cpu_kernels(), sources, {}, nullptr, {{3}}); }),
                 "expected a prefix for each of 2 sources, got 1"));
  const Ids longest(size_t(model.longest()), 3);
  CHECK(contains(error_of([&] {
                   beam_search(model, cpu_kernels(), sources, {}, nullptr, {longest, {}});
                 }),
                 "expected a prefix of fewer than"));
}

TEST_CASE("an alignment has the source token that a target token attends to most") {
  EncoderDecoder model = nonzero_model(tiny_config(), 4);
  const Ids source{5, 6, 7, 3, test::kEos}, target{4, 4, 9};
  const DecodeOptions options;
  const int layers = int(model.config().decoder_layers);
  for (int layer = 0; layer < layers; ++layer) {
    const auto pairs = align(model, cpu_kernels(), source, target, options, layer);
    REQUIRE(pairs.size() == target.size());
    for (size_t t = 0; t < pairs.size(); ++t) {
      CHECK(pairs[t].second == int32_t(t));
      CHECK(pairs[t].first >= 0);
      CHECK(pairs[t].first < 4);  // never the EOS
    }
  }
  CHECK(align(model, cpu_kernels(), {test::kEos}, target, options, 0).empty());
  CHECK(align(model, cpu_kernels(), source, {}, options, 0).empty());
  CHECK(contains(error_of([&] { align(model, cpu_kernels(), source, target, options, layers); }),
                 concat("expected one of the ", layers, " decoder layers, counted from 0, got ", layers)));
  // Queries of zero attend to all tokens alike, so the first one wins.
  for (Parameter& p : model.parameters())
    if (p.name.find("encoder_attn.q_proj") != std::string::npos) p.value.zero();
  for (const auto& [from, to] : align(model, cpu_kernels(), source, target, options, 0)) CHECK(from == 0);
}

}  // namespace gyre
