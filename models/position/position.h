// A position encoding is a plug-in: one file in this folder, one line in factory.cpp, one name for --position.
// Its hooks are the places where the literature puts position. An encoding overrides the hooks it needs; the others
// leave their input as it is.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "core/segments.h"
#include "models/enum_names.h"

namespace gyre {

enum class SinusoidLayout : uint8_t { half_split, interleaved };

template <>
inline constexpr std::pair<SinusoidLayout, std::string_view> kEnumNames<SinusoidLayout>[] = {
    {SinusoidLayout::half_split, "half-split"}, {SinusoidLayout::interleaved, "interleaved"}};
template <>
inline constexpr std::pair<RotaryPairs, std::string_view> kEnumNames<RotaryPairs>[] = {
    {RotaryPairs::interleaved, "interleaved"}, {RotaryPairs::half_split, "half-split"}};

struct PositionConfig {
  std::string encoding = "rope";  // a name of position_encoding_names()
  int64_t max_positions = 1024;   // rows of the learned and sinusoidal tables; a longer sentence is an error
  SinusoidLayout sinusoid_layout = SinusoidLayout::half_split;
  double rope_base = 10000;
  RotaryPairs rope_pairs = RotaryPairs::interleaved;
  int64_t rotary_dims = 0;         // rotated features per head, from the first; 0: all
  bool rope_learnable = false;     // the frequencies are trained
  bool rope_rotate_cross = false;  // also turn queries and keys of the cross-attention
};

class PositionEncoding {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  virtual ~PositionEncoding() = default;
  // Embeddings x(n, dim) with their positions, i32 (n), added.
  virtual Var add_to_embeddings(const Var& x, const Tensor& /*positions*/) const { return x; }
  // How queries and keys turn, for positions below `positions` in the type of the parameters: data for attention.
  // Undefined: they do not turn.
  virtual Rotation rotation(Tape& /*tape*/, DType /*dtype*/, int64_t /*positions*/) const { return {}; }
  // The longest sentence that has positions; a longer one throws.
  virtual int64_t longest() const { return kUnlimited; }
};

// What an encoding is made from; its parameters are called `name`.something.
struct PositionContext {
  const PositionConfig& config;
  int64_t dim;
  int64_t heads;
  Parameters& parameters;
  std::string name;
  double initial_deviation = 0;  // of tables of positions; 0: 1/sqrt(dim)
};

// Validates what the encoding uses of the config and registers its parameters.
std::unique_ptr<PositionEncoding> make_position_encoding(const PositionContext& context);
std::vector<std::string> position_encoding_names();

// 0, 1, .. in each segment, plus `offset`: i32 (rows of the segments).
Tensor segment_positions(const Segments& segments, int offset = 0);

// Throws "[encoding] ..." unless every position is below `limit`: a table is never clamped.
void check_positions(const char* encoding, const Tensor& positions, int64_t limit);

// Positions of the rows of a batch, i32 (n), and how queries and keys turn by them.
struct RowPositions {
  Tensor positions;
  Rotation rotation;
};

}  // namespace gyre
