#include "tools/trained_model.h"

#include <vector>

namespace gyre {

namespace {

// run/vocab.*: training leaves exactly one.
Path vocabulary_of(const Path& run) {
  std::vector<Path> found;
  for (const auto& entry : std::filesystem::directory_iterator(run))
    if (entry.path().stem() == "vocab") found.push_back(entry.path());
  require(found.size() == 1, "[model] ", run.string(), ": expected one vocab.* file, found ", found.size(),
          "; choose one with --vocab");
  return found.front();
}

}  // namespace

std::shared_ptr<const Vocabulary> load_run_vocabulary(const Path& run, const Path& file, int64_t size) {
  const Path path = file.empty() ? vocabulary_of(run) : file;
  auto vocabulary = load_vocabulary(path);
  require(vocabulary->size() == size, "[vocabulary] ", path.string(), " does not fit the model: expected ", size,
          " pieces as in ", config_path(run).string(), ", got ", vocabulary->size());
  return vocabulary;
}

}  // namespace gyre
