// The op of softmax attention, for its forward pass (attention.cpp) and for inspection (attention_parts.cpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "gyre/autograd/ops.h"

namespace gyre {

// The inputs that hold queries, keys and values: [q | k | v]; q and [k | v]; or q, k and v.
enum class AttentionLayout : uint8_t { together, keys_with_values, apart };

// Queries of d columns, and keys and values of kd columns each, in one to three tensors.
struct AttentionProjections {
  HeadColumns q, k, v;
  AttentionProjections(AttentionLayout layout, const Tensor& x, const Tensor& memory, const Tensor& values, int64_t d,
                       int64_t kd) {
    q = {x};
    k = layout == AttentionLayout::together ? HeadColumns{x, d} : HeadColumns{memory};
    v = layout == AttentionLayout::together           ? HeadColumns{x, d + kd}
        : layout == AttentionLayout::keys_with_values ? HeadColumns{memory, kd}
                                                      : HeadColumns{values};
  }
};

// Inputs: two of the layout, of which the second is empty if they are together; the rotation's frequencies; the
// position terms, whose formula is at AttentionPositionTerms; the values of the layout `apart`.
struct AttentionOp final : Op {
  AttentionLayout layout = AttentionLayout::together;
  Tensor lse;  // saved: (heads, queries), the log-sum-exp of each row of S
  Segments queries, keys;
  AttentionShape shape;
  AttentionRope rotation;
  int64_t zero_offset = 0;  // offset of the position terms
  int64_t d = 0;            // columns of the queries

  std::string_view formula() const override;
  std::string_view name() const override { return "attention"; }
  double flops() const override;
  void describe(OpMetadata& metadata) const override;
  void backward(Backward& b) override;

  int64_t width() const { return d / shape.heads; }  // width of a head

  // input(i): tensor i in the order of the inputs.
  template <class Input>
  AttentionProjections projections(const Input& input) const {
    return {layout,
            input(0),
            layout == AttentionLayout::together ? Tensor() : input(1),
            layout == AttentionLayout::apart ? input(9) : Tensor(),
            d,
            d / shape.group()};
  }
  template <class Input>
  AttentionPositionTerms terms_of(const Input& input) const {
    return {input(3), input(4), input(5), input(6), input(7), input(8), zero_offset};
  }
};

}  // namespace gyre
