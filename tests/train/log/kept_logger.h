// For tests that change spdlog's default logger.
#pragma once

#include <spdlog/spdlog.h>

#include <memory>

namespace gyre::test {

// Gives the tests that follow their logger back.
class KeptLogger {
 public:
  KeptLogger() = default;
  ~KeptLogger() { spdlog::set_default_logger(logger_); }
  KeptLogger(const KeptLogger&) = delete;
  KeptLogger& operator=(const KeptLogger&) = delete;

 private:
  std::shared_ptr<spdlog::logger> logger_ = spdlog::default_logger();
};

}  // namespace gyre::test
