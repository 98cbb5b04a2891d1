#include "gyre/data/store/token_files.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/store/document_store.h"

namespace gyre {
namespace {

// The header of llm.c's files.
struct LlmCHeader {
  int32_t magic = 0, version = 0, ids = 0;
  std::array<int32_t, 253> zeros{};
};
static_assert(sizeof(LlmCHeader) == 1024);
struct LlmCKind {
  int32_t magic, version;
  size_t id_bytes;
};
constexpr std::array kLlmCKinds{LlmCKind{20240520, 1, 2}, LlmCKind{20240801, 7, 4}};

const LlmCKind* llm_c_kind(int32_t magic) {
  const auto kind = std::ranges::find(kLlmCKinds, magic, &LlmCKind::magic);
  return kind == kLlmCKinds.end() ? nullptr : &*kind;
}

// Megatron's index.
constexpr char kIndexMagic[] = "MMIDIDX\0";  // nine bytes with the final zero
static_assert(sizeof kIndexMagic == 9);
constexpr uint64_t kIndexVersion = 1;
constexpr size_t kIndexHeaderBytes = 34;

// The types of ids, with Megatron's codes.
struct IdType {
  const char* name;
  uint8_t code;
  size_t bytes;
  bool is_signed;
};
constexpr std::array kIdTypes{IdType{"uint8", 1, 1, false}, IdType{"int8", 2, 1, true},  IdType{"int16", 3, 2, true},
                              IdType{"int32", 4, 4, true},  IdType{"int64", 5, 8, true}, IdType{"uint16", 8, 2, false}};
constexpr IdType kUint16 = kIdTypes[5], kInt32 = kIdTypes[3];
constexpr IdType kUint32{"uint32", 0, 4, false};  // llm.c's
constexpr int kMegatronNarrow = 65500;            // Megatron writes uint16 for smaller vocabularies, else int32

// A value at any address of a map.
template <class T>
T value_at(const std::byte* bytes) {
  T value{};
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

int64_t id_at(const std::byte* bytes, const IdType& type) {
  switch (type.bytes) {
    case 1:
      return type.is_signed ? int64_t(value_at<int8_t>(bytes)) : int64_t(value_at<uint8_t>(bytes));
    case 2:
      return type.is_signed ? int64_t(value_at<int16_t>(bytes)) : int64_t(value_at<uint16_t>(bytes));
    case 4:
      return type.is_signed ? int64_t(value_at<int32_t>(bytes)) : int64_t(value_at<uint32_t>(bytes));
    default:
      return value_at<int64_t>(bytes);
  }
}

// A range of ids in a file. The document of the ids ends after it if `ends`.
struct IdRange {
  uint64_t offset = 0;  // byte at which the first id begins
  uint64_t first = 0;   // number of the first one among the ids of the file
  uint64_t count = 0;
  bool ends = false;
};

// A mapped file of ids.
class TokenFile {
 public:
  TokenFile(TokenFormat format, const Path& path) : format_(format), path_(files_of_tokens(format, path).front()) {
    map_ = MappedFile(path_);
    switch (format) {
      case TokenFormat::nanogpt:
        open_nanogpt();
        break;
      case TokenFormat::llm_c:
        open_llm_c();
        break;
      case TokenFormat::megatron:
        open_index(files_of_tokens(format, path).back());
        break;
    }
  }

  const Path& path() const { return path_; }
  uint64_t ids() const { return map_.size() / type_.bytes; }  // at least those of all ranges
  const IdType& type() const { return type_; }
  const std::byte* at(uint64_t offset) const { return map_.data() + offset; }

  // Calls f(range) for each range of ids in order.
  template <class F>
  void for_each_range(const F& f) const {
    if (format_ != TokenFormat::megatron) return f(whole_);
    for (uint64_t document = 0; document + 1 < documents_; ++document) {
      const int64_t begin = document_begin(document), end = document_begin(document + 1);
      for (int64_t sequence = begin; sequence < end; ++sequence) f(sequence_range(sequence, sequence + 1 == end));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error("[data import] ", path_.string(), ": ", what); }

  void open_nanogpt() {
    if (map_.size() >= sizeof(LlmCHeader) && llm_c_kind(value_at<int32_t>(map_.data())) != nullptr)
      fail("expected nanoGPT's ids without a header, got llm.c's header: use --from llm.c");
    if (map_.size() % sizeof(uint16_t) != 0) fail(concat("expected ids of two bytes, got ", map_.size(), " bytes"));
    type_ = kUint16;
    whole_ = {.offset = 0, .first = 0, .count = map_.size() / sizeof(uint16_t), .ends = false};
  }

  void open_llm_c() {
    const auto header = map_.size() >= sizeof(LlmCHeader) ? value_at<LlmCHeader>(map_.data()) : LlmCHeader();
    const LlmCKind* const kind = llm_c_kind(header.magic);
    if (kind == nullptr)
      fail(concat("expected llm.c's header of tokens, which begins with ", kLlmCKinds[0].magic, " or ",
                  kLlmCKinds[1].magic, ", got ", header.magic, "; nanoGPT's files have no header"));
    if (header.version != kind->version)
      fail(concat("expected version ", kind->version, " in the header, got ", header.version));
    const uint64_t ids = (map_.size() - sizeof header) / kind->id_bytes;
    if (header.ids < 0 || uint64_t(header.ids) != ids || (map_.size() - sizeof header) % kind->id_bytes != 0)
      fail(concat("expected ", header.ids, " ids of ", kind->id_bytes, " bytes after the header, as it says, got ",
                  map_.size() - sizeof header, " bytes: the file is incomplete"));
    type_ = kind->id_bytes == 2 ? kUint16 : kUint32;
    whole_ = {.offset = sizeof header, .first = 0, .count = ids, .ends = false};
  }

  void open_index(const Path& path) {
    index_ = MappedFile(path);
    const auto fail_index = [&](const std::string& what) { throw Error("[data import] ", path.string(), ": ", what); };
    const std::byte* const bytes = index_.data();
    if (index_.size() < kIndexHeaderBytes || std::memcmp(bytes, kIndexMagic, sizeof kIndexMagic) != 0)
      fail_index("expected Megatron's index, which begins with MMIDIDX");
    if (const auto version = value_at<uint64_t>(bytes + 9); version != kIndexVersion)
      fail_index(concat("expected version ", kIndexVersion, ", got ", version));
    const auto code = uint8_t(bytes[17]);
    const auto type = std::ranges::find(kIdTypes, code, &IdType::code);
    if (type == kIdTypes.end()) fail_index(concat("expected a dtype of integers, got the code ", int{code}));
    type_ = *type;
    sequences_ = value_at<uint64_t>(bytes + 18);
    documents_ = value_at<uint64_t>(bytes + 26);
    const uint64_t size = index_.size() - kIndexHeaderBytes;
    constexpr uint64_t kOfSequence = sizeof(int32_t) + sizeof(int64_t), kOfDocument = sizeof(int64_t);
    // An optional byte of each sequence, its mode, may follow.
    const bool fits = sequences_ <= size / kOfSequence && documents_ <= size / kOfDocument &&
                      sequences_ * kOfSequence + documents_ * kOfDocument <= size;
    if (!fits || documents_ == 0)
      fail_index(concat("expected ", sequences_, " sequences and ", documents_,
                        " bounds of documents, as it says, got ", index_.size(),
                        " bytes: the file is incomplete, or fairseq's, which has no documents"));
  }

  int64_t document_begin(uint64_t document) const {
    const uint64_t at = kIndexHeaderBytes + sequences_ * (sizeof(int32_t) + sizeof(int64_t));
    const auto begin = value_at<int64_t>(index_.data() + at + document * sizeof(int64_t));
    if (begin < 0 || uint64_t(begin) > sequences_)
      fail(concat("its index has ", sequences_, " sequences, but document ", document, " begins at ", begin));
    return begin;
  }

  IdRange sequence_range(int64_t sequence, bool ends) const {
    const std::byte* const lengths = index_.data() + kIndexHeaderBytes;
    const auto length = value_at<int32_t>(lengths + size_t(sequence) * sizeof(int32_t));
    const auto offset = value_at<int64_t>(lengths + sequences_ * sizeof(int32_t) + size_t(sequence) * sizeof(int64_t));
    const bool is_inside = length >= 0 && offset >= 0 && uint64_t(offset) <= map_.size() &&
                           uint64_t(length) <= (map_.size() - uint64_t(offset)) / type_.bytes;
    if (!is_inside)
      fail(concat("expected sequence ", sequence, " with ", length, " ids at byte ", offset,
                  ", as its index says, got a file of ", map_.size(), " bytes"));
    return {
        .offset = uint64_t(offset), .first = uint64_t(offset) / type_.bytes, .count = uint64_t(length), .ends = ends};
  }

  TokenFormat format_;
  Path path_;
  MappedFile map_, index_;
  IdType type_ = kUint16;
  IdRange whole_;                           // all ids of a file without an index
  uint64_t sequences_ = 0, documents_ = 0;  // counts of the index; documents_ is one more than the documents
};

// Collects the ids of documents into parts, decodes these with all threads, and appends them to a store.
class TokenImporter {
 public:
  TokenImporter(const Vocabulary& vocabulary, TokenStoreWriter writer)
      : vocabulary_(vocabulary),
        bos_(vocabulary.bos()),
        eos_(vocabulary.eos()),
        documents_(vocabulary, default_line_ends(vocabulary), std::move(writer)) {}

  // Adds a range of ids of a file with this number.
  void add(const TokenFile& file, uint64_t number, const IdRange& range) {
    const IdType& type = file.type();
    const std::byte* bytes = file.at(range.offset);
    bool begins_run = true;
    for (uint64_t i = 0; i < range.count; ++i, bytes += type.bytes) {
      const int64_t id = id_at(bytes, type);
      if (id < 0 || id >= vocabulary_.size())
        throw Error("[data import] ", file.path().string(), ": expected ids below ", vocabulary_.size(),
                    ", the size of the vocabulary, got ", id, " as id ", range.first + i, " (", type.name, " at byte ",
                    range.offset + i * type.bytes, ")");
      if (id == bos_ || id == eos_) {
        end_document();
        begins_run = true;
        continue;
      }
      if (begins_run) open_.places.push_back({open_.ids.size(), number, range.offset + i * type.bytes});
      begins_run = false;
      open_.ids.push_back(int32_t(id));
      if (open_.ids.size() == kPartIds) cut_part(type.bytes);
    }
    if (range.ends) end_document();
  }

  TokenStore finish(const std::vector<Path>& paths) {
    end_document();
    append_parts();
    require(documents_.documents() > 0, "[data import] no ids in ", paths.front().string());
    return documents_.finish();
  }

 private:
  static constexpr size_t kPartIds = size_t{1} << 16;    // longer documents are decoded in parts
  static constexpr size_t kIdsPerThread = 4 * kPartIds;  // decoded at once

  struct Place {
    uint64_t first, file, offset;  // first: index of the first id there among those of the part
  };
  struct Part {
    std::vector<int32_t> ids;
    std::vector<Place> places;
    bool ends = false;  // the document ends after it
  };

  // Ends a part after the last line end in it, or after all of its ids.
  void cut_part(size_t id_bytes) {
    const std::vector<int32_t>& ids = open_.ids;
    const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](int32_t id) { return documents_.ends_sentence(id); });
    const auto length = uint64_t(last == ids.rend() ? ids.size() : size_t(last.base() - ids.begin()));
    Part rest{.ids = {ids.begin() + int64_t(length), ids.end()}, .places = {}};
    std::vector<Place>& places = open_.places;
    const auto next = std::ranges::upper_bound(places, length, {}, &Place::first);
    const Place& before = *(next - 1);
    rest.places.push_back({0, before.file, before.offset + (length - before.first) * id_bytes});
    for (auto place = next; place != places.end(); ++place)
      rest.places.push_back({place->first - length, place->file, place->offset});
    open_.ids.resize(length);
    places.erase(next, places.end());
    add_part(/*ends=*/false);
    open_ = std::move(rest);
  }

  void end_document() {
    if (!open_.ids.empty() || continues_) add_part(/*ends=*/true);
  }

  void add_part(bool ends) {
    waiting_ids_ += open_.ids.size();
    open_.ends = ends;
    parts_.push_back(std::exchange(open_, {}));
    continues_ = !ends;
    if (waiting_ids_ >= kIdsPerThread * size_t(threads())) append_parts();
  }

  void append_parts() {
    std::vector<std::string> texts(parts_.size());
    parallel_for(parts_.size(), 16, [&](size_t i) { texts[i] = vocabulary_.decode(parts_[i].ids); });
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      if (part.ids.empty()) {
        documents_.end_document();
        continue;
      }
      for (const Place& place : part.places)
        if (documents_.has_places()) documents_.add_place(place.first, place.file, place.offset);
      documents_.add(part.ids, texts[i]);
      if (part.ends) documents_.end_document();
    }
    parts_.clear();
    waiting_ids_ = 0;
  }

