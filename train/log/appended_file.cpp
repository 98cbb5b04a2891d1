#include "train/log/appended_file.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace gyre {

AppendedFile::AppendedFile(Path path, std::string context) : path_(std::move(path)), context_(std::move(context)) {
  file_.open(path_, std::ios::binary | std::ios::app);
  require(file_.is_open(), context_, " cannot open ", path_.string(), " for writing: ", std::strerror(errno));
  whole_ = std::filesystem::file_size(path_);
}

void AppendedFile::append(std::string_view record) {
  const bool failed_before = !kept_.empty();
  kept_ += record;
  if (write_kept()) {
    if (failed_before) spdlog::info("{} {}: written again, nothing is missing", context_, path_.string());
  } else if (!failed_before) {
    spdlog::error("{} cannot write {}: {}; kept until there is room, training goes on", context_, path_.string(),
                  std::strerror(errno));
  }
}

bool AppendedFile::write_kept() {
  if (!file_.is_open()) file_.open(path_, std::ios::binary | std::ios::app);
  file_ << kept_ << std::flush;
  if (file_.good()) {
    whole_ += kept_.size();
    kept_.clear();
    return true;
  }
  const int reason = errno;
  file_.close();
  file_.clear();
  std::error_code ignored;  // a read-only disk has taken nothing
  std::filesystem::resize_file(path_, whole_, ignored);
  errno = reason;
  return false;
}

}  // namespace gyre
