// Without libFuzzer: every file named on the command line once, so that what was found stays mended.
#include <cstdio>
#include <vector>

#include "core/file.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string content = gyre::read_file(argv[i]);
    const std::vector<unsigned char> bytes(content.begin(), content.end());  // exactly as long as the input
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%d inputs read or refused\n", argc - 1);
}
