// gyre: the one place that ends the process. One clear line on stderr for every failure.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "core/error.h"
#include "core/kernels.h"
#include "core/sizes.h"
#include "tools/printable.h"
#include "tools/program.h"

namespace {

// OpenMP's idle threads spin for milliseconds by default: on cores that others use too, the spinning starves the thread
// that has work (measured: 30 times slower). libgomp reads the limit when it is loaded, so the program starts once
// more.
void limit_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  std::error_code error;  // by its own path, so that ps shows the program's name
  execv(std::filesystem::read_symlink("/proc/self/exe", error).c_str(), argv);
  // Here only when that failed: then the spinning has to be borne.
}

// The run-time library takes any number from OMP_NUM_THREADS, and ends in a crash where the system has no room for
// them.
void check_threads() {
  if (gyre::threads() <= gyre::kMostThreads) return;
  throw gyre::UsageError("OMP_NUM_THREADS: expected at most ", gyre::kMostThreads, ", got ", gyre::threads());
}

}  // namespace

int main(int argc, char** argv) {
  limit_spinning(argv);
  try {
    check_threads();
    gyre::Program program;
    add_vocab_command(program);
    add_data_commands(program);
    program.describe_group("train", "train a model");
    add_train_nmt_command(program);
    add_train_language_commands(program);
    add_train_classify_commands(program);
    add_translate_command(program);
    add_evaluate_commands(program);
    add_evaluate_perplexity_command(program);
    add_evaluate_extrapolation_command(program);
    add_evaluate_classify_command(program);
    add_checkpoint_commands(program);
    add_import_command(program);
    add_export_command(program);
    add_forward_command(program);
    program.describe_group("inspect", "look inside: ops, times, values, gradients, positions");
    add_inspect_tape_command(program);
    add_inspect_profile_command(program);
    add_inspect_step_command(program);
    add_inspect_anomaly_command(program);
    add_inspect_rope_command(program);
    add_inspect_receptive_field_command(program);
    add_gradcheck_command(program);
    add_plot_command(program);
    add_plot_attention_command(program);
    add_plot_decay_command(program);
    add_plot_position_command(program);
    add_plot_extrapolation_command(program);
    add_bench_commands(program);
    add_plan_commands(program);
    add_completion_commands(program);
    add_man_command(program);
    add_help_command(program);
    return program.run(argc, argv);
  } catch (const gyre::UsageError& error) {
    std::cerr << "gyre: " << gyre::printable(error.what()) << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "gyre: " << gyre::printable(error.what()) << '\n';
    return 1;
  }
}
