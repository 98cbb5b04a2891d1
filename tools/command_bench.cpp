// gyre bench step|ops|gemm|decode: how fast this build runs here, and the share of what the machine can do.
#include <memory>

#include "core/kernels.h"
#include "tools/bench/decode.h"
#include "tools/bench/gemm.h"
#include "tools/bench/ops.h"
#include "tools/bench/step.h"
#include "tools/bench/step_workload.h"
#include "tools/facts.h"
#include "tools/program.h"

namespace gyre {

namespace {

// What all of them take.
struct Bench {
  int threads = 0;
  int repetitions = 10;
  bool json = false;
};

void add_common_rows(OptionTable& table, Bench& bench, const std::string& repeated) {
  table.add("--cpu-threads,--threads", bench.threads, "THREADS", "0: all cores");
  table.add("--steps", bench.repetitions, "NUMBER", repeated);
  table.add_flag("--json", bench.json, "print one JSON object");
}

void prepare(const Bench& bench) {
  if (bench.threads < 0) throw UsageError("--cpu-threads: expected at least 0, got ", bench.threads);
  if (bench.repetitions < 1) throw UsageError("--steps: expected at least 1, got ", bench.repetitions);
  if (bench.threads > 0) set_threads(bench.threads);
}

struct Step : Bench {
  StepBench bench;
  std::string precision = "fp32";
  OptionTable* table = nullptr;
};

int step(Step& call) {
  prepare(call);
  if (call.precision == "bf16") throw UsageError("--precision bf16 is not available in this build");
  call.table->reject_idle("text", call.bench.preset == "multi30k-tiny", "--preset is " + call.bench.preset);
  call.bench.steps = call.repetitions;
  const StepReport report = run_step_bench(call.bench);
  nlohmann::ordered_json facts{{"preset", call.bench.preset}, {"precision", call.precision}, {"threads", threads()}};
  facts.update(to_json(report));
  if (call.json && call.bench.profile) facts["profile"] = profile_json(report);
  print_facts(facts, call.json);
  if (!call.json && call.bench.profile) print_profile(report);
  return 0;
}

void add_step(Program& program) {
  auto call = std::make_shared<Step>();
  OptionTable& table =
      program.command("bench step", "training steps of a preset: tokens a second", [call] { return step(*call); });
  call->table = &table;
  table.add_choice("--preset", call->bench.preset, step_presets(), "the model and its batches");
  table.add_choice("--precision", call->precision, {"fp32", "bf16"}, "of activations and of the operands of products");
  table.add("--text", call->bench.text, "PREFIX",
            "multi30k-tiny takes its lengths from PREFIX.en and PREFIX.de; absent: from the embedded corpus");
  table.add_flag("--profile", call->bench.profile, "print where the time goes, op by op");
  add_common_rows(table, *call, "steps measured, after two that warm up");
}

// ops and gemm: one preset's shapes, or all.
struct Shapes : Bench {
  std::string preset = "all";
};

void add_shapes(Program& program, const std::string& word, const std::string& help,
                const std::function<void(const Shapes&)>& run) {
  auto call = std::make_shared<Shapes>();
  OptionTable& table = program.command("bench " + word, help, [call, run] {
    prepare(*call);
    run(*call);
    return 0;
  });
  std::vector<std::string> presets = step_presets();
  presets.insert(presets.begin(), "all");
  table.add_choice("--preset", call->preset, presets, "whose shapes");
  add_common_rows(table, *call, "runs of each, after one that warms up; the median counts");
}

struct Decode : Bench {
  DecodeBench bench;
};

int decode(Decode& call) {
  prepare(call);
  if (call.bench.model.empty() != call.bench.input.empty())
    throw UsageError("--model and --input go together: a trained model, and text for it");
  if (call.bench.sentences < 1) throw UsageError("--sentences: expected at least 1, got ", call.bench.sentences);
  call.bench.repetitions = call.repetitions;
  nlohmann::ordered_json facts{{"threads", threads()}, {"beam_size", call.bench.beam_size}};
  facts.update(to_json(run_decode_bench(call.bench)));
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
  add_common_rows(table, *call, "times that all are decoded, after one that warms up; the median counts");
}

}  // namespace

void add_bench_commands(Program& program) {
  program.describe_group("bench", "measure speed, and the share of the machine's measured limit");
  add_step(program);
  add_shapes(program, "ops", "every fused op, forward and backward",
             [](const Shapes& call) { print_ops(run_op_bench(call.preset, call.repetitions), call.json); });
  add_decode(program);
  add_shapes(program, "gemm", "the products of the layers",
             [](const Shapes& call) { print_gemm(run_gemm_bench(call.preset, call.repetitions), call.json); });
}

}  // namespace gyre
