#include "tools/inspect/trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/io/json.h"
#include "tools/summary.h"

namespace gyre {
namespace {

// Tracks of a rank, from top to bottom. The tracks of messages start at kMessages.
enum Track : int { kModules = 1, kOps, kProgressThread, kMessages };
// The process id of rank 0. It exceeds all track numbers, because Perfetto treats thread 0 and a thread with the number
// of its process as the main thread.
constexpr int kFirstProcess = 100'000;
constexpr int kModuleDepth = 3;  // encoder.layers.0

class Events {
 public:
  explicit Events(const RankTrace& trace) : process_(kFirstProcess + trace.rank), zero_(trace.zero) {
    events_.push_back(
        {{"name", "process_name"}, {"ph", "M"}, {"pid", process_}, {"args", {{"name", concat("rank ", trace.rank)}}}});
  }

  void name_track(int track, const std::string& name) {
    events_.push_back(
        {{"name", "thread_name"}, {"ph", "M"}, {"pid", process_}, {"tid", track}, {"args", {{"name", name}}}});
    events_.push_back({{"name", "thread_sort_index"},
                       {"ph", "M"},
                       {"pid", process_},
                       {"tid", track},
                       {"args", {{"sort_index", track}}}});
  }

  void slice(int track, std::string_view name, const char* category, double begin, double end, Json args) {
    events_.push_back({{"name", name},
                       {"cat", category},
                       {"ph", "X"},
                       {"ts", microseconds(begin)},
                       {"dur", std::max(0.0, microseconds(end) - microseconds(begin))},
                       {"pid", process_},
                       {"tid", track}});
    if (!args.empty()) events_.back()["args"] = std::move(args);
  }

  void memory(double at, size_t bytes) {
    events_.push_back({{"name", "tensors"},
                       {"ph", "C"},
                       {"ts", microseconds(at)},
                       {"pid", process_},
                       {"args", {{"MiB", double(bytes) / kMebibyte}}}});
  }

  std::string text() const { return events_.dump(); }

 private:
  double microseconds(double at) const { return std::round((at - zero_) * 1e9) / 1e3; }

  int process_;
  double zero_;
  Json events_ = Json::array();
};

const char* category(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::forward:
      return "forward";
    case Span::Kind::backward:
      return "backward";
    case Span::Kind::outside:
      return "outside";
    case Span::Kind::recompute:
      return "recompute";
  }
  return "";
}

void add_ops(Events& events, const std::vector<Span>& spans) {
  events.name_track(kOps, "ops");
  for (const Span& span : spans) {
    Json args;
    if (span.node >= 0) args = {{"module", span.module}, {"node", span.node}, {"flops", span.flops}};
    events.slice(kOps, span.name, category(span.kind), span.begin, span.end, std::move(args));
    events.memory(span.end, span.after);
  }
}

// Consecutive spans of the same module in the same pass form one slice, including the gaps between them.
void add_modules(Events& events, const std::vector<Span>& spans) {
  events.name_track(kModules, "modules");
  Span open;
  std::string name;
  const auto close = [&] {
    if (!name.empty()) events.slice(kModules, name, category(open.kind), open.begin, open.end, {});
  };
  for (const Span& span : spans) {
    if (span.name == Timeline::kOther) continue;
    const std::string module = path_prefix(span.module, kModuleDepth);
    if (module != name || span.kind != open.kind) {
      close();
      name = module;
      open = span;
    }
    open.end = span.end;
  }
  close();
}

// Overlapping messages go to separate tracks: each message goes to the first free track of its kind.
void add_messages(Events& events, std::vector<Exchange> messages) {
  std::stable_sort(messages.begin(), messages.end(),
                   [](const Exchange& a, const Exchange& b) { return a.begin < b.begin; });
  std::map<std::string, std::vector<std::vector<Exchange>>> kinds;
  for (Exchange& m : messages) {
    auto& tracks = kinds[m.name];
    const auto is_free = [&m](const std::vector<Exchange>& track) { return track.back().end <= m.begin; };
    const auto track = std::find_if(tracks.begin(), tracks.end(), is_free);
    (track == tracks.end() ? tracks.emplace_back() : *track).push_back(std::move(m));
  }
  int number = kMessages;
  for (const auto& [name, tracks] : kinds) {
    for (size_t i = 0; i < tracks.size(); ++i, ++number) {
      events.name_track(number, concat(name, " ", i + 1));
      for (const Exchange& m : tracks[i]) events.slice(number, name, "message", m.begin, m.end, {{"bytes", m.bytes}});
    }
  }
}

void add_exchanges(Events& events, const std::vector<Exchange>& exchanges) {
  std::vector<Exchange> messages;
  bool on_progress_thread = false;
  for (const Exchange& e : exchanges) {
    if (e.kind == Exchange::Kind::background) {
      messages.push_back(e);
    } else {
      on_progress_thread |= e.on_progress_thread;
      events.slice(e.on_progress_thread ? kProgressThread : kOps, e.name, "exchange", e.begin, e.end,
                   {{"bytes", e.bytes}});
    }
  }
  if (on_progress_thread) events.name_track(kProgressThread, "communicator's thread");
  add_messages(events, std::move(messages));
}

}  // namespace

std::string trace_events(const RankTrace& trace) {
  Events events(trace);
  add_modules(events, trace.spans);
  add_ops(events, trace.spans);
  add_exchanges(events, trace.exchanges);
  return events.text();
}

void write_trace(const Path& output, const std::vector<std::string>& events_of_ranks) {
  std::string text = R"({"displayTimeUnit":"ms","traceEvents":[)";
  bool first = true;
  for (const std::string& events : events_of_ranks) {
    text += (first ? "" : ",\n") + events.substr(1, events.size() - 2);  // the brackets are left out
    first = false;
  }
  write_file(output, text + "]}\n");
}

}  // namespace gyre
