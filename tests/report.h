// Reports which tests this machine can run, in lines of a fixed format that tools/scripts/run_tests.sh collects.
#pragma once

#include <doctest/doctest.h>

#include <iostream>
#include <string_view>

// Reports that a test case, or a part of it, cannot run here: "skipped: CASE: REASON". Prints only on rank 0.
inline void report_skipped(std::string_view reason) {
  const doctest::ContextOptions& options = *doctest::getContextOptions();
  if (!options.minimal) std::cout << "skipped: " << options.currentTest->m_name << ": " << reason << std::endl;
}

// Reports what a test case covered if that depends on the machine, such as a data type and kernels: "covered: WHAT".
inline void report_covered(std::string_view what) { std::cout << "covered: " << what << std::endl; }
