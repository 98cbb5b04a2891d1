// A file of labeled texts that a test writes and reads.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "gyre/data/text/line_report.h"
#include "tests/data/text_files.h"

template <class Text, class... Format>
struct Written {
  TemporaryDirectory directory;
  gyre::Path path;
  explicit Written(std::string_view text) : path(write_text(directory, "t.tsv", text)) {}

  Text read(const Format&... format, gyre::OnBadLine policy = gyre::OnBadLine::by_kind) const {
    return {path, format..., policy};
  }
  std::string error(const Format&... format, gyre::OnBadLine policy = gyre::OnBadLine::by_kind) const {
    return error_of([&] { read(format..., policy); });
  }
  // Checks and returns whether the error begins with this line and this text.
  bool fails_at(int line, const std::string& text, const Format&... format) const {
    const std::string message = error(format...);
    CAPTURE(message);
    const bool fits = message.starts_with(gyre::concat("[data] ", path.string(), ":", line, ": ", text));
    CHECK(fits);
    return fits;
  }
};
