#include "gyre/train/log/wall_clock.h"

#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <cmath>
#include <ctime>

namespace gyre {

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_text(double seconds_since_1970) {
  const auto milliseconds = int64_t(std::floor(seconds_since_1970 * 1000));
  const std::time_t seconds = milliseconds / 1000;
  std::tm t{};
  gmtime_r(&seconds, &t);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                     t.tm_min, t.tm_sec, milliseconds % 1000);
}

}  // namespace gyre
