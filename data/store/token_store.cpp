#include "gyre/data/store/token_store.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/number_text.h"
#include "gyre/core/random.h"
#include "gyre/data/store/token_store_format.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

using namespace token_store_format;

static_assert(sizeof(TokenPlaces::Run) == 3 * sizeof(uint64_t));

TokenPlaces::TokenPlaces(std::span<const std::byte> bytes, const Path& folder, uint32_t id_bytes)
    : id_bytes_(id_bytes) {
  PlacesTrailer trailer{};
  const auto require_whole = [](bool is_whole) { require(is_whole, "damaged places of ids"); };
  require_whole(bytes.size() >= sizeof trailer);
  const size_t end = bytes.size() - sizeof trailer;
  std::memcpy(&trailer, bytes.data() + end, sizeof trailer);
  require_whole(crc32c(bytes.data(), bytes.size() - sizeof trailer.crc) == trailer.crc);
  require_whole(trailer.runs <= end / sizeof(Run) && trailer.files <= end / sizeof(uint64_t) &&
                trailer.name_bytes <= end &&
                trailer.runs * sizeof(Run) + trailer.files * sizeof(uint64_t) + align(trailer.name_bytes) == end);
  runs_.resize(trailer.runs);
  std::memcpy(runs_.data(), bytes.data(), runs_.size() * sizeof(Run));
  std::vector<uint64_t> sizes(trailer.files);
  const std::byte* const at = bytes.data() + runs_.size() * sizeof(Run);
  std::memcpy(sizes.data(), at, sizes.size() * sizeof(uint64_t));
  std::string_view names(reinterpret_cast<const char*>(at + sizes.size() * sizeof(uint64_t)), trailer.name_bytes);
  for (const uint64_t size : sizes) {
    const size_t length = names.find('\0');
    require_whole(length != std::string_view::npos);
    files_.push_back(folder / names.substr(0, length));
    names.remove_prefix(length + 1);
    const MappedFile& map = maps_.emplace_back(files_.back());
    require(map.size() == size, "its ids are in ", files_.back().string(), ", which had ", size, " bytes and has ",
            map.size(), ": import it again");
  }
}

void TokenPlaces::add(const Run& run) {
  if (!runs_.empty() && runs_.back().first_token == run.first_token) runs_.pop_back();  // it has no tokens
  const Run last = runs_.empty() ? Run() : runs_.back();
  const bool is_contiguous = !runs_.empty() && run.file == last.file &&
                             run.offset == last.offset + (run.first_token - last.first_token) * id_bytes_;
  if (!is_contiguous) runs_.push_back(run);
}

void TokenPlaces::for_each_piece(uint64_t begin, uint64_t end,
                                 const std::function<void(const std::byte*, uint64_t)>& f) const {
  const auto after = std::ranges::upper_bound(runs_, begin, {}, &Run::first_token);
  require(begin == end || after != runs_.begin(), "damaged places of ids");
  for (auto run = size_t(after - runs_.begin()) - 1; begin < end; ++run) {
    const Run& r = runs_.at(run);
    const uint64_t last = std::min(end, run + 1 < runs_.size() ? runs_[run + 1].first_token : end);
    const uint64_t skipped = begin - r.first_token, count = last - begin;
    require(r.file < maps_.size() && last > begin, "damaged places of ids");
    const MappedFile& map = maps_[r.file];
    const uint64_t ids = map.size() / id_bytes_;
    require(r.offset % id_bytes_ == 0 && r.offset / id_bytes_ <= ids && skipped <= ids - r.offset / id_bytes_ &&
                count <= ids - r.offset / id_bytes_ - skipped,
            "damaged places of ids");
    f(map.data() + r.offset + skipped * id_bytes_, count);
    begin = last;
  }
}