  const Vocabulary& vocabulary_;
  int32_t bos_, eos_;
  DocumentAppender documents_;
  Part open_;                // ids of the open document that are in no part yet
  bool continues_ = false;   // whether the open document has parts
  std::vector<Part> parts_;  // parts that are not appended yet
  size_t waiting_ids_ = 0;   // ids in them
};

// Whether a store can refer to the ids in the files.
bool can_stay(const std::vector<TokenFile>& files) {
  const IdType& type = files.front().type();
  bool can = (type.bytes == 2 && !type.is_signed) || type.bytes == 4;
  for (const TokenFile& file : files) {
    can = can && file.type().bytes == type.bytes;
    file.for_each_range([&](const IdRange& range) { can = can && range.offset % type.bytes == 0; });
  }
  return can;
}

TokenStoreWriter store_writer(const Vocabulary& vocabulary, const std::vector<TokenFile>& files, const Path& output,
                              ImportedIds ids) {
  if (ids == ImportedIds::copy || !can_stay(files)) return TokenStoreWriter::to_file(vocabulary, 1, output);
  std::vector<Path> paths;
  for (const TokenFile& file : files) paths.push_back(file.path());
  const auto id_bytes = uint32_t(files.front().type().bytes);
  return TokenStoreWriter::with_places(vocabulary, TokenPlaces(std::move(paths), id_bytes), output);
}

}  // namespace

