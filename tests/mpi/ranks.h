// The communicator of the test program, for tests on several ranks.
#pragma once

#include "gyre/train/parallel/communicator.h"

namespace gyre::test {

// All ranks that run this test program. Every rank runs all tests in the same order.
Communicator& ranks();

}  // namespace gyre::test
