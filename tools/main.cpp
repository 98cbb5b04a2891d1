// The program gyre. Registers the commands and turns every failure into one line on stderr and an exit status.
#include <cstdio>
#include <iostream>

#include "gyre/core/error.h"
#include "tools/command_line/messages.h"
#include "tools/process_setup.h"
#include "tools/program.h"

int main(int argc, char** argv) {
  gyre::set_up_process(argv);
  try {
    gyre::set_default_threads();
    gyre::Program program;
    add_vocab_command(program);
    add_encode_command(program);
    add_decode_command(program);
    program.describe_group("data", "clean and check text, build token stores, generate a corpus");
    add_data_build_command(program);
    add_data_check_command(program);
    add_data_clean_command(program);
    add_data_generate_command(program);
    add_data_info_command(program);
    add_data_normalize_command(program);
    add_data_tokenize_command(program);
    add_data_detokenize_command(program);
    program.describe_group("train", "train a model");
    add_train_commands(program);
    add_translate_command(program);
    add_score_command(program);
    add_predict_command(program);
    add_generate_command(program);
    program.describe_group("evaluate", "evaluate translations and models");
    add_evaluate_bleu_command(program);
    add_evaluate_chrf_command(program);
    add_evaluate_ter_command(program);
    add_evaluate_translation_command(program);
    add_evaluate_exact_match_command(program);
    add_evaluate_perplexity_command(program);
    add_evaluate_extrapolation_command(program);
    add_evaluate_classify_command(program);
    add_evaluate_match_command(program);
    add_checkpoint_commands(program);
    add_import_command(program);
    add_export_command(program);
    add_forward_command(program);
    program.describe_group("inspect", "inspect a model: ops, timings, values, gradients, positions");
    add_inspect_tape_command(program);
    add_inspect_profile_command(program);
    add_inspect_step_command(program);
    add_inspect_page_command(program);
    add_inspect_anomaly_command(program);
    add_inspect_batches_command(program);
    add_inspect_rope_command(program);
    add_inspect_receptive_field_command(program);
    add_inspect_stages_command(program);
    add_gradcheck_command(program);
    add_plot_command(program);
    add_plot_attention_command(program);
    add_plot_decay_command(program);
    add_plot_position_command(program);
    add_plot_extrapolation_command(program);
    add_report_command(program);
    add_bench_commands(program);
    add_plan_commands(program);
    add_completion_commands(program);
    add_man_command(program);
    add_help_command(program);
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
