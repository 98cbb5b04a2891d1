#include "gyre/train/piped_text.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "gyre/data/text/text_input.h"

namespace gyre {

namespace {

bool is_pipe(const Path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

}  // namespace

// The pipes of rank 0 decide on the number of broadcasts, so that ranks with other options wait for none of their own.
void share_piped_text(const std::vector<Path>& files, Communicator& ranks) {
  if (ranks.size() == 1) return;
  const bool is_root = ranks.rank() == 0;
  std::vector<Path> pipes;
  if (is_root) std::copy_if(files.begin(), files.end(), std::back_inserter(pipes), is_pipe);
  auto count = int64_t(pipes.size());
  ranks.broadcast(std::span<int64_t>(&count, 1), 0);
  pipes.resize(size_t(count));
  for (const Path& pipe : pipes) {
    const Path name = ranks.broadcast_text(is_root ? pipe.string() : "", 0);
    TextInput::preload(name, ranks.broadcast_text(is_root ? TextInput(pipe).read_all() : "", 0));
  }
}

}  // namespace gyre
