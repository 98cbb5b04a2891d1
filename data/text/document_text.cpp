#include "gyre/data/text/document_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

constexpr int kDeepestLine = 64;  // nesting of a JSON line

// Whether a line begins with a letter, a digit or a character beyond ASCII. Pre-tokenizers do not join a line end with
// such a character, so the ids of a text that is cut between them are those of the whole.
bool begins_word(std::string_view line) {
  if (line.empty()) return false;
  const char c = line.front();
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || uint8_t(c) >= 0x80;
}

// Returns the end of a part of at least `bytes` bytes.
size_t end_of_part(std::string_view text, size_t bytes) {
  if (text.size() / 2 <= bytes) return text.size();
  size_t first = text.npos;
  for (size_t at = text.find('\n', bytes); at != text.npos && at < 2 * bytes; at = text.find('\n', at + 1)) {
    if (begins_word(text.substr(at + 1))) return at + 1;
    if (first == text.npos) first = at + 1;
  }
  if (first != text.npos) return first;
  const size_t at = text.find('\n', bytes);
  return at == text.npos ? text.size() : at + 1;
}

// Moves the end of a part back so that it does not split a character. Invalid characters may be split.
size_t end_of_character(std::string_view text, size_t end) {
  const auto continues_character = [](char byte) { return (uint8_t(byte) & 0xC0) == 0x80; };
  constexpr size_t kMaxContinued = 3;
  size_t cut = end;
  while (cut < text.size() && end - cut < kMaxContinued && continues_character(text[cut])) --cut;
  return cut;
}

std::string with_spaces(std::string_view text) {
  std::string spaced;
  spaced.reserve(text.size());
  for (std::string_view line; take_line(text, line);) {
    spaced += line;
    if (!text.empty()) spaced += ' ';
  }
  return spaced;
}

// Finds "a.b" as a key of its own, or as the key "b" of the object at "a".
template <class Json>
Json* find_field(Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  if (const auto found = object.find(name); found != object.end()) return &*found;
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    const auto outer = object.find(name.substr(0, dot));
    if (outer == object.end()) continue;
    if (auto* found = find_field(*outer, name.substr(dot + 1))) return found;
  }
  return nullptr;
}

std::string keys_of(const IndexedJson& object) {
  std::string keys;
  for (const auto& item : object.items()) keys += concat(keys.empty() ? "" : ", ", quoted_for_message(item.key()));
  return keys.empty() ? "none" : cut_for_message(keys);
}

// Throws an Error that says what was found instead of the text.
std::string text_of(const std::string& line, const std::string& field) {
  IndexedJson object = parse_strict_json(line, kDeepestLine, "", "the line");
  if (!object.is_object()) throw Error("expected a JSON object, got ", cut_for_message(line));
  IndexedJson* text = find_field(object, field);
  if (text == nullptr)
    throw Error("expected a text \"", field, "\", got the keys ", keys_of(object), "; see --text-field");
  require(text->is_string(), "expected a text \"", field, "\", got ", text->type_name(), "; see --text-field");
  return std::move(text->get_ref<std::string&>());
}

}  // namespace

bool is_document_separator(std::string_view line) {
  constexpr std::string_view kSeparators[] = {"<|endoftext|>", "<|end_of_text|>", "<|end|>", "<|eos|>",
                                              "<endoftext>",   "<eos>",           "<EOS>",   "</s>",
                                              "<EOT>",         "[EOS]",           "[SEP]"};
  return std::ranges::count(kSeparators, line) > 0;
}

std::string json_line_of(const std::string& text_field, const std::string& text) {
  return json_text({{text_field, text}});
}

std::string with_text(const std::string& json_line, const std::string& text_field, const std::string& text) {
  auto object = parse_ordered_json(json_line, kDeepestLine, "", "the line");
  auto* field = find_field(object, text_field);
  require(field != nullptr, "expected a text \"", text_field, "\"");
  if (*field == text) return json_line;
  *field = text;
  return json_text(object);
}

bool is_separator(std::string_view text) {
  const bool has_more = std::ranges::any_of(text, [](char c) {
    return !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '-' && c != '_' && c != ' ' && c != '\t';
  });
  return has_more && text.find_first_of("\r\n") == text.npos && !first_invalid_utf8(text);
}

