#include "gyre/train/parallel/traced_communicator.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gyre/train/log/console.h"
#include "tests/mpi/ranks.h"

namespace gyre::test {
namespace {

TEST_CASE("a traced communicator forwards all calls and records their times") {
  const Stopwatch watch;
  TracedCommunicator traced(ranks(), [watch] { return watch.seconds(); });
  std::vector<float> values(100'000, 1);
  double number = 1;
  bool gathered = false;
  std::vector<std::byte> bytes(size_t(traced.size()), std::byte(7));
  SplitBuffer<std::byte> pieces{bytes.data(), {}};
  for (int64_t r = 1; r <= traced.size(); ++r) pieces.ends.push_back(r);

  traced.start_all_reduce(values, [&] { traced.start_all_gather(pieces, [&] { gathered = true; }); });
  traced.finish();
  traced.all_reduce(std::span<double>(&number, 1));
  CHECK(values.back() == float(traced.size()));
  CHECK(number == traced.size());
  CHECK(gathered);
  CHECK(traced.gather("rank", 0).size() == (traced.rank() == 0 ? size_t(traced.size()) : 0));

  const std::vector<Exchange> all = traced.take();
  const auto find = [&](const std::string& name) -> const Exchange& {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Exchange& e) { return e.name == name; });
    REQUIRE_MESSAGE(found != all.end(), name);
    return *found;
  };
  const Exchange &sum = find("all-reduce"), &gather = find("all-gather"), &after = find("after all-reduce");
  CHECK(sum.kind == Exchange::Kind::background);
  CHECK(sum.bytes == 400'000);
  CHECK(sum.begin <= sum.end);
  CHECK(after.kind == Exchange::Kind::callback);
  CHECK(after.begin == sum.end);
  CHECK(gather.begin >= sum.end);  // the callback of the sum started it
  CHECK(gather.bytes == traced.size());
  CHECK(find("all-reduce of numbers").begin >= find("wait for gradients").end);
  CHECK(find("gathering of texts").kind == Exchange::Kind::waiting);
  CHECK(traced.take().empty());
}

}  // namespace
}  // namespace gyre::test
