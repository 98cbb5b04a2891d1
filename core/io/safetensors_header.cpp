#include "gyre/core/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {

namespace {

using nlohmann::json;

struct DTypeBits {
  std::string_view name;
  uint64_t bits;
};
constexpr std::array kDTypes = {
    DTypeBits{"BOOL", 8},        DTypeBits{"F4", 4},      DTypeBits{"F6_E2M3", 6}, DTypeBits{"F6_E3M2", 6},
    DTypeBits{"U8", 8},          DTypeBits{"I8", 8},      DTypeBits{"F8_E5M2", 8}, DTypeBits{"F8_E4M3", 8},
    DTypeBits{"F8_E5M2FNUZ", 8}, DTypeBits{"F8_E8M0", 8}, DTypeBits{"I16", 16},    DTypeBits{"F8_E4M3FNUZ", 8},
    DTypeBits{"U16", 16},        DTypeBits{"F16", 16},    DTypeBits{"BF16", 16},   DTypeBits{"I32", 32},
    DTypeBits{"U32", 32},        DTypeBits{"F32", 32},    DTypeBits{"C64", 64},    DTypeBits{"F64", 64},
    DTypeBits{"I64", 64},        DTypeBits{"U64", 64},
};

uint64_t dtype_bits(const std::string& name, std::string_view context) {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeBits& d) { return d.name == name; });
  require(found != kDTypes.end(), context, "unknown dtype ", quoted_for_message(name));
  return found->bits;
}

template <class Count>
Count checked_product(Count a, Count b, std::string_view context) {
  Count product = 0;
  require(!__builtin_mul_overflow(a, b, &product), context, "the shape has too many elements");
  return product;
}

std::vector<uint64_t> unsigned_numbers(const json& entry, const char* key, std::string_view context) {
  const auto found = entry.find(key);
  require(found != entry.end() && found->is_array(), context, "expected \"", key, "\" to be an array");
  std::vector<uint64_t> numbers;
  for (const json& n : *found) {
    if (!n.is_number_unsigned()) {
      throw Error(context, "expected non-negative integers in \"", key, "\", got ", cut_for_message(n.dump()));
    }
    numbers.push_back(n.get<uint64_t>());
  }
  return numbers;
}

SafetensorsEntry parse_entry(const std::string& name, const json& value, std::string_view context) {
  require(value.is_object(), context, "expected an object");
  const auto dtype = value.find("dtype");
  require(dtype != value.end() && dtype->is_string(), context, "expected \"dtype\" to be a string");
  SafetensorsEntry entry{name, dtype->get<std::string>(), {}, 0, 0};
  const uint64_t element_bits = dtype_bits(entry.dtype, context);

  int64_t elements = 1;  // signed, because Tensor counts elements in int64_t
  for (const uint64_t n : unsigned_numbers(value, "shape", context)) {
    require(n <= INT64_MAX, context, "the shape has too many elements");
    entry.shape.push_back(static_cast<int64_t>(n));
    elements = checked_product(elements, entry.shape.back(), context);
  }
  const uint64_t bits = checked_product(static_cast<uint64_t>(elements), element_bits, context);

  const std::vector<uint64_t> offsets = unsigned_numbers(value, "data_offsets", context);
  require(offsets.size() == 2, context, "expected \"data_offsets\" to be [begin, end], got ", offsets.size(),
          " numbers");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  require(entry.begin <= entry.end, context, "\"data_offsets\" begin at ", entry.begin, " and end before it, at ",
          entry.end);
  require(bits % 8 == 0, context, entry.dtype, " ", cut_for_message(entry.shape_text()),
          " does not fill whole bytes: ", bits, " bits");
  require(bits / 8 == entry.end - entry.begin, context, entry.dtype, " ", cut_for_message(entry.shape_text()),
          " needs ", bits / 8, " bytes, its offsets span ", entry.end - entry.begin);
  return entry;
}

json parse_json(std::string_view text, const std::string& context) {
  constexpr int kDeepest = 3;  // the header, a tensor, its shape
  require(text.starts_with('{'), context, "expected the header to start with '{'");
  json header = parse_strict_json(text, kDeepest, context, "the header");
  require(text[text.find_last_not_of(' ')] == '}', context, "expected nothing but spaces after the header's JSON");
  return header;
}

SafetensorsMetadata parse_metadata(const json& value, std::string_view context) {
  require(value.is_object(), context, "expected ", kSafetensorsMetadataKey, " to be an object");
  SafetensorsMetadata metadata;
  for (const auto& [key, item] : value.items()) {
    if (!item.is_string()) {
      throw Error(context, "expected ", kSafetensorsMetadataKey, " to hold strings, got ", cut_for_message(item.dump()),
                  " for ", quoted_for_message(key));
    }
    metadata[key] = item.get<std::string>();
  }
  return metadata;
}

// Checks that the data of the tensors covers the rest of the file without gaps or overlaps. Sorts the entries.
void check_layout(std::vector<SafetensorsEntry>& entries, uint64_t buffer_bytes, const std::string& context) {
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t expected = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != expected) {
      throw Error(context, "tensor ", quoted_for_message(entry.name), " should begin at offset ", expected, ", got ",
                  entry.begin,
                  entry.begin < expected ? ": it overlaps the previous one" : ": there is a hole before it");
    }
    expected = entry.end;
  }
  require(expected == buffer_bytes, context, "the tensors end at offset ", expected, ", the file's data at ",
          buffer_bytes);
}

}  // namespace

std::string SafetensorsEntry::shape_text() const {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& name) {
  const std::string context = concat("[safetensors] ", name, ": ");
  require(file.size() >= kSafetensorsLengthBytes, context, "expected at least ", kSafetensorsLengthBytes,
          " bytes, got ", file.size());
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  require(length <= kMaxSafetensorsHeader, context, "the header may have ", kMaxSafetensorsHeader,
          " bytes, this one claims ", length);
  const size_t rest = file.size() - kSafetensorsLengthBytes;
  require(length <= rest, context, "the header claims ", length, " bytes, the file has ", rest, " more");

  SafetensorsHeader header{kSafetensorsLengthBytes + length, {}, {}};
  const json parsed = parse_json(file.substr(kSafetensorsLengthBytes, length), context);
  for (const auto& [key, value] : parsed.items()) {
    if (key == kSafetensorsMetadataKey) {
      header.metadata = parse_metadata(value, context);
    } else {
      header.entries.push_back(parse_entry(key, value, concat(context, "tensor ", quoted_for_message(key), ": ")));
    }
  }
  check_layout(header.entries, rest - length, context);
  return header;
}

}  // namespace gyre
