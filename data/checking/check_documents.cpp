#include "gyre/data/checking/check_documents.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/checking/finding.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/text/cleaning/text_comparison.h"
#include "gyre/data/text/line_stream.h"

namespace gyre {

namespace {

constexpr size_t kDocumentRows = 4096;
constexpr uint64_t kDocumentBytes = uint64_t{16} << 20;
constexpr Limits kDuplicateDocuments{0.01,
                                     kNever};  // repeated text lowers the quality of language models (Lee et al. 2022)
constexpr Limits kTestOverlap{0, 0.01};        // documents of a test set that share text with the training set
constexpr Limits kOtherOverlap{0, kNever};

// The n-grams of a held-out set, and their places in other sets.
struct HeldOut {
  struct Found {
    std::vector<uint32_t> at;         // number of a place for each n-gram, from 1; 0: none
    std::vector<std::string> places;  // places of documents of the other set
  };
  size_t set = 0;
  NgramIndex index;
  std::vector<std::string> places;  // places of the documents of the set
  std::vector<Found> found;         // one for each set that is read after this one
};

// The findings of a thread about a document.
struct ExaminedDocument {
  TextHash hash;
  std::vector<uint64_t> words;
  NearDuplicates::Signature signature;
  uint64_t length = 0, unknown = 0;
  std::array<std::vector<uint64_t>, kLineFaults> faults;  // lines from 0
  std::vector<uint64_t> separators;                       // lines from 0
  std::string separator;                                  // the first of these lines
  std::vector<std::vector<NgramIndex::Match>> matches;    // matches by held-out set
};

class DocumentChecker {
 public:
  DocumentChecker(const DocumentCheckOptions& options, const Vocabulary* vocabulary)
      : options_(options),
        vocabulary_(vocabulary),
        line_ends_(vocabulary ? default_line_ends(*vocabulary) : LineEnds::none) {
    add_set(SetRole::train, "training set", options.train);
    if (!options.valid.empty()) add_set(SetRole::valid, "validation set", options.valid);
    for (size_t i = 0; i < options.tests.size(); ++i)
      add_set(SetRole::test, options.tests.size() == 1 ? "test set" : concat("test set ", i + 1), {options.tests[i]});
  }

  DocumentCheck run() {
    check_.has_tokens = vocabulary_ != nullptr;
    // Held-out sets first, because their n-grams are looked up in the others.
    for (size_t i = check_.sets.size(); i-- > 0;) read(i);
    for (const HeldOut& held_out : held_out_) compare(held_out);
    std::ranges::sort(check_.overlaps, {}, [](const DocumentOverlap& o) { return std::pair(o.held_out, o.other); });
    for (const DocumentSet& set : check_.sets) judge(set);
    for (const DocumentOverlap& overlap : check_.overlaps) judge(overlap);
    return std::move(check_);
  }

 private:
  void add_set(SetRole role, std::string name, const std::vector<Path>& files) {
    DocumentSet& set = check_.sets.emplace_back();
    set.role = role;
    set.name = std::move(name);
    files_.push_back(files);
  }

  // Reads a set, and finds the n-grams of the held-out sets after it in the list.
  void read(size_t number) {
    DocumentSet& set = check_.sets[number];
    CorpusReader reader(files_[number], {}, false, options_.format);
    TextHashTable seen;
    NearDuplicates near(options_.near_duplicates);
    // Test sets are compared with the training and the validation set, not with each other.
    const bool is_other = set.role != SetRole::test, is_held_out = set.role != SetRole::train;
    for (HeldOut& held_out : held_out_) {
      if (is_other) held_out.found.push_back({std::vector<uint32_t>(held_out.index.ngrams()), {}});
    }
    HeldOut own{number, NgramIndex(options_.overlap_words), {}, {}};
    std::vector<CorpusRow> rows;
    std::vector<ExaminedDocument> documents;
    while (reader.next(rows, kDocumentRows, kDocumentBytes)) {
      documents.assign(rows.size(), {});
      parallel_for(rows.size(), 1, [&](size_t i) { examine(rows[i], near, is_other, documents[i]); });
      for (size_t i = 0; i < rows.size(); ++i) {
        const std::string place = concat(reader.path(rows[i].file, 0).string(), ":", rows[i].line);
        add(set, rows[i], documents[i], seen, near, reader);
        for (size_t h = 0; h < documents[i].matches.size(); ++h) {
          HeldOut::Found& found = held_out_[h].found.back();
          if (!documents[i].matches[h].empty()) found.places.push_back(place);
          for (const NgramIndex::Match& match : documents[i].matches[h])
            if (found.at[match.ngram] == 0) found.at[match.ngram] = uint32_t(found.places.size());
        }
        if (!is_held_out) continue;
        own.index.add(documents[i].words);
        own.places.push_back(place);
      }
    }
    set.files = reader.reports();
    if (is_held_out) held_out_.push_back(std::move(own));
  }

