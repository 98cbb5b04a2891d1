#include "tools/inspect/trace.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/temporary_directory.h"

using namespace gyre;
using nlohmann::json;

namespace {

Span op(std::string_view name, const std::string& module, Span::Kind kind, double begin, double end) {
  return {.name = name,
          .module = module,
          .kind = kind,
          .node = 3,
          .begin = begin,
          .end = end,
          .flops = 8,
          .after = 1 << 20};
}

// Two forward ops and one backward op of a layer, messages that overlap, and the wait for them.
RankTrace example(int rank) {
  using enum Span::Kind;
  RankTrace trace{.rank = rank, .zero = 100, .spans = {}, .exchanges = {}};
  trace.spans = {op("linear", "encoder.layers.0.ffn", forward, 100, 101),
                 op("gelu", "encoder.layers.0.ffn", forward, 101, 102),
                 {.name = Timeline::kOther, .module = {}, .begin = 102, .end = 103},
                 op("gelu", "encoder.layers.0.ffn", backward, 103, 104),
                 {.name = "wait for ranks", .module = {}, .begin = 104, .end = 108}};
  trace.exchanges = {{Exchange::Kind::background, "all-to-all", 101, 105, 64},
                     {Exchange::Kind::background, "all-to-all", 102, 106, 64},
                     {Exchange::Kind::background, "all-to-all", 105, 107, 64},
                     {Exchange::Kind::callback, "after all-to-all", 105, 105.5, 64, true},
                     {Exchange::Kind::waiting, "wait for gradients", 104.5, 107.5, 0}};
  return trace;
}

json written(const std::vector<std::string>& events) {
  const TemporaryDirectory directory;
  write_trace(directory.path() / "trace.json", events);
  return json::parse(read_file(directory.path() / "trace.json"));
}

int process_of(const json& trace, int rank) {
  for (const json& e : trace["traceEvents"])
    if (e["name"] == "process_name" && e["args"]["name"] == concat("rank ", rank)) return e["pid"];
  return -1;
}

std::map<int, std::string> track_names(const json& trace, int rank) {
  std::map<int, std::string> names;
  for (const json& e : trace["traceEvents"])
    if (e["name"] == "thread_name" && e["pid"] == process_of(trace, rank)) names[e["tid"]] = e["args"]["name"];
  return names;
}

}  // namespace

TEST_CASE("trace: slices are on named tracks, in microseconds since the common start") {
  const json trace = written({trace_events(example(0))});
  const auto names = track_names(trace, 0);
  bool found = false;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    CHECK(names.contains(e["tid"].get<int>()));
    if (e["name"] != "linear") continue;
    found = true;
    CHECK(names.at(e["tid"]) == "ops");
    CHECK(e["ts"] == 0.0);
    CHECK(e["dur"] == 1e6);
    CHECK(e["cat"] == "forward");
    CHECK(e["args"]["module"] == "encoder.layers.0.ffn");
  }
  CHECK(found);
}

TEST_CASE("trace: slices of a track are disjoint or nested") {
  const json trace = written({trace_events(example(0))});
  const json& events = trace["traceEvents"];
  for (const json& a : events) {
    for (const json& b : events) {
      if (a["ph"] != "X" || b["ph"] != "X" || a["tid"] != b["tid"]) continue;
      const double a0 = a["ts"], a1 = a0 + a["dur"].get<double>(), b0 = b["ts"], b1 = b0 + b["dur"].get<double>();
      const bool apart = a1 <= b0 || b1 <= a0, within = (a0 <= b0 && b1 <= a1) || (b0 <= a0 && a1 <= b1);
      CHECK_MESSAGE((apart || within), a.dump(), " and ", b.dump());
    }
  }
  std::vector<std::string> names;
  for (const auto& [track, name] : track_names(trace, 0)) names.push_back(name);
  CHECK(names == std::vector<std::string>{"modules", "ops", "communicator's thread", "all-to-all 1", "all-to-all 2"});
}

TEST_CASE("trace: a module's slice spans its ops in one pass") {
  int forward = 0, backward = 0;
  const json trace = written({trace_events(example(0))});
  for (const json& e : trace["traceEvents"]) {
    if (e["name"] != "encoder.layers.0") continue;
    (e["cat"] == "forward" ? forward : backward) += 1;
    CHECK(e["dur"] == (e["cat"] == "forward" ? 2e6 : 1e6));
  }
  CHECK(forward == 1);
  CHECK(backward == 1);
}

TEST_CASE("trace: ranks are processes, each with its memory") {
  const json trace = written({trace_events(example(0)), trace_events(example(1))});
  std::map<int, int> counters;
  for (const json& e : trace["traceEvents"])
    if (e["ph"] == "C") counters[e["pid"]] += 1;
  const int first = process_of(trace, 0), second = process_of(trace, 1);
  CHECK(counters == std::map<int, int>{{first, 5}, {second, 5}});
  CHECK(track_names(trace, 1) == track_names(trace, 0));
}

// Perfetto treats thread 0 and the thread with the number of its process as the main thread.
TEST_CASE("trace: no track is a process's main thread") {
  const json trace = written({trace_events(example(0)), trace_events(example(1))});
  for (const json& e : trace["traceEvents"]) {
    if (!e.contains("tid")) continue;
    CHECK(e["tid"] != 0);
    CHECK(e["tid"] != e["pid"]);
  }
}
