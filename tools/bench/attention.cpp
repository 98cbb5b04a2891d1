#include "tools/bench/attention.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/core/io/json.h"
#include "gyre/models/modules/layers.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"

namespace gyre {
namespace {

// Peak bytes of tensors above those at construction, sampled after every op and before and after its backward.
class PeakMemory final : public TapeObserver {
 public:
  explicit PeakMemory(Device device) : device_(device), start_(active()), peak_(start_) {}
  void on_record(const Tape&, int) override { look(); }
  void before_backward(const Tape&, int) override { look(); }
  void after_backward(const Tape&, int) override { look(); }
  double mb() const { return double(peak_ - start_) / kMebibyte; }

 private:
  size_t active() const { return tensor_memory(device_).active_bytes; }
  void look() { peak_ = std::max(peak_, active()); }

  Device device_;
  size_t start_, peak_;
};

// One attention layer, used for all lengths.
class AttentionLayer {
 public:
  AttentionLayer(const AttentionBench& bench, AttentionKind kind, Device device)
      : attention_(parameters_, "layer", "self_attn", 0, config(bench, kind)) {
    parameters_.allocate(1, DType::f32, device);
  }
  const SelfAttention& operator*() const { return attention_; }

 private:
  static LayerConfig config(const AttentionBench& bench, AttentionKind kind) {
    LayerConfig c;
    c.dim = bench.dim;
    c.heads = bench.heads;
    c.attention = bench.attention;
    c.attention.kind = kind;
    return c;
  }
  Parameters parameters_;
  SelfAttention attention_;
};

AttentionRow measure(Kernels& kernels, const AttentionBench& bench, AttentionKind kind, const AttentionLayer& layer,
                     int64_t length) {
  const Device device = kernels.device();
  const Segments text = Segments::from_lengths({int32_t(length)});
  const DType type = bench.precision == Precision::bf16 ? DType::bf16 : DType::f32;
  const Tensor x = normal_tensor({length, bench.dim}, DType::f32, 1, 0).to(type).to(device);
  const Tensor cotangent = normal_tensor({length, bench.dim}, DType::f32, 2, 0).to(type).to(device);
  std::vector<double> forward, backward;
  double peak = 0, flops = 0;
  for (int i = 0; i <= bench.repetitions; ++i) {
    Tape tape(kernels, {.record = true, .training = true, .precision = bench.precision});
    PeakMemory memory(device);
    tape.add_observer(memory);
    DeviceWatch watch(device);
    const Var out = (*layer)(tape.leaf(x), text, {}, bench.causal);
    const double seconds = watch.lap();
    tape.backward(out, cotangent);
    if (i > 0) backward.push_back(watch.lap());  // the first one is a warm-up
    if (i > 0) forward.push_back(seconds);
    peak = memory.mb();
    flops = kTrainingFlopsFactor * tape.flops();
  }
  return {kind, length, median(forward), median(backward), flops, peak};
}

double seconds_of(const AttentionRow& row) { return row.forward_seconds + row.backward_seconds; }
double per_token(const AttentionRow& row) { return seconds_of(row) / double(row.length); }

}  // namespace

AttentionReport run_attention_bench(Kernels& kernels, const AttentionBench& bench) {
  AttentionReport report;
  const ProductLimit limit(kernels.device(), bench.precision);
  for (const AttentionKind kind : bench.kinds) {
    const AttentionLayer layer(bench, kind, kernels.device());
    for (const int64_t length : bench.lengths) report.rows.push_back(measure(kernels, bench, kind, layer, length));
  }
  report.limit_flops = limit.value();
  return report;
}

Json to_json(const AttentionReport& report) {
  double seconds = 0, flops = 0;
  for (const AttentionRow& row : report.rows) {
    seconds += seconds_of(row);
    flops += row.flops;
  }
  Json summary;
  add_rate(summary, flops / seconds, report.limit_flops);
  return summary;
}

Json rows_json(const AttentionReport& report) {
  Json rows = Json::array();
  for (const AttentionRow& r : report.rows)
    rows.push_back({{"kind", enum_name(r.kind)},
                    {"length", r.length},
                    {"forward_ms", rounded(1e3 * r.forward_seconds)},
                    {"backward_ms", rounded(1e3 * r.backward_seconds)},
                    {"gflops", rounded(r.flops / seconds_of(r) / 1e9)},
                    {"share", rounded(r.flops / seconds_of(r) / report.limit_flops)},
                    {"us_per_token", rounded(1e6 * per_token(r))},
                    {"peak_mb", rounded(r.peak_mb)},
                    {"peak_kb_per_token", rounded(1024 * r.peak_mb / double(r.length))}});
  return rows;
}

void print_rows(const AttentionReport& report) {
  std::printf("\n%-8s %8s %12s %12s %7s %12s %10s %12s\n", "kind", "length", "forward ms", "backward ms", "share",
              "us/token", "peak MiB", "KiB/token");
  for (const AttentionRow& r : report.rows)
    std::printf("%-8s %8lld %12.2f %12.2f %6.1f%% %12.3f %10.1f %12.2f\n", std::string(enum_name(r.kind)).c_str(),
                static_cast<long long>(r.length), 1e3 * r.forward_seconds, 1e3 * r.backward_seconds,
                100 * r.flops / seconds_of(r) / report.limit_flops, 1e6 * per_token(r), r.peak_mb,
                1024 * r.peak_mb / double(r.length));
}

}  // namespace gyre
