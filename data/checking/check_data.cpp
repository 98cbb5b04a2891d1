#include "gyre/data/checking/check_data.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"

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
