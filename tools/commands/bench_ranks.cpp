// gyre bench ranks and gyre bench allreduce: training steps and sums of gradients on several ranks.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gyre/core/clock.h"
#include "gyre/core/enum_names.h"
#include "gyre/core/error.h"
#include "gyre/core/hardware/cores.h"
#include "gyre/core/hardware/machine_limits.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/options.h"
#include "gyre/train/parallel/all_reduce.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/launcher.h"
#include "tools/bench/models.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {

namespace {

// ---- gyre bench ranks: measures training steps for several divisions of the cores of a machine ---------------------

// The parts of this machine to which ranks can be bound.
struct MachineParts {
  int cores = 1, numa_nodes = 1, sockets = 1;
};

MachineParts parts_of_machine();  // the cores on which this process may run

struct RanksBench {
  std::string preset = "multi30k-tiny";
  std::string precision = "fp32";
  std::string mpirun = "mpirun";
  MachineParts machine;
  int steps = 5;
  int turns = 2;  // runs of every division, taking turns
};

struct RanksRow {
  int ranks = 1, threads = 1;  // threads of each rank
  std::string binding;         // the unit to which Open MPI binds a rank: none, core, numa, socket
  double tokens_per_second = 0, share = 0, rank_mb = 0;  // medians; of all ranks, of the machine's limit, of one rank
};

// The command that starts `program`: mpirun with its options, unless there is a single rank that is not bound.
std::string command_of(const RanksRow& row, const std::string& mpirun, const std::string& program);

// Runs a program without a shell and returns its standard output.
std::string output_of(const std::vector<std::string>& command) {
  std::array<int, 2> pipe_ends{};
  require(pipe2(pipe_ends.data(), O_CLOEXEC) == 0, "[bench ranks] cannot create a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  for (ssize_t bytes = 0; error == 0 && (bytes = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
    output.append(buffer.data(), size_t(bytes));
  close(pipe_ends[0]);
  require(error == 0, "[bench ranks] cannot start ", command[0], ": ", std::strerror(error), "; name it with --mpirun");
  int status = 0;
  waitpid(child, &status, 0);
  std::string words;
  for (const std::string& word : command) words += (words.empty() ? "" : " ") + word;
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "[bench ranks] failed: ", words);
  return output;
}

// Options of Open MPI's mpirun. Its `core` binding gives each rank as many cores as it has threads.
std::string options_of(const RanksRow& row) {
  if (row.binding == "none") return "--bind-to none";
  if (row.binding == "core") return concat("--map-by slot:PE=", row.threads, " --bind-to core");
  return concat("--map-by ", row.binding, " --bind-to ", row.binding);
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The number of different values that a file of sysfs has for the CPUs on which this process may run; `otherwise` if
// there is no such file.
int distinct_values(const std::string& file, int otherwise) {
  std::set<std::string> values;
  for (const int cpu : allowed_cpus()) {
    char line[64] = "";
    if (std::FILE* in = std::fopen(concat("/sys/devices/system/cpu/cpu", cpu, "/topology/", file).c_str(), "r")) {
      if (std::fgets(line, sizeof line, in)) values.insert(line);
      std::fclose(in);
    }
  }
  return values.empty() ? otherwise : int(values.size());
}

void run(const RanksBench& bench, const std::string& program, RanksRow& row, std::vector<Json>& reports) {
  std::vector<std::string> command = split_words(command_of(row, bench.mpirun, ""));
  command.push_back(program);
  for (const std::string& word :
       split_words(concat("bench step --json --preset ", bench.preset, " --precision ", bench.precision, " --steps ",
                          bench.steps, " --threads ", row.threads)))
    command.push_back(word);
  const std::string output = output_of(command);
  Json report = find_json(output).value_or(Json());
  require(report.is_object(), "[bench ranks] ", command[0], " printed no report of gyre bench step: ", output);
  reports.push_back(std::move(report));
}

double median_of(const std::vector<Json>& reports, const char* field) {
  std::vector<double> values;
  for (const Json& report : reports) values.push_back(report.at(field));
  return median(values);
}

MachineParts parts_of_machine() {
  int nodes = 0;
  while (std::filesystem::exists(concat("/sys/devices/system/node/node", nodes))) ++nodes;
  // mpirun counts cores, not the hardware threads of a core.
  const int cores = distinct_values("thread_siblings_list", int(allowed_cpus().size()));
  return {cores, std::max(nodes, 1), distinct_values("physical_package_id", 1)};
}

// All divisions of the cores into ranks of equally many threads, each with every binding that differs on this machine.
std::vector<RanksRow> divisions(const MachineParts& machine) {
  std::vector<RanksRow> rows;
  for (int ranks = 1; ranks <= machine.cores; ++ranks) {
    if (machine.cores % ranks != 0) continue;
    const int threads = machine.cores / ranks;
    rows.push_back({ranks, threads, "none"});
    if (ranks == 1) continue;
    rows.push_back({ranks, threads, "core"});
    if (machine.numa_nodes > 1 && ranks % machine.numa_nodes == 0) rows.push_back({ranks, threads, "numa"});
    if (machine.sockets > 1 && machine.sockets != machine.numa_nodes && ranks % machine.sockets == 0)
      rows.push_back({ranks, threads, "socket"});
  }
  return rows;
}

std::string command_of(const RanksRow& row, const std::string& mpirun, const std::string& program) {
  return row.ranks == 1 ? program : concat(mpirun, " -n ", row.ranks, " ", options_of(row), " ", program);
}

// Starts `gyre bench step` under mpirun for every division, with `program` as gyre. Throws an Error if a run fails.
std::vector<RanksRow> run_ranks_bench(const RanksBench& bench, const std::string& program) {
  std::vector<RanksRow> rows = divisions(bench.machine);
  std::vector<std::vector<Json>> reports(rows.size());
  for (int turn = 0; turn < bench.turns; ++turn) {
    for (size_t i = 0; i < rows.size(); ++i) run(bench, program, rows[i], reports[i]);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].tokens_per_second = median_of(reports[i], "tokens_per_second");
    rows[i].share = median_of(reports[i], "share");
    rows[i].rank_mb = median_of(reports[i], "peak_rss_mb");
  }
  return rows;
}

Json rows_json(const std::vector<RanksRow>& rows) {
  Json all = Json::array();
  for (const RanksRow& row : rows) {
    all.push_back({{"ranks", row.ranks},
                   {"threads", row.threads},
                   {"binding", row.binding},
                   {"tokens_per_second", rounded(row.tokens_per_second)},
                   {"share", rounded(row.share)},
                   {"rank_mb", rounded(row.rank_mb)}});
  }
  return all;
}

void print_rows(const std::vector<RanksRow>& rows) {
  std::printf("%6s %8s %8s %12s %8s %10s\n", "ranks", "threads", "binding", "tokens/s", "share", "MB/rank");
  for (const RanksRow& row : rows) {
    std::printf("%6d %8d %8s %12.4g %8.3f %10.4g\n", row.ranks, row.threads, row.binding.c_str(), row.tokens_per_second,
                row.share, row.rank_mb);
  }
}

struct RanksArgs {
  RanksBench bench;
  bool json = false;
};

void check(RanksBench& bench) {
  expect_at_least(1, "--steps", bench.steps);
  expect_at_least(1, "--turns", bench.turns);
  if (launch_of_process().has_mpi)
    throw UsageError("[bench ranks] starts mpirun itself: run it without mpirun or srun, on one machine");
  if (mpi_library() == "none") throw UsageError("[bench ranks] this build has no MPI (GYRE_MPI=OFF)");
  bench.machine = parts_of_machine();
  if (bench.machine.cores == 1)
    throw UsageError("[bench ranks] this process may use one core only: there is nothing to divide");
}

int measure(RanksArgs& args) {
  check(args.bench);
  const std::vector<RanksRow> rows =
      run_ranks_bench(args.bench, std::filesystem::read_symlink("/proc/self/exe").string());
  const RanksRow& best = *std::max_element(rows.begin(), rows.end(), [](const RanksRow& a, const RanksRow& b) {
    return a.tokens_per_second < b.tokens_per_second;
  });
  Json summary{{"preset", args.bench.preset},
               {"precision", args.bench.precision},
               {"cores", args.bench.machine.cores},
               {"numa_nodes", args.bench.machine.numa_nodes},
               {"sockets", args.bench.machine.sockets}};
  if (args.json) summary["rows"] = rows_json(rows);
  summary["command"] = concat(command_of(best, args.bench.mpirun, "gyre"), " train ... --threads ", best.threads);
  if (!args.json) print_rows(rows);
  print_summary(summary, args.json);
  return 0;
}

}  // namespace

