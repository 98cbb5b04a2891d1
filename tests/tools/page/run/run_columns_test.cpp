// The columns of metrics and the histories of samples that a page shows.
#include "tools/page/run/run_columns.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"

using namespace gyre;

namespace {

Json parse(const char* text) { return Json::parse(text); }

std::vector<Json> entries_of(const std::vector<const char*>& lines) {
  std::vector<Json> entries;
  for (const char* line : lines) entries.push_back(parse(line));
  return entries;
}

}  // namespace

TEST_CASE("figures become columns of equal length, with null for missing ones") {
  const auto entries = entries_of({
      R"({"time":"t","event":"start","updates":0,"seed":1})",
      R"({"time":"t","event":"train","updates":10,"epoch":1,"loss":2.5,"target_tokens":1000,"seconds":1.5})",
      R"({"event":"train","updates":20,"loss":null,"accuracy":0.5,"target_tokens":3000,"seconds":3.0})",
      R"({"event":"valid","updates":15,"loss":2.25,"bleu":1.5,"samples":[],"validation_seconds":1.0,"seconds":2.0})",
      R"({"event":"valid","updates":20,"loss":2.0,"bleu":2.5,"seconds":4.0})",
      R"({"event":"valid","updates":25,"loss":1.0,"seconds":5.0})",
  });
  CHECK(metric_columns(entries, "train") ==
        parse(R"({"entries":2,"updates":[10,20],"target_tokens":[1000,3000],"seconds":[1.5,3.0],
                  "values":{"loss":[2.5,null],"accuracy":[null,0.5]}})"));
  CHECK(metric_columns(entries, "valid") ==
        parse(R"({"entries":3,"updates":[15,20,25],"target_tokens":[2000,3000,null],"seconds":[2.0,4.0,5.0],
                  "values":{"loss":[2.25,2.0,1.0],"bleu":[1.5,2.5,null]}})"));
  CHECK(metric_columns({}, "train")["values"] == Json::object());
}

TEST_CASE("of very many entries, the ends and the extreme losses remain, in order") {
  std::vector<Json> entries;
  for (size_t i = 1; i <= 3 * kMaxPageEntries; ++i)
    entries.push_back({{"event", "train"}, {"updates", i}, {"loss", 1 + double(i % 7) / 10}});
  entries[2001]["loss"] = 500;
  entries[3003]["loss"] = nullptr;
  entries[4004]["loss"] = 0.5;
  const Json columns = metric_columns(entries, "train");
  CHECK(columns["entries"] == 3 * kMaxPageEntries);
  const auto updates = columns["updates"].get<std::vector<size_t>>();
  CHECK(updates.size() <= kMaxPageEntries);
  CHECK(updates.size() > kMaxPageEntries / 2);
  CHECK(std::ranges::is_sorted(updates));
  for (const size_t update : {size_t{1}, size_t{2002}, size_t{3004}, size_t{4005}, 3 * kMaxPageEntries})
    CHECK(std::ranges::binary_search(updates, update));
}

TEST_CASE("consecutive validations with the same output are one") {
  const auto entries = entries_of({
      R"({"event":"valid","updates":5,"samples":[{"source":"a","reference":"b","output":""},
          {"source":"c","reference":"d","output":"x"}]})",
      R"({"event":"valid","updates":10,"samples":[{"source":"a","reference":"b","output":""},"not a sample"]})",
      R"({"event":"valid","updates":15,"samples":[{"source":"a","reference":"b","output":"b"}]})",
      R"({"event":"train","updates":20,"loss":1})",
  });
  CHECK(sample_histories(entries) == parse(R"([{"source":"a","reference":"b","outputs":[{"first":5,"last":10,"text":""},
                   {"first":15,"last":15,"text":"b"}],"all":2},
                  {"source":"c","reference":"d","outputs":[{"first":5,"last":5,"text":"x"}],"all":1}])"));
  CHECK(sample_histories({}) == Json::array());
}

TEST_CASE("of very many outputs of a sample, the first, the last and some between remain") {
  std::vector<Json> entries;
  for (size_t i = 1; i <= 3 * kMaxPageOutputs; ++i)
    entries.push_back({{"event", "valid"},
                       {"updates", i},
                       {"samples", {{{"source", "a"}, {"reference", "b"}, {"output", std::to_string(i)}}}}});
  const Json history = sample_histories(entries)[0];
  CHECK(history["all"] == 3 * kMaxPageOutputs);
  CHECK(history["outputs"].size() == kMaxPageOutputs);
  CHECK(history["outputs"].front()["first"] == 1);
  CHECK(history["outputs"].back()["last"] == 3 * kMaxPageOutputs);
}
