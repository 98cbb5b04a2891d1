// Token files of other programs: documents as ids without their text. Imports them into token stores, and exports
// stores. All are little-endian:
//   nanogpt   FILE: u16 ids
//   llm.c     FILE: a header of 256 i32, which begins with 20240520, version 1, the number of ids; then u16 ids. With
//             20240801 and version 7, the ids are u32
//   megatron  NAME.bin: ids of the dtype that NAME.idx gives. NAME.idx: "MMIDIDX\0\0", u64 version 1, u8 dtype, u64
//             sequences, u64 documents + 1, i32 length of each sequence, i64 offset of each in bytes, i64 number of the
//             first sequence of each document, and of all sequences
// In all of them, <s> begins a document or </s> ends one; a vocabulary such as that of GPT-2 has one id for both.
// Megatron's index has the documents too.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

enum class TokenFormat : uint8_t { nanogpt, llm_c, megatron };
template <>
inline constexpr std::pair<TokenFormat, std::string_view> kEnumNames<TokenFormat>[] = {
    {TokenFormat::nanogpt, "nanogpt"}, {TokenFormat::llm_c, "llm.c"}, {TokenFormat::megatron, "megatron"}};

// Takes the number of ids that are done, and of all of them.
using TokenFileProgress = std::function<void(uint64_t bytes, uint64_t all)>;

// The files of a data set: of Megatron's, the .bin file and the .idx file, whichever of them, or NAME, is given.
std::vector<Path> files_of_tokens(TokenFormat format, const Path& path);

// Where an imported store has its ids.
//   in_place  in the files of the other program, which must stay where they are, if their layout allows it: all have
//             aligned ids of the same size, of two or four bytes; else as with `copy`
//   copy      in the store
enum class ImportedIds : uint8_t { in_place, copy };

// Writes a store of the documents of the files, atomically; a document may continue from one file to the next. Reads
// memory maps, and decodes the ids for the sizes of the text, with OpenMP threads. Throws an Error that names the file
// and the position for an id outside the vocabulary, and for a file that is not of the format.
TokenStore import_tokens(const Vocabulary& vocabulary, TokenFormat format, const std::vector<Path>& paths,
                         const Path& output, ImportedIds ids, const TokenFileProgress& on_progress = {});

struct ExportedTokens {
  uint64_t documents = 0, ids = 0;
};

// Writes the documents of a store, atomically: with </s> after each, for llm.c with <s> before each. Ids take two bytes
// if the vocabulary allows it, else four; nanoGPT has none of four. Throws an Error if the format cannot hold them.
ExportedTokens export_tokens(const TokenStore& store, TokenFormat format, const Path& output,
                             const TokenFileProgress& on_progress = {});

}  // namespace gyre
