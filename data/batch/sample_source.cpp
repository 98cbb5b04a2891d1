#include "gyre/data/batch/sample_source.h"

#include "gyre/core/error.h"

namespace gyre {

SampleOptions::Fill SampleOptions::parse_fill(std::string_view text) {
  if (text == "full") return Fill::full;
  if (text == "sentences") return Fill::sentences;
  if (text == "segment") return Fill::segment;
  throw UsageError("[documents] expected full, sentences or segment, got ", text);
}

}  // namespace gyre
