#include <doctest/doctest.h>

#include "gyre/train/log/metrics_log.h"

using namespace gyre;

TEST_CASE("times are ISO 8601 in UTC, in any time zone") {
  CHECK(utc_text(0) == "1970-01-01T00:00:00.000Z");
  CHECK(utc_text(1709210096.25) == "2024-02-29T12:34:56.250Z");
  CHECK(utc_text(1709210096.9999) == "2024-02-29T12:34:56.999Z");
}
