#include "gyre/data/store/document_store.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/parallel_for.h"
#include "gyre/core/random.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"

namespace gyre {
namespace {

bool has_one_document(const TokenStore& store) {
  uint64_t documents = 0;
  bool is_inside = false;
  for (size_t i = 0; i < store.size() && documents < 2; ++i) {
    const bool is_sentence = store.length(i, 0) > 0;
    documents += is_sentence && !is_inside;
    is_inside = is_sentence;
  }
  return documents == 1;
}

}  // namespace

Part part_of_document(uint64_t number, double validation_share) {
  return random_uniform(0, hash_name("validation documents"), number) < validation_share ? Part::validation
                                                                                         : Part::training;
}

StorePart::StorePart(const TokenStore& store, double validation_share, Part part)
    : store_(&store), validation_share_(validation_share), part_(part), range_{0, store.total_tokens(0)} {
  require(store.sides() == 1, "[documents] ", store.name(), ": expected a store of one side, got one of pairs");
  require(validation_share >= 0 && validation_share < 1, "[documents] expected a validation share in [0, 1), got ",
          validation_share);
  is_divided_ = validation_share > 0 && has_one_document(store);
  if (!is_divided_) return;
  const uint64_t boundary = range_.end - uint64_t(std::llround(validation_share * double(range_.end)));
  range_ = part == Part::training ? TokenRange{0, boundary} : TokenRange{boundary, range_.end};
}

bool StorePart::has(uint64_t document) const {
  return is_divided_ || part_of_document(document, validation_share_) == part_;
}

TokenRange StorePart::clip(TokenRange tokens) const {
  return {std::max(tokens.begin, range_.begin), std::min(tokens.end, range_.end)};
}

namespace {

constexpr size_t kPartBytes = size_t{1} << 20;  // size of the parts of long documents, whose ids take memory
// Limits of the parts that a thread has at once.
constexpr size_t kPartsPerThread = 2048, kPartBytesPerThread = size_t{8} << 20;

// Throws an Error that gives the offset in the file of the first byte that decoding the ids does not reproduce.
void require_exact(const Vocabulary& vocabulary, const DocumentPart& part, const std::vector<int32_t>& ids,
                   const std::string& file) {
  const std::string decoded = vocabulary.decode(ids);
  if (decoded == part.text) return;
  const auto differs = std::mismatch(part.text.begin(), part.text.end(), decoded.begin(), decoded.end()).first;
  const size_t at = std::min(size_t(differs - part.text.begin()), part.text.size() - 1);
  throw Error("[data] ", file, ": ", name_byte(part.text, at, part.offset),
              ": expected a vocabulary that keeps every byte, as gyre vocab --type bytes does, got one (",
              vocabulary.kind(), ") that loses it");
}

uint32_t count_line_ends(std::string_view text) { return uint32_t(std::count(text.begin(), text.end(), '\n')); }

// Reads text, encodes it and writes it as documents.
class DocumentWriter {
 public:
  DocumentWriter(const Vocabulary& vocabulary, TextInputs files, const DocumentOptions& options,
                 TokenStoreWriter writer)
      : vocabulary_(vocabulary),
        options_(options),
        line_ends_(options.end == DocumentEnd::whole ? LineEnds::keep
                                                     : options.line_ends.value_or(default_line_ends(vocabulary))),
        text_(std::move(files), format(), options.on_bad_line),
        documents_(vocabulary, line_ends_, std::move(writer), options.end == DocumentEnd::whole) {}

  DocumentReport run() {
    while (read_chunk()) {
      encode_chunk();
      for (size_t i = 0; i < parts_.size(); ++i) add(parts_[i], ids_[i]);
      if (options_.on_progress) options_.on_progress(text_.file_bytes_read(), text_.file_bytes());
    }
    DocumentReport report{text_.reports(), documents_.documents()};
    for (const LineReport& file : report.files) file.require_clean(options_.on_bad_line);
    require(report.documents > 0, "[data] no document in ", report.files.front().describe(),
            report.files.size() > 1 ? " and the files after it" : "",
            text_.can_rewind() ? "" : " (a pipe can be read only once)");
    return report;
  }

