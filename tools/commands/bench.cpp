// gyre bench step|ops|gemm|attention|decode: measures the speed of this build and its share of the machine's limit.
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/hardware/blas.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/parallel/communicator.h"
#include "tools/bench/kernels.h"
#include "tools/bench/models.h"
#include "tools/command_line/messages.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"
#include "tools/summary.h"
#include "tools/workload/device.h"

namespace gyre {

namespace {

// Options of all benchmarks.
struct Bench {
  DeviceChoice device;
  CpuThreads threads;
  int repetitions = 10;
  bool json = false;
};

void add_common_rows(OptionTable& table, Bench& bench, const std::string& repeated) {
  bench.device.add_row(table);
  bench.threads.add_row(table);
  table.add("--steps", bench.repetitions, "NUMBER", repeated);
  table.add_flag("--json", bench.json, "print one JSON object");
}

// Applies the common options and returns the kernels to measure.
Kernels& prepare(const Bench& bench, const Communicator& ranks) {
  ranks.size() == 1 ? bench.threads.use() : bench.threads.use(ranks.cores());
  expect_at_least(1, "--steps", bench.repetitions);
  return bench.device.kernels(ranks.local_rank());
}

// Call before the measurement, after the checks of options, whose errors are the only line.
void warn_of_low_limit(const Kernels& kernels) {
  const std::string advice = kernels.device() == Device{} ? blas_advice() : "";
  if (!advice.empty()) print_message(concat("the limit is low: ", advice));
}

// The first entries of every report.
Json setting(const Kernels& kernels, Precision precision) {
  return {{"device", to_string(kernels.device())},
          {"precision", enum_name(precision)},
          {"threads", threads()},
          {"kernels", kernels.name()},
          {"limit_source", ProductLimit::source(kernels.device(), precision)}};
}

// Prints the summary, then the rows.
template <class Report>
void print_report(Json summary, const Report& report, const char* rows, bool json) {
  summary.update(to_json(report));
  if (json) summary[rows] = rows_json(report);
  print_summary(summary, json);
  if (!json) print_rows(report);
}

Kernels& prepare(const Bench& bench) { return prepare(bench, SelfCommunicator()); }

struct StepArgs : Bench {
  StepBench bench;
  PrecisionChoice precision;
  OptionTable* table = nullptr;
};

int step_of_rank(StepArgs& args, Communicator& ranks) {
  Kernels& kernels = prepare(args, ranks);
  args.bench.steps = args.repetitions;
  args.bench.precision = args.precision.on(kernels);
  if (ranks.rank() == 0) warn_of_low_limit(kernels);
  const StepReport report = run_step_bench(kernels, ranks, args.bench);
  if (ranks.rank() != 0) return 0;
  Json summary{{"preset", args.bench.preset}, {"recompute", enum_name(args.bench.variant.recompute)}};
  if (ranks.size() > 1) summary["ranks"] = ranks.size();
  summary.update(setting(kernels, args.bench.precision));
  if (args.bench.profile) {
    print_report(summary, report, "profile", args.json);
  } else {
    summary.update(to_json(report));
    print_summary(summary, args.json);
  }
  return 0;
}

int step(StepArgs& args) {
  args.table->reject_unused();
  args.table->reject_unused("text", args.bench.preset == "multi30k-tiny", "--preset is " + args.bench.preset);
  return with_communicator([&](Communicator& ranks) { return step_of_rank(args, ranks); });
}

void add_step(Program& program) {
  auto args = std::make_shared<StepArgs>();
  OptionTable& table = program.command(
      "bench step", "training steps of a preset: tokens per second, also under mpirun", [args] { return step(*args); },
      Program::Processes::ranks);
  args->table = &table;
  table.add_choice("--preset", args->bench.preset, step_presets(),
                   "model and batch size; presets with 25k + 25k or 32k tokens per batch are meant for GPUs");
  args->precision.add_row(table);
  table.add("--text", args->bench.variant.text, "PREFIX",
            "multi30k-tiny takes its lengths from PREFIX.en and PREFIX.de; default: from the synthetic corpus");
  table.add_enum("--recompute", args->bench.variant.recompute,
                 "activations that backward computes again, as in gyre train");
  table.add_flag("--profile", args->bench.profile, "print the time of each op");
  add_common_rows(table, *args, "measured steps, after two warm-up steps");
  table.add_options(args->bench.variant.attention, args->bench.variant.position);
  table.add_options(args->bench.variant.position);
}

// Adds --preset of ops and gemm.
void add_shapes_row(OptionTable& table, std::string& preset) {
  table.add_choice("--preset", preset, shape_presets(),
                   "shapes to measure; all: mlm-small, lm-small, nmt-base and multi30k-tiny");
}

struct OpsArgs : Bench {
  std::string preset = "all";
  PrecisionChoice precision;
};

void add_ops(Program& program) {
  auto args = std::make_shared<OpsArgs>();
  OptionTable& table = program.command("bench ops", "forward and backward of ops, fused and elementary", [args] {
    Kernels& kernels = prepare(*args);
    const Precision precision = args->precision.on(kernels);
    warn_of_low_limit(kernels);
    print_report(setting(kernels, precision), run_op_bench(kernels, args->preset, precision, args->repetitions), "rows",
                 args->json);
    return 0;
  });
  add_shapes_row(table, args->preset);
  args->precision.add_row(table);
  add_common_rows(table, *args, "runs of each, after one warm-up run; the median is reported");
}

struct GemmArgs : Bench {
  GemmBench bench;
  PrecisionChoice precision;
  OptionTable* table = nullptr;
};

int gemm(GemmArgs& args) {
  constexpr int64_t kLargest = 32768;  // matrices of 4 GiB
  Kernels& kernels = prepare(args);
  args.table->reject_unused("preset", args.bench.sizes.empty(), "--sizes is given");
  for (const int64_t size : args.bench.sizes)
    if (size < 1 || size > kLargest) throw UsageError("--sizes: expected 1 to ", kLargest, ", got ", size);
  args.bench.repetitions = args.repetitions;
  args.bench.precision = args.precision.on(kernels);
  warn_of_low_limit(kernels);
  print_report(setting(kernels, args.bench.precision), run_gemm_bench(kernels, args.bench), "rows", args.json);
  return 0;
}

void add_gemm(Program& program) {
  auto args = std::make_shared<GemmArgs>();
  OptionTable& table =
      program.command("bench gemm", "matrix products of the layers, or by size", [args] { return gemm(*args); });
  args->table = &table;
  add_shapes_row(table, args->bench.preset);
  table.add_list("--sizes", args->bench.sizes, "NUMBER,...",
                 "multiply square matrices of these sizes instead, such as 128,512,2048");
  args->precision.add_row(table);
  add_common_rows(table, *args, "runs of each, after one warm-up run; the median is reported");
}

struct AttentionArgs : Bench {
  AttentionBench bench;
  PrecisionChoice precision;
};

int attention(AttentionArgs& args) {
  Kernels& kernels = prepare(args);
  AttentionBench& bench = args.bench;
  if (bench.heads < 1 || bench.dim < 1 || bench.dim % bench.heads != 0)
    throw UsageError("--heads: expected a number that divides --dim-emb ", bench.dim, ", got ", bench.heads);
  for (const int64_t length : bench.lengths)
    if (length < 1) throw UsageError("--lengths: expected lengths of at least 1, got ", length);
  expect_at_least(1, "--segments", bench.segments);
  bench.repetitions = args.repetitions;
  bench.precision = args.precision.on(kernels);
  warn_of_low_limit(kernels);
  Json summary = setting(kernels, bench.precision);
  summary["layer"] = concat(bench.dim, " wide, ", bench.heads, " heads, ", bench.causal ? "causal" : "not causal", ", ",
                            bench.segments, bench.segments == 1 ? " sequence" : " sequences");
  print_report(summary, run_attention_bench(kernels, bench), "rows", args.json);
  return 0;
}

void add_attention(Program& program) {
  auto args = std::make_shared<AttentionArgs>();
  args->repetitions = args->bench.repetitions;
  OptionTable& table =
      program.command("bench attention", "self-attention over long sequences: time and memory by length",
                      [args] { return attention(*args); });
  table.add_list("--kind", args->bench.kinds, "WORD,...", "kinds of attention");
  table.add_list("--lengths", args->bench.lengths, "TOKENS,...", "sequence lengths");
  table.add("--segments", args->bench.segments, "NUMBER", "sequences of each length in a batch");
  table.add("--dim-emb", args->bench.dim, "NUMBER", "width of the layer");
  table.add("--heads", args->bench.heads, "HEADS", "number of attention heads");
  table.add_flag("--causal,!--no-causal", args->bench.causal,
                 "causal mask: a token attends to itself and earlier tokens");
  table.add("--attention-window", args->bench.attention.window, "TOKENS", "window of the kind window");
  table.add_enum("--linear-map", args->bench.attention.linear_map, "feature map of the kind linear");
  table.add("--favor-features", args->bench.attention.favor_features, "NUMBER",
            "random features per head of favor+; 0: width x ln(width)");
  args->precision.add_row(table);
  add_common_rows(table, *args, "runs of each length, after one warm-up run; the median is reported");
}

struct DecodeArgs : Bench {
  DecodeBench bench;
  PrecisionChoice precision;
};

int decode(DecodeArgs& args) {
  Kernels& kernels = prepare(args);
  if (args.bench.model.empty() != args.bench.input.empty())
    throw UsageError("--model and --input must be given together: a trained model and a text to translate");
  expect_at_least(1, "--sentences", args.bench.sentences);
  args.bench.repetitions = args.repetitions;
  args.bench.precision = args.precision.on(kernels);
  warn_of_low_limit(kernels);
  Json summary = setting(kernels, args.bench.precision);
  summary["beam_size"] = args.bench.beam_size;
  summary.update(to_json(run_decode_bench(kernels, args.bench)));
  print_summary(summary, args.json);
  return 0;
}

void add_decode(Program& program) {
  auto args = std::make_shared<DecodeArgs>();
  args->repetitions = args->bench.repetitions;
  OptionTable& table =
      program.command("bench decode", "beam search: sentences and tokens per second", [args] { return decode(*args); });
  table.add("--model,-m", args->bench.model, "DIRECTORY",
            "trained model; default: transformer-tiny with random weights");
  table.add("--input,-i", args->bench.input, "FILE", "text to translate, one sentence per line");
  table.add("--text", args->bench.text, "PREFIX",
            "random weights take their sentence lengths from PREFIX.en; default: from the synthetic corpus");
  table.add("--sentences", args->bench.sentences, "NUMBER", "number of sentences to decode, from the first");
  table.add("--beam-size,-b,--beam", args->bench.beam_size, "HYPOTHESES", "beam size");
  args->precision.add_inference_row(table);
  add_common_rows(table, *args, "runs over all sentences, after one warm-up run; the median is reported");
}

}  // namespace

void add_bench_commands(Program& program) {
  program.describe_group("bench", "measure speed and the share of the machine's limit");
  add_step(program);
  add_ops(program);
  add_gemm(program);
  add_attention(program);
  add_decode(program);
}

}  // namespace gyre
