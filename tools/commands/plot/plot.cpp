// gyre plot: draws the loss curves of one or several runs.
#include <memory>

#include "tools/plots/run_plot.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PlotArgs {
  std::vector<Path> runs;
  Path output = "curve.png";
  PlotOptions options;
  bool without_train = false, without_bleu = false;
};

int plot(PlotArgs& args) {
  args.options.train_loss = !args.without_train;
  args.options.bleu = !args.without_bleu;
  plot_runs(args.runs, args.output, args.options);
  return 0;
}

}  // namespace

void add_plot_command(Program& program) {
  auto args = std::make_shared<PlotArgs>();
  OptionTable& table = program.command("plot", "draw the loss curves of runs", [args] { return plot(*args); });
  table.add("--model,-m", args->runs, "DIRECTORY...", "run directories or metrics.jsonl files, one color each");
  table.required("model");
  table.add_picture("--output,-o", args->output, "output picture");
  table.add("--title", args->options.title, "TEXT", "title; default: the run's name if there is only one");
  table.add("--smoothing", args->options.smoothing, "NUMBER",
            "moving mean of the training loss over this share of the run, from 0 to below 1; 0: no smoothing");
  table.add("--width", args->options.width, "PIXELS", "width of the picture");
  table.add("--height", args->options.height, "PIXELS", "height of the picture");
  table.add_flag("--learning-rate", args->options.learning_rate, "add a panel with the learning rate");
  table.add_flag("--no-train", args->without_train, "omit the training loss");
  table.add_flag("--no-bleu", args->without_bleu, "omit validation BLEU");
}

}  // namespace gyre
