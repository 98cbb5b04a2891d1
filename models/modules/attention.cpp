#include "models/modules/attention.h"

#include <cmath>

namespace gyre {

AttentionBlock::AttentionBlock(Parameters& parameters, const std::string& parent, const std::string& name,
                               const LayerConfig& c)
    : name_(name),
      // The gain is fairseq's: the three act as one matrix (3 dim, dim) would.
      k_proj_(parameters, parent + "." + name + ".k_proj", c.dim, c.dim, std::sqrt(0.5)),
      v_proj_(parameters, parent + "." + name + ".v_proj", c.dim, c.dim, std::sqrt(0.5)),
      q_proj_(parameters, parent + "." + name + ".q_proj", c.dim, c.dim, std::sqrt(0.5)),
      out_proj_(parameters, parent + "." + name + ".out_proj", c.dim, c.dim),
      options_{.heads = int(c.heads), .dropout = c.attention_dropout} {}

AttentionMemory AttentionBlock::project(const Var& x, const Segments& segments, const RowPositions& positions) const {
  const Tape::Scope scope(x.tape(), name_);
  return {positions.rotate(k_proj_(x)), v_proj_(x), segments};
}

Var AttentionBlock::attend(const Var& x, const Segments& queries, const RowPositions& positions,
                           const AttentionMemory& memory, bool causal) const {
  const Tape::Scope scope(x.tape(), name_);
  AttentionOptions options = options_;
  options.causal = causal;
  const Var q = positions.rotate(q_proj_(x));
  return out_proj_(attention(q, memory.keys, memory.values, queries, memory.segments, options));
}

}  // namespace gyre
