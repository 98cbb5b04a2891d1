// Reports the speed of commands that read text.
#pragma once

#include <cstdint>

namespace gyre {

// Prints the size of the text that was read, the time, and the rate per thread to standard error.
void print_text_rate(uint64_t bytes, double seconds);

}  // namespace gyre