void add_bench_ranks_command(Program& program) {
  auto args = std::make_shared<RanksArgs>();
  OptionTable& table =
      program.command("bench ranks", "training steps by ranks, threads and binding; prints the command to use",
                      [args] { return measure(*args); });
  table.add_choice("--preset", args->bench.preset, step_presets(), "model and batch size of each rank");
  table.add_choice("--precision", args->bench.precision, {"fp32", "bf16", "auto"},
                   "precision of activations and matrix products");
  table.add("--steps", args->bench.steps, "NUMBER", "measured steps, after two warm-up steps");
  table.add("--turns", args->bench.turns, "NUMBER", "runs of every division, taking turns; the median is reported");
  table.add("--mpirun", args->bench.mpirun, "PROGRAM", "mpirun of Open MPI, or a script that calls it");
  table.add_flag("--json", args->json, "print one JSON object");
}

// ---- gyre bench allreduce: measures the time of gradient all-reduce for several sizes, under mpirun ----------------

namespace {

// gyre bench allreduce: measures gradient all-reduce over the ranks of mpirun, by size.
struct AllReduceBench {
  std::vector<double> megabytes{0.0625, 0.25, 1, 4, 16, 64, 256};  // sizes in fp32
  int repetitions = 10;
  AllReduceOptions sum;
};

struct AllReduceRow {
  double megabytes, seconds;  // seconds: median of the slowest rank's times
};

struct AllReduceReport {
  int ranks = 1;
  std::vector<AllReduceRow> rows;
  // Fit of seconds(bytes) = latency + bytes / rate through the smallest and the largest size.
  double latency = 0, rate = 0;
  // If all ranks are on one machine: the bus rate at which the memory of the machine would be busy with reading and
  // writing the gradients once on each rank, measured on all ranks at the same time; else 0.
  double limit_bus_rate = 0;
};

// Time of one all-reduce on the slowest rank.
double time_sum(Communicator& ranks, AsyncAllReduce& sum, const Tensor& values) {
  ranks.barrier();
  const Stopwatch watch;
  sum.start({values}, kSharedByRanks);
  sum.finish();
  std::vector<double> seconds(size_t(ranks.size()));
  seconds[size_t(ranks.rank())] = watch.seconds();
  ranks.all_reduce(std::span<double>(seconds));
  return *std::max_element(seconds.begin(), seconds.end());
}

// Bytes per second on a rank's links in each direction (the bus bandwidth of nccl-tests).
double bus_rate(const AllReduceReport& report, const AllReduceRow& row) {
  return row.megabytes * kMebibyte / row.seconds * 2 * (report.ranks - 1) / report.ranks;
}

// The sum over the ranks of the bytes/s at which they read and write memory at the same time.
double memory_rate(Communicator& ranks) {
  ranks.barrier();
  double rate = measure_memory_bandwidth(1);
  ranks.all_reduce(std::span<double>(&rate, 1));
  return rate;
}

// The bus rate is bytes / seconds x 2 (ranks - 1) / ranks: what each rank sends, and receives, in an all-reduce.
// Collective. All ranks get the same report.
AllReduceReport run_all_reduce_bench(Communicator& ranks, const AllReduceBench& bench) {
  const auto sum = make_async_all_reduce(ranks, cpu_kernels(), bench.sum, nullptr);
  AllReduceReport report;
  report.ranks = ranks.size();
  for (const double megabytes : bench.megabytes) {
    const Tensor values = Tensor::zeros({std::max<int64_t>(1, int64_t(megabytes * kMebibyte / sizeof(float)))});
    time_sum(ranks, *sum, values);  // warm-up
    std::vector<double> seconds;
    for (int i = 0; i < bench.repetitions; ++i) seconds.push_back(time_sum(ranks, *sum, values));
    report.rows.push_back({megabytes, median(seconds)});
  }
  if (ranks.size() > 1 && ranks.machines().count() == 1) {
    const double moved = 2.0 * ranks.size();  // bytes per byte of the gradients
    report.limit_bus_rate = memory_rate(ranks) / moved * 2 * (ranks.size() - 1) / ranks.size();
  }
  const auto by_size = [](const AllReduceRow& a, const AllReduceRow& b) { return a.megabytes < b.megabytes; };
  const auto [small, large] = std::minmax_element(report.rows.begin(), report.rows.end(), by_size);
  report.latency = small->seconds;
  if (large->seconds > small->seconds)
    report.rate = (large->megabytes - small->megabytes) * kMebibyte / (large->seconds - small->seconds);
  return report;
}

Json to_json(const AllReduceReport& report) {
  Json summary{
      {"ranks", report.ranks}, {"latency", rounded(report.latency)}, {"bytes_per_second", rounded(report.rate)}};
  if (report.limit_bus_rate > 0) summary["limit_bus_gb_per_second"] = rounded(report.limit_bus_rate / 1e9);
  return summary;
}

Json rows_json(const AllReduceReport& report) {
  Json rows = Json::array();
  for (const AllReduceRow& row : report.rows) {
    rows.push_back({{"megabytes", row.megabytes},
                    {"milliseconds", rounded(row.seconds * 1e3)},
                    {"bus_gb_per_second", rounded(bus_rate(report, row) / 1e9)}});
  }
  return rows;
}

void print_rows(const AllReduceReport& report) {
  std::printf("%12s %12s %12s\n", "MiB", "ms", "bus GB/s");
  for (const AllReduceRow& row : report.rows) {
    std::printf("%12.4g %12.4g %12.4g\n", row.megabytes, row.seconds * 1e3, bus_rate(report, row) / 1e9);
  }
}

struct AllReduceArgs {
  AllReduceBench bench;
  GradientDtype comm_dtype = GradientDtype::fp32;
  int zero = 0;
  bool shared_memory = true;
  bool json = false;
};

int measure(AllReduceArgs& args) {
  for (const double megabytes : args.bench.megabytes)
    if (megabytes <= 0 || megabytes > 1024)
      throw UsageError("--sizes: expected more than 0 and at most 1024 MiB, got ", megabytes);
  expect_at_least(1, "--steps", args.bench.repetitions);
  ParallelOptions{.zero = args.zero}.validate();
  return with_communicator([&](Communicator& ranks) {
    args.bench.sum = {
        .comm_dtype = dtype_of(args.comm_dtype), .sharded = args.zero >= 1, .shared_memory = args.shared_memory};
    const AllReduceReport report = run_all_reduce_bench(ranks, args.bench);
    if (ranks.rank() != 0) return 0;
    Json summary{{"communicator", ranks.name()}};
    summary.update(to_json(report));
    summary["exchange"] = args.bench.sum.shared_memory && ranks.shares_memory() ? "shared memory" : "messages";
    if (args.json) summary["rows"] = rows_json(report);
    print_summary(summary, args.json);
    if (!args.json) print_rows(report);
    return 0;
  });
}

}  // namespace

void add_bench_all_reduce_command(Program& program) {
  auto args = std::make_shared<AllReduceArgs>();
  OptionTable& table = program.command(
      "bench allreduce", "gradient all-reduce by size, under mpirun", [args] { return measure(*args); },
      Program::Processes::ranks);
  table.add_list("--sizes", args->bench.megabytes, "MIB,...", "sizes of the fp32 gradients");
  table.add_enum("--gradient-dtype", args->comm_dtype, "data type of gradients sent between ranks");
  table.add("--zero", args->zero, "STAGE", "1 or 2: reduce-scatter, each rank gets the sums of its shard");
  table.add_flag("--shared-memory,!--no-shared-memory", args->shared_memory,
                 "ranks of one machine exchange gradients in shared memory, otherwise by messages");
  table.add("--steps", args->bench.repetitions, "NUMBER",
            "runs of each size, after one warm-up run; the median is reported");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
