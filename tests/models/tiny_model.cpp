#include "tests/models/tiny_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "gyre/core/random.h"
#include "tests/models/position_config.h"

namespace gyre::test {

PositionConfig tiny_position(const std::string& encoding) {
  return position_config(encoding, {{"max_positions", 40},
                                    {"shaw_clip", 2},
                                    {"nezha_clip", 3},
                                    {"bias_buckets", 8},
                                    {"bias_max_distance", 6},
                                    {"deberta_clip", 2}});
}

EncoderDecoderConfig tiny_config(const std::string& position, NormPlacement norm) {
  EncoderDecoderConfig c;
  c.vocab_size = 11;
  c.dim = 8;
  c.ffn = 12;
  c.heads = 2;
  c.encoder_layers = c.decoder_layers = 2;
  c.norm = norm;
  c.position = tiny_position(position);
  return c;
}

Sentences random_sentences(int count, int longest, int64_t vocab_size, uint64_t seed) {
  RandomStream random(seed, 0);
  Sentences sentences(static_cast<size_t>(count));
  for (auto& s : sentences) {
    s.resize(random.below(uint64_t(longest) + 1));
    for (int32_t& id : s) id = int32_t(3 + random.below(uint64_t(vocab_size) - 3));
  }
  return sentences;
}

Sentences with_eos(Sentences sentences) {
  for (auto& s : sentences) s.push_back(kEos);
  return sentences;
}

Sentences random_sources(int count, uint64_t seed) { return with_eos(random_sentences(count, 8, 11, seed)); }

PairInput make_batch(const Sentences& sources, const Sentences& targets) {
  std::vector<int32_t> source_ids, inputs, outputs, source_lengths, target_lengths;
  for (const auto& s : with_eos(sources)) {
    source_ids.insert(source_ids.end(), s.begin(), s.end());
    source_lengths.push_back(int32_t(s.size()));
  }
  for (const auto& t : targets) {
    inputs.push_back(kBos);
    inputs.insert(inputs.end(), t.begin(), t.end());
    outputs.insert(outputs.end(), t.begin(), t.end());
    outputs.push_back(kEos);
    target_lengths.push_back(int32_t(t.size() + 1));
  }
  const auto tensor = [](const std::vector<int32_t>& v) { return Tensor::from({int64_t(v.size())}, v); };
  return {tensor(source_ids), Segments::from_lengths(source_lengths), tensor(inputs), tensor(outputs),
          Segments::from_lengths(target_lengths)};
}

Tensor teacher_forced(const EncoderDecoder& model, const Sentences& sources, const Sentences& targets) {
  const PairInput batch = make_batch(sources, targets);
  Tape tape(cpu_kernels(), {.record = false});
  const Var encoded = model.encode(tape, batch.source_ids, batch.source);
  const Tensor logits =
      model.logits(model.decode(tape, encoded, batch.source, batch.target_inputs, batch.target)).value();
  cpu_kernels().log_softmax(logits, logits);
  return logits;
}

double sentence_log_probability(const EncoderDecoder& model, const std::vector<int32_t>& source,
                                const std::vector<int32_t>& target) {
  const Tensor log_probs = teacher_forced(model, {source}, {target});
  double total = 0;
  for (int64_t i = 0; i < log_probs.rows(); ++i) {
    const int32_t token = size_t(i) < target.size() ? target[size_t(i)] : kEos;
    total += double(log_probs.data<float>()[i * log_probs.cols() + token]);
  }
  return total;
}

void check_same(const std::vector<std::vector<Hypothesis>>& a, const std::vector<std::vector<Hypothesis>>& b,
                double tolerance) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (size_t k = 0; k < a[i].size(); ++k) {
      CHECK(a[i][k].ids == b[i][k].ids);
      CHECK(a[i][k].score == doctest::Approx(b[i][k].score).epsilon(tolerance));
    }
  }
}

void allocate_nonzero(Parameters& parameters, uint64_t seed, DType dtype) {
  parameters.allocate(seed, dtype);
  for (Parameter& p : parameters) {
    const uint64_t stream = hash_name(p.name);
    const bool gain = p.name.find("norm.weight") != std::string::npos;
    for (int64_t i = 0; i < p.value.size(); ++i) {
      const double x = (gain ? 1.0 : 0.0) + 0.4 * random_normal(seed, stream, uint64_t(i));
      if (dtype == DType::f64) {
        p.value.data<double>()[i] = x;
      } else {
        p.value.data<float>()[i] = float(x);
      }
    }
  }
}

EncoderDecoder nonzero_model(const EncoderDecoderConfig& config, uint64_t seed) {
  EncoderDecoder model(config);
  allocate_nonzero(model.parameters(), seed);
  return model;
}

void check_gradients(Parameters& parameters, const std::function<LossResult(Tape&)>& loss) {
  const auto run = [&](bool backward) {
    Tape tape(cpu_kernels(), {.record = backward, .training = true, .seed = 3});
    const LossResult result = loss(tape);
    if (backward) tape.backward(result.loss);
    return result.sums().loss;
  };
  parameters.gradients().zero();
  run(true);
  for (Parameter& p : parameters) {
    if (!p.trainable) continue;
    CAPTURE(p.name);
    double largest = 0;
    for (double g : p.gradient.to_vector<double>()) largest = std::max(largest, std::abs(g));
    CHECK(largest > 1e-6);
    const int64_t stride = std::max<int64_t>(1, p.value.size() / 5);
    for (int64_t i = 0; i < p.value.size(); i += stride) {
      double& x = p.value.data<double>()[i];
      const double before = x, step = 1e-5;
      x = before + step;
      const double up = run(false);
      x = before - step;
      const double down = run(false);
      x = before;
      const double numeric = (up - down) / (2 * step), analytic = p.gradient.data<double>()[i];
      CHECK(std::abs(numeric - analytic) < 1e-6 * std::max(1.0, std::abs(analytic)));
    }
  }
}

}  // namespace gyre::test
