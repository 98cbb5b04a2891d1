// Fuzzes the readers of documents: compressed text, JSON lines and plain text with every kind of line end.
#include "gyre/data/text/document_text.h"
#include "tests/fuzz/target.h"

using namespace gyre;

void read_input(std::string_view input) {
  const Path file = as_file(input);
  for (const DocumentEnd end : {DocumentEnd::blank_line, DocumentEnd::whole}) {
    for (const LineEnds line_ends : {LineEnds::keep, LineEnds::space, LineEnds::none}) {
      const DocumentFormat format{.end = end, .line_ends = line_ends, .text_field = "a.b", .part_bytes = 16};
      DocumentText text({file}, format, OnBadLine::skip);
      size_t open = 0;
      for (DocumentPart part; text.next(part);) {
        if (part.begins != (open == 0) || part.text.empty()) __builtin_trap();
        open = part.ends ? 0 : open + 1;
      }
      if (open != 0) __builtin_trap();
    }
  }
}
