// Walks through a recorded backward pass by commands, one a line (gyre inspect step): `help` lists them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "autograd/backward_record.h"

namespace gyre {

class StepBrowser {
 public:
  // Shows the first step. `steps`: one at least; kept as a reference, as is `out`.
  StepBrowser(const std::vector<BackwardStep>& steps, std::ostream& out);

  // Does what the line says; false: it said to quit. Throws UsageError for a line that it cannot follow.
  bool obey(const std::string& line);

 private:
  using Words = std::vector<std::string>;
  struct Command;
  static const std::vector<Command>& commands();

  void help(const Words& words);
  void next(const Words& words);
  void previous(const Words& words);
  void go_on(const Words& words);
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
