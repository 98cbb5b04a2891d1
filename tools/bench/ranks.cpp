#include "tools/bench/ranks.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cores.h"
#include "gyre/core/io/json.h"
#include "tools/workload/bench_metrics.h"

namespace gyre {
namespace {

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

void run(const RanksBench& bench, const std::string& program, RanksRow& row, std::vector<nlohmann::json>& reports) {
  std::vector<std::string> command = split_words(command_of(row, bench.mpirun, ""));
  command.push_back(program);
  for (const std::string& word :
       split_words(concat("bench step --json --preset ", bench.preset, " --precision ", bench.precision, " --steps ",
                          bench.steps, " --threads ", row.threads)))
    command.push_back(word);
  const std::string output = output_of(command);
  nlohmann::json report = find_json(output).value_or(Json());
  require(report.is_object(), "[bench ranks] ", command[0], " printed no report of gyre bench step: ", output);
  reports.push_back(std::move(report));
}

double median_of(const std::vector<nlohmann::json>& reports, const char* field) {
  std::vector<double> values;
  for (const nlohmann::json& report : reports) values.push_back(report.at(field));
  return median(values);
}

}  // namespace

MachineParts parts_of_machine() {
  int nodes = 0;
  while (std::filesystem::exists(concat("/sys/devices/system/node/node", nodes))) ++nodes;
  // mpirun counts cores, not the hardware threads of a core.
  const int cores = distinct_values("thread_siblings_list", int(allowed_cpus().size()));
  return {cores, std::max(nodes, 1), distinct_values("physical_package_id", 1)};
}

std::vector<RanksRow> divisions(const MachineParts& machine) {
  std::vector<RanksRow> rows;
  for (int ranks = 1; ranks <= machine.cores; ++ranks) {
    if (machine.cores % ranks != 0) continue;
    const int threads = machine.cores / ranks;
    rows.push_back({ranks, threads, "none"});
    if (ranks == 1) continue;
    rows.push_back({ranks, threads, "core"});
    // A rank may use a whole part of the machine if the parts have equally many ranks.
    if (machine.numa_nodes > 1 && ranks % machine.numa_nodes == 0) rows.push_back({ranks, threads, "numa"});
    if (machine.sockets > 1 && machine.sockets != machine.numa_nodes && ranks % machine.sockets == 0)
      rows.push_back({ranks, threads, "socket"});
  }
  return rows;
}

std::string command_of(const RanksRow& row, const std::string& mpirun, const std::string& program) {
  return row.ranks == 1 ? program : concat(mpirun, " -n ", row.ranks, " ", options_of(row), " ", program);
}

std::vector<RanksRow> run_ranks_bench(const RanksBench& bench, const std::string& program) {
  std::vector<RanksRow> rows = divisions(bench.machine);
  std::vector<std::vector<nlohmann::json>> reports(rows.size());
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

}  // namespace gyre
