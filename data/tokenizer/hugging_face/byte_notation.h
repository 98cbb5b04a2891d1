// GPT-2's notation of bytes as printable characters (Radford et al. 2019), in which byte-level BPE writes its pieces:
// printable characters of Latin-1 stand for their own number, U+0100 and following for the other bytes. " the" is
// written "Ġthe".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

inline constexpr int kByteValues = 256;

// The characters of all bytes, in UTF-8, by byte.
const std::vector<std::string>& byte_characters();

std::string byte_notation(std::string_view bytes);
// The bytes that a piece stands for; nullopt if one of its characters stands for no byte.
std::optional<std::string> notated_bytes(std::string_view piece);

}  // namespace gyre
