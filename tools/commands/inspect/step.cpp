// gyre inspect step: steps interactively through a backward pass, node by node.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/core/error.h"
#include "gyre/core/suggestions.h"
#include "gyre/data/text/utf8.h"
#include "tools/inspect/inspect_target.h"
#include "tools/inspect/tape/tape_report.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {
namespace {

// Browses a recorded backward pass with commands, one per line (gyre inspect step). The command `help` lists them.
class StepBrowser {
 public:
  // Prints the first step. `steps` must not be empty. Keeps references to `steps` and `out`.
  StepBrowser(const std::vector<BackwardStep>& steps, std::ostream& out);

  // Executes one command. Returns false for `quit`. Throws UsageError for an invalid command.
  bool execute(const std::string& line);

 private:
  using Words = std::vector<std::string>;
  struct Command;
  static const std::vector<Command>& commands();

  void help(const Words& words);
  void next(const Words& words);
  void previous(const Words& words);
  void continue_to_break(const Words& words);
  void go_to(const Words& words);
  void break_at(const Words& words);
  void list(const Words& words);
  void print(const Words& words);
  void where(const Words& words);

  void show();
  void move_to(int64_t step);
  std::string reason_to_stop(const BackwardStep& step) const;
  const Tensor& tensor(const Words& words, size_t& used) const;

  const std::vector<BackwardStep>& steps_;
  std::ostream& out_;
  size_t at_ = 0;
  std::vector<std::string> breaks_;  // parts of op names and module paths
  bool breaks_at_non_finite_ = false;
};

constexpr int64_t kRows = 6, kColumns = 8;  // default numbers of rows and columns to print

std::vector<std::string> split_line(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

int64_t number(const std::string& word) {
  int64_t value = 0;
  const auto end = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end.ec != std::errc() || end.ptr != word.data() + word.size())
    throw UsageError("expected an integer, got '", word, "'");
  return value;
}

// Parses a range of 0 .. n - 1: "2:5", ":5", "2:" or "2". Returns [begin, end).
std::pair<int64_t, int64_t> range(const std::string& word, int64_t n) {
  const size_t colon = word.find(':');
  const std::string first = word.substr(0, colon), last = colon == std::string::npos ? "" : word.substr(colon + 1);
  const int64_t begin = first.empty() ? 0 : number(first);
  const int64_t end = colon == std::string::npos ? begin + 1 : last.empty() ? n : number(last);
  if (begin < 0 || begin >= end || end > n) throw UsageError("expected a range within 0:", n, ", got '", word, "'");
  return {begin, end};
}

void print_slice(std::ostream& out, const Tensor& tensor, std::pair<int64_t, int64_t> rows,
                 std::pair<int64_t, int64_t> columns) {
  const Tensor t = tensor.dtype() == DType::i32 ? tensor.to_cpu() : tensor.to_cpu().to(DType::f64);
  for (int64_t r = rows.first; r < rows.second; ++r) {
    out << std::setw(6) << r << ':';
    for (int64_t c = columns.first; c < columns.second; ++c) {
      const int64_t i = r * t.cols() + c;
      const double x = t.dtype() == DType::i32 ? double(t.data<int32_t>()[i]) : t.data<double>()[i];
      out << ' ' << std::setw(12) << std::setprecision(5) << x;
    }
    out << (columns.second < t.cols() ? " ..\n" : "\n");
  }
  if (rows.second < t.rows()) out << "      ..\n";
}

std::string numbers(const Tensor& tensor) {
  if (!tensor) return "none";
  const TensorStats all = compute_stats(tensor);
  std::ostringstream text;
  text << describe_stats(tensor.shape(), all) << ", norm " << std::setprecision(5) << all.norm;
  return text.str();
}

std::string title(const BackwardStep& step) {
  return concat("node ", step.node, "  ", step.op, step.module.empty() ? "" : "  in ", step.module);
}

struct StepBrowser::Command {
  const char* name;
  const char* arguments;
  const char* help;
  void (StepBrowser::*run)(const Words& words);
};

const std::vector<StepBrowser::Command>& StepBrowser::commands() {
  static const std::vector<Command> all{
      {"next", "[N]", "go to the next step of backward, or N steps forward", &StepBrowser::next},
      {"previous", "[N]", "go to the previous step, or N steps back", &StepBrowser::previous},
      {"continue", "", "go on to the next break, or to the end", &StepBrowser::continue_to_break},
      {"break", "[NAME | nan | none]",
       "stop at ops or modules whose name contains NAME, or at a number that is not finite", &StepBrowser::break_at},
      {"goto", "NODE", "go to the step of this node", &StepBrowser::go_to},
      {"list", "[NAME]", "list all steps, or those whose op or module contains NAME", &StepBrowser::list},
      {"print", "output | doutput | input I | gradient I [ROWS] [COLUMNS]",
       "print numbers; rows and columns as 2:5, :5 or 2", &StepBrowser::print},
      {"where", "", "show this step again", &StepBrowser::where},
      {"help", "", "print this list; commands can be abbreviated to their first letter", &StepBrowser::help},
      {"quit", "", "leave", nullptr}};
  return all;
}

StepBrowser::StepBrowser(const std::vector<BackwardStep>& steps, std::ostream& out) : steps_(steps), out_(out) {
  require(!steps.empty(), "[inspect step] expected at least one step of backward, got none");
  show();
}

bool StepBrowser::execute(const std::string& line) {
  Words words = split_line(line);
  if (words.empty() || words[0].starts_with('#')) return true;
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    names.emplace_back(command.name);
    if (words[0] != command.name && words[0] != names.back().substr(0, 1)) continue;
    if (command.run == nullptr) return false;
    words.erase(words.begin());
    (this->*command.run)(words);
    return true;
  }
  throw UsageError("unknown command ", words[0], did_you_mean(words[0], names), "; help lists them");
}

