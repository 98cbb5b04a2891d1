// Data parallelism: sums the gradient arena over all shards of all ranks.
//
//   the gradients are zero
//   for each shard of this rank: { [the last: begin_last_shard()]; forward; [it looks on]; backward; end_shard() }
//   finish()
//
// The arena goes in buckets: ranges of it, from its end to its beginning, since backward finishes what was registered
// last first; tables before all others, since their lookups go apart (train/row_sums.h; not in deterministic mode). A
// bucket leaves as soon as all its parameters are final on this rank, always in the same order, while backward goes on.
// Nothing is divided here: the optimizer divides by the global token count.
#pragma once

#include <memory>
#include <vector>

#include "autograd/tape.h"
#include "train/communicator.h"
#include "train/ownership.h"
#include "train/range_sum.h"
#include "train/row_sums.h"
#include "train/shard_tree.h"

namespace gyre {

struct ReducerOptions {
  double bucket_mb = 1;        // of fp32, at most
  int shards = 1;              // of a global batch, in the whole job
  bool deterministic = false;  // shards are added in the order of train/shard_tree.h
  DType wire = DType::f32;     // or bf16: what travels
  bool sharded = false;        // every rank gets the sums of the elements that it owns only
};

class GradientReducer final : public Ownership, private TapeObserver {
 public:
  // Collective. Keeps references.
  GradientReducer(Communicator& ranks, Kernels& kernels, Parameters& parameters, const ReducerOptions& options);

  // To be called before the forward pass of the last shard; looks on at its backward.
  TapeObserver& begin_last_shard();
  void end_shard();
  // Every rank then holds the same bits, or with `sharded` those of the elements that it owns.
  void finish();

  std::vector<ElementRange> owned() const override;
  bool is_shared() const override { return options_.sharded && ranks_.size() > 1; }
  ElementRange shareable(ElementRange range) const override;
  void share(const Tensor& window, ElementRange range) const override;
  void sum(std::span<double> values) const override { ranks_.all_reduce(values); }

 private:
  struct Bucket {
    ElementRange range;
    int waits_for = 0;  // trainable parameters that lie in it, whole or in part
  };

  void cut_into_buckets(int64_t size);
  ElementRange next_table(int64_t end) const;
  void on_parameter_ready(Parameter& p) override;
  void after_backward(const Tape&, int) override { sum_->progress(); }
  void launch_next();
  void restart();
  void name_unused();

  Communicator& ranks_;
  Parameters& parameters_;
  ReducerOptions options_;
  std::unique_ptr<RangeSum> sum_;
  std::unique_ptr<RangeSum> sum_for_all_;  // where sum_ is sharded
  std::unique_ptr<ShardNodes> nodes_;      // deterministic
  std::unique_ptr<RowSums> rows_;          // not deterministic, more than one rank
  std::vector<Bucket> buckets_;            // in the order in which they leave
  int own_shards_ = 0, ended_shards_ = 0;
  std::vector<bool> ready_;   // by parameter
  std::vector<int> missing_;  // by bucket: parameters that are not final yet
  size_t next_ = 0;           // bucket that leaves next
  bool named_ = false;
};

}  // namespace gyre
