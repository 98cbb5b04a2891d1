#include "data/document_store.h"

#include <deque>

#include "core/error.h"
#include "data/encoded_rows.h"
#include "data/parallel_text.h"
#include "data/token_store.h"

namespace gyre {

namespace {

class DocumentWriter {
 public:
  explicit DocumentWriter(TokenStoreWriter writer) : writer_(std::move(writer)) {}

  void add(const std::vector<int32_t>& sentence) {
    writer_.add(sentence);
    is_open_ = true;
  }

  // Does nothing where no sentence came since the last end.
  void end_document() {
    if (!is_open_) return;
    writer_.add({});
    ++documents_;
    is_open_ = false;
  }

  uint64_t documents() const { return documents_; }
  void finish() { writer_.finish(); }

 private:
  TokenStoreWriter writer_;
  bool is_open_ = false;
  uint64_t documents_ = 0;
};

void add_file(const Vocabulary& vocabulary, ParallelText& text, DocumentEnd end, DocumentWriter& writer) {
  std::vector<EncodedRow> chunk;
  while (read_encoded(vocabulary, text, chunk)) {
    for (const EncodedRow& row : chunk) {
      if (is_blank(row.row.text[0])) {
        writer.end_document();
      } else if (row.ids[0].empty()) {
        text.report().skip(BadLine::empty, row.row.line, text.place(row.row));
      } else {
        writer.add(row.ids[0]);
        ++text.report().kept;
        if (end == DocumentEnd::line) writer.end_document();
      }
    }
  }
  writer.end_document();
}

}  // namespace

DocumentEnd parse_document_end(std::string_view text) {
  if (text == "blank-line") return DocumentEnd::blank_line;
  if (text == "line") return DocumentEnd::line;
  throw UsageError("[data] --documents: expected blank-line or line, got ", text);
}

DocumentReport build_document_store(const Vocabulary& vocabulary, const std::vector<Path>& files, const Path& output,
                                    DocumentEnd end, OnBadLine policy) {
  require(!files.empty(), "[data] expected a text file");
  const BlankLines blank = end == DocumentEnd::blank_line ? BlankLines::are_rows : BlankLines::are_bad;
  std::deque<ParallelText> texts;  // all are opened, and read through where bad lines are errors, before work begins
  for (const Path& file : files) texts.emplace_back(std::vector{file}, policy, blank);
  DocumentWriter writer(TokenStoreWriter::to_file(vocabulary, 1, output));
  DocumentReport report;
  for (ParallelText& text : texts) {
    add_file(vocabulary, text, end, writer);
    text.report().require_clean(policy);
    report.files.push_back(text.report());
  }
  report.documents = writer.documents();
  require(report.documents > 0, "[data] no document in ", report.files.front().describe(),
          files.size() > 1 ? " and the files after it" : "");
  writer.finish();
  return report;
}

}  // namespace gyre