void StepBrowser::help(const Words&) {
  for (const Command& command : commands())
    out_ << "  " << concat(command.name, " ", command.arguments) << "\n      " << command.help << '\n';
}

void StepBrowser::next(const Words& words) { move_to(int64_t(at_) + (words.empty() ? 1 : number(words[0]))); }

void StepBrowser::previous(const Words& words) { move_to(int64_t(at_) - (words.empty() ? 1 : number(words[0]))); }

void StepBrowser::continue_to_break(const Words&) {
  for (size_t i = at_ + 1; i < steps_.size(); ++i) {
    const std::string reason = reason_to_stop(steps_[i]);
    if (reason.empty()) continue;
    out_ << "break: " << reason << '\n';
    return move_to(int64_t(i));
  }
  out_ << "reached the end without a break\n";
  move_to(int64_t(steps_.size()) - 1);
}

void StepBrowser::go_to(const Words& words) {
  if (words.size() != 1) throw UsageError("goto: expected the number of a node, got ", words.size(), " words");
  const auto found = std::find_if(steps_.begin(), steps_.end(),
                                  [node = number(words[0])](const BackwardStep& s) { return s.node == node; });
  if (found == steps_.end())
    throw UsageError("goto: node ", words[0], " has no step: a parameter, or without gradient");
  move_to(found - steps_.begin());
}

void StepBrowser::break_at(const Words& words) {
  if (words.empty()) {
    out_ << "breaks:" << (breaks_at_non_finite_ ? " nan" : "");
    for (const std::string& name : breaks_) out_ << ' ' << name;
    out_ << '\n';
  } else if (words[0] == "none") {
    breaks_.clear();
    breaks_at_non_finite_ = false;
  } else if (words[0] == "nan") {
    breaks_at_non_finite_ = true;
  } else {
    breaks_.push_back(words[0]);
  }
}

void StepBrowser::list(const Words& words) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const BackwardStep& step = steps_[i];
    if (!words.empty() && title(step).find(words[0]) == std::string::npos) continue;
    out_ << (i == at_ ? "> " : "  ") << std::setw(4) << i + 1 << "  " << title(step) << '\n';
  }
}

void StepBrowser::print(const Words& words) {
  size_t used = 0;
  const Tensor& t = tensor(words, used);
  if (!t) {
    out_ << "none\n";
    return;
  }
  const auto asked = [&](int64_t n, int64_t most) {
    return used < words.size() ? range(words[used++], n) : std::pair(int64_t{0}, std::min(n, most));
  };
  const auto rows = asked(t.rows(), kRows);
  print_slice(out_, t, rows, asked(t.cols(), kColumns));
}

void StepBrowser::where(const Words&) { show(); }

// Returns the tensor that the words name. `used`: the number of words that name it.
const Tensor& StepBrowser::tensor(const Words& words, size_t& used) const {
  const BackwardStep& step = steps_[at_];
  const std::string what = words.empty() ? "" : words[0];
  used = 1;
  if (what == "output") return step.output;
  if (what == "doutput") return step.doutput;
  if (what != "input" && what != "gradient")
    throw UsageError("print: expected output, doutput, input or gradient, got '", what, "'");
  if (words.size() < 2) throw UsageError("print ", what, ": expected the number of an input");
  used = 2;
  const int64_t i = number(words[1]);
  if (i < 0 || i >= int64_t(step.inputs.size()))
    throw UsageError("print ", what, ": expected one of ", step.inputs.size(), " inputs from 0, got ", i);
  const BackwardStep::Input& input = step.inputs[size_t(i)];
  return what == "input" ? input.value : input.gradient;
}

