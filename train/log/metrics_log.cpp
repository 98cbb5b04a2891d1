#include "gyre/train/log/metrics_log.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {

AppendedFile::AppendedFile(Path path, std::string context) : path_(std::move(path)), context_(std::move(context)) {
  file_.open(path_, std::ios::binary | std::ios::app);
  require(file_.is_open(), context_, " cannot open ", path_.string(), " for writing: ", std::strerror(errno));
  written_bytes_ = std::filesystem::file_size(path_);
}

void AppendedFile::append(std::string_view record) {
  const bool failed_before = !pending_.empty();
  pending_ += record;
  if (write_pending()) {
    if (failed_before) spdlog::info("{} {}: writing works again, no record is lost", context_, path_.string());
  } else if (!failed_before) {
    spdlog::error("{} cannot write {}: {}; records are kept until they can be written, training continues", context_,
                  path_.string(), std::strerror(errno));
  }
}

bool AppendedFile::write_pending() {
  if (!file_.is_open()) file_.open(path_, std::ios::binary | std::ios::app);
  file_ << pending_ << std::flush;
  if (file_.good()) {
    written_bytes_ += pending_.size();
    pending_.clear();
    return true;
  }
  const int reason = errno;
  file_.close();
  file_.clear();
  std::error_code ignored;  // a read-only disk has no partial record to remove
  std::filesystem::resize_file(path_, written_bytes_, ignored);
  errno = reason;
  return false;
}

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_text(double seconds_since_1970) {
  const auto milliseconds = int64_t(std::floor(seconds_since_1970 * 1000));
  const std::time_t seconds = milliseconds / 1000;
  std::tm t{};
  gmtime_r(&seconds, &t);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                     t.tm_min, t.tm_sec, milliseconds % 1000);
}

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

