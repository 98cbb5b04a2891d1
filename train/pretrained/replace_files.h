// Replaces a group of files in a directory.
#pragma once

#include <functional>

#include "gyre/core/io/file.h"

namespace gyre {

// Calls fill(new) with a hidden directory inside `directory`, then remove_old(), and moves what was filled in to its
// place. If `fill` throws, for example because the disk is full, `directory` is left as it was. Directories of the same
// name are merged. Creates `directory` if it is missing.
void replace_files(const Path& directory, const std::function<void(const Path&)>& fill,
                   const std::function<void()>& remove_old);

}  // namespace gyre
