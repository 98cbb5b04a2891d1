#include "gyre/core/io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/float16.h"
#include "gyre/core/io/json.h"

namespace gyre {
namespace {

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

std::vector<uint64_t> unsigned_numbers(const IndexedJson& entry, const char* key, std::string_view context) {
  const auto found = entry.find(key);
  require(found != entry.end() && found->is_array(), context, "expected \"", key, "\" to be an array");
  std::vector<uint64_t> numbers;
  for (const IndexedJson& n : *found) {
    if (!n.is_number_unsigned()) {
      throw Error(context, "expected non-negative integers in \"", key, "\", got ", cut_for_message(n.dump()));
    }
    numbers.push_back(n.get<uint64_t>());
  }
  return numbers;
}

SafetensorsEntry parse_entry(const std::string& name, const IndexedJson& value, std::string_view context) {
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

IndexedJson parse_json(std::string_view text, const std::string& context) {
  constexpr int kDeepest = 3;  // the header, a tensor, its shape
  require(text.starts_with('{'), context, "expected the header to start with '{'");
  IndexedJson header = parse_strict_json(text, kDeepest, context, "the header");
  require(text[text.find_last_not_of(' ')] == '}', context, "expected nothing but spaces after the header's JSON");
  return header;
}

SafetensorsMetadata parse_metadata(const IndexedJson& value, std::string_view context) {
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
  const IndexedJson parsed = parse_json(file.substr(kSafetensorsLengthBytes, length), context);
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

namespace {

// Calls convert(i, x) for every element of the file, which may be unaligned.
template <class From, class Convert>
void for_each_element(std::span<const std::byte> source, const Convert& convert) {
  for (size_t i = 0; i < source.size() / sizeof(From); ++i) {
    From x;
    std::memcpy(&x, source.data() + i * sizeof x, sizeof x);
    convert(i, x);
  }
}

template <class From>
void to_floats(std::span<const std::byte> source, const Tensor& out) {
  const auto fill = [&]<class To>(To* to) { for_each_element<From>(source, [&](size_t i, From x) { to[i] = To(x); }); };
  if (out.dtype() == DType::f64) return fill(out.data<double>());
  if (out.dtype() == DType::f32) return fill(out.data<float>());
  for_each_element<From>(source, [to = out.data<bfloat16>()](size_t i, From x) { to[i] = bfloat16(float(x)); });
}

template <class From>
void to_int32(std::span<const std::byte> source, const Tensor& out, const std::string& context) {
  for_each_element<From>(source, [&, to = out.data<int32_t>()](size_t i, From x) {
    if (!std::in_range<int32_t>(x)) throw Error(context, "element ", i, " is ", x, ", which i32 cannot hold");
    to[i] = static_cast<int32_t>(x);
  });
}

}  // namespace

void convert_elements(std::string_view file_dtype, std::span<const std::byte> source, const Tensor& out,
                      const std::string& context) {
  if (out.dtype() != DType::i32) {
    if (file_dtype == "F16") return to_floats<float16>(source, out);
    if (file_dtype == "BF16") return to_floats<bfloat16>(source, out);
    if (file_dtype == "F32") return to_floats<float>(source, out);
    if (file_dtype == "F64") return to_floats<double>(source, out);
  } else {
    if (file_dtype == "BOOL" || file_dtype == "U8") return to_int32<unsigned char>(source, out, context);
    if (file_dtype == "I8") return to_int32<signed char>(source, out, context);
    if (file_dtype == "U16") return to_int32<uint16_t>(source, out, context);
    if (file_dtype == "I16") return to_int32<int16_t>(source, out, context);
    if (file_dtype == "U32") return to_int32<uint32_t>(source, out, context);
    if (file_dtype == "I32") return to_int32<int32_t>(source, out, context);
    if (file_dtype == "U64") return to_int32<uint64_t>(source, out, context);
    if (file_dtype == "I64") return to_int32<int64_t>(source, out, context);
  }
  throw Error(context, "expected ", safetensors_dtype(out.dtype()), ", got ", file_dtype);
}

namespace {

// The length field and the JSON. The JSON is padded with spaces, so that the first tensor is aligned.
std::string header_of(const std::vector<PlannedTensor>& plan, const SafetensorsMetadata& metadata, const Path& path) {
  Json header = Json::object();
  if (!metadata.empty()) header[std::string(kSafetensorsMetadataKey)] = metadata;
  std::set<std::string_view> names{kSafetensorsMetadataKey};
  uint64_t offset = 0;
  for (const auto& [name, dtype, shape] : plan) {
    require(names.insert(name).second, "[safetensors] ", path.string(), ": duplicate tensor name '", name, "'");
    std::vector<int64_t> dims;
    for (int axis = 0; axis < shape.rank(); ++axis) dims.push_back(shape[axis]);
    const uint64_t bytes = uint64_t(shape.elements()) * dtype_bytes(dtype);
    // The entry is appended, because header[name] would search all names.
    header.get_ref<Json::object_t&>().emplace_back(
        name, Json{{"dtype", safetensors_dtype(dtype)}, {"shape", dims}, {"data_offsets", {offset, offset + bytes}}});
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  require(length <= kMaxSafetensorsHeader, "[safetensors] ", path.string(), ": the header would have ", length,
          " bytes, the limit is ", kMaxSafetensorsHeader);
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const Path& path, std::vector<PlannedTensor> plan,
                                     const SafetensorsMetadata& metadata)
    : path_(path), plan_(std::move(plan)), file_(path) {
  file_.write(header_of(plan_, metadata, path));
}

void SafetensorsWriter::write(const Tensor& tensor) {
  require(written_ < plan_.size(), "[safetensors] ", path_.string(), ": expected at most ", written_, " tensors");
  const auto& [name, dtype, shape] = plan_[written_];
  require(tensor.dtype() == dtype && tensor.shape() == shape, "[safetensors] ", path_.string(), ": tensor ", name,
          ": expected ", dtype, " ", shape, ", got ", tensor.dtype(), " ", tensor.shape());
  ++written_;
  file_.write(tensor.to_cpu().raw(), tensor.bytes());
}

void SafetensorsWriter::commit() {
  require(written_ == plan_.size(), "[safetensors] ", path_.string(), ": expected ", plan_.size(), " tensors, got ",
          written_);
  file_.commit();
}

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

namespace {

std::optional<DType> tensor_dtype(std::string_view name) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32}) {
    if (safetensors_dtype(dtype) == name) return dtype;
  }
  return std::nullopt;
}

std::string path_of(std::span<const SafetensorsFile> files) {
  const std::string first = files.front().path().string();
  return files.size() == 1 ? first : concat(first, " and ", files.size() - 1, " more");
}

// " in model-00002-of-00003.safetensors" if there are several files, otherwise empty.
std::string shard_of(std::span<const SafetensorsFile> files, const SafetensorsFile& file) {
  return files.size() == 1 ? "" : " in " + file.path().filename().string();
}

struct Found {
  const SafetensorsFile* file;
  const SafetensorsEntry* entry;
};
// The tensors that do not match, and a line for each of them.
struct Mismatches {
  std::vector<std::string> lines;
  std::vector<std::string> missing, unexpected;  // names
  size_t wrong_shapes = 0;

  // The likely cause, for the user.
  std::string cause() const {
    if (missing.empty() && unexpected.empty())
      return wrong_shapes > 0 ? "the configuration has other sizes than the tensors" : "the file repeats tensors";
    if (!missing.empty() && !unexpected.empty()) {
      if (const std::string prefix = prefix_of(unexpected.front(), missing); !prefix.empty())
        return concat("the names of the file have the prefix ", quoted_for_message(prefix));
      if (const std::string prefix = prefix_of(missing.front(), unexpected); !prefix.empty())
        return concat("the names of the file lack the prefix ", quoted_for_message(prefix));
      return "the file is of another kind of model than the configuration";
    }
    return missing.empty() ? "the file has more layers or parts than the configuration, or is of another kind of model"
                           : "the file has fewer layers or parts than the configuration, or is incomplete";
  }

  // At most ten lines in all with the one that begins the message.
  std::string text() const {
    constexpr size_t kMost = 8;
    std::string text;
    for (size_t i = 0; i < std::min(kMost, lines.size()); ++i) text += "\n  " + lines[i];
    if (lines.size() > kMost) text += concat("\n  and ", lines.size() - kMost, " more");
    return text;
  }

 private:
  // The part of the longer name before one of the shorter names, up to a dot; empty: there is none.
  static std::string prefix_of(std::string_view longer, const std::vector<std::string>& shorter) {
    for (size_t dot = longer.find('.'); dot != std::string_view::npos; dot = longer.find('.', dot + 1))
      if (std::ranges::find(shorter, longer.substr(dot + 1)) != shorter.end())
        return std::string(longer.substr(0, dot + 1));
    return "";
  }
};

// Keyed by the names of the requested tensors.
using FoundTensors = std::map<std::string, Found, std::less<>>;

FoundTensors find_tensors(std::span<const SafetensorsFile> files, const TargetName& target_name, Mismatches& problems) {
  FoundTensors found;
  for (const SafetensorsFile& file : files) {
    for (const auto& entry : file.entries()) {
      const std::string name = target_name(entry.name);
      if (name.empty()) continue;
      const auto [place, is_new] = found.try_emplace(name, Found{&file, &entry});
      if (!is_new) {
        problems.lines.push_back("duplicate: " + quoted_for_message(entry.name) + " and " +
                                 quoted_for_message(place->second.entry->name) + " map to the same tensor");
      }
    }
  }
  return found;
}

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::bf16:
      return "BF16";
    case DType::i32:
      return "I32";
  }
  return "";
}

TensorSource source_of(const NamedTensor& t) {
  return {t.name, t.tensor.dtype(), t.tensor.shape(), [tensor = t.tensor] { return tensor; }};
}

void write_safetensors(const Path& path, const std::vector<NamedTensor>& tensors, const SafetensorsMetadata& metadata) {
  std::vector<TensorSource> sources;
  std::transform(tensors.begin(), tensors.end(), std::back_inserter(sources), source_of);
  write_safetensors(path, std::move(sources), metadata, [](const std::string&, const Tensor&) {});
}

void write_safetensors(const Path& path, std::vector<TensorSource> tensors, const SafetensorsMetadata& metadata,
                       const std::function<void(const std::string& name, const Tensor&)>& written) {
  // Wide types come first, so that every tensor is aligned to its type.
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorSource& a, const TensorSource& b) {
    return dtype_bytes(a.dtype) > dtype_bytes(b.dtype);
  });
  std::vector<PlannedTensor> plan;
  for (const TensorSource& t : tensors) plan.push_back({t.name, t.dtype, t.shape});
  SafetensorsWriter writer(path, std::move(plan), metadata);
  for (const TensorSource& t : tensors) {
    const Tensor host = t.read().to_cpu();
    writer.write(host);
    written(t.name, host);
  }
  writer.commit();
}

