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
  BadLineChoice bad_lines;

  // Adds --source and --target, which are required, --n-best, --max-length and --on-bad-line.
  void add_rows(OptionTable& table);
  void check() const;  // throws UsageError
};

struct ScoredPair {
  std::string line;                     // line of the target file
  std::vector<int32_t> source, target;  // ids without special ones; an empty line has none
  bool is_skipped = false;              // because of a bad line on either side; has no ids
};

class ScoredPairs {
 public:
  // longest: the maximum length that the model supports.
  ScoredPairs(const ScoredPairFiles& files, const Vocabulary& vocabulary, int64_t longest);

  // Returns false at the end. Throws Error, with the name of the file and the line number, for different numbers of
  // lines and for an entry of an n-best list without the number of a source, from 0 in ascending order; for a line that
  // is too long or not UTF-8 only if the files say so.
  bool next(ScoredPair& pair);
  void print_report() const;  // report of the lines that were skipped
  // The number of pairs to read before the first result.
  size_t window(size_t pairs) const { return targets_.window(sources_.window(pairs)); }
  double seconds() const { return sources_.seconds() + targets_.seconds(); }  // spent waiting for lines

 private:
  void read_source();
  bool end_of_targets();
  uint64_t source_of_entry(const std::string& line) const;
  std::vector<int32_t> encode(InputLines& from, const std::string& text) const;

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
