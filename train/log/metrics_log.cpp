#include "gyre/train/log/metrics_log.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"

namespace gyre {
namespace {

using nlohmann::ordered_json;

// Size of the complete lines. append() writes a line and its line break at once.
size_t finished_bytes(std::string_view text) { return text.rfind('\n') + 1; }

const Path& without_unfinished_line(const Path& path) {
  if (!std::filesystem::exists(path)) return path;
  const std::string text = read_file(path);
  const size_t whole = finished_bytes(text);
  if (whole == text.size()) return path;
  std::error_code failure;
  std::filesystem::resize_file(path, whole, failure);
  require(!failure, "[metrics] cannot repair ", path.string(), ": ", failure.message());
  return path;
}

ordered_json parse_entry(std::string_view line, const std::string& place) {
  ordered_json entry = find_json(line).value_or(ordered_json());
  require(entry.is_object(), place, ": expected a JSON object, got ", line.substr(0, 60));
  require(entry.contains("event") && entry["event"].is_string(), place, ": expected an \"event\" with its name");
  const bool has_updates = entry.contains("updates");
  require(!has_updates || entry["updates"].is_number(), place, ": expected a number of \"updates\"");
  require(has_updates || entry["event"] != "resume", place, ": expected a resume event with its \"updates\"");
  return entry;
}

bool is_beyond(const ordered_json& entry, double updates) {
  return entry.contains("updates") && entry["updates"].get<double>() > updates;
}

}  // namespace

MetricsLog::MetricsLog(const Path& path) : file_(without_unfinished_line(path), "[metrics]") {}

void MetricsLog::append(const ordered_json& entry) {
  // Invalid UTF-8 (for example, in a file name) must not end a run.
  file_.append(entry.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n');
}

std::vector<ordered_json> read_metrics(const Path& path) {
  const std::string text = read_file(path);
  std::string_view rest = std::string_view(text).substr(0, finished_bytes(text));
  std::vector<ordered_json> entries;
  for (size_t line = 1; !rest.empty(); ++line) {
    const std::string_view object = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(object.size() + 1);
    ordered_json entry = parse_entry(object, concat(path.string(), ":", line));
    if (entry["event"] == "resume") {
      const auto updates = entry["updates"].get<double>();
      std::erase_if(entries, [&](const ordered_json& earlier) { return is_beyond(earlier, updates); });
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace gyre
