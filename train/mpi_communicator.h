// The communicator over MPI_COMM_WORLD. Asks for MPI_THREAD_FUNNELED: only the thread that drives the tape calls MPI.
#pragma once

// The C++ bindings that MPI dropped are not wanted: their headers do not compile cleanly.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "train/communicator.h"

namespace gyre {

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(int* argc, char*** argv);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node_ranks() const override { return node_ranks_; }
  int local_rank() const override { return local_rank_; }
  bool takes_gpu_memory() const override;
  int cores() const override { return cores_; }
  std::string name() const override;
  void barrier() override;
  using Communicator::broadcast;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void all_reduce(std::span<double> values) override;
  void all_reduce(std::span<int64_t> values) override;
  void start_all_reduce(std::span<float> values) override;
  bool progress() override;
  void finish_all_reduces() override;
  void send(std::span<const float> values, int to) override;
  void receive(std::span<float> values, int from) override;
  std::vector<std::string> gather(const std::string& text, int root) override;
  void abort(int status) noexcept override;

 private:
  void look_at_node();
  void check(int code, const char* expression) const;

  int rank_ = 0, size_ = 1, node_ranks_ = 1, local_rank_ = 0, cores_ = 1;
  std::vector<MPI_Request> pending_;
  std::vector<int> completed_;  // scratch of MPI_Testsome
};

// The MPI library and its version, in one line. Needs no communicator.
std::string mpi_library();

}  // namespace gyre