std::vector<Path> files_of_tokens(TokenFormat format, const Path& path) {
  if (format != TokenFormat::megatron) return {path};
  const bool has_extension = path.extension() == ".bin" || path.extension() == ".idx";
  const std::string name = has_extension ? Path(path).replace_extension().string() : path.string();
  return {name + ".bin", name + ".idx"};
}

TokenStore import_tokens(const Vocabulary& vocabulary, TokenFormat format, const std::vector<Path>& paths,
                         const Path& output, ImportedIds ids, const TokenFileProgress& on_progress) {
  require(!paths.empty(), "[data import] expected a token file");
  std::vector<TokenFile> files;
  uint64_t all = 0, done = 0;
  for (const Path& path : paths) all += files.emplace_back(format, path).ids();
  TokenImporter importer(vocabulary, store_writer(vocabulary, files, output, ids));
  for (size_t number = 0; number < files.size(); ++number) {
    const TokenFile& file = files[number];
    const uint64_t step = std::max<uint64_t>(1, (uint64_t{1} << 24) / file.type().bytes);
    file.for_each_range([&](const IdRange& range) {
      for (uint64_t first = 0; first < range.count || first == 0; first += step) {
        const uint64_t count = std::min(step, range.count - first);
        importer.add(file, number,
                     {.offset = range.offset + first * file.type().bytes,
                      .first = range.first + first,
                      .count = count,
                      .ends = range.ends && first + count == range.count});
        done += count;
        if (on_progress) on_progress(done, all);
      }
    });
  }
  return importer.finish(paths);
}

