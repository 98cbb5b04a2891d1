// The most memory that operator new had given out at once since the object was made, beyond what was there before; on
// this thread.
#pragma once

#include <cstddef>

class AllocationPeak {
 public:
  AllocationPeak();
  ~AllocationPeak();
  AllocationPeak(const AllocationPeak&) = delete;
  AllocationPeak& operator=(const AllocationPeak&) = delete;
  size_t bytes() const;
};
