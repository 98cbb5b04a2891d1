// Replaces libFuzzer in normal builds: reads every file given on the command line once, so that inputs that once failed
// serve as regression tests.
#include <cstdio>
#include <vector>

#include "gyre/core/io/file.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string content = gyre::read_file(argv[i]);
    const std::vector<unsigned char> bytes(content.begin(), content.end());  // no byte after the input
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%d inputs read or rejected\n", argc - 1);
}
