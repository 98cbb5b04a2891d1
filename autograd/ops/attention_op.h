// The op of softmax attention, for its forward pass (attention.cpp) and for inspection (attention_parts.cpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "gyre/autograd/ops.h"

namespace gyre {

// The inputs that hold queries, keys and values: [q | k | v]; q and [k | v]; or q, k and v.
enum class AttentionLayout : uint8_t { together, keys_with_values, apart };

// Inputs: two of the layout, of which the second is empty if they are together; the rotation's frequencies; the
// position terms, whose formula is at PositionTables; the values of the layout `apart`.
struct AttentionOp final : Op {
  AttentionLayout layout = AttentionLayout::together;
  Tensor lse;          // saved: (heads, queries), the log-sum-exp of each row of S
  AttentionCall call;  // without the tensors of inputs, which the tape keeps
  int64_t d = 0;       // columns of the queries

  std::string_view formula() const override;
  std::string_view name() const override { return "attention"; }
  double flops() const override;
  void describe(OpMetadata& metadata) const override;
  void backward(Backward& b) override;

  int64_t width() const { return d / call.shape.heads; }  // width of a head

  // The call, or gradients of one, with the tensors of the inputs. input(i), number i in their order, is called once
  // for each. Keys and values have kd columns each.
  template <class To, class Input>
  To with_inputs(To to, const Input& input) const {
    const int64_t kd = d / call.shape.group();
    const Tensor x = input(0), memory = input(1), values = input(9);
    to.q = {x};
    to.k = layout == AttentionLayout::together ? HeadColumns{x, d} : HeadColumns{memory};
    to.v = layout == AttentionLayout::together           ? HeadColumns{x, d + kd}
           : layout == AttentionLayout::keys_with_values ? HeadColumns{memory, kd}
                                                         : HeadColumns{values};
    to.terms = {input(3), input(4), input(5), input(6), input(7), input(8), call.terms.zero_offset};
    return to;
  }
};

}  // namespace gyre
