#include "tools/commands/data/check_report.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "gyre/core/counted.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/printable.h"

namespace gyre {

namespace {

constexpr std::array<const char*, 2> kSideNames{"source", "target"};
constexpr int kBarWidth = 30;

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return "ok";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

// Numbers of measured sentences by length: entry i counts lengths from 2^i to 2^(i + 1) - 1.
std::vector<uint64_t> histogram(const SetStatistics& set, size_t side) {
  std::vector<uint64_t> counts;
  for (const auto& lengths : set.lengths) {
    const auto at = size_t(std::bit_width(lengths[side])) - 1;
    if (counts.size() <= at) counts.resize(at + 1);
    ++counts[at];
  }
  return counts;
}

void print_lengths(const SetStatistics& set) {
  for (size_t side = 0; side < 2; ++side) {
    std::printf("%-16s %-8s", set.name.c_str(), kSideNames[side]);
    for (const double share : kPercentiles)
      std::printf(" %8llu", static_cast<unsigned long long>(length_percentile(set, int(side), share)));
    std::printf("\n");
  }
}

void print_histogram(const SetStatistics& set) {
  const std::array<std::vector<uint64_t>, 2> counts{histogram(set, 0), histogram(set, 1)};
  const size_t rows = std::max(counts[0].size(), counts[1].size());
  std::printf("\nTokens of the sentences of the %s\n%17s %12s %12s\n", set.name.c_str(), "tokens", "source", "target");
  for (size_t row = 0; row < rows; ++row) {
    std::array<uint64_t, 2> of{};
    for (size_t side = 0; side < 2; ++side) of[side] = row < counts[side].size() ? counts[side][row] : 0;
    const auto bar = size_t(double(kBarWidth) * double(of[0] + of[1]) / (2 * double(set.measured())) + 0.5);
    std::printf("%7llu to %6llu %12llu %12llu  %s\n", 1ULL << row, (2ULL << row) - 1,
                static_cast<unsigned long long>(of[0]), static_cast<unsigned long long>(of[1]),
                std::string(bar, '#').c_str());
  }
}

Json to_json(const LineList& list) { return {{"count", list.count}, {"first_lines", list.first}}; }

Json to_json(const SetStatistics& set, size_t side) {
  const SideStatistics& statistics = set.sides[side];
  Json json{{"file", statistics.path.string()}, {"lines", statistics.lines}};
  if (!set.is_store) {
    Json& encoding = json["encoding"] = Json::object();
    for (size_t fault = 0; fault < kLineFaults; ++fault)
      encoding[std::string(enum_name(LineFault(fault)))] = to_json(statistics.faults[fault]);
    json["crlf_lines"] = statistics.crlf_lines;
    json["byte_order_mark"] = statistics.has_byte_order_mark;
  }
  json.update({{"pieces", statistics.pieces},
               {"unknown_pieces", statistics.unknown},
               {"histogram_of_lengths", histogram(set, side)}});
  for (size_t i = 0; i < kPercentiles.size(); ++i)
    json["lengths"][kPercentileNames[i]] = length_percentile(set, int(side), kPercentiles[i]);
  return json;
}

Json to_json(const SetStatistics& set) {
  return {{"set", set.name},
          {"pairs", set.pairs},
          {"measured_pairs", set.measured()},
          {"measured_every", set.every},
          {"unpaired", to_json(set.unpaired)},
          {"duplicates", to_json(set.duplicates)},
          {"copies", to_json(set.copies)},
          {"over_max_length", to_json(set.over_length)},
          {"ratio_outliers", to_json(set.ratio_outliers)},
          {"source", to_json(set, 0)},
          {"target", to_json(set, 1)}};
}

}  // namespace

uint64_t count_findings(const std::vector<Finding>& findings, Severity severity) {
  return uint64_t(std::ranges::count(findings, severity, &Finding::severity));
}

void print_findings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::cout << severity_name(finding.severity) << ": " << finding.topic << ": " << printable_line(finding.text)
              << '\n';
    if (finding.severity == Severity::ok) continue;
    for (const std::string& example : finding.examples) std::cout << "    " << printable_line(example) << '\n';
  }
  std::cout << std::flush;
}

void print_counts(const std::vector<Finding>& findings) {
  std::printf("%s, %s\n", counted(count_findings(findings, Severity::error), "error").c_str(),
              counted(count_findings(findings, Severity::warning), "warning").c_str());
}

Json findings_json(const std::vector<Finding>& findings) {
  Json json{{"errors", count_findings(findings, Severity::error)},
            {"warnings", count_findings(findings, Severity::warning)},
            {"findings", Json::array()}};
  for (const Finding& finding : findings)
    json["findings"].push_back({{"verdict", severity_name(finding.severity)},
                                {"topic", finding.topic},
                                {"text", finding.text},
                                {"examples", finding.examples}});
  return json;
}

Json to_json(const DataCheck& check, const RunCost* cost) {
  Json json = findings_json(check.findings);
  json["compared_by"] = check.keys == RowKeys::ids ? "ids" : "text";
  json["sets"] = json["overlaps"] = Json::array();
  for (const SetStatistics& set : check.sets) json["sets"].push_back(to_json(set));
  for (const Overlap& overlap : check.overlaps)
    json["overlaps"].push_back({{"held_out", check.sets[overlap.held_out].name},
                                {"other", check.sets[overlap.other].name},
                                {"pairs", overlap.pairs.count()},
                                {"source", overlap.source.count()},
                                {"target", overlap.target.count()}});
  json["epoch"] = {{"updates", check.epoch.updates},
                   {"estimated", check.epoch.is_estimate},
                   {"sentence_length", check.epoch.sentence_length}};
  if (cost != nullptr)
    json["cost"] = {{"where", cost->where},
                    {"ranks", cost->ranks},
                    {"memory_bytes", cost->memory_bytes},
                    {"update_seconds", cost->update_seconds},
                    {"epoch_seconds", cost->epoch_seconds},
                    {"run_seconds", cost->run_seconds}};
  return json;
}

void print_check(const DataCheck& check, uint64_t sample_lines) {
  print_findings(check.findings);
  std::printf("\n%-25s", "Tokens of a sentence");
  for (const char* name : kPercentileNames) std::printf(" %8s", name);
  std::printf("\n");
  for (const SetStatistics& set : check.sets) print_lengths(set);
  if (check.sets[0].measured() > 0) print_histogram(check.sets[0]);
  std::printf("\n");
  for (const SetStatistics& set : check.sets) {
    if (sample_lines > 0 && set.every > 1)
      std::printf("Pieces and lengths of the %s are of %llu of its %llu pairs (--sample-lines %llu).\n",
                  set.name.c_str(), static_cast<unsigned long long>(set.measured()),
                  static_cast<unsigned long long>(set.pairs), static_cast<unsigned long long>(sample_lines));
  }
  if (check.keys == RowKeys::ids) std::printf("Sentences are compared by their ids, because a set is a token store.\n");
  print_counts(check.findings);
}

}  // namespace gyre