namespace {

std::optional<double> number_of(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  return found != entry.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

template <class T>
T field_of(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  try {
    if (found != entry.end()) return found->get<T>();
  } catch (const Json::exception&) {
  }
  throw Error("[stages] the entry of a stage in the metrics: expected a value of ", name, ", got ",
              found == entry.end() ? "nothing" : found->dump());
}

uint64_t updates_of(const Json& entry) { return entry.value("updates", uint64_t{0}); }

// The means of training over some updates. An entry of the metrics is itself a mean over the updates since the last
// one.
struct Mean {
  double loss = 0, accuracy = 0, updates = 0;

  void add(const Json& entry, uint64_t count) {
    const std::optional<double> own = number_of(entry, "cross-entropy");
    if (!own) return;
    loss += double(count) * *own;
    accuracy += double(count) * number_of(entry, "accuracy").value_or(0);
    updates += double(count);
  }
};

StageRow row_of(const Json& entry) {
  return {.stage = field_of<uint64_t>(entry, "stage"),
          .begin = field_of<uint64_t>(entry, "begin"),
          .of_updates = field_of<uint64_t>(entry, "stage_updates"),
          .max_length = field_of<int>(entry, "max_length"),
          .batch = field_of<uint64_t>(entry, "batch"),
          .batch_unit = field_of<std::string>(entry, "batch_unit")};
}

bool belongs(const Json& entry, const StageRow& row) {
  return updates_of(entry) > row.begin && updates_of(entry) <= row.begin + row.of_updates;
}

// Adds what the entries of training say. `entries`: of the whole run.
void add_training(StageRow& row, const std::vector<Json>& entries) {
  constexpr uint64_t kParts = 10;
  uint64_t before = row.begin, tokens_before = 0, tokens = 0;
  std::vector<std::pair<const Json*, uint64_t>> own;  // stages with the updates of each
  for (const Json& entry : entries) {
    if (updates_of(entry) <= row.begin) tokens_before = entry.value("target_tokens", tokens_before);
    if (!belongs(entry, row)) continue;
    row.updates = std::max(row.updates, updates_of(entry) - row.begin);
    tokens = entry.value("target_tokens", tokens);
    if (entry.at("event") != "train") continue;
    own.emplace_back(&entry, updates_of(entry) - before);
    before = updates_of(entry);
  }
  row.tokens = tokens - std::min(tokens, tokens_before);
  if (own.empty()) return;
  Mean mean;
  for (const auto& [entry, updates] : own)
    if (updates_of(*entry) > row.begin + row.updates - row.updates / kParts || entry == own.back().first)
      mean.add(*entry, updates);
  if (mean.updates == 0) return;
  row.loss = mean.loss / mean.updates;
  row.accuracy = mean.accuracy / mean.updates;
}

void add_validation(StageRow& row, const std::vector<Json>& entries) {
  for (const Json& entry : entries) {
    if (entry.at("event") != "valid" || !belongs(entry, row)) continue;
    row.valid_loss = number_of(entry, "loss");
    row.valid_accuracy = number_of(entry, "accuracy");
  }
}

}  // namespace

std::vector<StageRow> stage_rows(const std::vector<Json>& entries) {
  // The last entry of a stage counts: a stage may have changed when the run was resumed, and others may be gone.
  std::map<uint64_t, StageRow> stages;
  uint64_t last = 0;
  for (const Json& entry : entries) {
    if (entry.at("event") != "stage") continue;
    const StageRow row = row_of(entry);
    stages[row.stage] = row;
    last = field_of<uint64_t>(entry, "stages");
  }
  std::vector<StageRow> rows;
  for (auto& [number, row] : stages) {
    if (number > last) continue;
    add_training(row, entries);
    add_validation(row, entries);
    rows.push_back(row);
  }
  return rows;
}

namespace {

// Protocol buffer wire types.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <class Integer>
void put_fixed(std::string& out, Integer value) {
  for (size_t i = 0; i < sizeof value; ++i) out += char(value >> (8 * i));
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += char(value | 0x80);
  out += char(value);
}

void put_key(std::string& out, uint32_t field, Wire wire) { put_varint(out, field << 3 | wire); }

void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

// proto3 omits a field that is zero.
void put_step(std::string& out, int64_t step) {
  if (step == 0) return;
  put_key(out, 2, kVarint);
  put_varint(out, uint64_t(step));
}

// The format rotates and shifts the CRC: a CRC over data that include their own CRC would be weak.
uint32_t masked_crc(std::string_view data) {
  const uint32_t crc = crc32c(data.data(), data.size());
  return std::rotr(crc, 15) + 0xa282ead8U;
}

std::string file_name(double now) {
  static std::atomic<int> files = 0;  // distinguishes files of one process in the same second
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
  return concat("events.out.tfevents.", int64_t(now), ".", host.data(), ".", getpid(), ".", files++);
}

Path new_file(const Path& directory, double now) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  require(!failure, "[tensorboard] cannot create ", directory.string(), ": ", failure.message());
  return directory / file_name(now);
}

}  // namespace

EventWriter::EventWriter(const Path& directory, Clock clock)
    : clock_(std::move(clock)), file_(new_file(directory, clock_()), "[tensorboard]") {
  std::string version;
  put_bytes(version, 3, "brain.Event:2");
  write_event(version);
  flush();
}

void EventWriter::session_start(int64_t step) {
  constexpr char kStart = 1;
  std::string fields;
  put_step(fields, step);
  put_bytes(fields, 7, std::string{char(1 << 3 | kVarint), kStart});
  write_event(fields);
}

void EventWriter::scalar(std::string_view tag, double value, int64_t step) {
  std::string entry;
  put_bytes(entry, 1, tag);
  put_key(entry, 2, kFixed32);
  put_fixed(entry, std::bit_cast<uint32_t>(float(value)));
  std::string summary;
  put_bytes(summary, 1, entry);
  std::string fields;
  put_step(fields, step);
  put_bytes(fields, 5, summary);
  write_event(fields);
}

void EventWriter::flush() {
  file_.append(records_);
  records_.clear();
}

void EventWriter::write_event(std::string_view fields) {
  std::string event;
  put_key(event, 1, kFixed64);
  put_fixed(event, std::bit_cast<uint64_t>(clock_()));
  event += fields;
  std::string length;
  put_fixed(length, uint64_t(event.size()));
  records_ += length;
  put_fixed(records_, masked_crc(length));
  records_ += event;
  put_fixed(records_, masked_crc(event));
}

}  // namespace gyre
