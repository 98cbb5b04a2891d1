// Token files of nanoGPT, llm.c and Megatron-LM, by files that make_token_files.py wrote in their layouts.
#include "gyre/data/store/token_files.h"

#include <doctest/doctest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/data/text_files.h"
#include "tests/errors.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

// DOCUMENTS of make_token_files.py.
const std::vector<std::string> kDocuments{"one\ntwo words\n", "Größe 大\n", "no line end"};

Path token_file(const std::string& name) { return golden("token_files") / name; }

std::vector<std::string> texts_of_documents(const TokenStore& store) {
  std::vector<std::string> documents;
  StorePart(store, 0, Part::training).for_each_document([&](TokenRange tokens, bool) {
    std::vector<int32_t> ids;
    store.append_tokens(tokens.begin, tokens.end, ids);
    documents.push_back(ByteVocabulary().decode(ids));
  });
  return documents;
}

struct FormatCase {
  TokenFormat format;
  std::string file;
};
const std::vector<FormatCase> kFormats{
    {TokenFormat::nanogpt, "nanogpt.bin"}, {TokenFormat::llm_c, "llm_c.bin"}, {TokenFormat::megatron, "megatron.bin"}};

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "token files: every format gives the store that the text gives") {
  std::string lines;
  for (const std::string& document : kDocuments) lines += Json{{"text", document}}.dump() + '\n';
  const Path text = write_text(directory, "text.jsonl", lines);
  build_document_store(ByteVocabulary(), TextInputs({text}), directory / "text.tok", {.end = DocumentEnd::line});
  const std::vector<std::string> files{"nanogpt.bin",  "llm_c.bin", "llm_c_wide.bin", "megatron.bin",
                                       "megatron.idx", "megatron",  "sentences.idx"};
  for (const std::string& file : files) {
    CAPTURE(file);
    const TokenFormat format = file.starts_with("nano")  ? TokenFormat::nanogpt
                               : file.starts_with("llm") ? TokenFormat::llm_c
                                                         : TokenFormat::megatron;
    const TokenStore store =
        import_tokens(ByteVocabulary(), format, {token_file(file)}, directory / "got.tok", ImportedIds::copy);
    store.verify();
    CHECK(texts_of_documents(store) == kDocuments);
    const TokenStore in_place =
        import_tokens(ByteVocabulary(), format, {token_file(file)}, directory / "in_place.tok", ImportedIds::in_place);
    in_place.verify();
    CHECK(texts_of_documents(in_place) == kDocuments);
    CHECK(in_place.id_files().size() == 1);
    CHECK(std::filesystem::file_size(directory / "in_place.tok") > 0);
    if (!file.starts_with("sentences") && file != "llm_c_wide.bin") CHECK(in_place.checksum() == store.checksum());
    CHECK((read_file(directory / "got.tok") == read_file(directory / "text.tok")));
  }
}

TEST_CASE_FIXTURE(InDirectory, "token files: exported files have the bytes of the other program's") {
  for (const FormatCase& from : kFormats) {
    const TokenStore store = import_tokens(ByteVocabulary(), from.format, {token_file(from.file)},
                                           directory / "store.tok", ImportedIds::in_place);
    for (const FormatCase& to : kFormats) {
      CAPTURE(to.file);
      const ExportedTokens written = export_tokens(store, to.format, directory / "out.bin");
      CHECK(written.documents == 3);
      CHECK(read_file(directory / "out.bin") == read_file(token_file(to.file)));
      if (to.format == TokenFormat::megatron)
        CHECK(read_file(directory / "out.idx") == read_file(token_file("megatron.idx")));
    }
  }
}