SafetensorsFile::SafetensorsFile(const Path& path)
    : path_(path), file_(path), header_(parse_safetensors_header(file_.text(), path.string())) {
  for (size_t i = 0; i < entries().size(); ++i) index_[entries()[i].name] = i;
}

void SafetensorsFile::keep_only(const std::set<std::string>& names) {
  std::erase_if(header_.entries, [&](const SafetensorsEntry& entry) {
    if (names.contains(entry.name)) return false;
    left_out_.push_back(entry.name);
    return true;
  });
  index_.clear();
  for (size_t i = 0; i < entries().size(); ++i) index_[entries()[i].name] = i;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries()[found->second];
}

std::span<const std::byte> SafetensorsFile::bytes(const SafetensorsEntry& entry) const {
  return {file_.data() + header_.data_begin + entry.begin, entry.end - entry.begin};
}

void SafetensorsFile::read(const SafetensorsEntry& entry, const Tensor& out) const {
  const std::string context = context_of(entry);
  require(same_shape(entry, out.shape()), context, "expected shape ", out.shape(), ", got ", entry.shape_text());

  if (out.device() != Device{}) {
    const Tensor host = Tensor::empty(out.shape(), out.dtype());
    read(entry, host);
    return out.copy_from(host);
  }
  const auto source = bytes(entry);
  if (entry.dtype != safetensors_dtype(out.dtype())) return convert_elements(entry.dtype, source, out, context);
  if (!source.empty()) std::memcpy(out.raw(), source.data(), source.size());
}

