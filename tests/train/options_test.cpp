#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>

#include "gyre/core/error.h"
#include "gyre/train/tasks/translation/nmt_options.h"

using namespace gyre;

namespace {

using Unit = Period::Unit;

bool same(const Period& p, uint64_t amount, Unit unit) { return p.amount == amount && p.unit == unit; }

NmtOptions valid_options() {
  NmtOptions o;
  o.start.directory = "run";
  o.data.train_sets = {"a.de", "a.en"};
  o.data.vocabulary = "v";
  o.stop.after = {10, Unit::epochs};
  return o;
}

void check_rejected(const std::string& expected, const std::function<void(NmtOptions&)>& change) {
  NmtOptions o = valid_options();
  change(o);
  INFO(expected);
  CHECK_THROWS_WITH_AS(o.validate(), doctest::Contains(expected.c_str()), UsageError);
}

}  // namespace

TEST_CASE("period: Marian's units and multipliers") {
  CHECK(same(Period::parse("30u"), 30, Unit::updates));
  CHECK(same(Period::parse("500"), 500, Unit::updates));
  CHECK(same(Period::parse("100Ku"), 100'000, Unit::updates));
  CHECK(same(Period::parse("2M"), 2'000'000, Unit::updates));
  CHECK(same(Period::parse("20e"), 20, Unit::epochs));
  CHECK(same(Period::parse("1Gt"), 1'000'000'000, Unit::target_tokens));
  CHECK(same(Period::parse("10Gt"), 10'000'000'000, Unit::target_tokens));
  CHECK(same(Period::parse("2.5Kt"), 2500, Unit::target_tokens));
  CHECK(same(Period::parse("0"), 0, Unit::updates));
}

TEST_CASE("period: text() is parsed as the same period") {
  for (const char* text : {"30u", "1Ku", "1500u", "20e", "1Gt", "2500Mt", "0e", "0u", "100Ku"}) {
    CHECK(to_string(Period::parse(text)) == text);
  }
  CHECK(to_string(Period::parse("2.5Kt")) == "2500t");
  CHECK(to_string(Period::parse("1000000")) == "1Mu");
}

TEST_CASE("period: the error for invalid text quotes it") {
  for (const char* text : {"", "u", "K", "Ku", "ten", "1x", "1uu", "1uK", "-5u", "1.5u", "0.0001Ku", "1e3u", "nan",
                           "inf", " 5", "5 u", "99999999999G", "+5"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(Period::parse(text), doctest::Contains(("got '" + std::string(text) + "'").c_str()),
                         UsageError);
  }
}

TEST_CASE("period: each unit has its own count of progress") {
  const Progress p{.updates = 100, .epoch = 2, .batch = 5, .target_tokens = 3000};
  CHECK(Period{100, Unit::updates}.is_reached(p));
  CHECK(!Period{101, Unit::updates}.is_reached(p));
  CHECK(Period{2, Unit::epochs}.is_reached(p));
  CHECK(!Period{3, Unit::epochs}.is_reached(p));
  CHECK(Period{3000, Unit::target_tokens}.is_reached(p));
  CHECK(!Period{3001, Unit::target_tokens}.is_reached(p));
  for (const Unit unit : {Unit::updates, Unit::epochs, Unit::target_tokens}) CHECK(!Period{0, unit}.is_reached(p));
}

TEST_CASE("period: in updates, if their number is known") {
  CHECK(Period::parse("5Ku").in_updates(2000) == 5000);
  CHECK(Period::parse("3e").in_updates(2000) == 6000);
  CHECK(Period::parse("1Mt").in_updates(2000) == 0);
}

TEST_CASE("train options: the defaults are valid, and the error for an invalid value names its flag") {
  CHECK_NOTHROW(valid_options().validate());
  check_rejected("[--model] expected a run directory", [](auto& o) { o.start.directory.clear(); });
  check_rejected("[--train-sets] expected", [](auto& o) { o.data.train_sets.clear(); });
  check_rejected("got 3 paths", [](auto& o) { o.data.train_sets.emplace_back("c"); });
  check_rejected("[--max-length] expected at least 2, got 0", [](auto& o) { o.data.max_length = 0; });
  check_rejected("[--mini-batch-words]", [](auto& o) { o.batch.size = 0; });
  check_rejected("[--maxi-batch]", [](auto& o) { o.batch.maxi_batch = 0; });
  check_rejected("[--optimizer-delay] expected a number from 1 to 65536, got 0",
                 [](auto& o) { o.parallel.accumulation = 0; });
  check_rejected("[--micro-batches]", [](auto& o) { o.parallel.micro_batches = -1; });
  check_rejected("[--cpu-threads]", [](auto& o) { o.device.threads = -1; });
  check_rejected("[--bucket-mb]", [](auto& o) { o.parallel.bucket_mb = 0; });
  check_rejected("[--label-smoothing]", [](auto& o) { o.label_smoothing = 1; });
  check_rejected("[--r-drop]", [](auto& o) { o.r_drop = -1; });
  check_rejected("[--disp-freq]", [](auto& o) { o.log.every.amount = 0; });
  check_rejected("[--disp-seconds]", [](auto& o) { o.log.seconds = -1; });
  check_rejected("[--save-freq]", [](auto& o) { o.checkpoint.every.amount = 0; });
  check_rejected("[--after]", [](auto& o) { o.stop.after.amount = 0; });
  check_rejected("[--keep-last]", [](auto& o) { o.checkpoint.saving.keep_last = -1; });
  check_rejected("[--patience]", [](auto& o) { o.stop.early_stopping = 3; });
  check_rejected("[--valid-metrics] expected one of cross-entropy, perplexity, bleu, chrf, got 'blue'",
                 [](auto& o) { o.validation.metrics = {"blue"}; });
  check_rejected("[--valid-beam-size]", [](auto& o) { o.valid_beam = 0; });
  check_rejected("[--valid-mini-batch]", [](auto& o) { o.validation.mini_batch = 0; });
}

TEST_CASE("train options: invalid optimizer options") {
  const auto optimizer = [](auto change) { return [change](NmtOptions& o) { change(o.optimizer); }; };
  check_rejected("[--optimizer] expected one of adam, adamw, lion, muon, normuon, got 'sgd'",
                 optimizer([](auto& o) { o.kind = "sgd"; }));
  check_rejected("[--learn-rate]", optimizer([](auto& o) { o.schedule.learning_rate = 0; }));
  check_rejected("[--learn-rate]", optimizer([](auto& o) { o.schedule.learning_rate = std::nan(""); }));
  check_rejected("[--optimizer-params beta1]", optimizer([](auto& o) { o.beta1 = 1; }));
  check_rejected("[--optimizer-params beta2]", optimizer([](auto& o) { o.beta2 = -0.1; }));
  check_rejected("[--optimizer-params epsilon]", optimizer([](auto& o) { o.epsilon = 0; }));
  check_rejected("[--weight-decay] expected 0 with --optimizer adam", optimizer([](auto& o) { o.weight_decay = 0.1; }));
  check_rejected("[--clip-norm]", optimizer([](auto& o) { o.clip_norm = -1; }));
  check_rejected("[--ema]", optimizer([](auto& o) { o.ema = 1; }));
  check_rejected("[--lr-schedule]", optimizer([](auto& o) { o.schedule.kind = "step"; }));
  check_rejected("[--lr-warmup-start-rate]", optimizer([](auto& o) { o.schedule.warmup_initial = -1; }));
  check_rejected("[--lr-minimum]", optimizer([](auto& o) { o.schedule.minimum_rate = 1; }));
  check_rejected("[--lr-warmup] expected a percentage of at least 0% and below 100%, got 100%",
                 optimizer([](auto& o) { o.schedule.warmup_percent = 100; }));
  check_rejected("[--lr-power]", optimizer([](auto& o) { o.schedule.power = 0; }));
  check_rejected("[--lr-cooldown] expected a percentage from 0% to 100%, got 101%",
                 optimizer([](auto& o) { o.schedule.cooldown_percent = 101; }));
  check_rejected("[--total-updates] expected more than the 4000 updates", optimizer([](auto& o) {
                   o.schedule.kind = "linear";
                   o.schedule.total_updates = 4000;
                 }));
  check_rejected("[--lr-cooldown] expected at most the 1000 updates after --lr-warmup, got 1200", [](auto& o) {
    o.optimizer.schedule.kind = "wsd";
    o.optimizer.schedule.warmup = 5000;
    o.optimizer.schedule.cooldown_percent = 20;
    o.stop.after = Period::parse("6Ku");
  });
  check_rejected("[--total-updates] expected the number of updates, since --after does not give it", [](auto& o) {
    o.optimizer.schedule.kind = "linear";
    o.stop.after = Period::parse("1Mt");
  });
  NmtOptions decayed = valid_options();
  decayed.optimizer.kind = "adamw";
  decayed.optimizer.weight_decay = 0.1;
  CHECK_NOTHROW(decayed.validate());
}
