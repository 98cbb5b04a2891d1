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
  void report_failure() { flag(Flag::failed) = 1; }
  // The number of predictions of the global batch according to this rank's data.
  void set_predictions(uint64_t predictions) { flag(Flag::predictions) = double(predictions); }

  // Collective. The first exchanges all values but the losses, the second the losses, the third both at once.
  void exchange_flags(Communicator& ranks) { ranks.all_reduce(all().subspan(kLosses * micro_batches_)); }
  void exchange_losses(Communicator& ranks) { ranks.all_reduce(all().first(kLosses * micro_batches_)); }
  void exchange_all(Communicator& ranks) { ranks.all_reduce(all()); }

  LossSums total() const { return {field(0), field(1), field(2), tokens()}; }
  double tokens() const { return field(kLosses); }
  StopRequest stop() const;
  bool failed() const { return flag(Flag::failed) > 0; }
  double predictions_of_all_ranks() const { return flag(Flag::predictions); }

 private:
  static constexpr size_t kLosses = 3, kFields = 4;  // the fields of LossSums; the first three are the losses
  enum class Flag : size_t { predictions, failed, stopped_by_signal, out_of_time, count };
  double& at(size_t field, int micro_batch) { return values_[field * micro_batches_ + size_t(micro_batch)]; }
  double field(size_t f) const;
  double& flag(Flag f) { return values_[kFields * micro_batches_ + size_t(f)]; }
  double flag(Flag f) const { return values_[kFields * micro_batches_ + size_t(f)]; }
  std::span<double> all() { return values_; }

  size_t micro_batches_;
  std::vector<double> values_;  // micro_batches_ values of each field, then the flags
};

}  // namespace gyre
