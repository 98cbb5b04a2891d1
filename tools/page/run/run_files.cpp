#include "tools/page/run/run_files.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "tools/command_line/config_file.h"
#include "tools/page/run/run_columns.h"

namespace gyre {
namespace {

// Limits the messages of a run whose log has no line of training.
constexpr size_t kMaxMessages = 200;

void add_options(Json& options, const std::string& prefix, const std::vector<ConfigEntry>& entries) {
  for (const ConfigEntry& entry : entries) options[prefix + entry.name] = joined(entry.values);
}

void add_flat(Json& flat, const std::string& prefix, const Json& object) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      add_flat(flat, concat(prefix, name, "."), value);
    } else {
      flat[prefix + name] = value.is_string() ? value : Json(value.dump());
    }
  }
}

// Removes "[...] " from the beginning of the line and returns what is in the brackets.
std::optional<std::string> take_bracket(std::string_view& line) {
  const size_t end = line.find("] ");
  if (!line.starts_with('[') || end == std::string_view::npos) return std::nullopt;
  std::string inside(line.substr(1, end - 1));
  line.remove_prefix(end + 2);
  return inside;
}

// The beginning of a very long text.
std::string shortened(std::string_view text) {
  constexpr size_t kLongest = 2000;
  if (text.size() <= kLongest) return std::string(text);
  return concat(text.substr(0, kLongest), " .. (", text.size(), " bytes)");
}

// A line of train/log/logger.h. The rest of a message of several lines has neither time nor level.
Json message_of(std::string_view line) {
  const std::string_view whole = line;
  const auto time = take_bracket(line), level = take_bracket(line);
  if (!time || !level || time->find_first_not_of("0123456789-: ") != std::string::npos)
    return {{"level", "info"}, {"text", shortened(whole)}};
  if (line.starts_with("[rank 0/")) take_bracket(line);
  return {{"level", *level}, {"text", shortened(line)}};
}

// Zero for a file that was removed in the meantime, because the run may be training.
uintmax_t bytes_of(const Path& checkpoint) {
  uintmax_t bytes = 0;
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(checkpoint, ignored)) {
    const uintmax_t size = file.file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

// Null without a validation at these updates.
Json figures_at(const std::vector<Json>& entries, uint64_t updates) {
  Json figures;
  for (const Json& entry : entries) {
    if (entry["event"] != "valid" || !entry.contains("updates") || entry["updates"] != updates) continue;
    figures = Json::object();
    for (const auto& [name, value] : entry.items())
      if (is_metric(name, value)) figures[name] = value;
  }
  return figures;
}

}  // namespace

Json run_options(const Path& run) {
  Json options = Json::object();
  const Path file = run / "train.toml";
  if (!std::filesystem::exists(file)) return options;
  const ConfigFile config = read_config_file(file);
  add_options(options, "", config.entries);
  for (size_t i = 0; i < config.tables.size(); ++i)
    add_options(options, concat(config.tables[i].name, " ", i + 1, ": "), config.tables[i].entries);
  return options;
}

Json run_architecture(const Path& run) {
  Json flat = Json::object();
  const Path file = config_path(run);
  if (!std::filesystem::exists(file)) return flat;
  const Json config = parse_ordered_json(read_file(file), kMaxJsonDepth, file.string() + ": ", "the configuration");
  require(config.is_object(), file.string(), ": expected a JSON object");
  add_flat(flat, "", config);
  return flat;
}

Json opening_messages(const Path& run) {
  Json messages = Json::array();
  const Path file = run / "train.log";
  if (!std::filesystem::exists(file)) return messages;
  const std::string text = read_file(file);
  std::string_view rest = text, line;
  while (messages.size() < kMaxMessages && take_line(rest, line)) {
    Json message = message_of(line);
    const auto& text_of_message = message["text"].get_ref<const std::string&>();
    if (text_of_message.starts_with("Ep. ") || text_of_message.starts_with("[valid] ")) break;
    messages.push_back(std::move(message));
  }
  return messages;
}

Json run_checkpoints(const Path& run, const std::vector<Json>& entries) {
  const auto best = linked_checkpoint(run, "best"), last = linked_checkpoint(run, "last");
  Json checkpoints = Json::array();
  for (const Path& path : list_checkpoints(run)) {
    const uint64_t updates = checkpoint_updates(path).value();
    checkpoints.push_back({{"name", path.filename().string()},
                           {"updates", updates},
                           {"bytes", bytes_of(path)},
                           {"best", best == path},
                           {"last", last == path},
                           {"values", figures_at(entries, updates)}});
  }
  return checkpoints;
}

}  // namespace gyre
