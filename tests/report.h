// What a test program says about this machine, in lines of a fixed form that tools/scripts/run_tests.sh collects.
#pragma once

#include <doctest/doctest.h>

#include <iostream>
#include <string_view>

// A test case, or a part of it, cannot run here: "skipped: CASE: REASON". Ranks but the first are silent.
inline void report_skipped(std::string_view reason) {
  const doctest::ContextOptions& options = *doctest::getContextOptions();
  if (!options.minimal) std::cout << "skipped: " << options.currentTest->m_name << ": " << reason << std::endl;
}

// What a test case covered where it depends on the machine: "covered: WHAT", such as a data type and its kernels.
inline void report_covered(std::string_view what) { std::cout << "covered: " << what << std::endl; }
