#include "gyre/train/pretrained/replace_files.h"

#include <system_error>
#include <vector>

#include "gyre/core/error.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

bool is_own_directory(const Path& path) { return fs::symlink_status(path).type() == fs::file_type::directory; }

void move_entries(const Path& from, const Path& to) {
  std::vector<Path> entries;
  for (const auto& entry : fs::directory_iterator(from)) entries.push_back(entry.path());
  for (const Path& entry : entries) {
    const Path target = to / entry.filename();
    if (is_own_directory(entry) && is_own_directory(target)) {
      move_entries(entry, target);
    } else {
      fs::rename(entry, target);
    }
  }
  flush_to_disk(to);
}

}  // namespace

void replace_files(const Path& directory, const std::function<void(const Path&)>& fill,
                   const std::function<void()>& remove_old) {
  const Path filled = directory / ".replacement.tmp";
  bool is_new = false;
  try {
    is_new = fs::create_directories(directory);
    fs::remove_all(filled);  // leftover of a call that was killed
    fs::create_directory(filled);
    fill(filled);
    remove_old();
    move_entries(filled, directory);
    fs::remove_all(filled);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(filled, ignored);
    if (is_new) fs::remove(directory, ignored);
    const auto* file_error = dynamic_cast<const fs::filesystem_error*>(&error);
    if (file_error != nullptr) throw Error("[file] ", file_error->path1().string(), ": ", file_error->code().message());
    throw;
  }
}

}  // namespace gyre
