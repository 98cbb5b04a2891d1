// Reads sources with given translations, line by line or as n-best lists, for `gyre score`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/data/tokenizer/vocabulary.h"
#include "tools/command_line/option_table.h"
#include "tools/lines.h"

namespace gyre {

struct ScoredPairFiles {
  Path source, target;
  bool n_best = false;
  int max_length = 1000;

  // Adds --source and --target, which are required, --n-best and --max-length.
  void add_rows(OptionTable& table);
  void check() const;  // throws UsageError
};

struct ScoredPair {
  std::string line;                     // of the target file
  std::vector<int32_t> source, target;  // without special ids; an empty line has no ids
};

class ScoredPairs {
 public:
  // longest: the maximum length that the model supports.
  ScoredPairs(const ScoredPairFiles& files, const Vocabulary& vocabulary, int64_t longest);

  // Returns false at the end. Throws Error, with the name of the file and the line number, for different numbers of
  // lines, a line that is too long, and an entry of an n-best list without the number of a source, from 0 in ascending
  // order.
  bool next(ScoredPair& pair);

 private:
  void read_source();
  bool end_of_targets();
  uint64_t source_of_entry(const std::string& line) const;
  std::vector<int32_t> encode(const InputLines& from, const std::string& text) const;

  const Vocabulary& vocabulary_;
  bool n_best_;
  size_t limit_;
  InputLines sources_, targets_;
  std::vector<int32_t> source_;  // the last one that was read
};

// Returns a line "id ||| text ||| features ||| .." of an n-best list with one more feature, at the end of its third
// field.
std::string with_feature(const std::string& line, const std::string& feature);

}  // namespace gyre
