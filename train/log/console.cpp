#include "gyre/train/log/console.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"

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

namespace {

constexpr double kSecondsBetween = 0.1;
constexpr double kSecondsToSecondLine = 2;
constexpr double kSecondsToWorkLine = 10, kMostSecondsBetweenLines = 60;  // times of WorkProgress

std::string text_of(const std::optional<double>& seconds_left) {
  return seconds_left ? fmt::format(" : {} left", format_duration(*seconds_left)) : "";
}

}  // namespace

namespace {

// Three digits: "0.183", "27.8", "1250".
std::string short_number(double x) { return x < 100 ? fmt::format("{:.3g}", x) : fmt::format("{:.0f}", x); }

}  // namespace

std::string format_flops(double flops_per_second, double share) {
  return fmt::format("{} TFLOP/s{}", short_number(flops_per_second / 1e12),
                     share > 0 ? fmt::format(" ({} %)", short_number(100 * share)) : "");
}

std::string format_machine(const MachineProgress& machine) {
  constexpr double kGibibyte = 1 << 30;
  std::string text;
  if (machine.flops_per_second > 0) text += " : " + format_flops(machine.flops_per_second, machine.share);
  if (machine.memory > 0) text += fmt::format(" : RAM {} GiB", short_number(double(machine.memory) / kGibibyte));
  if (machine.gpu > 0) text += fmt::format(" : GPU {} GiB", short_number(double(machine.gpu) / kGibibyte));
  return text;
}

std::string format_progress(const TrainProgress& p) {
  return fmt::format(
      "Ep. {} : Up. {} : {} {}{} : Cost {} : Time {:.2f}s : {:.2f} tokens/s : gNorm {:.4g} : L.r. {:.4g}{}{}", p.epoch,
      p.updates, with_commas(p.count), p.item, p.count == 1 ? "" : "s",
      p.cost ? fmt::format("{:.4f}", *p.cost) : "none", p.seconds, p.tokens_per_second, p.gradient_norm,
      p.learning_rate, format_machine(p.machine), text_of(p.seconds_left));
}

std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = int64_t(digits.size()) - 3; at > 0; at -= 3) digits.insert(size_t(at), ",");
  return digits;
}

std::string format_duration(double seconds) {
  const auto s = int64_t(std::llround(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m {:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h {:02}m", s / 3600, s % 3600 / 60);
  return fmt::format("{}d {:02}h", s / 86400, s % 86400 / 3600);
}

std::optional<double> Goal::seconds_left(int64_t done, double elapsed_seconds) const {
  if (done <= first) return std::nullopt;
  double left = limit_seconds - elapsed_seconds;
  if (total > 0) left = std::min(left, elapsed_seconds / double(done - first) * double(total - done));
  if (std::isinf(left)) return std::nullopt;
  return std::max(left, 0.0);
}

bool ProgressPace::due(double now) const {
  if (longest_ <= 0) return false;
  return !shown_ || now - *shown_ >= std::min(longest_, std::max(*shown_, kSecondsToSecondLine));
}

ProgressSink ProgressSink::system() {
  ProgressSink sink;
  sink.terminal = isatty(STDERR_FILENO) != 0;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) sink.columns = size.ws_col;
  sink.clock = steady_seconds;
  return sink;
}

ProgressLine::ProgressLine(const Goal& goal, ProgressSink sink)
    : goal_(goal), sink_(std::move(sink)), start_(sink_.clock()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(int64_t done, std::string_view text) {
  if (!sink_.terminal) return;
  const double now = sink_.clock();
  if (visible_ && now - shown_ < kSecondsBetween) return;
  shown_ = now;
  visible_ = true;
  std::string line = concat(text, text_of(goal_.seconds_left(done, now - start_)));
  // Leaves the last column free: some terminals wrap as soon as it is written.
  line.resize(std::min(line.size(), size_t(std::max(sink_.columns - 1, 0))));
  fmt::print(sink_.stream, "{}{}", kEraseLine, line);
  std::fflush(sink_.stream);
}

void ProgressLine::clear() {
  if (!visible_) return;
  fmt::print(sink_.stream, "{}", kEraseLine);
  std::fflush(sink_.stream);
  visible_ = false;
}

WorkProgress::WorkProgress(std::string unit, int64_t total, ProgressSink sink)
    : unit_(std::move(unit)),
      goal_{.total = total},
      sink_(sink),
      line_(goal_, std::move(sink)),
      start_(sink_.clock()),
      next_(sink_.terminal ? kSecondsToSecondLine : kSecondsToWorkLine) {}

void WorkProgress::show(int64_t done) {
  const double seconds = sink_.clock() - start_;
  if (seconds < next_) return;
  const double rate = double(done) / seconds;
  const std::string text =
      fmt::format("{}{} {} : {:.{}f} {}/s", with_commas(done), goal_.total > 0 ? " of " + with_commas(goal_.total) : "",
                  unit_, rate, rate < 10 ? 1 : 0, unit_);
  if (sink_.terminal) return line_.show(done, text);
  next_ = seconds + std::min(seconds, kMostSecondsBetweenLines);
  fmt::print(sink_.stream, "{}{}\n", text, text_of(goal_.seconds_left(done, seconds)));
  std::fflush(sink_.stream);
}

}  // namespace gyre
