// Training runs of tests on several ranks: a directory for them, and the same run on one rank.
#pragma once

#include <unistd.h>

#include <array>
#include <string>
#include <system_error>

#include "gyre/train/tasks/translation/nmt.h"
#include "tests/mpi/ranks.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {

// A directory shared by all ranks that contains the tiny corpora.
class SharedDirectory {
 public:
  SharedDirectory() {
    std::array<char, 256> name{};
    if (ranks().rank() == 0) {
      const Path path = std::filesystem::temp_directory_path() / ("gyre-mpi-" + std::to_string(getpid()));
      write_tiny_corpus(path);
      write_tiny_labeled(path);
      write_tiny_triplets(path / "triplets");
      path.string().copy(name.data(), name.size() - 1);
    }
    ranks().broadcast(std::span<char>(name), 0);
    path_ = name.data();
  }
  ~SharedDirectory() {
    ranks().barrier();
    std::error_code ignored;
    if (ranks().rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  NmtOptions options(const std::string& run, const std::string& after) const {
    NmtOptions o = tiny_options(path_, path_ / run);
    o.stop.after = Period::parse(after);
    return o;
  }
  Path operator/(const std::string& name) const { return path_ / name; }

 private:
  Path path_;
};

// Trains in one process; the other ranks wait.
template <class Options, class Config>
void train_alone(const Options& options, const Config& config) {
  if (ranks().rank() == 0) train(options, config);
  ranks().barrier();
}

inline NmtOptions deterministic(NmtOptions options, int micro_batches) {
  options.parallel.deterministic = true;
  options.parallel.micro_batches = micro_batches;
  return options;
}

}  // namespace gyre::test
