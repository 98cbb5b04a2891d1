#include "gyre/train/log/logger.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/train/log/progress.h"

namespace gyre {
namespace {

std::shared_ptr<spdlog::sinks::sink> open_file(const Path& path) {
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
  } catch (const spdlog::spdlog_ex& failure) {
    throw Error("[log] ", failure.what());
  }
}

}  // namespace

void set_up_logging(const LogOptions& options) {
  std::string pattern = "[%Y-%m-%d %H:%M:%S] [%^%l%$] ";
  if (options.ranks > 1) pattern += concat("[rank ", options.rank, "/", options.ranks, "] ");
  pattern += "%v";

  auto console = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  console->set_pattern((isatty(STDERR_FILENO) != 0 ? std::string(kEraseLine) : "") + pattern);
  if (options.quiet) console->set_level(spdlog::level::warn);
  std::vector<std::shared_ptr<spdlog::sinks::sink>> sinks{console};
  if (!options.file.empty()) {
    sinks.push_back(open_file(options.file));
    sinks.back()->set_pattern(pattern);
  }

  auto logger = std::make_shared<spdlog::logger>("gyre", sinks.begin(), sinks.end());
  logger->set_level(options.rank == 0 ? spdlog::level::info : spdlog::level::warn);
  logger->flush_on(spdlog::level::info);  // no line is lost if the run is killed
  spdlog::set_default_logger(logger);
}

}  // namespace gyre
