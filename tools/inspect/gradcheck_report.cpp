#include "tools/inspect/gradcheck_report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {
namespace {

using Row = GradcheckReport::Row;

struct NamedEntry {
  std::string row, input;
  GradcheckEntry entry;
};

bool is_worse_entry(const NamedEntry& a, const NamedEntry& b) { return is_worse(a.entry, b.entry); }

NamedEntry worst_of(const Row& row) {
  NamedEntry worst{row.name, {}, {}};
  for (const GradcheckResult& result : row.results) {
    const NamedEntry found{row.name, result.input, result.worst()};
    if (worst.input.empty() || is_worse_entry(found, worst)) worst = found;
  }
  return worst;
}

std::vector<NamedEntry> worst_of(const std::vector<Row>& rows, size_t count) {
  std::vector<NamedEntry> all;
  for (const Row& row : rows)
    for (const GradcheckResult& result : row.results)
      for (const GradcheckEntry& entry : result.entries) all.push_back({row.name, result.input, entry});
  std::stable_sort(all.begin(), all.end(), is_worse_entry);
  all.resize(std::min(count, all.size()));
  return all;
}

struct Counts {
  size_t passed = 0, entries = 0;
  int64_t retried = 0;
};

Counts count(const std::vector<Row>& rows) {
  Counts counts;
  for (const Row& row : rows) {
    counts.passed += row.passed();
    for (const GradcheckResult& result : row.results) {
      counts.entries += result.entries.size();
      counts.retried += result.retried_entries();
    }
  }
  return counts;
}

// "table[12]: analytic 0.5, numeric 0.5". Omits the name of a parameter, because the line already has it.
std::string text(const NamedEntry& found) {
  if (found.entry.index < 0) return "no entries";
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, "analytic %.9g, numeric %.9g", found.entry.analytic, found.entry.numeric);
  return concat(found.input == found.row ? "" : found.input, "[", found.entry.index, "]: ", numbers);
}

Json entry_json(const GradcheckEntry& entry) {
  return {{"error", entry.error},
          {"entry", entry.index},
          {"analytic", entry.analytic},
          {"numeric", entry.numeric},
          {"retries", entry.retries}};
}

Json result_json(const char* kind, const GradcheckResult& result) {
  Json json{{kind, result.input}, {"passed", result.passed}};
  json.update(entry_json(result.worst()));
  json.update({{"entries", result.entries.size()}, {"retried", result.retried_entries()}});
  return json;
}

Json op_to_json(const Row& row) {
  Json inputs = Json::array();
  for (const GradcheckResult& result : row.results) inputs.push_back(result_json("input", result));
  return {{"op", row.name}, {"passed", row.passed()}, {"max_error", worst_of(row).entry.error}, {"inputs", inputs}};
}

}  // namespace

bool GradcheckReport::passed() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.passed(); });
}

void GradcheckReport::print(size_t worst) const {
  for (const Row& row : rows) {
    const NamedEntry found = worst_of(row);
    std::printf("%-36s %s  largest error %.2e  %s\n", row.name.c_str(), row.passed() ? "passed" : "FAILED",
                found.entry.error, text(found).c_str());
    if (!of_ops) continue;
    for (const GradcheckResult& result : row.results)
      if (!result.passed) std::printf("  %s\n", text({row.name, result.input, result.worst()}).c_str());
  }
  if (worst > 0) std::printf("The worst entries:\n");
  for (const NamedEntry& found : worst_of(rows, worst))
    std::printf("  %.2e  %s %s\n", found.entry.error, found.row.c_str(), text(found).c_str());
  const Counts counts = count(rows);
  std::printf("%zu of %zu passed; %zu entries, %lld of them retried with a smaller step\n", counts.passed, rows.size(),
              counts.entries, static_cast<long long>(counts.retried));
}

Json GradcheckReport::to_json(Json summary, size_t worst) const {
  const Counts counts = count(rows);
  Json json{{"passed", passed()}};
  json.update(summary);
  json.update({{"entries", counts.entries}, {"retried", counts.retried}});
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(of_ops ? op_to_json(row) : result_json("parameter", row.results[0]));
  json[of_ops ? "ops" : "parameters"] = list;
  if (worst == 0) return json;
  json["worst"] = Json::array();
  for (const NamedEntry& found : worst_of(rows, worst)) {
    Json entry{{of_ops ? "op" : "parameter", found.row}};
    if (of_ops) entry["input"] = found.input;
    entry.update(entry_json(found.entry));
    json["worst"].push_back(entry);
  }
  return json;
}

}  // namespace gyre
