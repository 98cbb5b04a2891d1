// Data parallelism: sums the gradients over all micro-batches of all ranks, in buckets, while backward runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/autograd/tape.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/all_reduce.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/optimizer_partition.h"
#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {

// Gradients of ZeRO stage 2: a rank keeps the sums of the elements that it owns. The whole gradient of a parameter
// exists only from its first use in forward or backward until all of its buckets are on their way to their owners.
class ShardedGradients {
 public:
  // Frees the arena of gradients of the parameters, for good. `owned`: the ranges of this rank, in ascending order.
  // Keeps references.
  ShardedGradients(Kernels& kernels, Parameters& parameters, std::vector<ElementRange> owned);

  // The gradients of a range of the arenas, in one tensor. Frees the gradients of the parameters of which all elements
  // have been taken. Take each element once per backward pass.
  Tensor take(ElementRange range);

  // Adds the sums of the elements of `range`, which this rank owns. sums is (elements).
  void add(ElementRange range, const Tensor& sums) const;
  // Adds sums (n, features) to those elements of the rows of a table that this rank owns. `rows`: their indices, in
  // ascending order.
  void add_rows(const Parameter& table, const std::vector<int32_t>& rows, const Tensor& sums) const;

  // The sums of the owned ranges, one after another.
  const Tensor& sums() const { return sums_; }

 private:
  Kernels& kernels_;
  Parameters& parameters_;
  PackedRanges owned_;
  Tensor sums_;
  std::vector<int64_t> taken_;  // number of elements, by parameter
};

// Sparse all-reduce of the gradients of embedding lookups, separate from the dense gradients of the tables. A tied
// table is also the output layer: that part of its gradient is final when backward begins and is reduced while backward
// runs, whereas the lookup gradients are final last. Only rows that some rank has looked up are communicated: in word
// models a small part of the table.
//
//   begin(); forward; exchange_indices(); start the dense sums; reduce()
class SparseAllReduce {
 public:
  // Handles the trainable tables among the parameters. Keeps references. `sum` must not be sharded.
  SparseAllReduce(Communicator& ranks, Kernels& kernels, Parameters& parameters, AsyncAllReduce& sum);
  ~SparseAllReduce();
  SparseAllReduce(const SparseAllReduce&) = delete;
  SparseAllReduce& operator=(const SparseAllReduce&) = delete;

  void begin();             // collects the gradients of lookups that are recorded from now on
  void exchange_indices();  // collective: starts the exchange of the row indices
  // Adds to the gradient of a table: row i of sums (n, features) to row rows[i].
  using AddRows = std::function<void(const Parameter& table, const std::vector<int32_t>& rows, const Tensor& sums)>;
  void reduce(const AddRows& add);  // collective: adds the sums to the gradients of the tables

 private:
  struct Table {
    Parameter& parameter;
    size_t first_mark;
    std::vector<SparseGradient> own;
  };
  Tensor sum_of_rows(const Table& table, const std::vector<int32_t>& rows) const;

  Communicator& ranks_;
  Kernels& kernels_;
  AsyncAllReduce& sum_;
  std::vector<std::unique_ptr<Table>> tables_;  // parameters point into them
  std::vector<float> marks_;                    // number of ranks that have looked up a row, for the rows of all tables
};

// Data parallelism: sums the gradients over all micro-batches of all ranks.
//
//   set the gradients to zero
//   for each micro-batch of this rank:
//     observer = begin_micro_batch()
//     forward
//     backward (observed by `observer` unless it is null)
//     end_micro_batch()
//   finish()
//
// The arena is reduced in buckets, which are ranges of it, from its end to its beginning: backward finishes the
// parameters that were registered last first. Buckets of embedding tables come before all others, because the gradients
// of their lookups are reduced separately (SparseAllReduce; not in deterministic mode). The reduction of a bucket
// starts while backward runs, as soon as the gradients of all its parameters are final on this rank, and always in the
// same order. The reducer only sums: the optimizer divides by the global token count.
//
// The micro-batches of a rank add to the same gradients, which are reduced during the last backward pass. If gradients
// are sharded, no rank has room for that: every micro-batch is reduced, and the owners add up the sums. In
// deterministic mode a rank keeps the sums of its subtrees instead, because the order of additions is fixed.
struct ReducerOptions {
  double bucket_mb = 1;           // maximum size of a bucket in MiB of fp32
  int micro_batches = 1;          // number per global batch, over all ranks
  bool deterministic = false;     // micro-batches are added in the order of train/parallel/tree_reduction.h
  DType comm_dtype = DType::f32;  // dtype of the messages: f32 or bf16
  bool shared_memory = true;      // the field of AllReduceOptions
  bool sharded = false;           // every rank gets only the sums of the elements that it owns (ZeRO stage 1)
  // If sharded: packed_gradients() holds these sums, and the arena of gradients is freed (ZeRO stage 2). A single rank
  // ignores it.
  bool shards_gradients = false;
  // If sharded: the spans of the arenas, in ascending order; each bucket lies in one. Empty: a single, shared span.
  std::vector<ArenaSpan> spans{};
};

