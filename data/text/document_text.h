// Reads the documents of text files, the corpora of language models and vocabularies: plain text, whose document ends
// are chosen, or JSON lines, each of which is a document.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/text_input.h"

namespace gyre {

// The end of a document in plain text. The end of a file always ends a document.
//   blank_line: a document ends at a blank line.
//   line: each line is a document.
//   whole: the file is one document, and all of its bytes are part of it, including a byte order mark and line ends.
//   separator: a document ends at a line that is the given text, such as <|endoftext|>, which is no part of it. Blank
//     lines inside are.
class DocumentEnd {
 public:
  enum Kind : uint8_t { blank_line, line, whole, separator };  // NOLINT: named as the words of --documents

  DocumentEnd(Kind kind) : kind_(kind) {}  // NOLINT: a kind without a text is an end
  explicit DocumentEnd(std::string text) : kind_(separator), text_(std::move(text)) {}
  bool operator==(Kind kind) const { return kind_ == kind; }
  bool is_separator(std::string_view line) const { return kind_ == separator && line == text_; }
  const std::string& text() const { return text_; }  // the line of a separator

 private:
  Kind kind_;
  std::string text_;
};

// Returns whether the text can be the separator of documents: it is more than letters, dashes and white space.
bool is_separator(std::string_view text);
// "blank-line", "line", "whole" or a separator; else UsageError.
DocumentEnd parse_document_end(std::string_view text);

// The text between the lines of a document.
//   keep: "\n"; JSON lines keep the line ends that they have. `whole` always keeps them.
//   space: a space.
//   none: nothing: every line is a text by itself.
enum class LineEnds : uint8_t { keep, space, none };
template <>
inline constexpr std::pair<LineEnds, std::string_view> kEnumNames<LineEnds>[] = {
    {LineEnds::keep, "keep"}, {LineEnds::space, "space"}, {LineEnds::none, "none"}};

// Whether a line is a token that other programs write between documents, such as <|endoftext|> or </s>. A vocabulary
// that has no such piece reads it as text.
bool is_document_separator(std::string_view line);

// JSON lines: an object with a text, and a line with another text in the field that DocumentFormat::text_field names.
// The other fields keep their order, and a line whose text is the same is not changed.
std::string json_line_of(const std::string& text_field, const std::string& text);
std::string with_text(const std::string& json_line, const std::string& text_field, const std::string& text);

struct DocumentFormat {
  DocumentEnd end = DocumentEnd::blank_line;
  LineEnds line_ends = LineEnds::keep;
  // Key of the text in JSON lines. The text of an object in an object is named by both keys ("data.text").
  std::string text_field = "text";
  bool any_bytes = false;  // accept text that is not UTF-8 in documents that end with the file
  // A longer document is returned in parts of at least this many bytes that end at a line end, or of exactly as many
  // whole characters as fit if it ends with the file. The default returns whole documents.
  size_t part_bytes = SIZE_MAX;
  bool keeps_json = false;  // give DocumentPart::json, a copy for every part
};

// A document or a part of one.
struct DocumentPart {
  std::string text;
  bool begins = true, ends = true;  // whether it is the first and the last part of its document
  size_t file = 0;                  // index of its file
  uint64_t line = 0;                // number of its first line from 1; that of the JSON object in JSON lines
  uint64_t offset = 0;              // bytes of the file before it, if the document ends with the file
  std::string json;                 // the line in JSON lines, with DocumentFormat::keeps_json; empty in plain text
};

class DocumentText {
 public:
  // If the policy makes any kind of bad line an error and the files can be read again, reads all of them first, so that
  // such an error does not occur after hours of work; a bad line in a pipe is found when it is read. Throws an Error
  // for a token store.
  DocumentText(TextInputs files, DocumentFormat format, OnBadLine policy);
  DocumentText(const DocumentText&) = delete;  // the streams refer to the inputs
  DocumentText& operator=(const DocumentText&) = delete;

  // Reads the next part of a document that is not blank. Returns false at the end. Throws an Error for a line that is
  // bad under the policy; with DocumentEnd::whole also for invalid UTF-8 unless the format accepts it.
  bool next(DocumentPart& part);
  void rewind();  // returns to the beginning and clears the reports; throws an Error for a pipe
  bool can_rewind() const { return inputs_.can_rewind(); }

  // One per file. `kept` counts lines, JSON objects or bytes; the caller may correct it.
  std::vector<LineReport>& reports() { return reports_; }
  std::string place(const DocumentPart& part) const;  // place for messages: "books.txt:12"
  // For progress: bytes of the files that were read so far, and all of them (0 if there is a pipe).
  uint64_t file_bytes_read() const;
  uint64_t file_bytes() const;

 private:
  bool next_of_file(DocumentPart& part);
  bool next_lines(DocumentPart& part);
  bool next_json(DocumentPart& part);
  bool next_bytes(DocumentPart& part);
  bool is_good(const std::string& line);
  void look_for_separator(std::string_view line);
  bool read_json(const std::string& line);
  void take_part(DocumentPart& part);
  void skip(BadLine kind, const std::string& detail = {});
  void end_file();

  TextInputs inputs_;
  DocumentFormat format_;
  OnBadLine policy_;
  std::vector<LineReport> reports_;
  size_t file_ = 0;  // index of the file that is read
  std::unique_ptr<LineStream> lines_;
  uint64_t read_before_ = 0;  // bytes of the files before this one

  bool is_inside_ = false;  // whether a part of the document was returned
  std::string line_;
  std::string held_;  // first line of the next part of the document
  bool has_held_ = false;
  std::string json_, text_;  // the JSON object that is read, and its text
  size_t begin_ = 0;         // offset of the next part in this text
  std::string bytes_;        // the next bytes of a document that ends with its file
  uint64_t offset_ = 0;      // offset of these bytes in the file
};

}  // namespace gyre
