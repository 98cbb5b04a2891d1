// gyre report: writes an HTML page of one training run, or of two side by side, once or while they train.
#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_values.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/log/metrics_log.h"
#include "gyre/train/task.h"
#include "tools/command_line/config_file.h"
#include "tools/command_line/messages.h"
#include "tools/page/page.h"
#include "tools/page/run/run_columns.h"
#include "tools/program.h"

namespace gyre {
namespace {

// ---- The files of a run directory other than its metrics: options, architecture, log, checkpoints ------------------

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

// A line of train/log/console.h. The rest of a message of several lines has neither time nor level.
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

// The options of train.toml by name, as text; those of the third [[stage]] are named "stage 3: NAME". Empty without the
// file.
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

// The figures of config.json by name. Nested objects have names such as "position.rope_base". Empty without the file.
Json run_architecture(const Path& run) {
  Json flat = Json::object();
  const Path file = config_path(run);
  if (!std::filesystem::exists(file)) return flat;
  const Json config = parse_ordered_json(read_file(file), kMaxJsonDepth, file.string() + ": ", "the configuration");
  require(config.is_object(), file.string(), ": expected a JSON object");
  add_flat(flat, "", config);
  return flat;
}

// The messages of train.log before the first update of the first job: {"level", "text"}. They report the data and the
// environment. Empty without the file.
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

// The step-* checkpoints, oldest first: {"name", "updates", "bytes", "best", "last"}, and with an entry of a validation
// at these updates its figures as "values". `entries`: those of read_metrics().
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

// The state of a run in a few figures, for a page.
bool begins_job(const Json& entry) { return entry["event"] == "start" || entry["event"] == "resume"; }

// The "end" of the last job, or nullptr if it has not ended.
const Json* end_of_last_job(const std::vector<Json>& entries) {
  const Json* end = nullptr;
  for (const Json& entry : entries) {
    if (begins_job(entry)) end = nullptr;
    if (entry["event"] == "end") end = &entry;
  }
  return end;
}

void keep_better(Json& best, const Json& entry) {
  for (const auto& [name, value] : entry.items()) {
    if (name == "loss" || !is_metric(name, value) || value.is_null()) continue;
    const bool is_better =
        !best.contains(name) || (higher_is_better(name) ? value > best[name]["value"] : value < best[name]["value"]);
    if (is_better) best[name] = {{"value", value}, {"updates", entry.value("updates", Json())}};
  }
}

void add_checkpoint(Json& environment, const Path& run) {
  const auto last = linked_checkpoint(run, "last");
  if (!last) return;
  try {
    const TrainState state = read_train_state(*last);
    environment["gyre"] = state.version;
    environment["kernels"] = state.kernels;
    if (const std::string* precision = state.options.find("precision")) environment["precision"] = *precision;
  } catch (const Error& error) {
    environment["checkpoint"] = error.what();
  }
}

// The progress of a run, from its entries of metrics.jsonl: {"state", "updates", "target_tokens", "seconds",
// "tokens_per_second", "tflops", "share", "memory_mb", "gpu_memory_mb", "best"}. `state` is the reason why the last job
// ended, or that it has not ended. `best` has the best value of every validation metric: {"value", "updates"}.
Json run_progress(const std::vector<Json>& entries) {
  const Json* const end = end_of_last_job(entries);
  Json progress{{"state", end ? end->value("reason", Json("ended")) : "not ended: it is training or was killed"}};
  Json best = Json::object();
  for (const Json& entry : entries) {
    if (entry["event"] == "valid") keep_better(best, entry);
    for (const char* name :
         {"updates", "target_tokens", "seconds", "tokens_per_second", "tflops", "share", "memory_mb", "gpu_memory_mb"})
      if (entry.contains(name) && entry[name].is_number()) progress[name] = entry[name];
  }
  progress["best"] = best;
  return progress;
}

// The program and the settings of a run, from its last start and its last checkpoint: {"gyre", "kernels", "precision",
// "ranks", "shards", "seed", "deterministic", "limit_tflops", "limit_source"}, without those that are unknown. A
// damaged checkpoint is named as "checkpoint".
Json run_environment(const Path& run, const std::vector<Json>& entries) {
  Json environment = Json::object();
  add_checkpoint(environment, run);
  for (const Json& entry : entries) {
    if (!begins_job(entry)) continue;
    for (const char* name : {"ranks", "shards", "seed", "deterministic", "limit_tflops", "limit_source"})
      if (entry.contains(name)) environment[name] = entry[name];
  }
  return environment;
}

Path metrics_of(const Path& run) {
  Path file = run / "metrics.jsonl";
  if (!std::filesystem::is_directory(run)) throw UsageError("--model: expected a run directory, got ", run.string());
  if (!std::filesystem::is_regular_file(file))
    throw UsageError("--model: expected the directory of a run, found no metrics.jsonl in ", run.string());
  return file;
}

void check(const std::vector<Path>& runs) {
  if (runs.empty() || runs.size() > 2) throw UsageError("--model: expected one or two runs, got ", runs.size());
  for (const Path& run : runs) metrics_of(run);
  if (runs.size() == 2 && std::filesystem::equivalent(runs[0], runs[1]))
    throw UsageError("--model: expected two runs, got ", runs[0].string(), " twice");
}

// Runs whose directories have the same name are named by their paths.
std::vector<std::string> names_of(const std::vector<Path>& runs) {
  std::vector<std::string> names;
  for (const Path& run : runs) names.push_back(run_name(run));
  if (names.size() == 2 && names[0] == names[1]) return {runs[0].string(), runs[1].string()};
  return names;
}

Json run_json(const Path& run, const std::string& name) {
  const std::vector<Json> entries = read_metrics(metrics_of(run));
  return {{"name", name},
          {"ended", end_of_last_job(entries) != nullptr},
          {"progress", run_progress(entries)},
          {"environment", run_environment(run, entries)},
          {"train", metric_columns(entries, "train")},
          {"valid", metric_columns(entries, "valid")},
          {"samples", sample_histories(entries)},
          {"checkpoints", run_checkpoints(run, entries)},
          {"options", run_options(run)},
          {"architecture", run_architecture(run)},
          {"messages", opening_messages(run)}};
}

struct RunPage {
  std::string html;
  bool has_ended = true;  // whether no run trains any more
};

// The HTML page of one or two run directories. It depends on their files only, not on the time. A page that is followed
// loads itself again until the runs have ended. Throws UsageError if a directory is not that of a run, or if there are
// other numbers of runs, or the same run twice.
RunPage run_report(const std::vector<Path>& runs, bool is_followed) {
  check(runs);
  const std::vector<std::string> names = names_of(runs);
  Json data{{"runs", Json::array()}};
  std::string title = runs.size() == 1 ? "Training run " : "Training runs ";
  RunPage page;
  for (size_t i = 0; i < runs.size(); ++i) {
    data["runs"].push_back(run_json(runs[i], names[i]));
    page.has_ended = page.has_ended && data["runs"].back()["ended"].get<bool>();
    title += (i == 0 ? "" : " and ") + names[i];
  }
  if (is_followed && !page.has_ended) data["followed"] = true;
  page.html = make_page(page_asset("run/page.html"), title, data);
  return page;
}

// While it exists, SIGINT, SIGTERM and SIGHUP do not end the process: a page is written to its end.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&set_);
    for (const int signal : kSignals) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // Returns whether a signal came within a second.
  bool wait() const {
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    return sigtimedwait(&set_, nullptr, &second) > 0;
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  sigset_t set_{}, before_{};
};

// The sizes of the metrics of all runs; 0 for a run that has none yet.
std::vector<uintmax_t> metrics_bytes(const std::vector<Path>& runs) {
  std::vector<uintmax_t> bytes;
  for (const Path& run : runs) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(run / "metrics.jsonl", error);
    bytes.push_back(error ? 0 : size);
  }
  return bytes;
}

// Writes the page anew whenever a run has added to its metrics, until all runs have ended or a signal comes. A run that
// was killed may be continued, so it has not ended. A run directory may have no metrics yet.
void follow_runs(const std::vector<Path>& runs, const Path& output) {
  const HeldSignals signals;
  std::vector<uintmax_t> shown;
  do {
    std::vector<uintmax_t> bytes = metrics_bytes(runs);
    const bool can_read = std::ranges::all_of(bytes, [](uintmax_t size) { return size > 0; });
    if (shown.empty() && !can_read && std::ranges::all_of(runs, [](const Path& run) { return is_directory(run); })) {
      shown = bytes;
      print_message("waiting for the first entries of metrics.jsonl; Ctrl-C ends it");
    }
    if (bytes == shown || (!shown.empty() && !can_read)) continue;
    const bool is_first = shown.empty() || std::ranges::count(shown, 0U) > 0;
    shown = std::move(bytes);
    const RunPage page = run_report(runs, /*is_followed=*/true);
    write_page(output, page.html);
    if (page.has_ended) return print_message(concat(output.string(), " is complete: training has ended"));
    if (is_first) print_message(concat(output.string(), " follows the training; Ctrl-C ends it"));
  } while (!signals.wait());
}

struct ReportArgs {
  std::vector<Path> runs;
  Path output = "report.html";
  bool follow = false;
};

}  // namespace

void add_report_command(Program& program) {
  auto args = std::make_shared<ReportArgs>();
  OptionTable& table =
      program.command("report", "write an HTML page of a training run, or of two runs side by side", [args] {
        if (args->follow) {
          follow_runs(args->runs, args->output);
        } else {
          write_page(args->output, run_report(args->runs, /*is_followed=*/false).html);
        }
        return 0;
      });
  table.add("--model,-m", args->runs, "DIRECTORY...", "one run directory, or two to compare");
  table.required("model");
  table.add("--output,-o", args->output, "FILE", "the page, a single file that needs no network");
  table.add_flag("--follow,-f", args->follow,
                 "write the page anew while the runs train, until they end or Ctrl-C; an open page loads itself again");
}

}  // namespace gyre