namespace {

// Writes ids of documents in one of the formats.
class TokenExporter {
 public:
  TokenExporter(const TokenStore& store, TokenFormat format, const Path& output)
      : store_(store), format_(format), type_(id_type()), file_(files_of_tokens(format, output).front()) {
    if (format != TokenFormat::megatron) require_file_output(output, "[data export]");
    if (format == TokenFormat::llm_c) write_llm_c_header();
    if (format == TokenFormat::megatron) index_.emplace(files_of_tokens(format, output).back());
  }

  void add(const TokenRange& document) {
    const uint64_t before = written_.ids;
    if (format_ == TokenFormat::llm_c) write({&begin_, 1});
    for (uint64_t first = document.begin; first < document.end; first += kIdsAtOnce) {
      ids_.clear();
      store_.append_tokens(first, std::min(first + kIdsAtOnce, document.end), ids_);
      write(ids_);
    }
    if (format_ != TokenFormat::llm_c) write({&end_, 1});
    ++written_.documents;
    if (format_ == TokenFormat::megatron) add_sequence(written_.ids - before);
  }

  ExportedTokens finish() {
    file_.commit();
    if (index_) {
      write_index();
      index_->commit();
    }
    return written_;
  }

 private:
  static constexpr uint64_t kIdsAtOnce = 1 << 20;

