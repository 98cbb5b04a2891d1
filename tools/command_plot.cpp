// gyre plot: the loss curves of one or several runs as a picture.
#include <memory>

#include "tools/program.h"
#include "train/log/plot.h"

namespace gyre {

namespace {

struct Plot {
  std::vector<Path> runs;
  Path output = "curve.png";
  PlotOptions options;
  bool without_train = false, without_bleu = false;
};

int plot(Plot& call) {
  call.options.train_loss = !call.without_train;
  call.options.bleu = !call.without_bleu;
  plot_runs(call.runs, call.output, call.options);
  return 0;
}

}  // namespace

void add_plot_command(Program& program) {
  auto call = std::make_shared<Plot>();
  OptionTable& table = program.command("plot", "draw the loss curves of runs", [call] { return plot(*call); });
  table.add("--model,-m", call->runs, "DIRECTORY...", "run directories or metrics.jsonl files, one colour each");
  table.required("model");
  table.add_picture("--output,-o", call->output, "the picture");
  table.add("--title", call->options.title, "TEXT", "above the picture; the run's name when there is one run");
  table.add("--smoothing", call->options.smoothing, "NUMBER",
            "of the training loss: weight of the past, 0 up to below 1");
  table.add("--width", call->options.width, "PIXELS", "of the picture");
  table.add("--height", call->options.height, "PIXELS", "of the picture");
  table.add_flag("--learning-rate", call->options.learning_rate, "a second panel with the learning rate");
  table.add_flag("--no-train", call->without_train, "leave the training loss out");
  table.add_flag("--no-bleu", call->without_bleu, "leave validation BLEU out");
}

}  // namespace gyre
