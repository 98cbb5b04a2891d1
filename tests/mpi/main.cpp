// The doctest program that runs on every rank: a check that fails on any rank fails the whole job.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/mpi/ranks.h"

namespace gyre::test {
namespace {
Communicator* all_ranks = nullptr;
}  // namespace

Communicator& ranks() { return *all_ranks; }
}  // namespace gyre::test

int main(int argc, char** argv) {
  return gyre::with_communicator([&](gyre::Communicator& ranks) {
    gyre::test::all_ranks = &ranks;
    doctest::Context context(argc, argv);
    if (ranks.rank() != 0) context.setOption("minimal", true);  // failures only
    int64_t failed = context.run() == 0 ? 0 : 1;
    ranks.all_reduce(std::span<int64_t>(&failed, 1));
    return failed == 0 ? 0 : 1;
  });
}