DocumentEnd parse_document_end(std::string_view text) {
  if (text == "blank-line") return DocumentEnd::blank_line;
  if (text == "line") return DocumentEnd::line;
  if (text == "whole") return DocumentEnd::whole;
  if (!is_separator(text))
    throw UsageError("[data] --documents: expected blank-line, line, whole or the line between documents, such as ",
                     "'<|endoftext|>', got '", text, "'");
  return DocumentEnd(std::string(text));
}

DocumentText::DocumentText(TextInputs files, DocumentFormat format, OnBadLine policy)
    : inputs_(std::move(files)), format_(std::move(format)), policy_(policy) {
  for (const TextInput& input : inputs_) {
    LineReport& report = reports_.emplace_back();
    report.files = input.name();
    const bool is_json = input.kind() == TextKind::json_lines, is_whole = format_.end == DocumentEnd::whole;
    report.unit = is_json ? "document" : is_whole ? "byte" : "line";
    input.require_documents();
  }
  if (policy == OnBadLine::skip || !can_rewind()) return;
  const size_t part_bytes = std::exchange(format_.part_bytes, size_t{1} << 20);
  for (DocumentPart part; next(part);) continue;
  format_.part_bytes = part_bytes;
  rewind();
}

void DocumentText::rewind() {
  for (TextInput& input : inputs_) input.rewind();
  for (LineReport& report : reports_) {
    LineReport fresh;
    fresh.files = report.files;
    fresh.unit = report.unit;
    fresh.limit = report.limit;
    report = std::move(fresh);
  }
  file_ = 0;
  read_before_ = offset_ = begin_ = 0;
  lines_.reset();
  text_.clear();
  bytes_.clear();
  is_inside_ = has_held_ = false;
}

std::string DocumentText::place(const DocumentPart& part) const {
  return concat(reports_[part.file].files, ":", part.line);
}

uint64_t DocumentText::file_bytes_read() const {
  return read_before_ + (file_ < inputs_.size() ? inputs_[file_].file_bytes_read() : 0);
}

uint64_t DocumentText::file_bytes() const {
  if (!can_rewind()) return 0;
  uint64_t bytes = 0;
  for (const TextInput& input : inputs_) bytes += input.file_bytes();
  return bytes;
}

bool DocumentText::next(DocumentPart& part) {
  for (; file_ < inputs_.size(); end_file()) {
    part.json.clear();
    part.text.clear();
    part.offset = 0;
    part.file = file_;
    if (next_of_file(part)) return true;
  }
  return false;
}

bool DocumentText::next_of_file(DocumentPart& part) {
  TextInput& input = inputs_[file_];
  const bool is_json = input.kind() == TextKind::json_lines;
  if (format_.end == DocumentEnd::whole && !is_json) return next_bytes(part);
  if (!lines_) lines_ = std::make_unique<LineStream>(input);
  return is_json ? next_json(part) : next_lines(part);
}

void DocumentText::end_file() {
  TextInput& input = inputs_[file_];
  reports_[file_].bytes = input.bytes();
  reports_[file_].require_clean(policy_);
  reports_[file_].require_no_json();
  read_before_ += input.file_bytes();
  lines_.reset();
  offset_ = 0;
  if (input.can_rewind()) input.rewind();  // closes it
  ++file_;
}

void DocumentText::skip(BadLine kind, const std::string& detail) {
  reports_[file_].skip(kind, lines_->line(),
                       concat(lines_->name(), ":", lines_->line(), detail.empty() ? "" : ": ", detail));
  if (!inputs_.can_rewind()) reports_[file_].require_clean(policy_);
}

bool DocumentText::is_good(const std::string& line) {
  const auto bad = first_invalid_utf8(line);
  if (bad) skip(BadLine::bad_utf8, name_byte(line, *bad));
  return !bad;
}

// Counts what other programs write between documents, and what stays in the text here.
void DocumentText::look_for_separator(std::string_view line) {
  LineReport& report = reports_[file_];
  if (is_document_separator(line)) {
    if (report.separators++ == 0) report.separator = line;
  } else {
    report.texts_with_ends += line.find("<|endoftext|>") != line.npos;
  }
}

