// The fused ops: the ops of autograd/ops that have kernels of their own. Each also has a composed definition, written
// with the ops of autograd/elementary.h, which runs where a backend lacks the kernels (Kernels::has) and where the
// environment variable GYRE_COMPOSED asks for it: "all", or names of ops separated by commas.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"

namespace gyre {

class Kernels;

enum class FusedOp : uint8_t {
  linear,
  linear_activation,
  activation,
  gated_activation,
  dropout,
  residual_dropout,
  layer_norm,
  rms_norm,
  residual_layer_norm,
  embedding,
  segment_mean,
  rope,
  attention,
  head_dot,
  head_matmul,
  favor_features,
  head_divide,
  linear_attention_scan,
  cross_entropy,
  linear_cross_entropy,
  linear_r_drop,
  squared_error,
  margin_loss,
};
template <>
inline constexpr std::pair<FusedOp, std::string_view> kEnumNames<FusedOp>[] = {
    {FusedOp::linear, "linear"},
    {FusedOp::linear_activation, "linear_activation"},
    {FusedOp::activation, "activation"},
    {FusedOp::gated_activation, "gated_activation"},
    {FusedOp::dropout, "dropout"},
    {FusedOp::residual_dropout, "residual_dropout"},
    {FusedOp::layer_norm, "layer_norm"},
    {FusedOp::rms_norm, "rms_norm"},
    {FusedOp::residual_layer_norm, "residual_layer_norm"},
    {FusedOp::embedding, "embedding"},
    {FusedOp::segment_mean, "segment_mean"},
    {FusedOp::rope, "rope"},
    {FusedOp::attention, "attention"},
    {FusedOp::head_dot, "head_dot"},
    {FusedOp::head_matmul, "head_matmul"},
    {FusedOp::favor_features, "favor_features"},
    {FusedOp::head_divide, "head_divide"},
    {FusedOp::linear_attention_scan, "linear_attention_scan"},
    {FusedOp::cross_entropy, "cross_entropy"},
    {FusedOp::linear_cross_entropy, "linear_cross_entropy"},
    {FusedOp::linear_r_drop, "linear_r_drop"},
    {FusedOp::squared_error, "squared_error"},
    {FusedOp::margin_loss, "margin_loss"},
};

// Whether this op runs composed with these kernels. Throws UsageError if GYRE_COMPOSED has a name that no op has.
bool runs_composed(const Kernels& kernels, FusedOp op);
// The names of the fused ops that run composed with these kernels, separated by commas, or "none".
std::string composed_ops(const Kernels& kernels);

}  // namespace gyre
