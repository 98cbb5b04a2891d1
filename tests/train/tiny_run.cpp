#include "tests/train/tiny_run.h"

#include <doctest/doctest.h>

#include "gyre/core/io/json.h"
#include "gyre/train/log/metrics_log.h"

namespace gyre::test {

void set_tiny_run(TrainOptions& options, const Path& run) {
  options.start.directory = run;
  options.optimizer.schedule.learning_rate = 0.01;
  options.optimizer.schedule.warmup = 5;
  options.log.every = Period::parse("1u");
  options.device.threads = 1;
  options.log.quiet = true;
}

void set_tiny_layers(LayerConfig& config, double dropout) {
  config.dim = 16;
  config.ffn = 32;
  config.heads = 2;
  config.dropout = dropout;
}

std::string last_bits(const Path& run) {
  const Path last = checkpoints_path(run) / "last";
  return read_file(last / "model.safetensors") + read_file(last / "optimizer.safetensors");
}

TrainState last_state(const Path& run) { return read_train_state(checkpoints_path(run) / "last"); }

std::vector<Json> events(const Path& run, const std::string& name) {
  std::vector<Json> found;
  for (const auto& entry : read_metrics(run / "metrics.jsonl")) {
    if (entry["event"] == name) found.push_back(entry);
  }
  return found;
}

std::string loss_curve(const Path& run) {
  std::string text;
  for (const auto& entry : events(run, "train")) {
    for (const char* key : {"updates", "cross-entropy"}) text.append(entry.value(key, Json()).dump()).append(" ");
    text += '\n';
  }
  return text;
}

void check_same_runs(const Path& actual, const Path& expected) {
  CHECK(last_bits(actual) == last_bits(expected));
  CHECK(loss_curve(actual) == loss_curve(expected));
}

void check_close_curves(const Path& actual, const Path& expected, double tolerance) {
  const std::vector<Json> a = events(actual, "train"), b = events(expected, "train");
  REQUIRE(a.size() == b.size());
  REQUIRE(!b.empty());
  for (size_t i = 0; i < b.size(); ++i) {
    CAPTURE(i);
    CHECK(a[i]["updates"] == b[i]["updates"]);
    const Json x = a[i].value("cross-entropy", Json()), y = b[i].value("cross-entropy", Json());
    CHECK(x.is_number() == y.is_number());  // null for an update that was skipped
    if (x.is_number() && y.is_number()) CHECK(x.get<double>() == doctest::Approx(y.get<double>()).epsilon(tolerance));
  }
}

}  // namespace gyre::test