// A file in the folder of the store, or below it, is named relative to it, so that the two can be moved together.
std::vector<std::byte> TokenPlaces::bytes(const Path& folder) const {
  std::string names;
  std::vector<uint64_t> sizes;
  for (const Path& file : files_) {
    const Path whole = std::filesystem::canonical(file);
    const Path relative = whole.lexically_relative(std::filesystem::canonical(folder));
    names += (relative.empty() || *relative.begin() == ".." ? whole : relative).string() + '\0';
    sizes.push_back(std::filesystem::file_size(file));
  }
  PlacesTrailer trailer{.runs = runs_.size(), .files = sizes.size(), .name_bytes = names.size(), .zero = 0, .crc = 0};
  names.resize(align(names.size()));
  std::vector<std::byte> all;
  const auto append = [&all](const void* data, size_t size) {
    const auto* const begin = static_cast<const std::byte*>(data);
    all.insert(all.end(), begin, begin + size);
  };
  append(runs_.data(), runs_.size() * sizeof(Run));
  append(sizes.data(), sizes.size() * sizeof(uint64_t));
  append(names.data(), names.size());
  append(&trailer, sizeof trailer);
  const uint32_t crc = crc32c(all.data(), all.size() - sizeof crc);
  std::memcpy(all.data() + all.size() - sizeof crc, &crc, sizeof crc);
  return all;
}

void TokenPlaces::require_untruncated() const {
  for (const MappedFile& map : maps_) map.require_untruncated();
}

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

TokenStore::TokenStore(const Path& path) : name_(path.string()), map_(path) {
  bytes_ = map_.data();
  byte_count_ = map_.size();
  open();
}

TokenStore::TokenStore(std::string name, std::vector<std::byte> bytes)
    : name_(std::move(name)), memory_(std::move(bytes)), bytes_(memory_.data()), byte_count_(memory_.size()) {
  open();
}

bool TokenStore::recognizes(const Path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // reading a pipe would take bytes out of it
  std::ifstream file(path, std::ios::binary);
  char magic[sizeof Header::magic];
  return file.read(magic, sizeof magic) && std::memcmp(magic, kMagic, sizeof magic) == 0;
}

TokenStore TokenStore::chain(std::string name, std::vector<TokenStore> parts) {
  TokenStore store;
  store.name_ = std::move(name);
  require(!parts.empty(), "[token store] ", store.name_, ": expected a store");
  const TokenStore& first = parts.front();
  store.version_ = UINT32_MAX;
  store.text_ = first.text_;
  TokenStoreTrailer& sums = store.trailer_;
  sums = first.trailer_;
  sums.sentences = sums.tokens[0] = sums.tokens[1] = 0;
  for (const TokenStore& part : parts) {
    require(part.fingerprint() == first.fingerprint() && part.bos() == first.bos() && part.eos() == first.eos(),
            "[token store] ", part.name(), ": expected the vocabulary of ", first.name(), " (fingerprint ",
            hexadecimal(first.fingerprint()), "), got another (", hexadecimal(part.fingerprint()), ")");
    require(part.sides() == first.sides(), "[token store] ", part.name(), ": expected as many sides as ", first.name(),
            ", ", first.sides(), ", got ", part.sides());
    // A store of an earlier version records no line ends and has none.
    require(part.line_ends().value_or(LineEnds::none) == first.line_ends().value_or(LineEnds::none), "[token store] ",
            part.name(), ": expected the line ends of ", first.name(),
            ", got others: build both with the same --line-ends");
    require(part.sides() == 2 || part.size() == 0 || part.has_documents(), "[token store] ", part.name(),
            ": expected documents (gyre data build --documents), got sentences");
    store.first_sentences_.push_back(sums.sentences);
    store.first_tokens_.push_back(sums.tokens[0] + sums.tokens[1]);
    sums.sentences += part.trailer_.sentences;
    for (int side = 0; side < 2; ++side) sums.tokens[side] += part.trailer_.tokens[side];
    store.text_.has_sizes = std::min(store.text_.has_sizes, part.text_.has_sizes);
    store.version_ = std::min(store.version_, part.version_);
  }
  store.parts_ = std::move(parts);
  return store;
}

void TokenStore::fail(const std::string& what) const { throw Error("[token store] ", name_, ": ", what); }

