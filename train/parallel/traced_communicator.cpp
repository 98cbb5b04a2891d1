#include "gyre/train/parallel/traced_communicator.h"

namespace gyre {

std::vector<Exchange> TracedCommunicator::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ended_, {});
}

void TracedCommunicator::add(Exchange exchange) {
  exchange.on_progress_thread = std::this_thread::get_id() != owner_;
  const std::lock_guard lock(mutex_);
  ended_.push_back(std::move(exchange));
}

Communicator::Callback TracedCommunicator::timed(const char* name, size_t bytes, Callback callback) {
  return [this, name, bytes, begin = seconds_(), callback = std::move(callback)] {
    const double end = seconds_();
    add({Exchange::Kind::background, name, begin, end, int64_t(bytes)});
    callback();
    add({Exchange::Kind::callback, std::string("after ") + name, end, seconds_(), int64_t(bytes)});
  };
}

template <class Call>
void TracedCommunicator::wait(const char* name, size_t bytes, Call&& call) {
  const double begin = seconds_();
  call();
  add({Exchange::Kind::waiting, name, begin, seconds_(), int64_t(bytes)});
}

void TracedCommunicator::barrier() {
  wait("barrier", 0, [&] { inner_.barrier(); });
}

void TracedCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  wait("broadcast", bytes.size(), [&] { inner_.broadcast(bytes, root); });
}

void TracedCommunicator::all_reduce(std::span<double> values) {
  wait("all-reduce of numbers", values.size_bytes(), [&] { inner_.all_reduce(values); });
}

void TracedCommunicator::all_reduce(std::span<int64_t> values) {
  wait("all-reduce of counts", values.size_bytes(), [&] { inner_.all_reduce(values); });
}

std::vector<std::string> TracedCommunicator::gather(const std::string& text, int root) {
  std::vector<std::string> texts;
  wait("gathering of texts", text.size(), [&] { texts = inner_.gather(text, root); });
  return texts;
}

void TracedCommunicator::start_all_reduce(std::span<float> values, Callback callback) {
  inner_.start_all_reduce(values, timed("all-reduce", values.size_bytes(), std::move(callback)));
}

void TracedCommunicator::start_all_to_all(const SplitBuffer<const std::byte>& send,
                                          const SplitBuffer<std::byte>& receive, Callback callback) {
  inner_.start_all_to_all(send, receive, timed("all-to-all", size_t(send.ends.back()), std::move(callback)));
}

void TracedCommunicator::start_all_gather(const SplitBuffer<std::byte>& pieces, Callback callback) {
  inner_.start_all_gather(pieces, timed("all-gather", size_t(pieces.ends.back()), std::move(callback)));
}

void TracedCommunicator::start_partial_gather(const SplitBuffer<std::byte>& pieces, const Sends& sends,
                                              Callback callback) {
  inner_.start_partial_gather(pieces, sends, timed("all-gather", size_t(pieces.ends.back()), std::move(callback)));
}

void TracedCommunicator::start_shared(Lane lane, std::unique_ptr<WindowTask> task, Callback callback) {
  Callback traced = timed(task->name(), size_t(task->bytes()), std::move(callback));
  inner_.start_shared(lane, std::move(task), std::move(traced));
}

void TracedCommunicator::finish() {
  wait("wait for gradients", 0, [&] { inner_.finish(); });
}

}  // namespace gyre
