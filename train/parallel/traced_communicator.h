// A communicator decorator that records the calls to another communicator and their times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gyre/train/parallel/communicator.h"

namespace gyre {

struct Exchange {
  enum class Kind : uint8_t {
    background,  // a nonblocking collective, from its start to its completion
    callback,    // the execution of its callback
    waiting      // a blocking call
  };
  Kind kind = Kind::waiting;
  std::string name;  // "all-to-all"
  double begin = 0, end = 0;
  int64_t bytes = 0;                // size of this rank's buffer; 0 if unknown
  bool on_progress_thread = false;  // whether it ended on another thread than the calling one (the progress thread)
};

class TracedCommunicator final : public Communicator {
 public:
  // `seconds`: a clock, called on any thread. Keeps a reference to `inner`.
  TracedCommunicator(Communicator& inner, std::function<double()> seconds)
      : inner_(inner), seconds_(std::move(seconds)) {}

  // Returns the exchanges that have ended since the last call, ordered by their ends.
  std::vector<Exchange> take();

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int local_rank() const override { return inner_.local_rank(); }
  int cores() const override { return inner_.cores(); }
  Machines machines() const override { return inner_.machines(); }
  std::string name() const override { return inner_.name(); }
  void set_watchdog_timeout(double seconds) override { inner_.set_watchdog_timeout(seconds); }
  void barrier() override;
  using Communicator::broadcast;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void all_reduce(std::span<double> values) override;
  void all_reduce(std::span<int64_t> values) override;
  std::vector<std::string> gather(const std::string& text, int root) override;
  void start_all_reduce(std::span<float> values, Callback callback) override;
  void start_all_to_all(const SplitBuffer<const std::byte>& send, const SplitBuffer<std::byte>& receive,
                        Callback callback) override;
  void start_all_gather(const SplitBuffer<std::byte>& pieces, Callback callback) override;
  void start_partial_gather(const SplitBuffer<std::byte>& pieces, const Sends& sends, Callback callback) override;
  bool shares_memory() override { return inner_.shares_memory(); }
  void start_shared(Lane lane, std::unique_ptr<WindowTask> task, Callback callback) override;
  void with_callbacks_paused(const std::function<void()>& f) override { inner_.with_callbacks_paused(f); }
  void progress() override { inner_.progress(); }
  void finish() override;
  void watch(std::string what, std::function<bool()> are_done) override {
    inner_.watch(std::move(what), std::move(are_done));
  }
  void abort(int status) noexcept override { inner_.abort(status); }

 private:
  void add(Exchange exchange);
  Callback timed(const char* name, size_t bytes, Callback callback);
  template <class Call>
  void wait(const char* name, size_t bytes, Call&& call);

  Communicator& inner_;
  std::function<double()> seconds_;
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::vector<Exchange> ended_;
};

}  // namespace gyre
