#include "gyre/core/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>

#include "gyre/core/error.h"
#include "gyre/core/io/element_conversion.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors_writer.h"

namespace gyre {

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

}  // namespace gyre
