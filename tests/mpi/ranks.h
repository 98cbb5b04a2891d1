#pragma once

#include "train/communicator.h"

namespace gyre::test {

// The ranks that run this test program. Every test runs on all of them, in the same order.
Communicator& ranks();

}  // namespace gyre::test
