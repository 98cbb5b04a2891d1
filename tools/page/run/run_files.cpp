#include "tools/page/run/run_files.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/data/text/line_ends.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "tools/command_line/config_file.h"
#include "tools/page/run/run_columns.h"

namespace gyre {
namespace {

using nlohmann::ordered_json;

// Limits the messages of a run whose log has no line of training.
constexpr size_t kMaxMessages = 200;

std::string joined(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
  return text;
}

void add_options(ordered_json& options, const std::string& prefix, const std::vector<ConfigEntry>& entries) {
  for (const ConfigEntry& entry : entries) options[prefix + entry.name] = joined(entry.values);
}

void add_flat(ordered_json& flat, const std::string& prefix, const ordered_json& object) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      add_flat(flat, concat(prefix, name, "."), value);
    } else {
      flat[prefix + name] = value.is_string() ? value : ordered_json(value.dump());
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
ordered_json message_of(std::string_view line) {
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
ordered_json figures_at(const std::vector<ordered_json>& entries, uint64_t updates) {
  ordered_json figures;
  for (const ordered_json& entry : entries) {
    if (entry["event"] != "valid" || !entry.contains("updates") || entry["updates"] != updates) continue;
    figures = ordered_json::object();
    for (const auto& [name, value] : entry.items())
      if (is_metric(name, value)) figures[name] = value;
  }
  return figures;
}

}  // namespace

ordered_json run_options(const Path& run) {
  ordered_json options = ordered_json::object();
  const Path file = run / "train.toml";
  if (!std::filesystem::exists(file)) return options;
  const ConfigFile config = read_config_file(file);
  add_options(options, "", config.entries);
  for (size_t i = 0; i < config.tables.size(); ++i)
    add_options(options, concat(config.tables[i].name, " ", i + 1, ": "), config.tables[i].entries);
  return options;
}

ordered_json run_architecture(const Path& run) {
  ordered_json flat = ordered_json::object();
  const Path file = config_path(run);
  if (!std::filesystem::exists(file)) return flat;
  const ordered_json config =
      parse_ordered_json(read_file(file), kMaxJsonDepth, file.string() + ": ", "the configuration");
  require(config.is_object(), file.string(), ": expected a JSON object");
  add_flat(flat, "", config);
  return flat;
}

ordered_json opening_messages(const Path& run) {
  ordered_json messages = ordered_json::array();
  const Path file = run / "train.log";
  if (!std::filesystem::exists(file)) return messages;
  const std::string text = read_file(file);
  std::string_view rest = text, line;
  while (messages.size() < kMaxMessages && take_line(rest, line)) {
    ordered_json message = message_of(line);
    const auto& text_of_message = message["text"].get_ref<const std::string&>();
    if (text_of_message.starts_with("Ep. ") || text_of_message.starts_with("[valid] ")) break;
    messages.push_back(std::move(message));
  }
  return messages;
}

ordered_json run_checkpoints(const Path& run, const std::vector<ordered_json>& entries) {
  const auto best = linked_checkpoint(run, "best"), last = linked_checkpoint(run, "last");
  ordered_json checkpoints = ordered_json::array();
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
