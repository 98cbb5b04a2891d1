// gyre bench step|ops|gemm|attention|decode: how fast this build runs here, and its share of what the machine can do.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/blas.h"
#include "tools/bench/attention.h"
#include "tools/bench/decode.h"
#include "tools/bench/gemm.h"
#include "tools/bench/ops.h"
#include "tools/bench/step.h"
#include "tools/bench/step_presets.h"
#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/facts.h"
#include "tools/layer_options.h"
#include "tools/program.h"

namespace gyre {

namespace {

// What all of them take.
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

void add_precision_row(OptionTable& table, std::string& precision) {
  table.add_choice("--precision", precision, precision_names(),
                   "of activations and products; auto: bf16 where the device has it");
}

// The kernels to measure.
Kernels& prepare(const Bench& bench) {
  bench.threads.use();
  if (bench.repetitions < 1) throw UsageError("--steps: expected at least 1, got ", bench.repetitions);
  Kernels& kernels = bench.device.kernels();
  const std::string advice = kernels.device() == Device{} ? blas_advice() : "";
  if (!advice.empty()) std::cerr << "the limit is low: " << advice << '\n';
  return kernels;
}

// What every report begins with. A CPU's limits of products in fp32 are OpenBLAS's.
nlohmann::ordered_json setting(const Kernels& kernels, Precision precision) {
  nlohmann::ordered_json facts{{"device", kernels.device().text()},
                               {"precision", precision_name(precision)},
                               {"threads", threads()},
                               {"kernels", kernels.name()}};
  const bool blas = kernels.device() == Device{} && precision == Precision::fp32;
  if (blas) facts["limit_kernels"] = "OpenBLAS " + blas_kernels();
  return facts;
}

// Facts, then the rows behind them.
template <class Report>
void print_report(nlohmann::ordered_json facts, const Report& report, const char* rows, bool json) {
  facts.update(to_json(report));
  if (json) facts[rows] = rows_json(report);
  print_facts(facts, json);
  if (!json) print_rows(report);
}

struct Step : Bench {
  StepBench bench;
  std::string precision = "fp32";
  OptionTable* table = nullptr;
};

int step(Step& call) {
  Kernels& kernels = prepare(call);
  reject_idle_order_options(*call.table, call.bench.variant.attention, call.bench.variant.position);
  call.table->reject_idle("text", call.bench.preset == "multi30k-tiny", "--preset is " + call.bench.preset);
  call.bench.steps = call.repetitions;
  call.bench.precision = parse_precision(call.precision, kernels);
  const StepReport report = run_step_bench(kernels, call.bench);
  nlohmann::ordered_json facts{{"preset", call.bench.preset}};
  facts.update(setting(kernels, call.bench.precision));
  if (call.bench.profile) {
    print_report(facts, report, "profile", call.json);
  } else {
    facts.update(to_json(report));
    print_facts(facts, call.json);
  }
  return 0;
}

void add_step(Program& program) {
  auto call = std::make_shared<Step>();
  OptionTable& table =
      program.command("bench step", "training steps of a preset: tokens a second", [call] { return step(*call); });
  call->table = &table;
  table.add_choice("--preset", call->bench.preset, step_presets(),
                   "the model and its batches; those of 25k + 25k or 32k tokens are of a GPU's size");
  add_precision_row(table, call->precision);
  table.add("--text", call->bench.variant.text, "PREFIX",
            "multi30k-tiny takes its lengths from PREFIX.en and PREFIX.de; absent: from the embedded corpus");
  table.add_flag("--profile", call->bench.profile, "print where the time goes, op by op");
  add_common_rows(table, *call, "steps measured, after two that warm up");
  add_attention_options(table, call->bench.variant.attention);
  add_position_options(table, call->bench.variant.position);
}

// ops and gemm: one preset's shapes, or all.
struct Shapes : Bench {
  std::string preset = "all";
  std::string precision = "fp32";
};

template <class Report>
void add_shapes(Program& program, const std::string& word, const std::string& help,
                Report (*run)(Kernels& kernels, const std::string& preset, Precision precision, int repetitions)) {
  auto call = std::make_shared<Shapes>();
  OptionTable& table = program.command("bench " + word, help, [call, run] {
    Kernels& kernels = prepare(*call);
    const Precision precision = parse_precision(call->precision, kernels);
    print_report(setting(kernels, precision), run(kernels, call->preset, precision, call->repetitions), "rows",
                 call->json);
    return 0;
  });
  std::vector<std::string> presets = step_presets();
  presets.insert(presets.begin(), "all");
  table.add_choice("--preset", call->preset, presets, "whose shapes; all: those of a CPU's size");
  add_precision_row(table, call->precision);
  add_common_rows(table, *call, "runs of each, after one that warms up; the median counts");
}

struct Attention : Bench {
  AttentionBench bench;
  std::string precision = "fp32";
};

int attention(Attention& call) {
  Kernels& kernels = prepare(call);
  AttentionBench& bench = call.bench;
  if (bench.heads < 1 || bench.dim < 1 || bench.dim % bench.heads != 0)
    throw UsageError("--heads: expected a number that divides --dim-emb ", bench.dim, ", got ", bench.heads);
  for (const int64_t length : bench.lengths)
    if (length < 1) throw UsageError("--lengths: expected lengths of at least 1, got ", length);
  bench.repetitions = call.repetitions;
  bench.precision = parse_precision(call.precision, kernels);
  nlohmann::ordered_json facts = setting(kernels, bench.precision);
  facts["layer"] = concat(bench.dim, " wide, ", bench.heads, " heads, ", bench.causal ? "causal" : "not causal");
  print_report(facts, run_attention_bench(kernels, bench), "rows", call.json);
  return 0;
}

void add_attention(Program& program) {
  auto call = std::make_shared<Attention>();
  call->repetitions = call->bench.repetitions;
  OptionTable& table = program.command("bench attention", "self-attention over long texts: time and memory by length",
                                       [call] { return attention(*call); });
  table.add_list("--kind", call->bench.kinds, "WORD,...", "of attention");
  table.add_list("--lengths", call->bench.lengths, "TOKENS,...", "of the text");
  table.add("--dim-emb", call->bench.dim, "NUMBER", "width of the layer");
  table.add("--heads", call->bench.heads, "HEADS", "of it");
  table.add_flag("--causal,!--no-causal", call->bench.causal, "rows see themselves and those before them");
  table.add("--attention-window", call->bench.attention.window, "TOKENS", "seen by the kind window");
  table.add_enum("--linear-map", call->bench.attention.linear_map, "features of the kind linear");
  table.add("--favor-features", call->bench.attention.favor_features, "NUMBER", "of favor+; 0: width x ln(width)");
  add_precision_row(table, call->precision);
  add_common_rows(table, *call, "runs of each length, after one that warms up; the median counts");
}

struct Decode : Bench {
  DecodeBench bench;
  std::string precision = "fp32";
};

int decode(Decode& call) {
  Kernels& kernels = prepare(call);
  if (call.bench.model.empty() != call.bench.input.empty())
    throw UsageError("--model and --input go together: a trained model, and text for it");
  if (call.bench.sentences < 1) throw UsageError("--sentences: expected at least 1, got ", call.bench.sentences);
  call.bench.repetitions = call.repetitions;
  call.bench.precision = parse_precision(call.precision, kernels);
  nlohmann::ordered_json facts = setting(kernels, call.bench.precision);
  facts["beam_size"] = call.bench.beam_size;
  facts.update(to_json(run_decode_bench(kernels, call.bench)));
  print_facts(facts, call.json);
  return 0;
}

void add_decode(Program& program) {
  auto call = std::make_shared<Decode>();
  call->repetitions = call->bench.repetitions;
  OptionTable& table =
      program.command("bench decode", "beam search: sentences and tokens a second", [call] { return decode(*call); });
  table.add("--model,-m", call->bench.model, "DIRECTORY", "a trained model; absent: transformer-tiny, random weights");
  table.add("--input,-i", call->bench.input, "FILE", "text for it, one sentence a line");
  table.add("--text", call->bench.text, "PREFIX",
            "random weights: as long as the lines of PREFIX.en; absent: of the embedded corpus");
  table.add("--sentences", call->bench.sentences, "NUMBER", "decoded, from the first");
  table.add("--beam-size,-b,--beam", call->bench.beam_size, "HYPOTHESES", "kept in the search");
  add_precision_row(table, call->precision);
  add_common_rows(table, *call, "times that all are decoded, after one that warms up; the median counts");
}

}  // namespace

void add_bench_commands(Program& program) {
  program.describe_group("bench", "measure speed, and the share of the machine's measured limit");
  add_step(program);
  add_shapes(program, "ops", "every fused op, forward and backward", run_op_bench);
  add_shapes(program, "gemm", "the products of the layers", run_gemm_bench);
  add_attention(program);
  add_decode(program);
  add_bench_all_reduce_command(program);
}

}  // namespace gyre