std::string SafetensorsFile::context_of(const SafetensorsEntry& entry) const {
  return concat("[safetensors] ", path_.string(), ": tensor ", quoted_for_message(entry.name), ": ");
}

Tensor SafetensorsFile::read(const SafetensorsEntry& entry) const {
  const auto dtype = tensor_dtype(entry.dtype);
  require(dtype.has_value() && entry.shape.size() <= Shape::kMaxRank, context_of(entry), entry.dtype, " ",
          entry.shape_text(), " cannot be stored in a Tensor");
  Tensor out = Tensor::empty(Shape(std::span<const int64_t>(entry.shape)), *dtype);
  read(entry, out);
  return out;
}

bool SafetensorsFile::same_shape(const SafetensorsEntry& entry, const Shape& shape) {
  bool same = entry.shape.size() == static_cast<size_t>(shape.rank());
  for (int axis = 0; same && axis < shape.rank(); ++axis) same = entry.shape[static_cast<size_t>(axis)] == shape[axis];
  return same;
}

void load_tensors(std::span<const SafetensorsFile> files, const std::vector<TensorRequest>& requests,
                  const TargetName& target_name) {
  require(!files.empty(), "[safetensors] expected at least one file to read from, got none");
  Mismatches problems;
  const FoundTensors found = find_tensors(files, target_name, problems);
  std::set<std::string_view> names;
  for (const TensorRequest& tensor : requests) {
    names.insert(tensor.name);
    const auto match = found.find(tensor.name);
    if (match == found.end()) {
      problems.missing.push_back(tensor.name);
      problems.lines.push_back("missing: " + tensor.name + " " + to_string(tensor.shape));
      continue;
    }
    const auto [file, entry] = match->second;
    if (!SafetensorsFile::same_shape(*entry, tensor.shape)) {
      ++problems.wrong_shapes;
      problems.lines.push_back("wrong shape: " + entry->name + " expected " + to_string(tensor.shape) + ", got " +
                               entry->shape_text() + shard_of(files, *file));
    }
  }
  for (const auto& [name, match] : found) {
    if (names.count(name) > 0) continue;
    problems.unexpected.push_back(match.entry->name);
    problems.lines.push_back("unexpected: " + quoted_for_message(match.entry->name) + " " + match.entry->shape_text() +
                             shard_of(files, *match.file));
  }
  if (!problems.lines.empty()) {
    throw Error("[safetensors] ", path_of(files), ": the tensors do not match, probably because ", problems.cause(),
                ":", problems.text());
  }
  for (const TensorRequest& tensor : requests) {
    const auto [file, entry] = found.find(tensor.name)->second;
    tensor.read(*file, *entry);
  }
}

