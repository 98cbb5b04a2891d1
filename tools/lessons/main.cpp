// Makes a page of the documentation: doc_page INPUT.html OUTPUT.html, where the input is what cmark-gfm makes of a
// Markdown file (tools/scripts/docs.sh).
#include <cstdio>
#include <exception>

#include "gyre/core/io/file.h"
#include "tools/lessons/doc_page.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: doc_page INPUT.html OUTPUT.html\n");
    return 2;
  }
  try {
    gyre::write_file(argv[2], gyre::doc_page(gyre::read_file(argv[1])));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "doc_page: %s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
