// Helpers for the tests of data/: write small text files and locate golden files.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "tests/errors.h"
#include "tests/source_dir.h"
#include "tests/temporary_directory.h"

inline gyre::Path write_text(const TemporaryDirectory& directory, const std::string& name, std::string_view text) {
  gyre::write_file(directory / name, text);
  return directory / name;
}

// A vocabulary of ids without texts.
class IdVocabulary : public gyre::Vocabulary {
 public:
  explicit IdVocabulary(int size) : Vocabulary("ids"), size_(size) {}
  std::string_view kind() const override { return "ids"; }
  std::vector<int32_t> encode(std::string_view) const override { return {}; }
  std::string decode(std::span<const int32_t>) const override { return {}; }
  std::string piece(int) const override { return {}; }
  int size() const override { return size_; }

 private:
  int size_;
};

// A line of words for near-duplicates.
inline const std::string kQuick =
    "The quick brown fox jumps over the lazy dog and then it sleeps in the warm sun until evening comes";

inline gyre::Path golden(const std::string& name) { return source_dir() / "tests" / "data" / "golden" / name; }
