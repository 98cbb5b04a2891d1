#include "tests/cuda_emulation/report.h"

#include <cstdio>
#include <cstdlib>

namespace cuda_emulation {
namespace {

std::string pending, last;

uint64_t seed_from_environment() {
  const char* given = std::getenv("GYRE_CUDA_EMULATION_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 0;
}

struct Order {
  uint64_t seed;
  std::mt19937_64 random{seed};
};
Order& order() {
  static Order order{seed_from_environment()};
  return order;
}

}  // namespace

void report(const std::string& mistake) {
  std::fprintf(stderr, "cuda emulation: %s\n", mistake.c_str());
  if (pending.empty()) pending = mistake;
}

bool has_report() { return !pending.empty(); }
const std::string& last_report() { return pending.empty() ? last : pending; }

void take_report() {
  last = pending;
  pending.clear();
}

std::string place(const std::source_location& at) {
  const std::string file = at.file_name();
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(at.line());
}

uint64_t order_seed() { return order().seed; }
void set_order_seed(uint64_t seed) { order() = Order{seed}; }
size_t any_below(size_t n) { return order().seed == 0 || n == 0 ? 0 : order().random() % n; }

}  // namespace cuda_emulation
