// Measures the peak memory that operator new has allocated on this thread since the creation of the object.
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
