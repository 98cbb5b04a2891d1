#include "gyre/train/piped_text.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "gyre/data/text/text_input.h"

namespace gyre {

void share_piped_text(const std::vector<Path>& files, Communicator& ranks) {
  if (ranks.size() == 1) return;
  for (const Path& file : files) {
    const bool is_root = ranks.rank() == 0;
    const auto is_pipe = [&] {
      std::error_code error;
      const std::filesystem::file_status status = std::filesystem::status(file, error);
      return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
             !std::filesystem::is_directory(status);
    };
    int64_t shared = is_root && is_pipe() ? 1 : 0;
    ranks.broadcast(std::span<int64_t>(&shared, 1), 0);
    if (shared == 0) continue;
    std::string text = is_root ? TextInput(file).read_all() : "";
    TextInput::preload(file, ranks.broadcast_text(std::move(text), 0));
  }
}

}  // namespace gyre
