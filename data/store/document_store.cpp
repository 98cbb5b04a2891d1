#include "gyre/data/store/document_store.h"

#include <algorithm>
#include <deque>

#include "gyre/core/error.h"
#include "gyre/data/store/encoded_rows.h"
#include "gyre/data/store/text_stream.h"
#include "gyre/data/text/parallel_text.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;  // chunk size of a stream; small, to limit the memory of its ids

class DocumentWriter {
 public:
  // sizes: receives the size of every sentence; may be null.
  DocumentWriter(const Vocabulary& vocabulary, TokenStoreWriter writer, std::vector<TextSize>* sizes)
      : vocabulary_(vocabulary), writer_(std::move(writer)), sizes_(sizes) {}

  void add(ParallelText& text, DocumentEnd end) {
    std::vector<EncodedRow> chunk;
    while (read_encoded(vocabulary_, text, chunk)) {
      for (const EncodedRow& row : chunk) {
        if (is_blank(row.row.text[0])) {
          end_document();
        } else if (row.ids[0].empty()) {
          text.report().skip(BadLine::empty, row.row.line, text.place(row.row));
        } else {
          add(row.ids[0], row.row.text[0]);
          ++text.report().kept;
          if (end == DocumentEnd::line) end_document();
        }
      }
    }
    end_document();
  }

  // Stores each chunk of the stream as a sentence. Samples may cross chunks, because no document ends between them.
  void add(TextStream& stream) {
    for (std::string_view piece; stream.next(piece);) add(stream.encode_exactly(vocabulary_), piece);
    end_document();
  }

  uint64_t documents() const { return documents_; }
  TokenStore finish() { return writer_.finish(); }

 private:
  void add(const std::vector<int32_t>& ids, std::string_view text) {
    writer_.add(ids);
    if (sizes_) sizes_->push_back(TextSize::of(text));
    is_open_ = true;
  }

  // Does nothing if no sentence was added since the last end.
  void end_document() {
    if (!is_open_) return;
    writer_.add({});
    if (sizes_) sizes_->emplace_back();
    ++documents_;
    is_open_ = false;
  }

  const Vocabulary& vocabulary_;
  TokenStoreWriter writer_;
  std::vector<TextSize>* sizes_;
  bool is_open_ = false;
  uint64_t documents_ = 0;
};

std::vector<LineReport> read_lines(const std::vector<Path>& files, DocumentEnd end, OnBadLine policy,
                                   DocumentWriter& writer) {
  const BlankLines blank = end == DocumentEnd::blank_line ? BlankLines::rows : BlankLines::bad;
  // Opens all files before encoding any. If bad lines are errors, this also checks every line.
  std::deque<ParallelText> texts;
  for (const Path& file : files) texts.emplace_back(std::vector{file}, policy, blank);
  std::vector<LineReport> reports;
  for (ParallelText& text : texts) {
    writer.add(text, end);
    text.report().require_clean(policy);
    reports.push_back(text.report());
  }
  return reports;
}

std::vector<LineReport> read_streams(const std::vector<Path>& files, const Vocabulary& vocabulary,
                                     DocumentWriter& writer) {
  std::deque<TextStream> streams;  // opens and checks all files before encoding any
  for (const Path& file : files) {
    const TextStream& stream = streams.emplace_back(file, kChunkBytes);
    if (!vocabulary.accepts_any_bytes()) stream.require_utf8(vocabulary);
  }
  std::vector<LineReport> reports;
  for (TextStream& stream : streams) {
    writer.add(stream);
    LineReport& report = reports.emplace_back();
    report.files = stream.path().string();
    report.unit = "byte";
    report.bytes = report.kept = stream.bytes();
  }
  return reports;
}

Documents read_documents(const std::vector<Path>& files, DocumentEnd end, OnBadLine policy,
                         const Vocabulary& vocabulary, TokenStoreWriter to, bool with_sizes = false) {
  std::vector<TextSize> sizes;
  DocumentWriter writer(vocabulary, std::move(to), with_sizes ? &sizes : nullptr);
  DocumentReport report;
  report.files =
      end == DocumentEnd::whole ? read_streams(files, vocabulary, writer) : read_lines(files, end, policy, writer);
  report.documents = writer.documents();
  require(report.documents > 0, "[data] no document in ", report.files.front().describe(),
          files.size() > 1 ? " and the files after it" : "");
  return {writer.finish(), std::move(report), std::move(sizes)};
}

}  // namespace

TextSize TextSize::of(std::string_view text) { return {count_characters(text), text.size()}; }

TextSize& TextSize::operator+=(const TextSize& other) {
  characters += other.characters;
  bytes += other.bytes;
  return *this;
}

TextSize& TextSize::operator-=(const TextSize& other) {
  characters -= std::min(characters, other.characters);
  bytes -= std::min(bytes, other.bytes);
  return *this;
}
DocumentEnd parse_document_end(std::string_view text) {
  if (text == "blank-line") return DocumentEnd::blank_line;
  if (text == "line") return DocumentEnd::line;
  if (text == "whole") return DocumentEnd::whole;
  throw UsageError("[data] --documents: expected blank-line, line or whole, got ", text);
}

DocumentReport build_document_store(const Vocabulary& vocabulary, const std::vector<Path>& files, const Path& output,
                                    DocumentEnd end, OnBadLine policy) {
  require(!files.empty(), "[data] expected a text file");
  return *read_documents(files, end, policy, vocabulary, TokenStoreWriter::to_file(vocabulary, 1, output)).report;
}

Documents open_documents(const Vocabulary& vocabulary, const std::vector<Path>& files, DocumentEnd end,
                         OnBadLine policy, bool with_sizes) {
  require(!files.empty(), "[data] expected a text file or a token store");
  for (const Path& file : files) {
    if (!TokenStore::recognizes(file)) continue;
    require(files.size() == 1, "[data] ", file.string(), ": expected a token store to be the only file, got ",
            files.size(), " files");
    TokenStore store(file);
    store.require_vocabulary(vocabulary);
    require(store.sides() == 1, "[data] ", store.name(), ": expected documents of one language, got sentence pairs");
    return {std::move(store), std::nullopt, {}};
  }
  return read_documents(files, end, policy, vocabulary, TokenStoreWriter::in_memory(vocabulary, 1, files[0].string()),
                        with_sizes);
}

TextSize size_of_part(const Documents& documents, const StorePart& part, const Vocabulary& vocabulary) {
  const TokenStore& store = documents.store;
  const auto decoded_size = [&](uint64_t begin, uint64_t end) {
    std::vector<int32_t> ids;
    store.append_tokens(begin, end, ids);
    return TextSize::of(vocabulary.decode(ids));
  };
  TextSize size;
  uint64_t document = 0;
  for (size_t i = 0; i < store.size(); ++i) {
    const uint64_t begin = store.first_token(i), end = begin + store.length(i, 0);
    if (begin == end) {
      ++document;
      continue;
    }
    const TokenRange own = part.clip({begin, end});
    if (!part.has(document) || own.empty()) continue;
    size += documents.sizes.empty() ? decoded_size(begin, end) : documents.sizes[i];
    if (own.begin > begin) size -= decoded_size(begin, own.begin);
  }
  return size;
}

uint64_t count_documents(const TokenStore& store) {
  uint64_t documents = 0;
  for (size_t i = 0; store.sides() == 1 && i < store.size(); ++i) documents += store.length(i, 0) == 0;
  return documents;
}

}  // namespace gyre