  TokenStore finish() { return documents_.finish(); }

 private:
  DocumentFormat format() const {
    return {.end = options_.end,
            .line_ends = line_ends_,
            .text_field = options_.text_field,
            .any_bytes = vocabulary_.accepts_any_bytes(),
            .part_bytes = kPartBytes};
  }

  bool read_chunk() {
    const size_t most = kPartsPerThread * size_t(threads()), bytes = kPartBytesPerThread * size_t(threads());
    parts_.clear();
    size_t read = 0;
    for (DocumentPart part; parts_.size() < most && read < bytes && text_.next(part);) {
      read += part.text.size();
      parts_.push_back(std::move(part));
    }
    return !parts_.empty();
  }

  void encode_chunk() {
    ids_.resize(parts_.size());
    parallel_for(parts_.size(), parts_.size() < kPartsPerThread ? 1 : 16, [&](size_t i) {
      ids_[i] = vocabulary_.encode(parts_[i].text);
      if (options_.end == DocumentEnd::whole)
        require_exact(vocabulary_, parts_[i], ids_[i], text_.reports()[parts_[i].file].files);
    });
  }

  void add(const DocumentPart& part, const std::vector<int32_t>& ids) {
    if (ids.empty()) {
      LineReport& report = text_.reports()[part.file];
      report.skip(BadLine::empty, part.line, text_.place(part));
      if (line_ends_ == LineEnds::none && report.unit == "line" && report.kept > 0) --report.kept;
    } else {
      documents_.add(ids, part.text);
    }
    if (part.ends) documents_.end_document();
  }

