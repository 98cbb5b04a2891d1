// The ranks of this test program as if they ran on several machines: ranks of one machine share memory, and exchange
// messages with the others.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/train/parallel/mpi/mpi_window.h"
#include "tests/mpi/ranks.h"

namespace gyre::test {

class FakeMachines final : public Communicator {
 public:
  // Collective. machine_of: by rank.
  explicit FakeMachines(const std::vector<int>& machine_of) : machines_(machine_of) {
    inner_.with_callbacks_paused([&] {
      GYRE_MPI(MPI_Comm_split(MPI_COMM_WORLD, machine_of[size_t(rank())], rank(), &machine_));
      std::string obstacle;
      window_ = MpiWindow::allocate(machine_, 2 * WindowPipeline::kSegmentBytes, obstacle);
      require(window_ != nullptr, obstacle);
    });
    for (int lane = 0; lane < 2; ++lane)
      lanes_.push_back(std::make_unique<WindowPipeline>(window_->segments(lane * WindowPipeline::kSegmentBytes)));
  }
  ~FakeMachines() override {
    inner_.barrier();
    inner_.with_callbacks_paused([&] {
      window_.reset();
      MPI_Comm_free(&machine_);
    });
  }
  FakeMachines(const FakeMachines&) = delete;
  FakeMachines& operator=(const FakeMachines&) = delete;

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int local_rank() const override { return machines_.index_of(rank()); }
  int cores() const override { return inner_.cores(); }
  Machines machines() const override { return machines_; }
  std::string name() const override { return inner_.name(); }
  void set_watchdog_timeout(double seconds) override { inner_.set_watchdog_timeout(seconds); }
  void barrier() override { inner_.barrier(); }
  using Communicator::broadcast;
  void broadcast(std::span<std::byte> bytes, int root) override { inner_.broadcast(bytes, root); }
  void all_reduce(std::span<double> values) override { inner_.all_reduce(values); }
  void all_reduce(std::span<int64_t> values) override { inner_.all_reduce(values); }
  std::vector<std::string> gather(const std::string& text, int root) override { return inner_.gather(text, root); }
  void start_all_reduce(std::span<float> values, Callback callback) override {
    inner_.start_all_reduce(values, counted(std::move(callback)));
  }
  void start_all_to_all(const SplitBuffer<const std::byte>& send, const SplitBuffer<std::byte>& receive,
                        Callback callback) override {
    inner_.start_all_to_all(send, receive, counted(std::move(callback)));
  }
  void start_all_gather(const SplitBuffer<std::byte>& pieces, Callback callback) override {
    inner_.start_all_gather(pieces, counted(std::move(callback)));
  }
  void start_partial_gather(const SplitBuffer<std::byte>& pieces, const Sends& sends, Callback callback) override {
    inner_.start_partial_gather(pieces, sends, counted(std::move(callback)));
  }
  bool shares_memory() override { return true; }
  void start_shared(Lane lane, std::unique_ptr<WindowTask> task, Callback callback) override {
    inner_.with_callbacks_paused([&] { lanes_[size_t(lane)]->start(std::move(task), counted(std::move(callback))); });
  }
  void with_callbacks_paused(const std::function<void()>& f) override { inner_.with_callbacks_paused(f); }
  void progress() override {
    inner_.with_callbacks_paused([&] {
      for (const auto& lane : lanes_) lane->advance();
      inner_.progress();
    });
  }
  void finish() override {
    for (bool done = false; !done;) {
      progress();
      inner_.with_callbacks_paused([&] { done = started_ == 0; });
      std::this_thread::yield();
    }
  }
  void abort(int status) noexcept override { inner_.abort(status); }

 private:
  // The callbacks and this counter are guarded by with_callbacks_paused().
  Callback counted(Callback callback) {
    inner_.with_callbacks_paused([&] { ++started_; });
    return [this, callback = std::move(callback)] {
      callback();
      --started_;
    };
  }

  Communicator& inner_ = ranks();
  Machines machines_;
  MPI_Comm machine_ = MPI_COMM_NULL;
  std::unique_ptr<MpiWindow> window_;
  std::vector<std::unique_ptr<WindowPipeline>> lanes_;
  int started_ = 0;
};

}  // namespace gyre::test
