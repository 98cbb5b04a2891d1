#include "gyre/train/optim/schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "gyre/core/error.h"

using namespace gyre;

namespace {

ScheduleOptions options(const char* schedule) {
  ScheduleOptions o;
  o.kind = schedule;
  o.learning_rate = 5e-4;
  o.warmup = 4000;
  o.warmup_initial = 1e-7;
  return o;
}

void check_close(double got, double expected) { CHECK(std::abs(got - expected) <= 1e-15 + 1e-12 * expected); }

}  // namespace

// inverse_square_root of fairseq: lr_step = (lr - init) / W, decay_factor = lr * W^0.5; values calculated by hand.
TEST_CASE("inverse-sqrt: the same values as fairseq") {
  const ScheduleOptions o = options("inverse-sqrt");
  CHECK(learning_rate(o, 0) == 1e-7);
  check_close(learning_rate(o, 1), 1e-7 + 1.24975e-7);
  check_close(learning_rate(o, 2000), 2.5005e-4);
  check_close(learning_rate(o, 3999), 1e-7 + 3999 * 1.24975e-7);
  check_close(learning_rate(o, 4000), 5e-4);
  check_close(learning_rate(o, 16000), 2.5e-4);  // 4 W: half
  check_close(learning_rate(o, 100'000), 1e-4);  // 25 W: a fifth
  check_close(learning_rate(o, 400'000), 5e-5);  // 100 W: a tenth
}

TEST_CASE("inverse-sqrt: without warm-up the rate starts at its peak") {
  ScheduleOptions o = options("inverse-sqrt");
  o.warmup = 0;
  check_close(learning_rate(o, 0), 5e-4);
  check_close(learning_rate(o, 1), 5e-4);
  check_close(learning_rate(o, 4), 2.5e-4);
}

TEST_CASE("linear: zero at the end and after it") {
  ScheduleOptions o = options("linear");
  o.total_updates = 14'000;
  check_close(learning_rate(o, 2000), 2.5005e-4);
  check_close(learning_rate(o, 4000), 5e-4);
  check_close(learning_rate(o, 9000), 2.5e-4);
  check_close(learning_rate(o, 13'999), 5e-8);
  CHECK(learning_rate(o, 14'000) == 0);
  CHECK(learning_rate(o, 1'000'000) == 0);
}

TEST_CASE("a run that ends within its warm-up is said, with the rate that its last update has") {
  const auto warning = [](double peak, uint64_t warmup, uint64_t updates) {
    ScheduleOptions o = options("inverse-sqrt");
    o.learning_rate = peak;
    o.warmup = warmup;
    return long_warmup_warning(o, updates);
  };
  const auto expected = [](const char* run, const char* rates) {
    return concat("training ends after ", run, ": the learning rate reaches ", rates,
                  "; --lr-warmup 10% makes the warm-up a tenth of the run");
  };
  CHECK(warning(5e-4, 4000, 2000) ==
        expected("2000 updates, within a warm-up of 4000", "0.000249925 instead of 0.0005"));
  CHECK(warning(5e-4, 10, 1) == expected("1 update, within a warm-up of 10", "1e-07 instead of 0.0005"));
  CHECK(warning(5e-4, 10, 10) == expected("10 updates, within a warm-up of 10", "0.00045001 instead of 0.0005"));
  CHECK(warning(5e-4, 10, 11).empty());  // the last update has the peak rate
  CHECK(warning(5e-4, 0, 1).empty());
  CHECK(warning(5e-4, 10, 0).empty());  // the number of updates is unknown
  CHECK(warning(1e-8, 10, 5).empty());  // the warm-up begins at the peak
}

TEST_CASE("without --total-updates a schedule ends with the run; the warm-up may be a percentage of it") {
  ScheduleOptions o = options("linear");
  CHECK(resolve_schedule(o, 6000).total_updates == 6000);
  CHECK(resolve_schedule(o, 5000).total_updates == 5000);
  CHECK(resolve_schedule(o, 6000).warmup == 4000);
  CHECK_THROWS_WITH_AS(resolve_schedule(o, 4000), "[--lr-warmup] expected fewer than all 4000 updates, got 4000",
                       UsageError);
  o.warmup_percent = 10;
  CHECK(resolve_schedule(o, 6000).warmup == 600);
  o.total_updates = 14'000;
  CHECK(resolve_schedule(o, 6000).total_updates == 14'000);
  CHECK(resolve_schedule(o, 6000).warmup == 1400);
  o = options("constant");
  o.warmup_percent = 50;
  CHECK(resolve_schedule(o, 100).warmup == 50);
  CHECK(resolve_schedule(options("constant"), 0).total_updates == 0);
}

TEST_CASE("constant: warm-up, then constant") {
  const ScheduleOptions o = options("constant");
  CHECK(learning_rate(o, 0) == 1e-7);
  CHECK(learning_rate(o, 4000) == 5e-4);
  CHECK(learning_rate(o, 4'000'000) == 5e-4);
}

TEST_CASE("the minimum applies only after the warm-up") {
  ScheduleOptions o = options("inverse-sqrt");
  o.minimum_rate = 1e-4;
  CHECK(learning_rate(o, 0) == 1e-7);
  CHECK(learning_rate(o, 1'000'000) == 1e-4);
}

// Values calculated by hand; t is the share of the updates after the warm-up.
TEST_CASE("cosine: half a cosine from the peak to the minimum") {
  ScheduleOptions o = options("cosine");
  o.total_updates = 16'000;
  o.minimum_rate = 1e-4;
  check_close(learning_rate(o, 2000), 2.5005e-4);
  check_close(learning_rate(o, 4000), 5e-4);
  check_close(learning_rate(o, 8000), 4e-4);    // t = 1/3: cos = 1/2
  check_close(learning_rate(o, 10'000), 3e-4);  // t = 1/2: cos = 0
  check_close(learning_rate(o, 12'000), 2e-4);  // t = 2/3: cos = -1/2
  check_close(learning_rate(o, 16'000), 1e-4);
  check_close(learning_rate(o, 1'000'000), 1e-4);
}

// polynomial_decay of fairseq: (lr - end) * (1 - (n - W) / (total - W)) ** power + end
TEST_CASE("polynomial: the same values as fairseq") {
  ScheduleOptions o = options("polynomial");
  o.total_updates = 14'000;
  o.minimum_rate = 1e-4;
  check_close(learning_rate(o, 4000), 5e-4);
  check_close(learning_rate(o, 9000), 3e-4);
  o.power = 2;
  check_close(learning_rate(o, 9000), 2e-4);
  o.power = 0.5;
  check_close(learning_rate(o, 11'500), 3e-4);
  check_close(learning_rate(o, 14'000), 1e-4);
  check_close(learning_rate(o, 20'000), 1e-4);
}

TEST_CASE("polynomial of power 1 without a minimum is linear") {
  ScheduleOptions o = options("polynomial"), linear = options("linear");
  o.total_updates = linear.total_updates = 14'000;
  for (const uint64_t n : {0, 100, 4000, 4001, 9000, 13'999, 14'000, 15'000})
    check_close(learning_rate(o, n), learning_rate(linear, n));
}

TEST_CASE("wsd: the peak until the cooldown, then a fall to the minimum") {
  ScheduleOptions o = options("wsd");
  o.total_updates = 20'000;
  o.minimum_rate = 1e-4;
  o = resolve_schedule(o, 0);
  CHECK(cooldown_updates(o) == 4000);  // 20 %
  CHECK(cooldown_text(o) == "4000 updates (1-sqrt)");
  check_close(learning_rate(o, 2000), 2.5005e-4);
  CHECK(learning_rate(o, 4000) == 5e-4);
  CHECK(learning_rate(o, 16'000) == 5e-4);
  check_close(learning_rate(o, 16'040), 4.6e-4);  // x = 1/100: 1 - 1/10
  check_close(learning_rate(o, 17'000), 3e-4);    // x = 1/4: 1 - 1/2
  check_close(learning_rate(o, 19'240), 1.4e-4);  // x = 81/100: 1 - 9/10
  check_close(learning_rate(o, 20'000), 1e-4);
  check_close(learning_rate(o, 30'000), 1e-4);
  o.cooldown_form = CooldownForm::linear;
  check_close(learning_rate(o, 17'000), 4e-4);
  o.cooldown_form = CooldownForm::cosine;
  check_close(learning_rate(o, 17'000), 4.414213562373095e-4);  // cos(pi / 4) = sqrt(1/2)
  check_close(learning_rate(o, 18'000), 3e-4);
}

TEST_CASE("wsd: the cooldown fits after the warm-up") {
  ScheduleOptions o = options("wsd");
  o.cooldown = 6000;
  CHECK(resolve_schedule(o, 10'000).cooldown == 6000);
  CHECK_THROWS_WITH_AS(resolve_schedule(o, 9999),
                       "[--lr-cooldown] expected at most the 5999 updates after --lr-warmup, got 6000", UsageError);
  o.cooldown = 0;  // constant, also after the end
  o = resolve_schedule(o, 10'000);
  for (const uint64_t n : {4000, 9999, 10'000, 20'000}) CHECK(learning_rate(o, n) == 5e-4);
  CHECK(cooldown_text(options("cosine")) == "");
}

TEST_CASE("a warm-up never falls: it starts at the peak if that is lower than its default start") {
  ScheduleOptions low{.kind = "constant", .learning_rate = 1e-9, .warmup = 10};
  CHECK_NOTHROW(low.validate());
  for (uint64_t n = 0; n < 12; ++n) CHECK(learning_rate(low, n) == 1e-9);
  low.warmup_initial = 1e-5;
  CHECK_THROWS_AS(low.validate(), UsageError);
  low.warmup = 0;  // without a warm-up, nothing starts there
  CHECK_NOTHROW(low.validate());
}

TEST_CASE("an unknown schedule is an error") { CHECK_THROWS_AS(learning_rate(options("step"), 5000), Error); }

TEST_CASE("every schedule starts at its peak, and only those that say so read the number of updates") {
  for (const std::string& kind : schedule_names()) {
    CAPTURE(kind);
    ScheduleOptions with_total = options(kind.c_str());
    with_total.total_updates = 14'000;
    check_close(learning_rate(with_total, 4000), 5e-4);
    if (find_schedule(kind).needs_total_updates) continue;
    const ScheduleOptions without_total = options(kind.c_str());
    for (const uint64_t n : {4000, 9000, 14'000, 20'000})
      CHECK(learning_rate(with_total, n) == learning_rate(without_total, n));
  }
}
