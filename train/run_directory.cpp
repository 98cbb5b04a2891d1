#include "train/run_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <set>
#include <sstream>
#include <system_error>

#include "core/error.h"

namespace gyre {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-";
constexpr std::string_view kTemporary = ".tmp";

// std::filesystem's own messages name the path and the system's reason; this adds only the house's form.
template <class Call>
auto guarded(Call&& call) {
  try {
    return call();
  } catch (const fs::filesystem_error& error) {
    throw Error("[run] ", error.path1().string(), ": ", error.what());
  }
}

std::vector<Path> entries_of(const Path& directory) {
  std::vector<Path> entries;
  if (!fs::exists(directory)) return entries;
  for (const auto& entry : fs::directory_iterator(directory)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_step_name(const std::string& name) {
  return name.starts_with(kStep) && name.size() > kStep.size() &&
         name.find_first_not_of("0123456789", kStep.size()) == std::string::npos;
}

uint64_t updates_of(const Path& checkpoint) { return std::stoull(checkpoint.filename().string().substr(kStep.size())); }

Path temporary_beside(const Path& target) {
  return target.parent_path() / concat(".", target.filename().string(), kTemporary);
}

// Gives `temporary` the name `target`; a directory that already has it is exchanged for the new one in one step where
// the file system can do that.
void take_place(const Path& temporary, const Path& target) {
  if (fs::exists(target) && ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(temporary);
    return;
  }
  fs::remove_all(target);
  fs::rename(temporary, target);
}

}  // namespace

Path checkpoint_path(const Path& run, uint64_t updates) {
  std::ostringstream name;
  name << kStep << std::setw(8) << std::setfill('0') << updates;
  return checkpoints_path(run) / name.str();
}

std::vector<Path> list_checkpoints(const Path& run) {
  return guarded([&] {
    std::vector<Path> found;
    for (const Path& path : entries_of(checkpoints_path(run))) {
      if (is_step_name(path.filename().string()) && fs::is_directory(path)) found.push_back(path);
    }
    // By number: from 10^8 updates on names are longer.
    std::stable_sort(found.begin(), found.end(), [](const Path& a, const Path& b) {
      return a.filename().string().size() < b.filename().string().size();
    });
    return found;
  });
}

std::optional<Path> linked_checkpoint(const Path& run, const std::string& link) {
  return guarded([&]() -> std::optional<Path> {
    const Path path = checkpoints_path(run) / link;
    if (!fs::is_symlink(path) || !fs::is_directory(path)) return std::nullopt;
    return checkpoints_path(run) / fs::read_symlink(path).filename();
  });
}

void write_directory(const Path& target, const std::function<void(const Path&)>& fill) {
  const Path temporary = temporary_beside(target);
  try {
    guarded([&] {
      fs::remove_all(temporary);
      fs::create_directories(temporary);
      fill(temporary);
      flush_to_disk(temporary);
      take_place(temporary, target);
    });
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  flush_to_disk(target.parent_path());
}

void point_link(const Path& run, const std::string& link, const Path& target) {
  const Path path = checkpoints_path(run) / link, temporary = temporary_beside(path);
  guarded([&] {
    fs::remove(temporary);
    // Relative, so that the run directory can be moved.
    fs::create_directory_symlink(target.filename(), temporary);
    fs::rename(temporary, path);
  });
  flush_to_disk(checkpoints_path(run));
}

RunDirectory::RunDirectory(Path path, bool overwrite)
    : path_(std::move(path)), lock_((guarded([&] { return fs::create_directories(path_); }), path_)) {
  guarded([&] {
    remove_leftovers();
    if (overwrite) remove_run();
    fs::create_directories(checkpoints_path(path_));
  });
  flush_to_disk(path_);
}

std::vector<Path> RunDirectory::prune(int keep_last, uint64_t keep_every) const {
  if (keep_last <= 0) return {};
  const std::vector<Path> all = list_checkpoints(path_);
  std::set<Path> kept;
  for (size_t i = all.size() - std::min(all.size(), static_cast<size_t>(keep_last)); i < all.size(); ++i) {
    kept.insert(all[i].filename());
  }
  for (const char* link : {"best", "last"}) {
    if (const auto target = linked_checkpoint(path_, link)) kept.insert(target->filename());
  }
  std::vector<Path> removed;
  guarded([&] {
    for (const Path& checkpoint : all) {
      if (kept.count(checkpoint.filename()) > 0) continue;
      if (keep_every > 0 && updates_of(checkpoint) % keep_every == 0) continue;
      // Half a checkpoint never stands under a checkpoint's name.
      const Path temporary = temporary_beside(checkpoint);
      fs::rename(checkpoint, temporary);
      fs::remove_all(temporary);
      removed.push_back(checkpoint);
    }
  });
  return removed;
}

void RunDirectory::remove_leftovers() const {
  const auto is_leftover = [](const std::string& name) {
    return name.starts_with('.') && (name.ends_with(kTemporary) || name.find(".tmp-") != std::string::npos);
  };
  for (const Path& directory : {path_, checkpoints_path(path_)}) {
    for (const Path& path : entries_of(directory)) {
      if (is_leftover(path.filename().string())) fs::remove_all(path);
    }
  }
}

void RunDirectory::remove_run() const {
  fs::remove_all(checkpoints_path(path_));
  for (const Path& path : {config(), options(), task(), metrics(), log()}) fs::remove(path);
  for (const Path& path : entries_of(path_)) {
    if (path.filename().string().starts_with("events.out.tfevents.")) fs::remove(path);
  }
}

}  // namespace gyre
