#include "gyre/train/log/logger.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/log/progress.h"

namespace gyre {
namespace {

// The message, which may have names from files and command lines in it.
class PrintableMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = printable_message({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PrintableMessage>(); }
};

std::unique_ptr<spdlog::formatter> formatter(const std::string& pattern) {
  constexpr char kMessage = '*';
  auto made = std::make_unique<spdlog::pattern_formatter>();
  made->add_flag<PrintableMessage>(kMessage).set_pattern(pattern + "%" + kMessage);
  return made;
}

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

  auto console = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  console->set_formatter(formatter((isatty(STDERR_FILENO) != 0 ? std::string(kEraseLine) : "") + pattern));
  if (options.quiet) console->set_level(spdlog::level::warn);
  std::vector<std::shared_ptr<spdlog::sinks::sink>> sinks{console};
  if (!options.file.empty()) {
    sinks.push_back(open_file(options.file));
    sinks.back()->set_formatter(formatter(pattern));
  }

  auto logger = std::make_shared<spdlog::logger>("gyre", sinks.begin(), sinks.end());
  logger->set_level(options.rank == 0 ? spdlog::level::info : spdlog::level::warn);
  logger->flush_on(spdlog::level::info);  // no line is lost if the run is killed
  spdlog::set_default_logger(logger);
}

}  // namespace gyre
