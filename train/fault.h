// Injected faults, for the tests of tests/faults: GYRE_FAULT="RANK UPDATE POINT ACTION" makes that rank do ACTION when
// it comes to POINT in that update: kill, stop or term (itself, by the signal), throw, memory (as if there were none
// left), slow (a second's sleep, in every update from there on), nan. Points are the phases of train/whereabouts.h and
// those that are named where they stand. Without the variable nothing happens.
#pragma once

#include <cstdint>
#include <string_view>

namespace gyre {

// Which rank this process is.
void set_fault_rank(int rank);

// Does the planned action here, if this is the place. True when the action is the caller's to do: nan.
bool fault_point(std::string_view point, uint64_t update);

}  // namespace gyre
