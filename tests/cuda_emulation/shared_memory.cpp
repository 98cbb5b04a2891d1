#include "tests/cuda_emulation/shared_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/cuda_emulation/accesses/shared_races.h"
#include "tests/cuda_emulation/symbols.h"

namespace cuda_emulation {

size_t most_shared() {
  static const size_t bytes = [] {
    const char* kibibytes = std::getenv("GYRE_CUDA_EMULATION_MOST_SHARED");
    return kibibytes ? std::min(kMostShared, size_t(std::atoi(kibibytes)) << 10) : kMostShared;
  }();
  return bytes;
}

namespace {

constexpr int kNan = 0xFF, kGuard = 0xA5;
constexpr size_t kGuardBytes = 4096;
alignas(1024) std::byte memory[kMostShared + kGuardBytes];

// Makes the array known to the search for races, once.
void add_dynamic_memory() {
  static bool is_added = false;
  if (!is_added) add_shared_memory(memory, sizeof(memory));
  is_added = true;
}

const std::vector<Variable>& variables_of(const char* marker) {
  static std::map<const char*, std::vector<Variable>> known;
  const auto found = known.find(marker);
  if (found != known.end()) return found->second;
  const std::vector<Variable>& variables = known.emplace(marker, variables_beside(marker)).first->second;
  for (const Variable& variable : variables) add_shared_memory(variable.data, variable.bytes);
  return variables;
}

}  // namespace

SharedMemory::SharedMemory(size_t dynamic, size_t allowed)
    : dynamic_(memory), dynamic_bytes_(dynamic), allowed_(allowed) {
  std::memset(dynamic_ + dynamic_bytes_, kGuard, kGuardBytes);
  add_dynamic_memory();
}

void SharedMemory::begin_block() {
  std::memset(dynamic_, kNan, dynamic_bytes_);
  markers_.clear();
  entered_.clear();
}

std::string SharedMemory::end_block() {
  const std::byte* guard = dynamic_ + dynamic_bytes_;
  const bool intact = std::all_of(guard, guard + kGuardBytes, [](std::byte x) { return x == std::byte(kGuard); });
  return intact ? "" : "a thread of the block wrote behind its dynamic shared memory";
}

std::string SharedMemory::enter_function(const char* marker) {
  if (!markers_.insert(marker).second) return "";
  for (const Variable& variable : variables_of(marker)) {
    if (!entered_.insert(variable.data).second) continue;  // another marker of the same function
    std::memset(variable.data, kNan, variable.bytes);
    const bool known = std::any_of(variables_.begin(), variables_.end(),
                                   [&](const Range& range) { return range.data == variable.data; });
    if (!known) variables_.push_back({variable.data, variable.bytes});
  }
  size_t used = dynamic_bytes_;
  for (const Range& range : variables_) used += range.bytes;
  if (used <= allowed_) return "";
  return "the launch needs " + std::to_string(dynamic_bytes_) + " bytes of dynamic and " +
         std::to_string(used - dynamic_bytes_) + " of static shared memory, and " + std::to_string(allowed_) +
         " are allowed";
}

bool SharedMemory::contains(const void* data, size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(data);
  const auto inside = [&](const std::byte* begin, size_t size) {
    return first >= begin && first + bytes <= begin + size;
  };
  return inside(dynamic_, dynamic_bytes_) || std::any_of(variables_.begin(), variables_.end(), [&](const Range& range) {
           return inside(range.data, range.bytes);
         });
}

}  // namespace cuda_emulation