  IdType id_type() const {
    const int pieces = store_.vocabulary_size(), narrow = std::numeric_limits<uint16_t>::max() + 1;
    if (format_ == TokenFormat::megatron) return pieces < kMegatronNarrow ? kUint16 : kInt32;
    if (pieces <= narrow) return kUint16;
    require(format_ == TokenFormat::llm_c, "[data export] ", store_.name(),
            ": nanoGPT's ids have two bytes, for at most ", narrow, " pieces, got a vocabulary of ", pieces,
            ": use --to llm.c or --to megatron");
    return kUint32;
  }

  // The number of ids is known before they are written: those of the store, and one per document.
  void write_llm_c_header() {
    uint64_t ids = store_.total_tokens(0);
    ids += StorePart(store_, 0, Part::training).for_each_document([](TokenRange, bool) {});
    require(ids <= uint64_t(std::numeric_limits<int32_t>::max()), "[data export] ", store_.name(),
            ": llm.c's header holds at most ", std::numeric_limits<int32_t>::max(), " ids, got ", ids,
            ": export stores of parts of the text");
    const LlmCKind& kind = kLlmCKinds[type_.bytes == 2 ? 0 : 1];
    const LlmCHeader header{.magic = kind.magic, .version = kind.version, .ids = int32_t(ids)};
    file_.write(&header, sizeof header);
  }

  void write(std::span<const int32_t> ids) {
    written_.ids += ids.size();
    if (type_.bytes == 4) return file_.write(ids.data(), ids.size_bytes());
    narrow_.assign(ids.begin(), ids.end());
    file_.write(narrow_.data(), narrow_.size() * sizeof(uint16_t));
  }

  void add_sequence(uint64_t ids) {
    require(ids <= uint64_t(std::numeric_limits<int32_t>::max()), "[data export] ", store_.name(),
            ": a sequence of Megatron has at most ", std::numeric_limits<int32_t>::max(), " ids, got a document of ",
            ids);
    lengths_.push_back(int32_t(ids));
  }

  void write_index() {
    const auto write_value = [&](const auto& value) { index_->write(&value, sizeof value); };
    index_->write(kIndexMagic, sizeof kIndexMagic);
    write_value(kIndexVersion);
    write_value(type_.code);
    write_value(uint64_t(lengths_.size()));
    write_value(uint64_t(lengths_.size() + 1));
    index_->write(lengths_.data(), lengths_.size() * sizeof(int32_t));
    int64_t offset = 0;
    for (const int32_t length : lengths_) {
      write_value(offset);
      offset += int64_t(length) * int64_t(type_.bytes);
    }
    for (int64_t document = 0; document <= int64_t(lengths_.size()); ++document) write_value(document);
  }

  const TokenStore& store_;
  TokenFormat format_;
  IdType type_;
  int32_t begin_ = store_.bos(), end_ = store_.eos();
  AtomicFile file_;
  std::optional<AtomicFile> index_;
  std::vector<int32_t> ids_;
  std::vector<uint16_t> narrow_;
  std::vector<int32_t> lengths_;  // ids of each sequence
  ExportedTokens written_;
};

}  // namespace

ExportedTokens export_tokens(const TokenStore& store, TokenFormat format, const Path& output,
                             const TokenFileProgress& on_progress) {
  require(store.has_documents(), "[data export] ", store.name(),
          ": expected documents of one language (gyre data build --documents), got ",
          store.sides() == 2 ? "sentence pairs" : "sentences");
  TokenExporter exporter(store, format, output);
  StorePart(store, 0, Part::training).for_each_document([&](TokenRange document, bool) {
    exporter.add(document);
    if (on_progress) on_progress(document.end, store.total_tokens(0));
  });
  return exporter.finish();
}

}  // namespace gyre
