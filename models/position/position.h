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
// How RoPE reaches beyond the length that it was trained on.
enum class RopeScaling : uint8_t { none, linear, ntk, yarn };
enum class Wavelet : uint8_t { ricker, gaussian, morlet, haar };
enum class WaveletTime : uint8_t { key_minus_query, query_minus_key };

template <>
inline constexpr std::pair<SinusoidLayout, std::string_view> kEnumNames<SinusoidLayout>[] = {
    {SinusoidLayout::half_split, "half-split"}, {SinusoidLayout::interleaved, "interleaved"}};
template <>
inline constexpr std::pair<RotaryPairs, std::string_view> kEnumNames<RotaryPairs>[] = {
    {RotaryPairs::interleaved, "interleaved"}, {RotaryPairs::half_split, "half-split"}};
template <>
inline constexpr std::pair<RopeScaling, std::string_view> kEnumNames<RopeScaling>[] = {{RopeScaling::none, "none"},
                                                                                       {RopeScaling::linear, "linear"},
                                                                                       {RopeScaling::ntk, "ntk"},
                                                                                       {RopeScaling::yarn, "yarn"}};
template <>
inline constexpr std::pair<Wavelet, std::string_view> kEnumNames<Wavelet>[] = {
    {Wavelet::ricker, "ricker"}, {Wavelet::gaussian, "gaussian"}, {Wavelet::morlet, "morlet"}, {Wavelet::haar, "haar"}};
template <>
inline constexpr std::pair<WaveletTime, std::string_view> kEnumNames<WaveletTime>[] = {
    {WaveletTime::key_minus_query, "key-minus-query"}, {WaveletTime::query_minus_key, "query-minus-key"}};

struct PositionConfig {
  std::string encoding = "rope";  // a name of position_encoding_names()
  int64_t max_positions = 1024;   // rows of the learned and sinusoidal tables; a longer sentence is an error
  SinusoidLayout sinusoid_layout = SinusoidLayout::half_split;
  double rope_base = 10000;
  RotaryPairs rope_pairs = RotaryPairs::interleaved;
  int64_t rotary_dims = 0;         // rotated features per head, from the first; 0: all
  bool rope_learnable = false;     // the frequencies are trained
  bool rope_rotate_cross = false;  // also turn queries and keys of the cross-attention
  double rope_step = 1;            // token i stands at i * step: positions need not be whole
  RopeScaling rope_scaling = RopeScaling::none;
  double rope_scaling_factor = 1;      // the longer length, divided by that of training
  int64_t rope_original_length = 512;  // of training; YaRN asks for it
  int64_t shaw_clip = 16;              // distances beyond share the row of the furthest
  bool shaw_values = true;             // relative vectors for the values too
  int64_t bias_buckets = 32;           // of distances, in t5 and tupe
  int64_t bias_max_distance = 128;     // from here on all share the last bucket
  bool tupe_bias = true;               // a bias by bucket beside the term of places
  int64_t deberta_clip = 512;
  Wavelet wavelet = Wavelet::ricker;
  // As many products as a head has features; empty: the paper's.
  std::vector<double> wavelet_scales = {}, wavelet_shifts = {};
  WaveletTime wavelet_time = WaveletTime::key_minus_query;
};

// Whose terms: a layer of a stack, for segments of at most `longest` tokens.
struct TermsRequest {
  int layer = 0;
  int64_t longest = 0;
  bool causal = false;       // no key lies ahead
  DType dtype = DType::f32;  // of parameters
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
  // What order adds to the self-attention of a layer: distances -(longest - 1) .. 0 when causal, else to longest - 1.
  virtual DistanceTerms terms(Tape& /*tape*/, const TermsRequest&) const { return {}; }
  // Whether only distances count, so that rows may be counted from anywhere.
  virtual bool is_relative() const { return true; }
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
  int64_t layers = 1;            // of the stack
  int64_t rotated_width = 0;     // of a head where it turns; 0: dim / heads

  std::string layer_name(int64_t layer) const { return name + ".layers." + std::to_string(layer); }
  // How a table of positions starts, and a projection (dim, dim).
  Init table_init() const;
  Init projection_init() const;
};

// Validates what the encoding uses of the config and registers its parameters.
std::unique_ptr<PositionEncoding> make_position_encoding(const PositionContext& context);
std::vector<std::string> position_encoding_names();

// 0, 1, .. in each segment, plus `offset`: i32 (rows of the segments).
Tensor segment_positions(const Segments& segments, int offset = 0);

// Throws "[encoding] ..." unless every position is below `limit`: a table is never clamped.
void check_positions(const char* encoding, const Tensor& positions, int64_t limit);
// The same for a sentence of this length.
void check_length(const char* encoding, int64_t length, int64_t limit);

// Positions of the rows of a batch, i32 (n), how queries and keys turn by them, and where a layer's terms come from.
struct RowPositions {
  Tensor positions;
  Rotation rotation;
  const PositionEncoding* encoding = nullptr;  // none: no terms
  int64_t longest = 0;                         // segment
};

}  // namespace gyre
