#include "core/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace gyre {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

namespace {

using nlohmann::json;

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr size_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

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

std::optional<DType> tensor_dtype(std::string_view name) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32}) {
    if (safetensors_dtype(dtype) == name) return dtype;
  }
  return std::nullopt;
}

uint64_t dtype_bits(const std::string& name, std::string_view context) {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeBits& d) { return d.name == name; });
  require(found != kDTypes.end(), context, "unknown dtype ", json(name).dump());
  return found->bits;
}

uint64_t checked_product(uint64_t a, uint64_t b, std::string_view context) {
  uint64_t product = 0;
  require(!__builtin_mul_overflow(a, b, &product), context, "the shape has too many elements");
  return product;
}

std::vector<uint64_t> unsigned_numbers(const json& entry, const char* key, std::string_view context) {
  const auto found = entry.find(key);
  require(found != entry.end() && found->is_array(), context, "expected \"", key, "\" to be an array");
  std::vector<uint64_t> numbers;
  for (const json& n : *found) {
    require(n.is_number_unsigned(), context, "expected non-negative integers in \"", key, "\", got ", n.dump());
    numbers.push_back(n.get<uint64_t>());
  }
  return numbers;
}

SafetensorsFile::Entry parse_entry(const std::string& name, const json& value, std::string_view context) {
  require(value.is_object(), context, "expected an object");
  const auto dtype = value.find("dtype");
  require(dtype != value.end() && dtype->is_string(), context, "expected \"dtype\" to be a string");
  SafetensorsFile::Entry entry{name, dtype->get<std::string>(), {}, 0, 0};

  uint64_t bits = dtype_bits(entry.dtype, context);
  for (const uint64_t n : unsigned_numbers(value, "shape", context)) {
    require(n <= INT64_MAX, context, "the shape has too many elements");
    entry.shape.push_back(static_cast<int64_t>(n));
    bits = checked_product(bits, n, context);
  }

  const std::vector<uint64_t> offsets = unsigned_numbers(value, "data_offsets", context);
  require(offsets.size() == 2 && offsets[0] <= offsets[1], context, "expected \"data_offsets\" to be [begin, end]");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  require(bits % 8 == 0 && bits / 8 == entry.end - entry.begin, context, entry.dtype, " ", entry.shape_text(),
          " needs ", bits / 8, " bytes, its offsets span ", entry.end - entry.begin);
  return entry;
}

// The parser keeps the last of two equal keys; the format forbids them. It also has no limit of depth.
class HeaderRules {
 public:
  explicit HeaderRules(std::string context) : context_(std::move(context)) {}
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    require(depth <= 3, context_, "the header is nested too deeply");
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key) {
      require(keys_.back().insert(parsed.get<std::string>()).second, context_, "duplicate key ", parsed.dump());
    }
    return true;
  }

 private:
  std::string context_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
  constexpr std::string_view names[] = {"F32", "F64", "BF16", "I32"};
  return names[static_cast<size_t>(dtype)];
}

