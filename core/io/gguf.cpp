#include "gyre/core/io/gguf.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <span>
#include <type_traits>

#include "gyre/core/error.h"
#include "gyre/core/float16.h"

namespace gyre {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kGgufAlignment = 32;
constexpr size_t kGgufBlockBytes = sizeof(float16) + size_t(kGgufBlock);

template <class T>
void append(std::string& bytes, T x) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
}

void append_text(std::string& bytes, std::string_view text) {
  append(bytes, uint64_t(text.size()));
  bytes += text;
}

// The numbers of the types of values in the format.
enum class ValueType : uint32_t { u8 = 0, u32 = 4, i32 = 5, f32 = 6, boolean = 7, text = 8, list = 9 };

constexpr ValueType value_type(uint8_t) { return ValueType::u8; }
constexpr ValueType value_type(uint32_t) { return ValueType::u32; }
constexpr ValueType value_type(int32_t) { return ValueType::i32; }
constexpr ValueType value_type(float) { return ValueType::f32; }

struct ValueWriter {
  std::string& bytes;

  void operator()(bool x) const {
    append(bytes, ValueType::boolean);
    append(bytes, uint8_t(x));
  }
  void operator()(const std::string& x) const {
    append(bytes, ValueType::text);
    append_text(bytes, x);
  }
  template <class T>
  void operator()(T x) const {
    append(bytes, value_type(x));
    append(bytes, x);
  }
  template <class T>
  void operator()(const std::vector<T>& list) const {
    begin_list(value_type(T{}), list.size());
    for (const T x : list) append(bytes, x);
  }
  void operator()(const std::vector<std::string>& list) const {
    begin_list(ValueType::text, list.size());
    for (const std::string& x : list) append_text(bytes, x);
  }

 private:
  void begin_list(ValueType of, size_t count) const {
    append(bytes, ValueType::list);
    append(bytes, of);
    append(bytes, uint64_t(count));
  }
};

size_t data_bytes(const GgufTensor& tensor) {
  const auto count = size_t(tensor.values.size());
  switch (tensor.type) {
    case GgufType::f32:
      return count * sizeof(float);
    case GgufType::f16:
    case GgufType::bf16:
      return count * sizeof(float16);
    case GgufType::q8_0:
      break;
  }
  return count / size_t(kGgufBlock) * kGgufBlockBytes;
}

size_t aligned(size_t bytes) { return (bytes + kGgufAlignment - 1) / kGgufAlignment * kGgufAlignment; }

constexpr float kLargestOfBlock = 127;  // the largest 8-bit integer of a block

// The operations and their order are those of the package, for the same bits.
void append_block(std::span<const float> block, std::string& bytes) {
  float largest = 0;
  for (const float x : block) largest = std::max(largest, std::abs(x));
  const float scale = largest / kLargestOfBlock;
  const float inverse = std::isfinite(1 / scale) ? 1 / scale : 0;
  append(bytes, float16(scale));
  for (const float x : block) append(bytes, int8_t(std::round(x * inverse)));
}

}  // namespace

std::string gguf_data(const GgufTensor& tensor) {
  const std::string context = concat("[gguf] ", tensor.name, ": ");
  const Tensor values = tensor.values.to_cpu();
  const auto all = values.span<float>();
  const auto holds = [&](float x) {
    return std::isfinite(tensor.type == GgufType::f16    ? float(float16(x))
                         : tensor.type == GgufType::bf16 ? float(bfloat16(x))
                         : tensor.type == GgufType::q8_0 ? float(float16(x / kLargestOfBlock))
                                                         : x);
  };
  const auto bad = std::find_if_not(all.begin(), all.end(), holds);
  require(bad == all.end(), context, "expected numbers that ", enum_name(tensor.type), " can hold, got ",
          bad == all.end() ? 0 : *bad);
  std::string bytes;
  bytes.reserve(data_bytes(tensor));
  switch (tensor.type) {
    case GgufType::f32:
      bytes.append(reinterpret_cast<const char*>(all.data()), all.size_bytes());
      break;
    case GgufType::f16:
      for (const float x : all) append(bytes, float16(x));
      break;
    case GgufType::bf16:
      for (const float x : all) append(bytes, bfloat16(x));
      break;
    case GgufType::q8_0:
      require(values.cols() % kGgufBlock == 0, context, "expected rows of blocks of ", kGgufBlock, " for q8_0, got ",
              values.cols(), " elements");
      for (size_t i = 0; i < all.size(); i += size_t(kGgufBlock))
        append_block(all.subspan(i, size_t(kGgufBlock)), bytes);
      break;
  }
  return bytes;
}

void write_gguf(const Path& path, const std::vector<GgufKey>& keys, const std::vector<GgufTensor>& tensors) {
  constexpr uint32_t kVersion = 3;
  std::string header = "GGUF";
  append(header, kVersion);
  append(header, uint64_t(tensors.size()));
  append(header, uint64_t(keys.size()));
  for (const GgufKey& key : keys) {
    append_text(header, key.name);
    std::visit(ValueWriter{header}, key.value);
  }
  std::set<std::string_view> names;
  uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    require(names.insert(tensor.name).second, "[gguf] ", path.string(), ": duplicate tensor name '", tensor.name, "'");
    const Shape& shape = tensor.values.shape();
    append_text(header, tensor.name);
    append(header, uint32_t(shape.rank()));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) append(header, uint64_t(shape[axis]));
    append(header, tensor.type);
    append(header, offset);
    offset += aligned(data_bytes(tensor));
  }
  header.resize(aligned(header.size()), '\0');
  AtomicFile file(path);
  file.write(header);
  for (const GgufTensor& tensor : tensors) {
    std::string data = gguf_data(tensor);
    data.resize(aligned(data.size()), '\0');
    file.write(data);
  }
  file.commit();
}

}  // namespace gyre
