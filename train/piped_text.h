// Text that is read from pipes, on several ranks.
#pragma once

#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/train/parallel/communicator.h"

namespace gyre {

// Collective. Reads those of the files that are pipes on rank 0 (/dev/stdin, a named pipe) there, and passes their text
// on to all ranks, whose next TextInput of such a path reads it. With a single rank, TextInput reads the pipe itself.
void share_piped_text(const std::vector<Path>& files, Communicator& ranks);

}  // namespace gyre
