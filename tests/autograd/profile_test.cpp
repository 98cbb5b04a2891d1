#include "autograd/profile.h"

#include <doctest/doctest.h>

#include <numeric>

#include "autograd/ops.h"

using namespace gyre;

namespace {

// Each look at the clock is a second later than the one before.
Profile ticking() {
  return Profile([now = 0.0]() mutable { return now++; });
}

const Profile::Row& row(const std::vector<Profile::Row>& rows, std::string_view name) {
  for (const Profile::Row& r : rows)
    if (r.name == name) return r;
  FAIL("no row ", name);
  return rows.front();
}

}  // namespace

TEST_CASE("profile: each moment of a step belongs to one row") {
  Profile profile = ticking();
  profile.restart();
  profile.mark("before");
  Tape tape(cpu_kernels(), {});
  tape.add_observer(profile);
  const Var x = tape.leaf(Tensor::zeros({3, 4})), w = tape.leaf(Tensor::zeros({4, 4}));
  const Var hidden = gelu(linear(x, w));
  scale(tape.constant(Tensor::zeros({1})), 2);  // not recorded: its time is the next one's
  tape.backward(linear(hidden, w), Tensor::zeros({3, 4}));
  profile.mark("after");

  const std::vector<Profile::Row> rows = profile.rows();
  REQUIRE(rows.size() == 5);
  CHECK(row(rows, "linear").calls == 2);
  CHECK(row(rows, "linear").forward_seconds == 2);
  CHECK(row(rows, "linear").backward_seconds == 2);
  CHECK(row(rows, "linear").flops == 2 * 2 * 3 * 4 * 4);
  CHECK(row(rows, "gelu").calls == 1);
  CHECK(row(rows, "gelu").seconds() == 2);
  CHECK(row(rows, "gelu").flops == 0);
  CHECK(row(rows, Profile::kOther).outside_seconds == 3);  // before each of three backwards
  CHECK(row(rows, "before").outside_seconds == 1);
  CHECK(row(rows, "after").calls == 1);
  CHECK(rows.front().name == "linear");

  const double total =
      std::accumulate(rows.begin(), rows.end(), 0.0, [](double sum, const auto& r) { return sum + r.seconds(); });
  CHECK(total == 11);  // events since restart()
}

TEST_CASE("profile: steps add up, and the time between them belongs to nobody") {
  Profile profile = ticking();
  for (int step = 0; step < 3; ++step) {
    profile.restart();
    Tape tape(cpu_kernels(), {});
    tape.add_observer(profile);
    tape.backward(scale(tape.leaf(Tensor::zeros({1})), 2));
  }
  const std::vector<Profile::Row> rows = profile.rows();
  CHECK(row(rows, "scale").calls == 3);
  CHECK(row(rows, "scale").seconds() == 6);
  CHECK(row(rows, Profile::kOther).seconds() == 3);
}
