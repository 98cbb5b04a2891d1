#include "train/fault.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <optional>
#include <sstream>
#include <string>

#include "core/error.h"

namespace gyre {
namespace {

struct Fault {
  int rank = 0;
  uint64_t update = 0;
  std::string point, action;
};

std::optional<Fault> planned() {
  const char* text = std::getenv("GYRE_FAULT");
  if (text == nullptr) return std::nullopt;
  Fault fault;
  std::istringstream words(text);
  words >> fault.rank >> fault.update >> fault.point >> fault.action;
  require(!words.fail(), "[GYRE_FAULT] expected RANK UPDATE POINT ACTION, got ", text);
  return fault;
}

int own_rank = 0;

bool strike(const std::string& action) {
  if (action == "nan") return true;
  if (action == "kill") std::raise(SIGKILL);
  if (action == "stop") std::raise(SIGSTOP);
  if (action == "term") std::raise(SIGTERM);
  if (action == "slow") sleep(1);
  if (action == "memory") throw std::bad_alloc();
  if (action == "throw") throw Error("[GYRE_FAULT] an error was asked for");
  return false;
}

}  // namespace

void set_fault_rank(int rank) { own_rank = rank; }

bool fault_point(std::string_view point, uint64_t update) {
  static const std::optional<Fault> fault = planned();
  if (!fault || fault->rank != own_rank || fault->point != point) return false;
  const bool now = fault->action == "slow" ? update >= fault->update : update == fault->update;
  return now && strike(fault->action);
}

}  // namespace gyre