  void examine(const CorpusRow& row, const NearDuplicates& near, bool is_other, ExaminedDocument& document) const {
    const std::string& text = row.text[0];
    document.hash = hash_text(text);
    document.words = compared_words(text);
    if (options_.near_duplicates.similarity > 0) document.signature = near.signature(document.words);
    if (is_other)
      for (const HeldOut& held_out : held_out_) document.matches.push_back(held_out.index.find(document.words, false));
    std::string_view rest = text;
    uint64_t number = 0;
    for (std::string_view line; take_line(rest, line); ++number) {
      const LineFaults faults = find_line_faults(line);
      for (size_t fault = 0; fault < kLineFaults; ++fault)
        if (faults.has(LineFault(fault)) && LineFault(fault) != LineFault::blank)
          document.faults[fault].push_back(number);
      if (!is_unknown_separator(line)) continue;
      document.separators.push_back(number);
      if (document.separator.empty()) document.separator = line;
    }
    document.length = document.words.size();
    if (vocabulary_ == nullptr) return;
    const std::vector<int32_t> ids = encode_document(*vocabulary_, text, line_ends_);
    document.length = ids.size();
    document.unknown = uint64_t(std::ranges::count(ids, vocabulary_->unk()));
  }

  bool is_unknown_separator(std::string_view line) const {
    return vocabulary_ != nullptr && is_document_separator(line) && vocabulary_->encode(line).size() > 1;
  }

  static void add(DocumentSet& set, const CorpusRow& row, ExaminedDocument& document, TextHashTable& seen,
                  NearDuplicates& near, const CorpusReader& reader) {
    const std::string& file = reader.path(row.file, 0).string();
    // The lines of a JSON object are one line of its file.
    const auto place = [&](uint64_t line) { return concat(file, ":", row.line + (row.json.empty() ? line : 0)); };
    ++set.documents;
    set.bytes += row.text[0].size();
    set.lengths.push_back(document.length);
    set.tokens += document.length;
    set.unknown += document.unknown;
    for (size_t fault = 0; fault < kLineFaults; ++fault)
      for (const uint64_t line : document.faults[fault]) set.faults[fault].add(place(line));
    for (const uint64_t line : document.separators) set.separators.add(place(line));
    if (set.separator.empty()) set.separator = document.separator;
    if (seen.find_or_add(document.hash, set.documents) != 0) return set.duplicates.add(place(0));
    if (near.find_or_add(document.signature, set.documents)) set.near_duplicates.add(place(0));
  }

  // Compares a held-out set with the sets that were read after it: a validation set, if there is one, and the training
  // set.
  void compare(const HeldOut& held_out) {
    for (size_t i = 0; i < held_out.found.size(); ++i) {
      DocumentOverlap& overlap = check_.overlaps.emplace_back();
      overlap.held_out = held_out.set;
      overlap.other = held_out.found.size() - 1 - i;
      uint64_t shared = 0, all = 0;
      for (size_t text = 0; text < held_out.index.texts(); ++text) {
        uint32_t first = 0;
        for (const uint32_t ngram : held_out.index.ngrams_of(text)) {
          const uint32_t at = held_out.found[i].at[ngram];
          if (first == 0) first = at;
          shared += at != 0;
          ++all;
        }
        if (first == 0) continue;
        ++overlap.documents;
        if (overlap.examples.size() < LineList::kKept)
          overlap.examples.push_back(held_out.places[text] + " = " + held_out.found[i].places[first - 1]);
      }
      overlap.share = share_of(shared, all);
    }
  }

