// A phrase in both languages, and functions that join words and phrases.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace gyre::corpus {

struct Phrase {
  std::string english, german;
};

// Joins words with single spaces and skips empty ones.
inline std::string words(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += ' ';
    text += part;
  }
  return text;
}

// Joins phrases that have the same order in both languages.
inline Phrase sequence(std::initializer_list<Phrase> parts) {
  Phrase whole;
  for (const Phrase& part : parts) {
    whole = {words({whole.english, part.english}), words({whole.german, part.german})};
  }
  return whole;
}

// Appends the final punctuation mark.
inline Phrase ended(const Phrase& phrase, std::string_view mark = ".") {
  return {phrase.english + std::string(mark), phrase.german + std::string(mark)};
}

}  // namespace gyre::corpus