class GradientReducer final : public OptimizerPartition, private TapeObserver {
 public:
  // With sharded gradients: the most buckets in memory for which the exchange is in progress. Before it starts that of
  // another bucket, backward waits for all of them.
  static constexpr int kMostInFlight = 4;

  // Collective. Keeps references to its arguments.
  GradientReducer(Communicator& ranks, Kernels& kernels, Parameters& parameters, const ReducerOptions& options);

  // Call it before the forward pass of a micro-batch, and let the returned observer watch the backward pass. Null: the
  // gradients of this micro-batch are reduced together with those of later ones.
  TapeObserver* begin_micro_batch();
  void end_micro_batch();  // collective if gradients are sharded
  // Collective. Waits for all sums. Every rank then holds the same bits; with `sharded`, each holds the sums of the
  // elements that it owns.
  void finish();

  std::vector<ElementRange> buckets() const;  // ranges in the order in which they are reduced
  size_t started() const { return next_; }    // number of buckets whose reduction has started in this pass

  std::vector<ElementRange> owned() const override;
  bool is_sharded() const override { return options_.sharded && ranks_.size() > 1; }
  Tensor packed_gradients() const override { return shards_ ? shards_->sums() : Tensor(); }
  ElementRange all_gather_range(ElementRange range) const override;
  void all_gather(const Tensor& window, ElementRange range) const override;
  void sum(const Tensor& values) const override;

 private:
  struct Bucket {
    ElementRange range;
    int owner = kSharedByRanks;
    int waits_for = 0;  // number of trainable parameters that overlap the range
  };

  // A bucket whose exchange is in progress, if gradients are sharded.
  struct InFlight {
    size_t bucket;
    Tensor gradients;
  };

  void make_buckets();
  void divide_span(const ArenaSpan& span, std::vector<Bucket>& tables);
  ElementRange next_table(int64_t end, int64_t run_begin) const;
  ElementRange own_part(const Bucket& bucket) const;
  bool reduces_every_micro_batch() const { return shards_ && !nodes_; }
  void on_parameter_ready(Parameter& p) override;
  void after_backward(const Tape&, int) override { sum_->progress(); }
  void launch_next();
  void complete_sums();
  void reduce_rest();
  void begin_pass();
  void warn_of_unused_parameters();

  Communicator& ranks_;
  Kernels& kernels_;
  Parameters& parameters_;
  ReducerOptions options_;
  std::shared_ptr<GpuCollectives> gpus_;  // null without NCCL
  std::unique_ptr<AsyncAllReduce> sum_;
  std::unique_ptr<AsyncAllReduce> sum_for_all_;  // not sharded, for the sparse gradients; null if sum_ is not sharded
  std::unique_ptr<SubtreeSums> nodes_;           // deterministic mode only
  std::unique_ptr<SparseAllReduce> rows_;        // null with one rank and in deterministic mode
  std::vector<Bucket> buckets_;                  // buckets in the order in which they are reduced
  std::unique_ptr<ShardedGradients> shards_;     // null if gradients are not sharded
  std::vector<InFlight> in_flight_;
  int own_micro_batches_ = 0, ended_micro_batches_ = 0;
  std::vector<bool> ready_;   // parameters whose gradient is final
  std::vector<int> missing_;  // number of parameters of a bucket that are not final yet
  size_t next_ = 0;           // the bucket that is reduced next
  bool has_warned_ = false;   // warn_of_unused_parameters() has warned
};

}  // namespace gyre
