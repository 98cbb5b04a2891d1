// Reports of mistakes that the emulator finds, and the order in which it runs what CUDA may run in any order.
#pragma once

#include <cstdint>
#include <random>
#include <source_location>
#include <string>

namespace cuda_emulation {

// Prints a mistake and keeps the first one until take_report().
void report(const std::string& mistake);
bool has_report();
void take_report();                // the mistake is not pending any more
const std::string& last_report();  // the pending mistake, or the one that was taken last

std::string place(const std::source_location& at);  // "attention_tiles.h:118"

// The environment variable GYRE_CUDA_EMULATION_SEED; 0 if it is not set. With 0 everything runs in order.
uint64_t order_seed();
// Permutes orders from now on as a new process with this seed does; for tests.
void set_order_seed(uint64_t seed);
// A random number below n; 0 if the seed is 0.
size_t any_below(size_t n);

}  // namespace cuda_emulation
