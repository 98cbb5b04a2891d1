#include "tools/page/tape/tensor_sample.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "gyre/core/io/json.h"
#include "tools/inspect/tape/tape_report.h"

namespace gyre {
namespace {

int64_t columns_of(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[-1]; }

// The elements as fp32, on the CPU.
std::vector<float> as_floats(const Tensor& tensor) {
  const Tensor t = tensor.to_cpu();
  if (t.dtype() != DType::i32) return t.to(DType::f32).to_vector<float>();
  const auto ids = t.span<int32_t>();
  return {ids.begin(), ids.end()};
}

std::vector<float> values_of(const std::vector<float>& all, int64_t columns, const SampleBlock& block) {
  std::vector<float> values;
  for (int64_t r = block.row; r < block.row + block.rows; ++r) {
    const auto first = all.begin() + r * columns + block.column;
    values.insert(values.end(), first, first + block.columns);
  }
  return values;
}

std::string bytes_of(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes += char(bits >> shift & 0xff);
  }
  return bytes;
}

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = i; k < i + 3; ++k) three = three << 8 | (k < bytes.size() ? uint8_t(bytes[k]) : 0U);
    for (size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
  }
  return text;
}

}  // namespace

std::vector<SampleBlock> sample_blocks(const Shape& shape, const SampleLimits& limits) {
  const int64_t columns = columns_of(shape), rows = columns == 0 ? 0 : shape.elements() / columns;
  if (shape.elements() <= limits.whole) return {{0, 0, rows, columns}};
  const int64_t top = std::min(rows, limits.lines), left = std::min(columns, limits.lines);
  std::vector<SampleBlock> blocks{{0, 0, top, std::min(columns, limits.longest)}};
  if (rows > top) blocks.push_back({top, 0, std::min(rows - top, limits.longest), left});
  return blocks;
}

TensorSample sample_tensor(const Tensor& tensor, const SampleLimits& limits) {
  TensorSample sample{.shape = tensor.shape(),
                      .dtype = tensor.dtype(),
                      .stats = compute_stats(tensor),
                      .blocks = sample_blocks(tensor.shape(), limits),
                      .values = {}};
  const std::vector<float> all = as_floats(tensor);
  for (const SampleBlock& block : sample.blocks)
    sample.values.push_back(values_of(all, columns_of(tensor.shape()), block));
  return sample;
}

Json sample_json(const TensorSample& sample) {
  Json blocks = Json::array();
  for (size_t i = 0; i < sample.blocks.size(); ++i) {
    const SampleBlock& block = sample.blocks[i];
    blocks.push_back({{"row", block.row},
                      {"column", block.column},
                      {"rows", block.rows},
                      {"columns", block.columns},
                      {"data", base64(bytes_of(sample.values[i]))}});
  }
  Json object = tensor_json(sample.shape, sample.dtype, sample.stats);
  object["blocks"] = std::move(blocks);
  return object;
}

}  // namespace gyre