TEST_CASE_FIXTURE(InDirectory, "token files: a document may be longer than a part and continue in the next file") {
  std::string line, text;
  for (int i = 0; text.size() < 400000; ++i) text += "line " + std::to_string(i) + (i % 7 == 0 ? "\n" : " ");
  const auto write_ids = [&](const std::string& name, const std::string& part) {
    std::string bytes;
    for (const int32_t id : ByteVocabulary().encode(part)) {
      const auto narrow = uint16_t(id);
      bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
    }
    return write_text(directory, name, bytes);
  };
  const std::vector<Path> files{write_ids("a.bin", text.substr(0, 150001)), write_ids("b.bin", text.substr(150001))};
  std::string of_one_thread;
  for (const int count : {1, 3}) {
    const ThreadsInScope threads(count);
    const TokenStore store =
        import_tokens(ByteVocabulary(), TokenFormat::nanogpt, files, directory / "long.tok", ImportedIds::copy);
    CHECK(texts_of_documents(store) == std::vector<std::string>{text});
    const TokenStore in_place =
        import_tokens(ByteVocabulary(), TokenFormat::nanogpt, files, directory / "in_place.tok", ImportedIds::in_place);
    in_place.verify();
    CHECK(texts_of_documents(in_place) == std::vector<std::string>{text});
    CHECK(in_place.checksum() == store.checksum());
    CHECK(in_place.size() == store.size());
    // Tokens of the end of the first file and of the beginning of the second.
    std::vector<int32_t> ids;
    in_place.append_tokens(149990, 150010, ids);
    CHECK(ByteVocabulary().decode(ids) == text.substr(149990, 20));
    CHECK(std::filesystem::file_size(directory / "in_place.tok") < std::filesystem::file_size(directory / "long.tok"));
    const std::string bytes = read_file(directory / "long.tok");
    if (of_one_thread.empty()) of_one_thread = bytes;
    CHECK((bytes == of_one_thread));
  }
}