void TokenStore::open() {
  Header header{};
  if (byte_count_ > 0) std::memcpy(&header, bytes_, std::min(byte_count_, sizeof header));
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) fail("expected a token store written by gyre data build");
  if (header.version < kFirstStoreVersion || header.version > kPlacesVersion)
    fail(concat("expected format version ", kFirstStoreVersion, " to ", kPlacesVersion, ", got ", header.version));
  version_ = header.version;
  if (header.zero != 0) fail("damaged header");
  if (byte_count_ < sizeof header + sizeof trailer_) fail(concat("truncated: only ", byte_count_, " bytes"));
  std::memcpy(&trailer_, bytes_ + byte_count_ - sizeof trailer_, sizeof trailer_);
  if (std::memcmp(trailer_.mark, kEndMark, sizeof kEndMark) != 0) {
    fail(concat("truncated or overwritten: the end mark is missing after ", byte_count_, " bytes"));
  }
  if (trailer_.trailer_crc != crc_of(trailer_)) fail("damaged trailer: its checksum does not match");
  if (trailer_.file_bytes != byte_count_) {
    fail(concat("expected ", trailer_.file_bytes, " bytes, got ", byte_count_));
  }
  const auto& t = trailer_;
  const uint64_t offsets_at = sizeof header + align(t.ids_bytes);
  const uint64_t offsets_bytes = (t.sides * t.sentences + 1) * sizeof(uint64_t);
  // Check the bounds of each count first, so that no sum or product below overflows.
  const bool elsewhere = version_ == kPlacesVersion;  // where the ids are
  const uint64_t most_tokens = elsewhere ? UINT64_MAX / sizeof(uint64_t) / 2 : byte_count_;
  const bool is_bounded = t.ids_bytes < byte_count_ && t.sentences < byte_count_ && t.tokens[0] < most_tokens &&
                          t.tokens[1] < most_tokens && t.vocabulary_size <= INT32_MAX;
  const size_t end = byte_count_ - sizeof trailer_ - (version_ == kFirstStoreVersion ? 0 : sizeof text_);
  if (version_ > kFirstStoreVersion && byte_count_ >= sizeof header + sizeof text_ + sizeof trailer_) {
    std::memcpy(&text_, bytes_ + end, sizeof text_);
    if (text_.text_crc != crc_of(text_) || text_.line_ends > 1 + uint32_t(LineEnds::none) || text_.has_sizes > 1)
      fail("damaged description of the text");
  }
  const uint64_t sizes_bytes = text_.has_sizes != 0 ? t.sentences * 2 * sizeof(uint32_t) : 0;
  const uint64_t ids_bytes = elsewhere ? 0 : (t.tokens[0] + t.tokens[1]) * t.id_bytes;
  const uint64_t places_at = offsets_at + offsets_bytes + sizes_bytes;
  const bool is_consistent = is_bounded && (t.sides == 1 || t.sides == 2) && (t.id_bytes == 2 || t.id_bytes == 4) &&
                             uint32_t(t.bos) < t.vocabulary_size && uint32_t(t.eos) < t.vocabulary_size &&
                             t.ids_bytes == ids_bytes &&
                             (elsewhere ? t.sides == 1 && places_at <= end : places_at == end);
  if (!is_consistent) fail("damaged trailer: its counts do not fit the size of the file");
  offsets_ = reinterpret_cast<const uint64_t*>(bytes_ + offsets_at);
  sizes_ = reinterpret_cast<const uint32_t*>(bytes_ + offsets_at + offsets_bytes);
  if (!elsewhere) return;
  try {
    places_ = std::make_shared<TokenPlaces>(std::span(bytes_ + places_at, end - places_at), Path(name_).parent_path(),
                                            t.id_bytes);
  } catch (const Error& error) {
    fail(error.what());
  }
}

// The last part whose first number is not above this one.
size_t TokenStore::part_of(const std::vector<uint64_t>& firsts, uint64_t number) const {
  return size_t(std::upper_bound(firsts.begin(), firsts.end(), number) - firsts.begin()) - 1;
}

