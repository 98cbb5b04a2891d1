// For tests that change spdlog's default logger.
#pragma once

#include <spdlog/spdlog.h>

#include <memory>

namespace gyre::test {

// Restores the default logger for later tests.
class LoggerGuard {
 public:
  LoggerGuard() = default;
  ~LoggerGuard() { spdlog::set_default_logger(logger_); }
  LoggerGuard(const LoggerGuard&) = delete;
  LoggerGuard& operator=(const LoggerGuard&) = delete;

 private:
  std::shared_ptr<spdlog::logger> logger_ = spdlog::default_logger();
};

}  // namespace gyre::test
