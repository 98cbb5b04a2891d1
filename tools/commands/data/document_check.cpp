#include "tools/commands/data/document_check.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/store/token_store.h"
#include "tools/commands/data/check_report.h"
#include "tools/options/document_rows.h"
#include "tools/print_summary.h"

namespace gyre {

namespace {

Json to_json(const DocumentSet& set, const DocumentCheck& check) {
  Json files = Json::array();
  for (const LineReport& file : set.files) files.push_back(file.files);
  Json json{{"set", set.name},
            {"files", files},
            {"documents", set.documents},
            {"bytes", set.bytes},
            {check.has_tokens ? "tokens" : "words", set.tokens}};
  if (check.has_tokens) json["unknown_pieces"] = set.unknown;
  json.update({{"duplicates", set.duplicates.count}, {"near_duplicates", set.near_duplicates.count}});
  for (size_t i = 0; i < kPercentiles.size(); ++i)
    json["lengths"][kPercentileNames[i]] = length_percentile(set, kPercentiles[i]);
  return json;
}

Json to_json(const DocumentCheck& check) {
  Json json = findings_json(check.findings);
  json["sets"] = json["overlaps"] = Json::array();
  for (const DocumentSet& set : check.sets) json["sets"].push_back(to_json(set, check));
  for (const DocumentOverlap& overlap : check.overlaps)
    json["overlaps"].push_back({{"held_out", check.sets[overlap.held_out].name},
                                {"other", check.sets[overlap.other].name},
                                {"documents", overlap.documents},
                                {"share_of_runs", overlap.share}});
  return json;
}

void print(const DocumentCheck& check) {
  print_findings(check.findings);
  std::printf("\n%-25s", check.has_tokens ? "Tokens of a document" : "Words of a document");
  for (const char* name : kPercentileNames) std::printf(" %10s", name);
  std::printf("\n");
  for (const DocumentSet& set : check.sets) {
    std::printf("%-25s", set.name.c_str());
    for (const double share : kPercentiles)
      std::printf(" %10llu", static_cast<unsigned long long>(length_percentile(set, share)));
    std::printf("\n");
  }
  std::printf("\n");
  print_counts(check.findings);
}

}  // namespace

void DocumentCheckArgs::add_rows(OptionTable& table) {
  table.group("Documents, of a language model; one file of text or JSON lines in --train-sets");
  add_documents_row(table, documents, "; default: blank-line; if it is given, the sets are documents in any case");
  add_text_field_row(table, text_field);
  table.add("--near-duplicates", near_duplicates, "SIMILARITY",
            "count documents whose estimated Jaccard similarity to an earlier one is at least this; 0: do not compare");
  table.add("--overlap-words", overlap_words, "WORDS",
            "length of the runs of words that held-out documents should not share with training");
}

bool DocumentCheckArgs::are_documents(const OptionTable& table, const std::vector<Path>& train) const {
  if (table.given("documents") || table.given("text-field")) return true;
  if (train.empty()) return false;
  const std::vector<Path> files = expand_paths(train);
  std::error_code error;  // a path that cannot be looked up is reported when it is opened
  const bool is_file = std::filesystem::is_regular_file(files[0], error);
  const TextKind kind = is_file ? TextInput(files[0]).kind() : TextKind::text;
  if (kind == TextKind::token_store) return TokenStore(files[0]).sides() == 1;
  return kind == TextKind::json_lines || files.size() != 2;
}

int DocumentCheckArgs::check(const std::vector<Path>& train, const std::vector<Path>& valid,
                             const std::vector<Path>& tests, const Vocabulary* vocabulary, bool json) const {
  for (const std::vector<Path>* set : {&train, &valid, &tests}) {
    for (const Path& file : expand_paths(*set))
      require(!TokenStore::recognizes(file), "[data] ", file.string(),
              ": expected text, got a token store: documents are checked in the text that it was built from");
  }
  DocumentCheckOptions options;
  options.train = train;
  options.valid = valid;
  options.tests = tests;
  options.format.text_field = text_field;
  if (!documents.empty()) options.format.end = parse_document_end(documents);
  options.near_duplicates.similarity = near_duplicates;
  options.near_duplicates.validate();
  expect_between<uint64_t>(2, 1000, "--overlap-words", overlap_words);
  options.overlap_words = overlap_words;
  const DocumentCheck result = check_documents(options, vocabulary);
  if (json) {
    print_summary(to_json(result), true);
  } else {
    print(result);
  }
  return count_findings(result.findings, Severity::error) == 0 ? 0 : 1;
}

}  // namespace gyre
