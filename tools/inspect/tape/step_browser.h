// Browses a recorded backward pass with commands, one per line (gyre inspect step). The command `help` lists them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/backward_trace.h"

namespace gyre {

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

}  // namespace gyre
