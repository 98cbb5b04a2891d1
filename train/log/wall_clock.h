// Wall-clock time, for records that are compared with logs of other machines.
#pragma once

#include <string>

namespace gyre {

// Seconds since 1970, UTC.
double wall_clock();

// ISO 8601 with milliseconds: "2026-01-31T12:00:00.250Z".
std::string utc_text(double seconds_since_1970);

}  // namespace gyre
