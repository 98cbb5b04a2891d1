// Multi-head attention (Vaswani et al. 2017, 3.2.2) over packed segments: self-attention where queries and memory come
// from the same rows, cross-attention where they do not.
#pragma once

#include <string>

#include "models/config.h"
#include "models/modules/linear.h"

namespace gyre {

// What queries attend to: keys (already turned by their positions) and values, (rows of segments, dim).
struct AttentionMemory {
  Var keys, values;
  Segments segments;
};

class AttentionBlock {
 public:
  // Registers parent.name.{q,k,v,out}_proj.
  AttentionBlock(Parameters& parameters, const std::string& parent, const std::string& name, const LayerConfig& config);

  AttentionMemory project(const Var& x, const Segments& segments, const RowPositions& positions) const;

  // x(n, dim), segment i of `queries` attending to segment i of the memory -> (n, dim). Causal: query i of a segment
  // sees the memory's rows up to i + (memory rows - queries).
  Var attend(const Var& x, const Segments& queries, const RowPositions& positions, const AttentionMemory& memory,
             bool causal) const;

 private:
  std::string name_;
  LinearLayer k_proj_, v_proj_, q_proj_, out_proj_;
  AttentionOptions options_;
};

}  // namespace gyre
