#include "gyre/train/machine_use.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "gyre/core/clock.h"
#include "gyre/core/io/file.h"
#include "tests/emulated_bf16.h"
#include "tests/errors.h"
#include "tests/report.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

constexpr size_t kBytes = size_t{64} << 20;

}  // namespace

TEST_CASE("the limit of a CPU is measured in a moment, and names what was measured") {
  SelfCommunicator self;
  const Stopwatch watch;
  const ProductsLimit limit = products_limit(cpu_kernels(), Precision::fp32, self);
  MESSAGE("measured in ", watch.seconds(), " s");
  CHECK(limit.flops > 1e8);
  CHECK(contains(limit.source, "measured: "));
  CHECK(contains(limit.source, " in registers, "));
}

TEST_CASE("emulated bf16 has no limit") {
  const EmulatedBf16 emulated;
  SelfCommunicator self;
  const ProductsLimit limit = products_limit(cpu_kernels(), Precision::bf16, self);
  CHECK(limit.flops == 0);
  CHECK(limit.source == "unknown: bf16 is emulated");
}

TEST_CASE_FIXTURE(InDirectory, "the memory of a process includes what it writes, but not the files that it maps") {
  const uint64_t before = memory_use({}).process;
  CHECK(before > 0);
  CHECK(memory_use({}).gpu == 0);
  std::vector<char> written(kBytes, 1);
  const uint64_t with_vector = memory_use({}).process;
  CHECK(with_vector >= before + kBytes * 9 / 10);
  put_file(directory / "large", {written.data(), written.size()});
  const MappedFile map(directory / "large");
  uint64_t sum = 0;
  for (size_t i = 0; i < map.size(); i += 512) sum += uint64_t(map.data()[i]);
  CHECK(sum == kBytes / 512);
#ifdef __SANITIZE_THREAD__
  return report_skipped("mapped files: the shadow memory of ThreadSanitizer grows with what is read");
#endif
  CHECK(memory_use({}).process < with_vector + kBytes / 2);
}