TokenStore::Range TokenStore::range_of(size_t sentence, int side) const {
  if (sentence >= size() || side < 0 || side >= sides()) {
    fail(
        concat("expected a sentence below ", size(), " and a side below ", sides(), ", got ", sentence, " and ", side));
  }
  if (!parts_.empty()) {
    const size_t p = part_of(first_sentences_, sentence);
    const Range range = parts_[p].range_of(sentence - first_sentences_[p], side);
    return {first_tokens_[p] + range.begin, first_tokens_[p] + range.end};
  }
  const size_t at = sentence * trailer_.sides + size_t(side);
  const Range range{offsets_[at], offsets_[at + 1]};
  if (range.begin > range.end || range.end > trailer_.tokens[0] + trailer_.tokens[1]) {
    fail(concat("damaged offsets at sentence ", sentence));
  }
  return range;
}

template <class Id>
void TokenStore::append_ids(Range range, std::vector<int32_t>& ids) const {
  uint32_t largest = 0;
  const auto append_piece = [&](const std::byte* bytes, uint64_t count) {
    const Id* const begin = reinterpret_cast<const Id*>(bytes);
    for (const Id* id = begin; id != begin + count; ++id) {
      largest = std::max(largest, uint32_t(*id));
      ids.push_back(int32_t(*id));
    }
  };
  for_each_piece(range, append_piece);
  if (range.begin != range.end && largest >= trailer_.vocabulary_size) {
    fail(concat("damaged ids: got ", largest, " in a vocabulary of ", trailer_.vocabulary_size));
  }
}

template <class F>
void TokenStore::for_each_piece(Range range, const F& f) const {
  if (!places_) return f(bytes_ + sizeof(Header) + range.begin * trailer_.id_bytes, range.end - range.begin);
  try {
    places_->for_each_piece(range.begin, range.end, f);
  } catch (const Error& error) {
    fail(error.what());
  }
}

void TokenStore::append(Range range, std::vector<int32_t>& ids) const {
  if (!parts_.empty()) {
    for (size_t p = part_of(first_tokens_, range.begin); p < parts_.size() && first_tokens_[p] < range.end; ++p) {
      const TokenStore& part = parts_[p];
      const uint64_t first = first_tokens_[p], end = first + part.trailer_.tokens[0] + part.trailer_.tokens[1];
      if (range.begin < end)
        part.append(Range{std::max(range.begin, first) - first, std::min(range.end, end) - first}, ids);
    }
    return;
  }
  trailer_.id_bytes == 2 ? append_ids<uint16_t>(range, ids) : append_ids<uint32_t>(range, ids);
}

void TokenStore::append(size_t sentence, int side, std::vector<int32_t>& ids) const {
  append(range_of(sentence, side), ids);
}

uint64_t TokenStore::first_token(size_t sentence) const {
  if (sides() != 1) fail("expected a store of one side, got one of pairs");
  return sentence == size() ? total_tokens(0) : range_of(sentence, 0).begin;
}

void TokenStore::append_tokens(uint64_t begin, uint64_t end, std::vector<int32_t>& ids) const {
  if (sides() != 1 || begin > end || end > total_tokens(0)) {
    fail(concat("expected tokens of one side below ", total_tokens(0), ", got [", begin, ", ", end, ")"));
  }
  append(Range{begin, end}, ids);
}

std::vector<int32_t> TokenStore::sentence(size_t sentence, int side) const {
  std::vector<int32_t> ids;
  append(sentence, side, ids);
  return ids;
}

// An empty sentence ends each document. Stores of sentences have none.
bool TokenStore::has_documents() const { return sides() == 1 && size() > 0 && length(size() - 1, 0) == 0; }

std::optional<LineEnds> TokenStore::line_ends() const {
  return text_.line_ends == 0 ? std::nullopt : std::optional(LineEnds(text_.line_ends - 1));
}

TextSize TokenStore::text_size(size_t sentence) const {
  if (sentence >= size() || !has_text_sizes()) fail("expected a sentence with the size of its text");
  if (!parts_.empty()) {
    const size_t p = part_of(first_sentences_, sentence);
    return parts_[p].text_size(sentence - first_sentences_[p]);
  }
  return {.characters = sizes_[2 * sentence + 1], .bytes = sizes_[2 * sentence]};
}

uint64_t TokenStore::checksum() const {
  if (parts_.empty()) return uint64_t{trailer_.ids_crc} << 32 | trailer_.offsets_crc;
  uint64_t checksum = parts_.front().checksum();
  for (size_t p = 1; p < parts_.size(); ++p) checksum = mix(checksum, parts_[p].checksum());
  return checksum;
}