  void judge(const DocumentSet& set) {
    std::vector<Finding>& findings = check_.findings;
    const std::string unit = check_.has_tokens ? "token" : "word";
    findings.push_back({set.documents > 0 ? Severity::ok : Severity::error,
                        "documents",
                        concat(set.name, ": ", counted(set.documents, "document"), ", ", counted(set.tokens, unit),
                               ", ", counted(set.bytes, "byte")),
                        {}});
    for (const LineReport& file : set.files) {
      for (const BadLine kind : {BadLine::bad_utf8, BadLine::bad_json}) {
        const LineReport::Skipped& skipped = file.of(kind);
        if (skipped.count == 0) continue;
        findings.push_back({Severity::error,
                            "encoding",
                            concat(file.files, ": ", counted(skipped.count, "line"),
                                   kind == BadLine::bad_utf8 ? " with invalid UTF-8" : " with bad JSON"),
                            {skipped.first_place}});
      }
    }
    for (size_t fault = 0; fault < kLineFaults; ++fault) {
      const PlaceList& lines = set.faults[fault];
      if (lines.count == 0) continue;
      findings.push_back({Severity::warning, "encoding",
                          concat(set.name, ": ", counted(lines.count, "line"), " with ", enum_name(LineFault(fault))),
                          lines.first});
    }
    if (set.separators.count > 0)
      findings.push_back({Severity::warning, "separators",
                          concat(set.name, ": ", counted(set.separators.count, "line"), " like '", set.separator,
                                 "', which is no piece of the vocabulary and is read as text; --documents '",
                                 set.separator, "' ends documents there"),
                          set.separators.first});
    if (set.documents == 0) return;
    judge(set, "duplicates", set.duplicates, "are equal to an earlier one");
    if (options_.near_duplicates.similarity > 0)
      judge(set, "near-duplicates", set.near_duplicates,
            concat("resemble an earlier one (similarity ", options_.near_duplicates.similarity, " or more)"));
    if (!check_.has_tokens || vocabulary_->unk() < 0) return;
    const double share = share_of(set.unknown, set.tokens);
    findings.push_back(
        {severity_of(share, kUnknown),
         "unknown pieces",
         concat(set.name, ": ", set.unknown, " of ", counted(set.tokens, "token"), " (", percent(share), ")"),
         {}});
  }

  void judge(const DocumentSet& set, const char* topic, const PlaceList& places, const std::string& what) {
    const double share = share_of(places.count, set.documents);
    check_.findings.push_back({severity_of(share, kDuplicateDocuments), topic,
                               concat(set.name, ": ", places.count, " of ", counted(set.documents, "document"), " (",
                                      percent(share), ") ", what),
                               places.first});
  }

  void judge(const DocumentOverlap& overlap) {
    const DocumentSet& held_out = check_.sets[overlap.held_out];
    const DocumentSet& other = check_.sets[overlap.other];
    const bool is_leak = held_out.role == SetRole::test && other.role == SetRole::train;
    const double share = share_of(overlap.documents, held_out.documents);
    check_.findings.push_back(
        {severity_of(share, is_leak ? kTestOverlap : kOtherOverlap), "overlap",
         concat(held_out.name, ": ", overlap.documents, " of ", counted(held_out.documents, "document"), " (",
                percent(share), ") share ", options_.overlap_words, " words or more with the ", other.name, ", ",
                percent(overlap.share), " of all runs of so many words"),
         overlap.examples});
  }

  const DocumentCheckOptions& options_;
  const Vocabulary* vocabulary_;
  LineEnds line_ends_;
  std::vector<std::vector<Path>> files_;  // files of each set
  std::vector<HeldOut> held_out_;
  DocumentCheck check_;
};

}  // namespace

void PlaceList::add(const std::string& place) {
  if (count++ < LineList::kKept) first.push_back(place);
}

uint64_t length_percentile(const DocumentSet& set, double share) {
  if (set.lengths.empty()) return 0;
  std::vector<uint64_t> lengths = set.lengths;
  const auto at = std::min(size_t(share * double(lengths.size())), lengths.size() - 1);
  std::nth_element(lengths.begin(), lengths.begin() + std::ptrdiff_t(at), lengths.end());
  return lengths[at];
}

DocumentCheck check_documents(const DocumentCheckOptions& options, const Vocabulary* vocabulary) {
  return DocumentChecker(options, vocabulary).run();
}

}  // namespace gyre
