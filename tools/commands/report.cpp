// gyre report: writes an HTML page of one training run, or of two side by side.
#include <memory>

#include "tools/page/page.h"
#include "tools/page/run/run_report.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct ReportArgs {
  std::vector<Path> runs;
  Path output = "report.html";
};

}  // namespace

void add_report_command(Program& program) {
  auto args = std::make_shared<ReportArgs>();
  OptionTable& table =
      program.command("report", "write an HTML page of a training run, or of two runs side by side", [args] {
        write_page(args->output, run_report(args->runs));
        return 0;
      });
  table.add("--model,-m", args->runs, "DIRECTORY...", "one run directory, or two to compare");
  table.required("model");
  table.add("--output,-o", args->output, "FILE", "the page, a single file that needs no network");
}

}  // namespace gyre
