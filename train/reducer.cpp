#include "train/reducer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <vector>

#include "train/range_sum.h"
#include "train/shard_tree.h"

namespace gyre {
namespace {

class BucketReducer final : public GradientReducer, private TapeObserver {
 public:
  BucketReducer(Communicator& ranks, Parameters& parameters, double bucket_mb)
      : ranks_(ranks),
        parameters_(parameters),
        sum_(make_range_sum(ranks, parameters.gradients().device())),
        bucket_of_(parameters.count()),
        ready_(parameters.count()) {
    const auto smallest = int64_t(bucket_mb * (1 << 20) / sizeof(float));
    int64_t end = parameters.gradients().size();
    for (size_t i = parameters.count(); i-- > 0;) {
      if (buckets_.empty() || buckets_.back().end - buckets_.back().begin >= smallest)
        buckets_.push_back({end, end, 0});
      Bucket& bucket = buckets_.back();
      bucket.begin = end = parameters[i].offset;
      bucket.waits_for += parameters[i].trainable ? 1 : 0;
      bucket_of_[i] = buckets_.size() - 1;
    }
    restart();
  }

  void watch(Tape& last_shard) override { last_shard.add_observer(*this); }
  void end_shard() override {}

  void finish() override {
    if (next_ < buckets_.size()) name_unused();
    while (next_ < buckets_.size()) launch_next();
    sum_->finish();
    restart();
  }

 private:
  struct Bucket {
    int64_t begin, end;  // elements of the arena
    int waits_for;       // trainable parameters in it
  };

  void on_parameter_ready(Parameter& p) override {
    const auto i = size_t(p.index);
    if (ready_[i]) return;
    ready_[i] = true;
    --missing_[bucket_of_[i]];
    while (next_ < buckets_.size() && missing_[next_] == 0) launch_next();
  }

  // MPI moves messages only while one of its functions runs.
  void after_backward(const Tape&, int) override { sum_->progress(); }

  void launch_next() {
    const Bucket& b = buckets_[next_++];
    sum_->start(parameters_.gradients().slice(b.begin, b.end));
  }

  void restart() {
    next_ = 0;
    ready_.assign(parameters_.count(), false);
    missing_.clear();
    for (const Bucket& b : buckets_) missing_.push_back(b.waits_for);
  }

  void name_unused() {
    if (named_ || ranks_.rank() != 0) return;
    std::string names;
    for (const Parameter& p : parameters_) {
      if (p.trainable && !ready_[size_t(p.index)]) names += " " + p.name;
    }
    // A rank whose last shard was empty saw no backward at all: that is no fault of the model.
    if (std::find(ready_.begin(), ready_.end(), true) == ready_.end()) return;
    spdlog::warn("parameters without a gradient (communication cannot overlap past them):{}", names);
    named_ = true;
  }

  Communicator& ranks_;
  Parameters& parameters_;
  std::unique_ptr<RangeSum> sum_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;  // by parameter
  std::vector<bool> ready_;        // by parameter
  std::vector<int> missing_;       // by bucket: parameters that are not final yet
  size_t next_ = 0;                // bucket that leaves next
  bool named_ = false;
};

class TreeReducer final : public GradientReducer {
 public:
  TreeReducer(Communicator& ranks, Kernels& kernels, Parameters& parameters, int shards)
      : tree_(ranks, kernels, shards, parameters.gradients()) {}
  void watch(Tape&) override {}
  void end_shard() override { tree_.add_shard(); }
  void finish() override { tree_.finish(); }

 private:
  ShardTree tree_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_bucket_reducer(Communicator& ranks, Parameters& parameters, double bucket_mb) {
  return std::make_unique<BucketReducer>(ranks, parameters, bucket_mb);
}

std::unique_ptr<GradientReducer> make_tree_reducer(Communicator& ranks, Kernels& kernels, Parameters& parameters,
                                                   int shards) {
  return std::make_unique<TreeReducer>(ranks, kernels, parameters, shards);
}

}  // namespace gyre