void TokenStore::require_untruncated() const {
  map_.require_untruncated();
  if (places_) places_->require_untruncated();
  for (const TokenStore& part : parts_) part.require_untruncated();
}

void TokenStore::require_vocabulary(const Vocabulary& vocabulary) const {
  if (fingerprint() == vocabulary.fingerprint()) return;
  fail(concat("was built with another vocabulary (", vocabulary_size(), " pieces, fingerprint ",
              hexadecimal(fingerprint()), ") than the one given (", vocabulary.size(), " pieces, fingerprint ",
              hexadecimal(vocabulary.fingerprint()), "): build it again with gyre data build"));
}

void TokenStore::verify() const {
  for (const TokenStore& part : parts_) part.verify();
  if (!parts_.empty()) return;
  const size_t records = trailer_.sides * trailer_.sentences;
  const uint64_t all_tokens = trailer_.tokens[0] + trailer_.tokens[1];
  uint32_t ids_crc = 0;
  for_each_piece({0, all_tokens}, [&](const std::byte* ids, uint64_t count) {
    ids_crc = crc32c(ids, count * trailer_.id_bytes, ids_crc);
  });
  constexpr char kZeros[8] = {};
  const uint64_t ids_bytes = all_tokens * trailer_.id_bytes;
  const void* const padding = places_ ? kZeros : static_cast<const void*>(bytes_ + sizeof(Header) + ids_bytes);
  ids_crc = crc32c(padding, align(ids_bytes) - ids_bytes, ids_crc);
  if (ids_crc != trailer_.ids_crc) fail("damaged ids: their checksum does not match");
  if (crc32c(offsets_, (records + 1) * sizeof(uint64_t)) != trailer_.offsets_crc) {
    fail("damaged offsets: their checksum does not match");
  }
  if (has_text_sizes() && crc32c(sizes_, 2 * size() * sizeof(uint32_t)) != text_.sizes_crc) {
    fail("damaged sizes of sentences: their checksum does not match");
  }
  std::vector<uint64_t> tokens(2);  // number of tokens on each side
  std::vector<int32_t> scratch;
  for (size_t i = 0; i < size(); ++i) {
    for (int side = 0; side < sides(); ++side) {
      scratch.clear();
      append(i, side, scratch);
      tokens[size_t(side)] += scratch.size();
    }
  }
  if (offsets_[0] != 0 || tokens[0] != trailer_.tokens[0] || tokens[1] != trailer_.tokens[1]) {
    fail("the offsets do not add up to the number of tokens");
  }
}

using namespace token_store_format;

TokenStoreWriter TokenStoreWriter::to_file(const Vocabulary& vocabulary, int sides, const Path& path) {
  require_file_output(path, "token store");
  return TokenStoreWriter(vocabulary, sides, path.string(), path, kStoreVersion);
}

TokenStoreWriter TokenStoreWriter::with_places(const Vocabulary& vocabulary, TokenPlaces places, const Path& path) {
  require_file_output(path, "token store");
  TokenStoreWriter writer(vocabulary, 1, path.string(), path, kPlacesVersion);
  writer.trailer_.id_bytes = places.id_bytes();
  writer.places_ = std::move(places);
  return writer;
}

TokenStoreWriter TokenStoreWriter::in_memory(const Vocabulary& vocabulary, int sides, std::string name) {
  return TokenStoreWriter(vocabulary, sides, std::move(name), std::nullopt, kStoreVersion);
}

TokenStoreWriter::TokenStoreWriter(const Vocabulary& vocabulary, int sides, std::string name, std::optional<Path> path,
                                   uint32_t version)
    : name_(std::move(name)), file_(path ? std::make_unique<AtomicFile>(*path) : nullptr) {
  require(sides == 1 || sides == 2, "[token store] expected 1 or 2 sides, got ", sides);
  trailer_.fingerprint = vocabulary.fingerprint();
  trailer_.sides = uint32_t(sides);
  trailer_.vocabulary_size = uint32_t(vocabulary.size());
  trailer_.id_bytes = vocabulary.size() <= 65536 ? 2 : 4;
  trailer_.bos = vocabulary.bos();
  trailer_.eos = vocabulary.eos();
  Header header{.magic = {}, .version = version, .zero = 0};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  write(&header, sizeof header);
}