bool DocumentText::next_lines(DocumentPart& part) {
  LineReport& report = reports_[file_];
  const bool is_joined = format_.line_ends != LineEnds::none;
  part.begins = !is_inside_;
  bool has_text = std::exchange(has_held_, false);
  if (has_text) {
    part.text.swap(held_);
    part.line = lines_->line();
  }
  std::string blank_lines;  // blank lines before the next line, inside a document
  while (lines_->next(line_)) {
    if (!is_good(line_)) continue;
    if (format_.end.is_separator(line_)) {
      if (has_text) break;
      continue;
    }
    if (is_blank(line_)) {
      if (format_.end == DocumentEnd::line) skip(BadLine::empty);
      if (has_text && format_.end == DocumentEnd::blank_line) break;
      if (format_.end == DocumentEnd::separator && format_.line_ends == LineEnds::keep && has_text) blank_lines += '\n';
      continue;
    }
    report.look_at(line_, lines_->line());
    look_for_separator(line_);
    ++report.kept;
    if (!has_text) {
      part.text.swap(line_);
      part.line = lines_->line();
      has_text = true;
      if (format_.end == DocumentEnd::line) break;
      continue;
    }
    part.text += std::exchange(blank_lines, {});
    const size_t bytes = part.text.size();
    if (!is_joined || (bytes >= format_.part_bytes && (begins_word(line_) || bytes / 2 >= format_.part_bytes))) {
      if (format_.line_ends == LineEnds::keep) part.text += '\n';
      held_.swap(line_);
      if (format_.line_ends == LineEnds::space) held_.insert(0, 1, ' ');
      has_held_ = is_inside_ = true;
      part.ends = false;
      return true;
    }
    part.text += format_.line_ends == LineEnds::keep ? '\n' : ' ';
    part.text += line_;
  }
  is_inside_ = false;
  part.ends = true;
  return has_text;
}

// Reads the text of a JSON object into text_. Returns whether it is good.
bool DocumentText::read_json(const std::string& line) {
  if (is_blank(line) || !is_good(line)) return false;
  try {
    text_ = text_of(line, format_.text_field);
  } catch (const Error& error) {
    skip(BadLine::bad_json, error.what());
    return false;
  }
  if (!is_blank(text_)) return true;
  skip(BadLine::empty);
  return false;
}

bool DocumentText::next_json(DocumentPart& part) {
  part.begins = begin_ >= text_.size();
  if (part.begins) {
    text_.clear();
    begin_ = 0;
    do {
      if (!lines_->next(line_)) return false;
    } while (!read_json(line_));
    ++reports_[file_].kept;
    look_for_separator(text_);
    if (format_.keeps_json) json_ = line_;
    if (format_.line_ends == LineEnds::space) text_ = with_spaces(text_);
  }
  take_part(part);
  return true;
}

// Takes the next part of text_, which has one.
void DocumentText::take_part(DocumentPart& part) {
  std::string_view rest = std::string_view(text_).substr(begin_);
  part.line = lines_->line();
  part.json = json_;
  if (format_.line_ends == LineEnds::none) {
    std::string_view line;
    while (take_line(rest, line) && is_blank(line)) continue;
    part.text = line;
    if (is_blank(rest)) rest = {};
  } else {
    const size_t end = end_of_part(rest, format_.part_bytes);
    part.text = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  begin_ = text_.size() - rest.size();
  part.ends = rest.empty();
}

bool DocumentText::next_bytes(DocumentPart& part) {
  TextInput& input = inputs_[file_];
  const size_t bytes = format_.part_bytes;
  // One more byte says whether a character or the file ends here.
  const size_t wanted = bytes == SIZE_MAX ? SIZE_MAX : bytes + 1;
  constexpr size_t kBlock = size_t{1} << 20;
  for (size_t used = bytes_.size(); used < wanted;) {
    bytes_.resize(std::min(wanted, used + kBlock));
    const size_t got = input.read(bytes_.data() + used, bytes_.size() - used);
    bytes_.resize(used += got);
    if (got == 0) break;
  }
  if (bytes_.empty()) return false;
  const size_t end = bytes_.size() <= bytes ? bytes_.size() : end_of_character(bytes_, bytes);
  part.text = bytes_.substr(0, end);
  bytes_.erase(0, end);
  part.begins = offset_ == 0;
  part.ends = bytes_.empty();
  part.line = 0;
  part.offset = offset_;
  if (const auto bad = format_.any_bytes ? std::nullopt : first_invalid_utf8(part.text)) {
    throw Error("[data] ", input.name(), ": ", name_byte(part.text, *bad, offset_),
                ": expected valid UTF-8 for this vocabulary; gyre vocab --type bytes accepts any bytes");
  }
  std::string_view rest = part.text;
  for (std::string_view line; take_line(rest, line);) look_for_separator(line);
  offset_ += end;
  reports_[file_].kept += end;
  return true;
}

}  // namespace gyre
