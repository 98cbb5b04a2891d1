#include "gyre/data/store/text_stream.h"

#include <doctest/doctest.h>

#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/data/text_files.h"

using namespace gyre;

namespace {

// Reads UTF-8 but decodes only the letters a to z.
class LetterVocabulary final : public Vocabulary {
 public:
  LetterVocabulary() : Vocabulary("letters") {}
  std::string_view kind() const override { return "letters"; }
  std::vector<int32_t> encode(std::string_view line) const override { return {line.begin(), line.end()}; }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) {
      if (id >= 'a' && id <= 'z') text += char(id);
    }
    return text;
  }
  std::string piece(int) const override { return {}; }
  int size() const override { return 128; }
};

std::vector<std::string> pieces_of(const Path& path, size_t chunk_bytes) {
  TextStream stream(path, chunk_bytes);
  std::vector<std::string> pieces;
  for (std::string_view piece; stream.next(piece);) pieces.emplace_back(piece);
  return pieces;
}

}  // namespace

TEST_CASE("text streams: the chunks make up the file and split no character") {
  TemporaryDirectory directory;
  using Pieces = std::vector<std::string>;
  CHECK(pieces_of(write_text(directory, "ascii", "\xEF\xBB\xBF\r\n\n"), 4) == Pieces{"\xEF\xBB\xBF\r", "\n\n"});
  CHECK(pieces_of(write_text(directory, "wide", "aa€€\xF0\x9F\x98\x80\xF0\x9F\x98\x80é"), 4) ==
        Pieces{"aa", "€", "€", "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80", "é"});
  CHECK(pieces_of(write_text(directory, "nothing", ""), 4).empty());
  const std::string broken(11, '\x80');
  std::string joined;
  for (const std::string& piece : pieces_of(write_text(directory, "broken", broken), 4)) joined += piece;
  CHECK(joined == broken);
}

TEST_CASE("text streams: an error gives the file offset of a byte that the vocabulary cannot represent") {
  TemporaryDirectory directory;
  const Path path = write_text(directory, "text", "abcdef\ngh");
  const LetterVocabulary letters;
  TextStream stream(path, 4);
  stream.require_utf8(letters);
  std::string_view piece;
  REQUIRE(stream.next(piece));
  CHECK(stream.encode_exactly(letters) == std::vector<int32_t>{'a', 'b', 'c', 'd'});
  REQUIRE(stream.next(piece));
  CHECK(contains(error_of([&] { stream.encode_exactly(letters); }),
                 path.string() + ": byte 7 (0x0A): expected a vocabulary that keeps every byte"));
  CHECK(stream.encode_exactly(ByteVocabulary()).size() == 4);
  const TextStream cut(write_text(directory, "cut", "abcdefg\xC3"), 4);
  CHECK(contains(error_of([&] { cut.require_utf8(letters); }), "cut: byte 8 (0xC3): expected valid UTF-8"));
}