TEST_CASE_FIXTURE(InDirectory, "token files: what is not of the format is refused with its place") {
  const std::string nano = read_file(token_file("nanogpt.bin")), llm_c = read_file(token_file("llm_c.bin"));
  const std::string bin = read_file(token_file("megatron.bin")), index = read_file(token_file("megatron.idx"));
  const auto changed = [](std::string bytes, size_t at, const auto& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  const int32_t magic_of_evaluation = 20240522, four = 4;
  const uint16_t large = 259;
  const uint64_t version = 2, huge = uint64_t{1} << 62;
  const auto dtype = uint8_t{7};
  const int64_t far = 1000;
  struct Row {
    TokenFormat format;
    std::string bin, idx, message;
  };
  for (const Row& row : std::vector<Row>{
           {TokenFormat::nanogpt, changed(nano, 10, large), "",
            "below 259, the size of the vocabulary, got 259 as id 5 (uint16 at byte 10)"},
           {TokenFormat::nanogpt, nano + "x", "", "expected ids of two bytes"},
           {TokenFormat::nanogpt, llm_c, "", "use --from llm.c"},
           {TokenFormat::nanogpt, "", "", "no ids in"},
           {TokenFormat::llm_c, nano, "", "nanoGPT's files have no header"},
           {TokenFormat::llm_c, changed(llm_c, 0, magic_of_evaluation), "", "got 20240522"},
           {TokenFormat::llm_c, changed(llm_c, 4, four), "", "expected version 1 in the header, got 4"},
           {TokenFormat::llm_c, llm_c.substr(0, llm_c.size() - 2), "", "the file is incomplete"},
           {TokenFormat::llm_c, changed(llm_c, 1024 + 6, large), "", "got 259 as id 3 (uint16 at byte 1030)"},
           {TokenFormat::megatron, bin, nano, "which begins with MMIDIDX"},
           {TokenFormat::megatron, bin, changed(index, 9, version), "expected version 1, got 2"},
           {TokenFormat::megatron, bin, changed(index, 17, dtype), "expected a dtype of integers, got the code 7"},
           {TokenFormat::megatron, bin, changed(index, 18, huge), "the file is incomplete, or fairseq's"},
           {TokenFormat::megatron, bin, index.substr(0, index.size() - 1), "the file is incomplete, or fairseq's"},
           {TokenFormat::megatron, bin.substr(0, bin.size() - 2), index, "expected sequence 2 with 12 ids at byte"},
           {TokenFormat::megatron, bin, changed(index, index.size() - 8, far), "document 3 begins at 1000"},
           {TokenFormat::megatron, changed(bin, 2 * 16, large), index, "got 259 as id 16 (uint16 at byte 32)"}}) {
    CAPTURE(row.message);
    write_text(directory, "bad.bin", row.bin);
    write_text(directory, "bad.idx", row.idx);
    const std::string message = error_of([&] {
      import_tokens(ByteVocabulary(), row.format, {directory / "bad.bin"}, directory / "bad.tok",
                    ImportedIds::in_place);
    });
    CHECK_MESSAGE(contains(message, row.message), message);
    CHECK_FALSE(std::filesystem::exists(directory / "bad.tok"));
  }
}

TEST_CASE_FIXTURE(InDirectory, "token files: a store whose ids are in other files misses changed files") {
  const std::string bytes = read_file(token_file("nanogpt.bin"));
  const Path ids = write_text(directory, "ids.bin", bytes), path = directory / "ids.tok";
  import_tokens(ByteVocabulary(), TokenFormat::nanogpt, {ids}, path, ImportedIds::in_place);
  const auto error = [&] { return error_of([&] { TokenStore(path).verify(); }); };
  // Both can be moved together.
  std::filesystem::create_directory(directory / "moved");
  std::filesystem::rename(ids, directory / "moved" / "ids.bin");
  CHECK(contains(error(), "ids.bin"));
  std::filesystem::rename(path, directory / "moved" / "ids.tok");
  TokenStore(directory / "moved" / "ids.tok").verify();
  put_file(ids, bytes + "xx");
  std::filesystem::rename(directory / "moved" / "ids.tok", path);
  CHECK(contains(error(), "which had 80 bytes and has 82: import it again"));
  std::string changed = bytes;
  changed[0] ^= 1;
  put_file(ids, changed);
  CHECK(contains(error(), "damaged ids: their checksum does not match"));
  put_file(ids, bytes);
  CHECK(error() == "no error");
  std::string store = read_file(path);
  for (size_t at = store.size() - 88 - 16 - 1; at > store.size() - 88 - 16 - 60; --at) {
    store[at] ^= 1;
    put_file(path, store);
    CHECK(contains(error(), "damaged places of ids"));
    store[at] ^= 1;
  }
  // Chains of both kinds of stores.
  put_file(path, store);
  std::vector<TokenStore> parts;
  parts.push_back(TokenStore(path));
  parts.push_back(import_tokens(ByteVocabulary(), TokenFormat::nanogpt, {ids}, directory / "b.tok", ImportedIds::copy));
  std::vector<std::string> twice = kDocuments;
  twice.insert(twice.end(), kDocuments.begin(), kDocuments.end());
  CHECK(texts_of_documents(TokenStore::chain("both", std::move(parts))) == twice);
}

TEST_CASE_FIXTURE(InDirectory, "token files: a format holds only the ids and the documents that it can") {
  const IdVocabulary wide(70000);
  auto writer = TokenStoreWriter::to_file(wide, 1, directory / "wide.tok");
  const std::vector<int32_t> ids{69999, 3};
  writer.add_of_document(ids, {});
  writer.add_of_document({}, {});
  const TokenStore store = writer.finish();
  CHECK(contains(error_of([&] { export_tokens(store, TokenFormat::nanogpt, directory / "out.bin"); }),
                 "for at most 65536 pieces, got a vocabulary of 70000"));
  export_tokens(store, TokenFormat::llm_c, directory / "out.bin");
  CHECK(read_file(directory / "out.bin").size() == 1024 + 3 * 4);
  export_tokens(store, TokenFormat::megatron, directory / "out");
  CHECK(read_file(directory / "out.idx")[17] == 4);  // int32
  auto sentences = TokenStoreWriter::to_file(wide, 1, directory / "sentences.tok");
  sentences.add(ids);
  const TokenStore without_documents = sentences.finish();
  CHECK(contains(error_of([&] { export_tokens(without_documents, TokenFormat::llm_c, directory / "out.bin"); }),
                 "expected documents of one language"));
}
