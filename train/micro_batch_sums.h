// The exchange of loss sums and flags of an update between the ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gyre/core/kernels/loss_arguments.h"
#include "gyre/train/parallel/communicator.h"

namespace gyre {

// Sums over the predictions of a global batch. Every rank has the same bits.
struct LossSums {
  double loss = 0;  // cross-entropy with label smoothing
  double nll = 0;
  double correct = 0;
  double tokens = 0;  // number of predictions
  void add(const LossSums& other);
};

// The reason why a rank requests the end of the run after the current update.
enum class StopRequest : uint8_t { none, out_of_time, signal };

// Exchanges the sums of all micro-batches. Each rank fills in its own micro-batches and leaves zeros elsewhere, so that
// the all-reduce does not round. Then every rank adds the micro-batches in the order of the tree.
class MicroBatchSums {
 public:
  explicit MicroBatchSums(int micro_batches);

  void set_tokens(int micro_batch, int64_t predictions);
  void set_losses(int micro_batch, const CrossEntropySums& sums);
  void request_stop(StopRequest request);
  void report_failure() { flag(kFailed) = 1; }
  // The number of predictions of the global batch according to this rank's data.
  void set_predictions(uint64_t predictions) { flag(kPredictions) = double(predictions); }

  // Collective. The first exchanges all values but the losses, the second the losses, the third both at once.
  void exchange_flags(Communicator& ranks) { ranks.all_reduce(all().subspan(kLosses * micro_batches_)); }
  void exchange_losses(Communicator& ranks) { ranks.all_reduce(all().first(kLosses * micro_batches_)); }
  void exchange_all(Communicator& ranks) { ranks.all_reduce(all()); }

  LossSums total() const { return {field(0), field(1), field(2), tokens()}; }
  double tokens() const { return field(kLosses); }
  StopRequest stop() const;
  bool failed() const { return flag(kFailed) > 0; }
  double predictions_of_all_ranks() const { return flag(kPredictions); }

 private:
  // The fields are those of LossSums. The flags are at the end; flag n is the n-th element from the end. Numbers 1
  // and 2 are the requests StopRequest::out_of_time and StopRequest::signal, 3 is a failure, 4 the predictions.
  static constexpr size_t kLosses = 3, kFields = 4, kFlags = 4, kFailed = 3, kPredictions = 4;
  double& at(size_t field, int micro_batch) { return values_[field * micro_batches_ + size_t(micro_batch)]; }
  double field(size_t f) const;
  double& flag(size_t which) { return values_[values_.size() - which]; }
  double flag(size_t which) const { return values_[values_.size() - which]; }
  std::span<double> all() { return values_; }

  size_t micro_batches_;
  std::vector<double> values_;  // micro_batches_ values of each field, then the flags
};

}  // namespace gyre
