// The program gyre. Prepares the process, registers the commands, and turns every failure into one line on stderr and
// an exit status.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cores.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "tools/command_line/messages.h"
#include "tools/program.h"

namespace gyre {

// ---- The process: standard streams, signals, threads, and what the OpenMP library has read from the environment ----

namespace {

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

// The first file that is opened would take the place of a closed stream (gyre train <&- >&- 2>&-), and messages would
// go into it. As with a closed stream, reading standard input and writing standard output fail.
void open_closed_streams() {
  constexpr std::array kModes{O_WRONLY, O_RDONLY, O_WRONLY};
  for (int stream = 0; stream < int(kModes.size()); ++stream) {
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF) open("/dev/null", kModes[size_t(stream)]);
  }
}

// By default, idle OpenMP threads spin for milliseconds. On shared cores the spinning starves the thread that has work
// (measured: 30 times slower with libgomp). GOMP_SPINCOUNT limits it for GCC's library, KMP_BLOCKTIME for Clang's.
// Returns whether the environment has changed.
bool limit_spinning() {
  if (is_set("OMP_WAIT_POLICY") || (is_set("GOMP_SPINCOUNT") && is_set("KMP_BLOCKTIME"))) return false;
  setenv("GOMP_SPINCOUNT", "1000", 0);
  setenv("KMP_BLOCKTIME", "20us", 0);
  return true;
}

// If one of these variables asks for it, the OpenMP library has bound this thread to the first of its places before
// main(). All threads that it starts itself, such as those that read data and exchange gradients, would stay on that
// core, and the ranks of a machine would all be bound to the same cores. Gives the process the cores of all places, and
// leaves the binding of ranks to mpirun. Returns whether the environment has changed.
bool undo_binding() {
  constexpr std::array kVariables{"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
  if (std::none_of(kVariables.begin(), kVariables.end(), is_set)) return false;
  const std::vector<int> cpus = allowed_cpus();
  const auto count = size_t(cpus.back()) + 1;
  cpu_set_t* const set = CPU_ALLOC(count);
  CPU_ZERO_S(CPU_ALLOC_SIZE(count), set);
  for (const int cpu : cpus) CPU_SET_S(size_t(cpu), CPU_ALLOC_SIZE(count), set);
  sched_setaffinity(0, CPU_ALLOC_SIZE(count), set);
  CPU_FREE(set);
  for (const char* variable : kVariables) unsetenv(variable);
  return true;
}

// Call it first in main(). May execute the program again with other environment variables.
void set_up_process(char** argv) {
  open_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that reaches the limit of ulimit -f is then a failed write, not the end
  const bool spins_less = limit_spinning(), is_unbound = undo_binding();
  if (!spins_less && !is_unbound) return;
  std::error_code error;
  execv(std::filesystem::read_symlink("/proc/self/exe", error).c_str(), argv);
}

// Sets the default number of threads. Throws UsageError if OMP_NUM_THREADS is too large: the OpenMP library accepts any
// number and crashes if the system cannot create the threads.
void set_default_threads() {
  if (threads() > kMaxThreads) throw UsageError("OMP_NUM_THREADS: expected at most ", kMaxThreads, ", got ", threads());
  const char* const given = std::getenv("OMP_NUM_THREADS");
  const bool is_given = given != nullptr && *given != '\0';
  set_threads(is_given ? threads() : std::min(kMaxThreads, share_of_cores({cores_of_process()}, 0)));
}

}  // namespace

// ---- The commands. The files of tools/commands define these functions. ----

using AddCommands = void(Program& program);
AddCommands add_vocab_command, add_encode_command, add_decode_command, add_data_build_command, add_data_check_command,
    add_data_clean_command, add_data_generate_command, add_data_info_command, add_data_normalize_command,
    add_data_tokenize_command, add_data_detokenize_command, add_train_commands, add_translate_command,
    add_score_command, add_predict_command, add_generate_command, add_evaluate_bleu_command, add_evaluate_chrf_command,
    add_evaluate_ter_command, add_evaluate_translation_command, add_evaluate_exact_match_command,
    add_evaluate_perplexity_command, add_evaluate_choice_command, add_evaluate_extrapolation_command,
    add_evaluate_classify_command, add_evaluate_match_command, add_evaluate_answers_command,
    add_evaluate_passkey_command, add_checkpoint_commands, add_import_command, add_export_command, add_forward_command,
    add_inspect_tape_command, add_inspect_profile_command, add_inspect_step_command, add_inspect_page_command,
    add_inspect_anomaly_command, add_inspect_batches_command, add_inspect_rope_command,
    add_inspect_receptive_field_command, add_inspect_stages_command, add_gradcheck_command, add_plot_command,
    add_plot_attention_command, add_plot_decay_command, add_plot_position_command, add_plot_extrapolation_command,
    add_plot_answers_command, add_report_command, add_bench_commands, add_bench_all_reduce_command,
    add_bench_ranks_command, add_plan_commands, add_completion_commands, add_man_command, add_help_command,
    add_data_token_file_commands;

namespace {

// The order is that of the help. gyre help comes last: it completes the names of the other commands.
constexpr AddCommands* kCommands[] = {add_vocab_command,
                                      add_encode_command,
                                      add_decode_command,
                                      add_data_build_command,
                                      add_data_check_command,
                                      add_data_clean_command,
                                      add_data_generate_command,
                                      add_data_token_file_commands,
                                      add_data_info_command,
                                      add_data_normalize_command,
                                      add_data_tokenize_command,
                                      add_data_detokenize_command,
                                      add_train_commands,
                                      add_translate_command,
                                      add_score_command,
                                      add_predict_command,
                                      add_generate_command,
                                      add_evaluate_bleu_command,
                                      add_evaluate_chrf_command,
                                      add_evaluate_ter_command,
                                      add_evaluate_translation_command,
                                      add_evaluate_exact_match_command,
                                      add_evaluate_perplexity_command,
                                      add_evaluate_choice_command,
                                      add_evaluate_extrapolation_command,
                                      add_evaluate_classify_command,
                                      add_evaluate_match_command,
                                      add_evaluate_answers_command,
                                      add_evaluate_passkey_command,
                                      add_checkpoint_commands,
                                      add_import_command,
                                      add_export_command,
                                      add_forward_command,
                                      add_inspect_tape_command,
                                      add_inspect_profile_command,
                                      add_inspect_step_command,
                                      add_inspect_page_command,
                                      add_inspect_anomaly_command,
                                      add_inspect_batches_command,
                                      add_inspect_rope_command,
                                      add_inspect_receptive_field_command,
                                      add_inspect_stages_command,
                                      add_gradcheck_command,
                                      add_plot_command,
                                      add_plot_attention_command,
                                      add_plot_decay_command,
                                      add_plot_position_command,
                                      add_plot_extrapolation_command,
                                      add_plot_answers_command,
                                      add_report_command,
                                      add_bench_commands,
                                      add_bench_all_reduce_command,
                                      add_bench_ranks_command,
                                      add_plan_commands,
                                      add_completion_commands,
                                      add_man_command,
                                      add_help_command};

}  // namespace

}  // namespace gyre

int main(int argc, char** argv) {
  gyre::set_up_process(argv);
  try {
    gyre::set_default_threads();
    gyre::Program program;
    for (const auto add : gyre::kCommands) add(program);
    const int status = program.run(argc, argv);
    gyre::require(std::cout.flush() && std::fflush(stdout) == 0, "standard output: writing failed");
    return status;
  } catch (const gyre::UsageError& error) {
    gyre::print_message(gyre::concat("gyre: ", error.what()));
    return 2;
  } catch (const std::exception& error) {
    gyre::print_message(gyre::concat("gyre: ", error.what()));
    return 1;
  }
}
