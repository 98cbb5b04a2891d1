#include "gyre/data/checking/check_data.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/data/checking/finding.h"

namespace gyre {

void KeyMatches::add_held_out(const TextHash& key, uint64_t line) {
  const uint64_t next = seen_at_.size() + 1, known = table_.find_or_add(key, next);
  if (known == 0) seen_at_.push_back(0);
  rows_.push_back({line, size_t(known == 0 ? next : known) - 1});
}

void KeyMatches::look_up(const TextHash& key, uint64_t line) {
  const uint64_t known = table_.find(key);
  if (known != 0 && seen_at_[known - 1] == 0) seen_at_[known - 1] = line;
}

uint64_t KeyMatches::count() const {
  return uint64_t(std::count_if(rows_.begin(), rows_.end(), [&](const Row& row) { return seen_at_[row.key] != 0; }));
}

std::vector<std::pair<uint64_t, uint64_t>> KeyMatches::first(size_t count) const {
  std::vector<std::pair<uint64_t, uint64_t>> matches;
  for (const Row& row : rows_) {
    if (matches.size() < count && seen_at_[row.key] != 0) matches.emplace_back(row.line, seen_at_[row.key]);
  }
  return matches;
}

void Overlap::add_held_out(const CheckedRow& row) {
  source.add_held_out(row.sides[0].key, row.line);
  target.add_held_out(row.sides[1].key, row.line);
  pairs.add_held_out(pair_key(row.sides[0].key, row.sides[1].key), row.line);
}

void Overlap::look_up(const CheckedRow& row) {
  source.look_up(row.sides[0].key, row.line);
  target.look_up(row.sides[1].key, row.line);
  pairs.look_up(pair_key(row.sides[0].key, row.sides[1].key), row.line);
}

namespace {

std::vector<DataSet> sets_of(const DataCheckOptions& options) {
  std::vector<DataSet> sets{{SetRole::train, "training set", options.train}};
  if (!options.valid.empty()) sets.push_back({SetRole::valid, "validation set", options.valid});
  for (size_t i = 0; i < options.tests.size(); ++i)
    sets.push_back(
        {SetRole::test, options.tests.size() == 1 ? "test set" : concat("test set ", i + 1), options.tests[i]});
  return sets;
}

// Overlaps of each held-out set with the training set, and of each test set with the validation set.
std::vector<Overlap> overlaps_of(size_t sets, bool has_validation) {
  std::vector<Overlap> overlaps;
  for (size_t held_out = 1; held_out < sets; ++held_out) {
    overlaps.emplace_back().held_out = held_out;
    if (!has_validation || held_out == 1) continue;
    overlaps.emplace_back().held_out = held_out;
    overlaps.back().other = 1;
  }
  return overlaps;
}

// Plans the batches of the first epoch as training does.
Epoch plan_updates(const SetStatistics& train, const BatchOptions& options) {
  Epoch epoch;
  uint64_t tokens = 0, pairs = 0;
  for (const auto& lengths : train.lengths) {
    if (options.max_length > 0 && std::max(lengths[0], lengths[1]) > uint32_t(options.max_length)) continue;
    tokens += lengths[0] + lengths[1];
    ++pairs;
  }
  if (pairs == 0) return epoch;
  const BatchItems items("training set", train.lengths.size(), 2,
                         [&](size_t item, int side) { return train.lengths[item][size_t(side)]; });
  const size_t batches = plan_epoch(items, options, 1, 0).size();
  epoch.is_estimate = train.measured() < train.pairs;
  epoch.updates = uint64_t(std::ceil(double(batches) * double(train.pairs) / double(train.measured())));
  epoch.sentence_length = double(tokens) / double(pairs) / 2;
  return epoch;
}

Finding epoch_finding(const Epoch& epoch, const SetStatistics& train, const BatchOptions& options) {
  const bool has_pairs = train.pairs > 0;
  if (epoch.updates == 0 && train.every > 1 && has_pairs)
    return {Severity::warning,
            "epoch",
            concat("none of the ", counted(train.measured(), "measured pair"), " of the training set can be used with ",
                   "--max-length ", options.max_length, "; --sample-lines takes more"),
            {}};
  if (epoch.updates == 0)
    return {Severity::error,
            "epoch",
            concat("no pair of the training set can be used",
                   has_pairs ? concat(" with --max-length ", options.max_length) : ""),
            {}};
  const double length = std::round(epoch.sentence_length * 10) / 10;
  return {Severity::ok,
          "epoch",
          concat(epoch.is_estimate ? "about " : "", counted(epoch.updates, "update"), " with a batch size of ",
                 options.budget.amount, "; the mean sentence has ", length, " tokens"),
          {}};
}

// ---- The verdicts of check_data(): what counts as a warning and what as an error -----------------------------------

constexpr Limits kDuplicatePairs{0.05, kNever};  // repeated pairs weigh more in training, but do no harm
constexpr Limits kCopies{0.01, 0.2};             // models learn to copy from few copies (Khayrallah and Koehn 2018)
constexpr Limits kOverLength{0.01, 0.2};
constexpr Limits kRatio{0.01, 0.2};
constexpr Limits kTestPairs{0, 0.01};  // test pairs in the training set: scores would be too good
constexpr Limits kValidationPairs{0, kNever};
constexpr Limits kOneSide{0.01, kNever};  // sentences of one side that occur in the training set
constexpr double kSwapped = 0.1;          // difference by which the other side must be more similar
constexpr uint64_t kFewestPieces = 200;   // least number of pieces of a side, to compare languages

// A finding about a number of lines of a set.
void judge_count(const SetStatistics& set, const std::string& topic, const LineList& list, uint64_t all,
                 const Limits& limits, const std::string& what, std::vector<Finding>& findings) {
  const double share = share_of(list.count, all);
  findings.push_back(
      {severity_of(share, limits), topic,
       concat(set.name, ": ", list.count, " of ", counted(all, "pair"), " (", percent(share), ") ", what),
       set.places(list)});
}

void judge_line_counts(const SetStatistics& set, std::vector<Finding>& findings) {
  const uint64_t source = set.sides[0].lines, target = set.sides[1].lines;
  if (set.pairs == 0) {
    findings.push_back({Severity::error, "lines", concat(set.name, ": no usable pair"), {}});
  } else if (source == target) {
    findings.push_back({Severity::ok, "lines", concat(set.name, ": ", counted(source, "line"), " on both sides"), {}});
  }
  if (source == target) return;
  const int longer = source > target ? 0 : 1;
  findings.push_back({Severity::error, "lines",
                      concat(set.name, ": the source has ", counted(source, "line"), ", the target ", target),
                      set.places(longer, set.unpaired)});
}

void judge_encoding(const SetStatistics& set, int side, std::vector<Finding>& findings) {
  const SideStatistics& file = set.sides[size_t(side)];
  bool is_clean = true;
  for (size_t fault = 0; fault < kLineFaults; ++fault) {
    const LineList& lines = file.faults[fault];
    if (lines.count == 0) continue;
    is_clean = false;
    const Severity severity = LineFault(fault) == LineFault::invalid_utf8 ? Severity::error : Severity::warning;
    findings.push_back(
        {severity, "encoding",
         concat(file.path.string(), ": ", counted(lines.count, "line"), " with ", enum_name(LineFault(fault))),
         set.places(side, lines)});
  }
  if (file.crlf_lines > 0)
    findings.push_back({Severity::warning,
                        "encoding",
                        concat(file.path.string(), ": ", counted(file.crlf_lines, "line"),
                               " with Windows line ends (CRLF), which are removed on reading"),
                        {}});
  if (file.has_byte_order_mark)
    findings.push_back({Severity::warning,
                        "encoding",
                        concat(file.path.string(), ": begins with a byte order mark, which is removed on reading"),
                        {}});
  if (is_clean && file.crlf_lines == 0 && !file.has_byte_order_mark)
    findings.push_back({Severity::ok, "encoding", concat(file.path.string(), ": UTF-8 without odd characters"), {}});
}

double cosine(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double(a[i]) * double(b[i]);
    aa += double(a[i]) * double(a[i]);
    bb += double(b[i]) * double(b[i]);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

void judge_text(const SetStatistics& set, std::vector<Finding>& findings) {
  judge_line_counts(set, findings);
  if (!set.is_store) {
    for (int side = 0; side < 2; ++side) judge_encoding(set, side, findings);
  }
  if (set.pairs == 0) return;
  judge_count(set, "duplicates", set.duplicates, set.pairs, kDuplicatePairs, "occurred before", findings);
  judge_count(set, "copies", set.copies, set.pairs, kCopies, "have the same text on both sides", findings);
}

void judge_pieces(const SetStatistics& set, const DataCheckOptions& options, std::vector<Finding>& findings) {
  if (set.measured() == 0) return;
  for (int side = 0; side < 2; ++side) {
    const SideStatistics& file = set.sides[size_t(side)];
    const double share = share_of(file.unknown, file.pieces);
    findings.push_back({severity_of(share, kUnknown), "unknown pieces",
                        concat(set.name, ", ", side == 0 ? "source" : "target", ": ", file.unknown, " of ",
                               counted(file.pieces, "piece"), " (", percent(share), ")"),
                        set.places(side, file.with_unknown)});
  }
  if (options.batch.max_length > 0)
    judge_count(set, "length", set.over_length, set.measured(), kOverLength,
                concat("have a side over --max-length ", options.batch.max_length), findings);
  judge_count(set, "length ratio", set.ratio_outliers, set.measured(), kRatio,
              concat("have a side with over ", SetStatistics::kOutlierRatio, " times the tokens of the other"),
              findings);
}

void judge_overlap(const Overlap& overlap, const std::vector<SetStatistics>& sets, std::vector<Finding>& findings) {
  const SetStatistics& held_out = sets[overlap.held_out];
  const SetStatistics& other = sets[overlap.other];
  const bool is_leak = held_out.role == SetRole::test && other.role == SetRole::train;
  const auto judge = [&](const KeyMatches& matches, const char* what, const Limits& limits) {
    const double share = share_of(matches.count(), held_out.pairs);
    Finding finding{severity_of(share, limits),
                    "overlap",
                    concat(held_out.name, ": ", matches.count(), " of ", held_out.pairs, " ", what, " (",
                           percent(share), ") occur in the ", other.name),
                    {}};
    for (const auto& [line, seen] : matches.first(LineList::kKept))
      finding.examples.push_back(held_out.place(line) + " = " + other.place(seen));
    findings.push_back(std::move(finding));
  };
  judge(overlap.pairs, "pairs", is_leak ? kTestPairs : kValidationPairs);
  judge(overlap.source, "source sentences", kOneSide);
  judge(overlap.target, "target sentences", kOneSide);
}

// Compares how often each piece occurs. Swapped sides have the frequencies of the other language.
void judge_sides(const SetStatistics& train, const SetStatistics& held_out, std::vector<Finding>& findings) {
  for (const SetStatistics* set : {&train, &held_out}) {
    for (const SideStatistics& side : set->sides) {
      if (side.pieces < kFewestPieces) return;
    }
  }
  const auto similarity = [&](int side, int other) {
    return cosine(train.sides[size_t(side)].frequencies, held_out.sides[size_t(other)].frequencies);
  };
  const double straight = similarity(0, 0) + similarity(1, 1), crossed = similarity(0, 1) + similarity(1, 0);
  const bool is_swapped = crossed > straight + kSwapped;
  findings.push_back({is_swapped ? Severity::error : Severity::ok,
                      "languages",
                      is_swapped ? held_out.name + ": the source looks like the target of the training set, and the "
                                                   "target like its source; are the files swapped?"
                                 : held_out.name + ": the sides look like those of the training set",
                      {}});
}

}  // namespace

uint64_t length_percentile(const SetStatistics& set, int side, double share) {
  if (set.lengths.empty()) return 0;
  std::vector<uint32_t> lengths;
  lengths.reserve(set.lengths.size());
  for (const auto& pair : set.lengths) lengths.push_back(pair[size_t(side)]);
  const auto at = std::min(size_t(share * double(lengths.size())), lengths.size() - 1);
  std::nth_element(lengths.begin(), lengths.begin() + std::ptrdiff_t(at), lengths.end());
  return lengths[at];
}

DataCheck check_data(const DataCheckOptions& options, const Vocabulary& vocabulary) {
  const std::vector<DataSet> sets = sets_of(options);
  DataCheck check;
  for (const DataSet& set : sets) {
    if (set.files.size() == 1) check.keys = RowKeys::ids;
  }
  const MeasureOptions measure{check.keys, options.batch.max_length, options.sample_lines};
  check.overlaps = overlaps_of(sets.size(), !options.valid.empty());
  check.sets.resize(sets.size());
  // Held-out sets first, because their sentences are looked up in the others.
  for (size_t i = sets.size(); i-- > 0;) {
    check.sets[i] = measure_set(sets[i], vocabulary, measure, [&](const CheckedRow& row) {
      for (Overlap& overlap : check.overlaps) {
        if (overlap.held_out == i) overlap.add_held_out(row);
        if (overlap.other == i) overlap.look_up(row);
      }
    });
  }
  for (const SetStatistics& set : check.sets) {
    judge_text(set, check.findings);
    judge_pieces(set, options, check.findings);
  }
  for (const Overlap& overlap : check.overlaps) judge_overlap(overlap, check.sets, check.findings);
  for (size_t i = 1; i < sets.size(); ++i) judge_sides(check.sets[0], check.sets[i], check.findings);
  check.epoch = plan_updates(check.sets[0], options.batch);
  check.findings.push_back(epoch_finding(check.epoch, check.sets[0], options.batch));
  return check;
}

}  // namespace gyre