void TokenStoreWriter::write(const void* data, size_t bytes) {
  written_ += bytes;
  if (file_) return file_->write(data, bytes);
  const auto* begin = static_cast<const std::byte*>(data);
  memory_.insert(memory_.end(), begin, begin + bytes);
}

void TokenStoreWriter::write_ids(const void* data, size_t bytes) {
  trailer_.ids_crc = crc32c(data, bytes, trailer_.ids_crc);
  if (!places_) write(data, bytes);
}

void TokenStoreWriter::add_place(uint64_t ahead, uint64_t file, uint64_t offset) {
  places_.value().add({.first_token = trailer_.tokens[0] + ahead, .file = file, .offset = offset});
}

void TokenStoreWriter::add(const std::vector<int32_t>& source, const std::vector<int32_t>& target) {
  require(trailer_.sides == 2 || target.empty(), "[token store] ", name_, ": expected ids of one side, got ids of two");
  add_side(source, 0);
  if (trailer_.sides == 2) add_side(target, 1);
  ++trailer_.sentences;
}

void TokenStoreWriter::add_of_document(std::span<const int32_t> ids, const TextSize& size) {
  require(trailer_.sides == 1, "[token store] ", name_, ": expected documents of one side, got pairs");
  add_side(ids, 0);
  ++trailer_.sentences;
  sizes_.push_back(uint32_t(size.bytes));
  sizes_.push_back(uint32_t(size.characters));
}

void TokenStoreWriter::add_side(std::span<const int32_t> ids, int side) {
  for (const int32_t id : ids) {
    require(id >= 0 && uint32_t(id) < trailer_.vocabulary_size, "[token store] ", name_, ": expected ids below ",
            trailer_.vocabulary_size, ", got ", id);
  }
  if (trailer_.id_bytes == 2) {
    narrow_.assign(ids.begin(), ids.end());
    write_ids(narrow_.data(), narrow_.size() * sizeof(uint16_t));
  } else {
    write_ids(ids.data(), ids.size() * sizeof(int32_t));
  }
  lengths_.push_back(uint32_t(ids.size()));
  trailer_.tokens[side] += ids.size();
}

// The sizes are either of all sentences or left out.
void TokenStoreWriter::write_text() {
  text_.has_sizes = sizes_.size() == 2 * trailer_.sentences && trailer_.sentences > 0 ? 1 : 0;
  if (text_.has_sizes != 0) {
    text_.sizes_crc = crc32c(sizes_.data(), sizes_.size() * sizeof(uint32_t));
    write(sizes_.data(), sizes_.size() * sizeof(uint32_t));
  }
  if (places_) {
    const std::vector<std::byte> places = places_->bytes(std::filesystem::absolute(name_).parent_path());
    write(places.data(), places.size());
  }
  text_.text_crc = crc_of(text_);
  write(&text_, sizeof text_);
}

TokenStore TokenStoreWriter::finish() {
  const uint64_t ids_bytes = (trailer_.tokens[0] + trailer_.tokens[1]) * trailer_.id_bytes;
  trailer_.ids_bytes = places_ ? 0 : ids_bytes;
  constexpr char kZeros[8] = {};
  write_ids(kZeros, align(ids_bytes) - ids_bytes);
  uint64_t offset = 0;
  const auto write_offset = [&] {
    trailer_.offsets_crc = crc32c(&offset, sizeof offset, trailer_.offsets_crc);
    write(&offset, sizeof offset);
  };
  write_offset();
  for (const uint32_t length : lengths_) {
    offset += length;
    write_offset();
  }
  write_text();
  trailer_.file_bytes = written_ + sizeof trailer_;
  trailer_.trailer_crc = crc_of(trailer_);
  std::memcpy(trailer_.mark, kEndMark, sizeof kEndMark);
  write(&trailer_, sizeof trailer_);
  if (!file_) return TokenStore(name_, std::move(memory_));
  file_->commit();
  return TokenStore(Path(name_));
}

}  // namespace gyre