void read_safetensors(std::span<const SafetensorsFile> files, const std::vector<NamedTensor>& targets,
                      const TargetName& target_name) {
  std::vector<TensorRequest> requests;
  for (const auto& [name, tensor] : targets) {
    requests.push_back({name, tensor.shape(), [&target = tensor](const SafetensorsFile& file, const auto& entry) {
                          file.read(entry, target);
                        }});
  }
  load_tensors(files, requests, target_name);
}

namespace {

using TensorsOfShards = std::map<std::string, std::set<std::string>>;

TensorsOfShards parse_weight_map(const Path& index) {
  const std::string context = concat("[safetensors] ", index.string(), ": ");
  constexpr int kDeepest = 3;  // nesting depth: the index, its metadata, one more level
  const IndexedJson parsed = parse_strict_json(read_file(index), kDeepest, context, "the index");
  require(parsed.is_object() && parsed.contains("weight_map") && parsed["weight_map"].is_object(), context,
          "expected an object with \"weight_map\", an object");
  TensorsOfShards shards;
  for (const auto& [tensor, shard] : parsed["weight_map"].items()) {
    const std::string where = concat(context, "tensor ", quoted_for_message(tensor), ": ");
    require(shard.is_string(), where, "expected the name of a file");
    const auto name = shard.get<std::string>();
    const bool beside =
        !name.empty() && name != "." && name != ".." && name.find_first_of(std::string("/\0", 2)) == name.npos;
    if (!beside)
      throw Error(where, "expected the name of a file in the directory of the index, got ", quoted_for_message(name));
    shards[name].insert(tensor);
  }
  require(!shards.empty(), context, "\"weight_map\" lists no tensor");
  return shards;
}

void keep_listed(SafetensorsFile& shard, const std::set<std::string>& tensors, const Path& index) {
  for (const std::string& tensor : tensors) {
    if (shard.find(tensor) == nullptr) {
      throw Error("[safetensors] ", shard.path().string(), ": tensor ", quoted_for_message(tensor), " is missing, but ",
                  index.string(), " lists it");
    }
  }
  shard.keep_only(tensors);
}

}  // namespace

std::optional<Path> find_safetensors(const Path& directory) {
  for (const char* name : {kModelFile, kShardIndex}) {
    if (std::filesystem::exists(directory / name)) return directory / name;
  }
  return std::nullopt;
}

std::vector<SafetensorsFile> open_safetensors(const Path& path) {
  std::vector<SafetensorsFile> files;
  if (path.extension() != ".json") {
    files.emplace_back(path);
    return files;
  }
  for (const auto& [name, tensors] : parse_weight_map(path)) {
    const Path shard = path.parent_path() / name;
    require(std::filesystem::exists(shard), "[safetensors] ", path.string(), ": shard ", quoted_for_message(name),
            " is missing");
    keep_listed(files.emplace_back(shard), tensors, path);
  }
  return files;
}

}  // namespace gyre
