#include "gyre/train/log/appended_file.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstring>

#include "gyre/core/error.h"

namespace gyre {

AppendedFile::AppendedFile(Path path, std::string context) : path_(std::move(path)), context_(std::move(context)) {
  file_.open(path_, std::ios::binary | std::ios::app);
  require(file_.is_open(), context_, " cannot open ", path_.string(), " for writing: ", std::strerror(errno));
  written_bytes_ = std::filesystem::file_size(path_);
}

void AppendedFile::append(std::string_view record) {
  const bool failed_before = !pending_.empty();
  pending_ += record;
  if (write_pending()) {
    if (failed_before) spdlog::info("{} {}: writing works again, no record is lost", context_, path_.string());
  } else if (!failed_before) {
    spdlog::error("{} cannot write {}: {}; records are kept until they can be written, training continues", context_,
                  path_.string(), std::strerror(errno));
  }
}

bool AppendedFile::write_pending() {
  if (!file_.is_open()) file_.open(path_, std::ios::binary | std::ios::app);
  file_ << pending_ << std::flush;
  if (file_.good()) {
    written_bytes_ += pending_.size();
    pending_.clear();
    return true;
  }
  const int reason = errno;
  file_.close();
  file_.clear();
  std::error_code ignored;  // a read-only disk has no partial record to remove
  std::filesystem::resize_file(path_, written_bytes_, ignored);
  errno = reason;
  return false;
}

}  // namespace gyre
