#include "gyre/data/text/cleaning/excluded_documents.h"

#include "gyre/data/text/cleaning/compared_words.h"

namespace gyre {

ExcludedDocuments::ExcludedDocuments(const std::vector<Path>& files, const DocumentFormat& format, size_t words)
    : index_(words) {
  for (size_t file = 0; file < files.size(); ++file) {
    DocumentText text(TextInputs{files[file]}, format, OnBadLine::skip);
    for (DocumentPart part; text.next(part);) {
      index_.add(compared_words(part.text));
      places_.push_back({file, part.line, 0});
    }
    for (const LineReport& report : text.reports()) report.require_clean(OnBadLine::by_kind, "");
  }
}

std::optional<ExcludedDocuments::Place> ExcludedDocuments::find(std::span<const uint64_t> words) const {
  const std::vector<NgramIndex::Match> matches = index_.find(words, true);
  if (matches.empty()) return std::nullopt;
  Place place = places_[matches.front().text];
  place.words = matches.front().words;
  return place;
}

}  // namespace gyre