void StepBrowser::move_to(int64_t step) {
  const int64_t last = int64_t(steps_.size()) - 1;
  if (step < 0) out_ << "this is the first step\n";
  if (step > last) out_ << "this is the last step\n";
  at_ = size_t(std::clamp<int64_t>(step, 0, last));
  show();
}

std::string StepBrowser::reason_to_stop(const BackwardStep& step) const {
  for (const std::string& name : breaks_)
    if (step.op.find(name) != std::string::npos || step.module.find(name) != std::string::npos) return name;
  const std::string part = breaks_at_non_finite_ ? non_finite_part(step) : "";
  return part.empty() ? "" : part + " is not finite";
}

void StepBrowser::show() {
  const BackwardStep& step = steps_[at_];
  out_ << '[' << at_ + 1 << '/' << steps_.size() << "] " << title(step) << '\n';
  std::istringstream formula{std::string(step.formula)};
  for (std::string line; std::getline(formula, line);) out_ << "    " << line << '\n';
  if (!step.metadata.attributes.empty()) {
    out_ << "  with";
    for (const auto& [name, value] : step.metadata.attributes) out_ << "  " << name << ' ' << value;
    out_ << '\n';
  }
  for (const auto& [name, saved] : step.metadata.saved) out_ << "  saved " << name << "  " << numbers(saved) << '\n';
  out_ << "  output   " << numbers(step.output) << "\n  doutput  " << numbers(step.doutput) << '\n';
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const BackwardStep::Input& input = step.inputs[i];
    if (!input.value) continue;
    out_ << "  input " << i << "  " << numbers(input.value) << '\n';
    if (input.node < 0) {
      out_ << "    a constant: no gradient\n";
    } else {
      out_ << "    gradient to node " << input.node << " (" << shown_name(input.name, step.module)
           << "): " << numbers(input.gradient) << '\n';
    }
  }
}

struct InspectStepArgs {
  InspectTarget target;
  DeviceChoice device;
  CpuThreads threads;
  PrecisionChoice precision;
  Path script;
  bool json = false;
  OptionTable* table = nullptr;
};

// Prints each command and its output; an invalid command ends the program.
void follow_script(StepBrowser& browser, const Path& script) {
  std::ifstream in(script);
  require(in.is_open(), script.string(), ": cannot be read");
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::cout << "> " << printable_line(line) << '\n';
    try {
      if (!browser.execute(line)) return;
    } catch (const UsageError& error) {
      throw UsageError(script.string(), ":", number, ": ", error.what());
    }
  }
}

// Reads commands from standard input; an empty line repeats the last command.
void follow_user(StepBrowser& browser) {
  const bool prompts = isatty(STDIN_FILENO) == 1;
  std::string last = "next";
  for (std::string line;;) {
    if (prompts) std::cout << "(step) " << std::flush;
    if (!std::getline(std::cin, line)) return;
    if (line.empty()) line = last;
    last = line;
    try {
      if (!browser.execute(line)) return;
    } catch (const UsageError& error) {
      std::cout << printable_message(error.what()) << '\n';
    }
  }
}

int step(InspectStepArgs& args) {
  args.table->reject_unused("script", !args.json, "--json is given");
  args.threads.use();
  Kernels& kernels = args.device.kernels();
  const Precision precision = args.precision.on(kernels);
  const std::unique_ptr<Workload> work = make_target_workload(*args.table, args.target, {kernels.device()});
  BackwardTrace record;
  CrossEntropySums sums;
  {
    Tape tape(kernels, {.record = true, .training = true, .seed = 1, .precision = precision});
    tape.add_observer(record);
    const LossResult result = work->loss(tape);
    sums = result.sums();
    tape.backward(result.loss);
  }
  if (args.json) {
    print_summary({{"batch", work->batches()},
                   {"precision", enum_name(precision)},
                   {"loss", sums.loss},
                   {"predictions", sums.tokens},
                   {"steps", steps_json(record.steps())}},
                  true);
    return 0;
  }
  std::cout << work->batches() << ": loss " << sums.loss << " over " << sums.tokens << " predictions\n";
  StepBrowser browser(record.steps(), std::cout);
  args.script.empty() ? follow_user(browser) : follow_script(browser, args.script);
  return 0;
}

}  // namespace

void add_inspect_step_command(Program& program) {
  auto args = std::make_shared<InspectStepArgs>();
  OptionTable& table =
      program.command("inspect step", "step through a backward pass, node by node", [args] { return step(*args); });
  args->table = &table;
  table.add("--script", args->script, "FILE",
            "read commands from this file instead of the terminal; the command help lists them");
  table.add_flag("--json", args->json, "print all steps as one JSON object instead, with the range of each tensor");
  args->device.add_row(table);
  args->threads.add_row(table);
  args->precision.add_row(table);
  add_target_options(table, args->target);
}

}  // namespace gyre