std::string SafetensorsFile::Entry::shape_text() const {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

void write_safetensors(const Path& path, const std::vector<NamedTensor>& tensors, const SafetensorsMetadata& metadata) {
  // Wide types first, so that every tensor is aligned to its type.
  std::vector<const NamedTensor*> order(tensors.size());
  std::transform(tensors.begin(), tensors.end(), order.begin(), [](const NamedTensor& t) { return &t; });
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return dtype_bytes(a->tensor.dtype()) > dtype_bytes(b->tensor.dtype());
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  std::set<std::string_view> names{kMetadataKey};
  uint64_t offset = 0;
  for (const auto* item : order) {
    const auto& [name, tensor] = *item;
    require(names.insert(name).second, "[safetensors] ", path.string(), ": duplicate tensor name '", name, "'");
    std::vector<int64_t> shape;
    for (int axis = 0; axis < tensor.shape().rank(); ++axis) shape.push_back(tensor.dim(axis));
    header[name] = {{"dtype", safetensors_dtype(tensor.dtype())},
                    {"shape", shape},
                    {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  require(text.size() <= kMaxHeader, "[safetensors] ", path.string(), ": the header would have ", text.size(),
          " bytes, the limit is ", kMaxHeader);

  AtomicFile file(path);
  const uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text);
  for (const auto* item : order) file.write(item->tensor.to_cpu().raw(), item->tensor.bytes());
  file.commit();
}

SafetensorsFile::SafetensorsFile(const Path& path) : path_(path), file_(path) {
  const std::string context = concat("[safetensors] ", path.string(), ": ");
  require(file_.size() >= kLengthBytes, context, "expected at least ", kLengthBytes, " bytes, got ", file_.size());
  uint64_t length = 0;
  std::memcpy(&length, file_.data(), sizeof length);
  require(length <= kMaxHeader, context, "the header may have ", kMaxHeader, " bytes, this one claims ", length);
  require(length <= file_.size() - kLengthBytes, context, "the header claims ", length, " bytes, the file has ",
          file_.size() - kLengthBytes, " more");
  data_begin_ = kLengthBytes + length;
  parse_header(file_.text().substr(kLengthBytes, length));
  check_layout(file_.size() - data_begin_);
  for (size_t i = 0; i < entries_.size(); ++i) index_[entries_[i].name] = i;
}

void SafetensorsFile::parse_header(std::string_view text) {
  const std::string context = concat("[safetensors] ", path_.string(), ": ");
  require(text.starts_with('{'), context, "expected the header to start with '{'");
  json header;
  try {
    header = json::parse(text, HeaderRules(context));
  } catch (const json::exception& error) {
    throw Error(context, "the header is not valid JSON: ", error.what());
  }
  for (const auto& [name, value] : header.items()) {
    const std::string where = concat(context, "tensor ", json(name).dump(), ": ");
    if (name != kMetadataKey) {
      entries_.push_back(parse_entry(name, value, where));
      continue;
    }
    require(value.is_object(), context, "expected ", kMetadataKey, " to be an object");
    for (const auto& [key, item] : value.items()) {
      require(item.is_string(), context, "expected ", kMetadataKey, " to hold strings, got ", item.dump());
      metadata_[key] = item.get<std::string>();
    }
  }
}

void SafetensorsFile::check_layout(uint64_t buffer_bytes) {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  uint64_t expected = 0;
  for (const Entry& entry : entries_) {
    require(entry.begin == expected, "[safetensors] ", path_.string(), ": tensor ", json(entry.name).dump(),
            " should begin at offset ", expected, ", got ", entry.begin);
    expected = entry.end;
  }
  require(expected == buffer_bytes, "[safetensors] ", path_.string(), ": the tensors end at offset ", expected,
          ", the file's data at ", buffer_bytes);
}

const SafetensorsFile::Entry* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::span<const std::byte> SafetensorsFile::bytes(const Entry& entry) const {
  return {file_.data() + data_begin_ + entry.begin, entry.end - entry.begin};
}

void SafetensorsFile::read(const Entry& entry, const Tensor& out) const {
  const std::string context = concat("[safetensors] ", path_.string(), ": tensor ", json(entry.name).dump(), ": ");
  require(same_shape(entry, out), context, "expected shape ", out.shape().text(), ", got ", entry.shape_text());

  if (out.device() != Device{}) {
    const Tensor host = Tensor::empty(out.shape(), out.dtype());
    read(entry, host);
    return out.copy_from(host);
  }
  const auto source = bytes(entry);
  if (entry.dtype == safetensors_dtype(out.dtype())) {
    if (!source.empty()) std::memcpy(out.raw(), source.data(), source.size());
    return;
  }
  const bool floats =
      (entry.dtype == "F32" && out.dtype() == DType::f64) || (entry.dtype == "F64" && out.dtype() == DType::f32);
  require(floats, context, "expected ", safetensors_dtype(out.dtype()), ", got ", entry.dtype);
  const Tensor same_dtype = Tensor::empty(out.shape(), *tensor_dtype(entry.dtype));
  read(entry, same_dtype);
  out.copy_from(same_dtype.to(out.dtype()));
}

Tensor SafetensorsFile::read(const Entry& entry) const {
  const auto dtype = tensor_dtype(entry.dtype);
  require(dtype.has_value() && entry.shape.size() <= Shape::kMaxRank, "[safetensors] ", path_.string(), ": tensor ",
          json(entry.name).dump(), ": ", entry.dtype, " ", entry.shape_text(), " has no place in a Tensor");
  const Tensor out = Tensor::empty(Shape(std::span<const int64_t>(entry.shape)), *dtype);
  read(entry, out);
  return out;
}

bool SafetensorsFile::same_shape(const Entry& entry, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  bool same = entry.shape.size() == static_cast<size_t>(shape.rank());
  for (int axis = 0; same && axis < shape.rank(); ++axis) same = entry.shape[static_cast<size_t>(axis)] == shape[axis];
  return same;
}

void read_safetensors(const SafetensorsFile& file, const std::vector<NamedTensor>& targets) {
  std::string problems;
  std::set<std::string_view> wanted;
  for (const auto& [name, tensor] : targets) {
    wanted.insert(name);
    const auto* entry = file.find(name);
    if (entry == nullptr) {
      problems += "\n  missing: " + name + " " + tensor.shape().text();
    } else if (!SafetensorsFile::same_shape(*entry, tensor)) {
      problems += "\n  wrong shape: " + name + " expected " + tensor.shape().text() + ", got " + entry->shape_text();
    }
  }
  for (const auto& entry : file.entries()) {
    if (wanted.count(entry.name) == 0)
      problems += "\n  unexpected: " + json(entry.name).dump() + " " + entry.shape_text();
  }
  require(problems.empty(), "[safetensors] ", file.path().string(), ": the tensors do not fit:", problems);
  for (const auto& [name, tensor] : targets) file.read(*file.find(name), tensor);
}

}  // namespace gyre
