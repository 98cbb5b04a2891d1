#include "gyre/data/chat/answer_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"

namespace gyre {
namespace {

AnswerIds encode_line(const Vocabulary& vocabulary, const ChatTemplate* chat, const std::string& line) {
  if (chat != nullptr) return chat->encode(parse_conversation(line));
  const Json json = parse_ordered_json(line, kMaxJsonDepth, "", "the line");
  const auto has_text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string();
  };
  require(has_text("prompt") && has_text("completion"), R"(expected {"prompt": "..", "completion": ".."}, got )",
          cut_for_message(json_text(json)));
  return encode_completion(vocabulary, json["prompt"], json["completion"]);
}

struct EncodedLine {
  uint64_t number = 0;
  std::string text{};
  AnswerIds ids{};
  std::optional<std::string> fault{};
};

class AnswerReader {
 public:
  AnswerReader(const Vocabulary& vocabulary, const ChatTemplate* chat, OnBadLine policy, TokenStoreWriter& writer)
      : vocabulary_(vocabulary), chat_(chat), policy_(policy), writer_(writer) {}

  void read(TextInput& input) {
    constexpr size_t kMost = 4096;  // lines in memory
    input.require_documents();
    LineStream stream(input);
    LineReport& report = report_.files.emplace_back();
    report.files = stream.name();
    report.unit = "sample";
    std::vector<EncodedLine> lines;
    for (bool has_line = true; has_line;) {
      lines.clear();
      for (std::string line; lines.size() < kMost && (has_line = stream.next(line));)
        if (!is_blank(line)) lines.push_back({.number = stream.line(), .text = line});
      parallel_for(lines.size(), 16, [&](size_t i) { encode(lines[i]); });
      for (const EncodedLine& line : lines) add(line, report);
      if (!input.can_rewind()) report.require_clean(policy_);
    }
    report.bytes = input.bytes();
    report.require_clean(policy_);
  }

  const DocumentReport& report() const { return report_; }
  uint64_t shared() const { return shared_; }

 private:
  void encode(EncodedLine& line) const {
    if (const auto bad = first_invalid_utf8(line.text)) {
      line.fault = name_byte(line.text, *bad);
      return;
    }
    try {
      line.ids = encode_line(vocabulary_, chat_, line.text);
    } catch (const Error& error) {
      line.fault = error.what();
    }
  }

  void add(const EncodedLine& line, LineReport& report) {
    const std::string place = concat(report.files, ":", line.number);
    if (line.fault) return report.skip(BadLine::bad_json, line.number, concat(place, ": ", *line.fault));
    const auto& is_answer = line.ids.is_answer;
    if (std::ranges::count(is_answer, 1) == 0) return report.skip(BadLine::empty, line.number, place);
    writer_.add(line.ids.ids, is_answer);
    ++report.kept;
    ++report_.documents;
    shared_ += line.ids.is_shared;
  }

  const Vocabulary& vocabulary_;
  const ChatTemplate* chat_;
  OnBadLine policy_;
  TokenStoreWriter& writer_;
  DocumentReport report_;
  uint64_t shared_ = 0;
};

}  // namespace

AnswerStore read_answers(const Vocabulary& vocabulary, TextInputs files, const ChatTemplate* chat, OnBadLine policy) {
  require(!files.empty(), "[data] expected a file of JSON lines");
  std::string name;
  for (const TextInput& file : files) name += (name.empty() ? "" : " + ") + file.name();
  TokenStoreWriter writer = TokenStoreWriter::in_memory(vocabulary, 2, name);
  AnswerReader reader(vocabulary, chat, policy, writer);
  for (TextInput& file : files) reader.read(file);
  require(reader.report().documents > 0, "[data] no sample in ", reader.report().files.front().describe(),
          files.size() > 1 ? " and the files after it" : "");
  return {{writer.finish(), reader.report()}, reader.shared()};
}

}  // namespace gyre