  const Vocabulary& vocabulary_;
  const DocumentOptions& options_;
  LineEnds line_ends_;
  DocumentText text_;
  DocumentAppender documents_;
  std::vector<DocumentPart> parts_;        // parts of the current chunk
  std::vector<std::vector<int32_t>> ids_;  // ids of each part
};

TokenStore open_store(const Vocabulary& vocabulary, const Path& file, const DocumentOptions& options) {
  TokenStore store(file);
  store.require_vocabulary(vocabulary);
  require(store.sides() == 1, "[data] ", store.name(), ": expected documents of one language, got sentence pairs");
  require(store.has_documents() || options.accepts_sentences, "[data] ", store.name(),
          ": expected documents, got sentences, which would all be one document without a space between them: build it "
          "again with gyre data build --documents blank-line (or line, or whole)");
  const LineEnds has = store.line_ends().value_or(LineEnds::none);
  if (options.line_ends && *options.line_ends != has)
    throw UsageError("[data] --line-ends: ", store.name(), " was built with ", enum_name(has), ", got ",
                     enum_name(*options.line_ends), ": build it again with gyre data build");
  return store;
}

}  // namespace

bool keeps_line_ends(const Vocabulary& vocabulary) {
  for (const std::string_view text : {"a\nb", "a\n\nb"})
    if (count_line_ends(vocabulary.decode(vocabulary.encode(text))) != count_line_ends(text)) return false;
  return true;
}

DocumentAppender::DocumentAppender(const Vocabulary& vocabulary, LineEnds line_ends, TokenStoreWriter writer,
                                   bool whole)
    : writer_(std::move(writer)) {
  writer_.set_line_ends(line_ends);
  if (line_ends != LineEnds::keep || whole) return;
  if (!keeps_line_ends(vocabulary))
    throw UsageError("[data] --line-ends: keep expects a vocabulary that can write line ends, got one (",
                     vocabulary.kind(), ") that loses them: use space or none");
  for (int id = 0; id < vocabulary.size(); ++id)
    line_ends_of_.push_back(count_line_ends(vocabulary.decode(std::span(&id, 1))));
}

// A sentence that ends after a token has the text up to the last line end of the token.
void DocumentAppender::add(std::span<const int32_t> ids, std::string_view text) {
  uint32_t line_ends = 0;
  if (!line_ends_of_.empty())
    for (const int32_t id : ids) line_ends += line_ends_of_[size_t(id)];
  if (line_ends_of_.empty() || line_ends != count_line_ends(text)) return add_sentence(ids, text);
  for (size_t i = 0; i < ids.size();) {
    uint32_t ends = 0;
    size_t after = i;
    while (after < ids.size() && ends == 0) ends = line_ends_of_[size_t(ids[after++])];
    size_t bytes = after == ids.size() ? text.size() : 0;
    for (; after < ids.size() && ends > 0; --ends) bytes = text.find('\n', bytes) + 1;
    add_sentence(ids.subspan(i, after - i), text.substr(0, bytes));
    text.remove_prefix(bytes);
    i = after;
  }
}

void DocumentAppender::add_sentence(std::span<const int32_t> ids, std::string_view text) {
  writer_.add_of_document(ids, TextSize::of(text));
  is_open_ = true;
}

void DocumentAppender::end_document() {
  if (!is_open_) return;
  writer_.add_of_document({}, {});
  ++documents_;
  is_open_ = false;
}

std::vector<int32_t> encode_document(const Vocabulary& vocabulary, std::string_view text, LineEnds line_ends) {
  if (line_ends != LineEnds::none) return vocabulary.encode(text);
  std::vector<int32_t> ids;
  for (std::string_view line; take_line(text, line);) {
    const std::vector<int32_t> of_line = vocabulary.encode(line);
    ids.insert(ids.end(), of_line.begin(), of_line.end());
  }
  return ids;
}

LineEnds default_line_ends(const Vocabulary& vocabulary) {
  return keeps_line_ends(vocabulary) ? LineEnds::keep : LineEnds::none;
}

DocumentReport build_document_store(const Vocabulary& vocabulary, TextInputs files, const Path& output,
                                    const DocumentOptions& options) {
  require(!files.empty(), "[data] expected a text file");
  DocumentWriter writer(vocabulary, std::move(files), options, TokenStoreWriter::to_file(vocabulary, 1, output));
  DocumentReport report = writer.run();
  writer.finish();
  return report;
}

Documents open_documents(const Vocabulary& vocabulary, TextInputs files, const DocumentOptions& options) {
  require(!files.empty(), "[data] expected a text file or a token store");
  std::vector<TokenStore> stores;
  std::optional<DocumentReport> report;
  std::string name;
  for (const TextInput& file : files) name += (name.empty() ? "" : " + ") + file.name();
  for (size_t i = 0; i < files.size();) {
    if (files[i].kind() == TextKind::token_store) {
      stores.push_back(open_store(vocabulary, files[i++].path(), options));
      continue;
    }
    TextInputs texts;
    const std::string first = files[i].name();
    for (; i < files.size() && files[i].kind() != TextKind::token_store; ++i) texts.push_back(std::move(files[i]));
    DocumentWriter writer(vocabulary, std::move(texts), options, TokenStoreWriter::in_memory(vocabulary, 1, first));
    const DocumentReport read = writer.run();
    if (!report) report.emplace();
    report->documents += read.documents;
    report->files.insert(report->files.end(), read.files.begin(), read.files.end());
    stores.push_back(writer.finish());
  }
  if (stores.size() == 1) return {std::move(stores.front()), std::move(report)};
  return {TokenStore::chain(name, std::move(stores)), std::move(report)};
}

bool has_exact_size(const TokenStore& store, const Vocabulary& vocabulary) {
  return store.has_text_sizes() || vocabulary.accepts_any_bytes();
}

TextSize size_of_part(const StorePart& part, const Vocabulary& vocabulary) {
  const TokenStore& store = part.store();
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
    size += store.has_text_sizes() ? store.text_size(i) : decoded_size(begin, end);
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
