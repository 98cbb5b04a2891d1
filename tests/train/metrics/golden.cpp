#include "tests/train/metrics/golden.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gyre/core/error.h"
#include "tests/shared_data.h"
#include "tests/source_dir.h"

using gyre::Lines;
using nlohmann::json;

namespace {

constexpr const char *kTexts = "sacrebleu_tests/wmt17_en_de", *kScores = "sacrebleu_tests/wmt17_en_de_expected.tsv";

Lines read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  gyre::require(file.good(), "[test] cannot read ", path.string());
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

json read_golden(const std::string& file) {
  return json::parse(std::ifstream(source_dir() / "tests/train/metrics/golden" / file));
}

ParallelText parallel_text(const json& golden, const json& expected) {
  ParallelText text;
  text.references.resize(expected["references"].get<size_t>());
  for (const json& row : golden["sets"][expected["lines"].get<std::string>()]) {
    text.hypotheses.push_back(row[0]);
    for (size_t k = 0; k < text.references.size(); ++k) text.references[k].push_back(row[k + 1]);
  }
  return text;
}

bool has_wmt17() { return require_shared_data({kTexts, kScores}); }

std::vector<Wmt17System> read_wmt17() {
  const std::filesystem::path folder = shared_data() / kTexts;
  std::vector<Wmt17System> systems;
  const Lines reference = read_lines(folder / "reference.txt");
  Lines table = read_lines(shared_data() / kScores);
  table.erase(table.begin());  // the header
  for (const std::string& row : table) {
    std::istringstream fields(row);
    std::string name, bleu, ter, chrf, chrf_plus;
    for (std::string* field : {&name, &bleu, &ter, &chrf, &chrf_plus}) std::getline(fields, *field, '\t');
    Wmt17System system{name, read_lines(folder / (name + ".txt")), reference, std::stod(bleu), std::stod(ter), {}, {}};
    if (!chrf.empty()) system.chrf = std::stod(chrf);
    if (!chrf_plus.empty()) system.chrf_plus = std::stod(chrf_plus);
    systems.push_back(system);
  }
  return systems;
}
