#include "gyre/train/log/metrics_log.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {
namespace {

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

Json parse_entry(std::string_view line, const std::string& place) {
  Json entry = find_json(line).value_or(Json());
  require(entry.is_object(), place, ": expected a JSON object, got ", line.substr(0, 60));
  require(entry.contains("event") && entry["event"].is_string(), place, ": expected an \"event\" with its name");
  const bool has_updates = entry.contains("updates");
  require(!has_updates || entry["updates"].is_number(), place, ": expected a number of \"updates\"");
  require(has_updates || entry["event"] != "resume", place, ": expected a resume event with its \"updates\"");
  return entry;
}

bool is_beyond(const Json& entry, double updates) {
  return entry.contains("updates") && entry["updates"].get<double>() > updates;
}

}  // namespace

MetricsLog::MetricsLog(const Path& path) : file_(without_unfinished_line(path), "[metrics]") {}

void MetricsLog::append(const Json& entry) {
  // Invalid UTF-8 (for example, in a file name) must not end a run.
  file_.append(entry.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
}

std::vector<Json> read_metrics(const Path& path) {
  const std::string text = read_file(path);
  std::string_view rest = std::string_view(text).substr(0, finished_bytes(text));
  std::vector<Json> entries;
  for (size_t line = 1; !rest.empty(); ++line) {
    const std::string_view object = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(object.size() + 1);
    Json entry = parse_entry(object, concat(path.string(), ":", line));
    if (entry["event"] == "resume") {
      const auto updates = entry["updates"].get<double>();
      std::erase_if(entries, [&](const Json& earlier) { return is_beyond(earlier, updates); });
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace gyre
