// Looks at what ranks exchange: another communicator's calls, with the time of each.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "train/communicator.h"

namespace gyre {

struct Exchange {
  enum class Kind : uint8_t {
    background,  // started; `then` was called at its end
    after,       // the work of `then`
    waiting      // a call that returned when its work was done
  };
  Kind kind = Kind::waiting;
  std::string name;  // "all-to-all"
  double begin = 0, end = 0;
  int64_t bytes = 0;      // that this rank holds of it; 0 where it is not known
  bool attended = false;  // it ended on another thread than that of the calls
};

class TracedCommunicator final : public Communicator {
 public:
  // seconds: a clock, called on any thread. Keeps the reference.
  TracedCommunicator(Communicator& inner, std::function<double()> seconds)
      : inner_(inner), seconds_(std::move(seconds)) {}

  // What has ended since the last call, in the order of the ends.
  std::vector<Exchange> take();

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int node_ranks() const override { return inner_.node_ranks(); }
  int local_rank() const override { return inner_.local_rank(); }
  bool takes_gpu_memory() const override { return inner_.takes_gpu_memory(); }
  int cores() const override { return inner_.cores(); }
  std::string name() const override { return inner_.name(); }
  void set_hang_timeout(double seconds) override { inner_.set_hang_timeout(seconds); }
  void barrier() override;
  using Communicator::broadcast;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void all_reduce(std::span<double> values) override;
  void all_reduce(std::span<int64_t> values) override;
  std::vector<std::string> gather(const std::string& text, int root) override;
  void start_all_reduce(std::span<float> values, Then then) override;
  void start_all_to_all(const Pieces<const std::byte>& send, const Pieces<std::byte>& receive, Then then) override;
  void start_all_gather(const Pieces<std::byte>& pieces, Then then) override;
  void undisturbed(const std::function<void()>& f) override { inner_.undisturbed(f); }
  void progress() override { inner_.progress(); }
  void finish() override;
  void abort(int status) noexcept override { inner_.abort(status); }

 private:
  void add(Exchange exchange);
  Then timed(const char* name, size_t bytes, Then then);
  template <class Call>
  void wait(const char* name, size_t bytes, Call&& call);

  Communicator& inner_;
  std::function<double()> seconds_;
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::vector<Exchange> ended_;
};

}  // namespace gyre
