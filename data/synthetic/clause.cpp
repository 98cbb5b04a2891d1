#include "gyre/data/synthetic/clause.h"

#include <string>

namespace gyre::corpus {
namespace {

// Forms of a verb, indexed by Agreement.
using Forms = std::string_view[4];

constexpr Forms kAm = {"am", "are", "is", "are"};
constexpr Forms kWas = {"was", "were", "was", "were"};
constexpr Forms kSein = {"bin", "bist", "ist", "sind"};
constexpr Forms kHaben = {"habe", "hast", "hat", "haben"};
constexpr Forms kWurde = {"wurde", "wurdest", "wurde", "wurden"};

struct Modal {
  std::string_view english, english_third;
  Forms german;
};

// Modal verbs in the order of Mood, starting with Mood::future.
constexpr Modal kModals[] = {
    {"will", "will", {"werde", "wirst", "wird", "werden"}},
    {"must", "must", {"muss", "musst", "muss", "müssen"}},
    {"can", "can", {"kann", "kannst", "kann", "können"}},
    {"should", "should", {"sollte", "solltest", "sollte", "sollten"}},
    {"want to", "wants to", {"will", "willst", "will", "wollen"}},
    {"would like to", "would like to", {"möchte", "möchtest", "möchte", "möchten"}},
};

bool has_modal(Mood mood) { return mood >= Mood::future; }
const Modal& modal(Mood mood) { return kModals[int(mood) - int(Mood::future)]; }

std::string english_verb(const Clause& c) {
  const bool third = c.subject.agreement == Agreement::third;
  if (c.mood == Mood::past) return std::string(c.verb.english_past);
  if (c.mood == Mood::present) return std::string(third ? c.verb.english_third : c.verb.english);
  return words({third ? modal(c.mood).english_third : modal(c.mood).english, c.verb.english});
}

std::string english_rest(const Clause& c) { return words({c.recipient.english, c.object.english, c.place.english}); }

std::string english_statement(const Clause& c) {
  return words({c.subject.english, english_verb(c), english_rest(c), c.time.english});
}

// Returns the German finite verb without its separable prefix.
std::string_view finite_verb(const Clause& c) {
  const Agreement agreement = c.subject.agreement;
  if (has_modal(c.mood)) return modal(c.mood).german[int(agreement)];
  if (c.mood == Mood::past) return (c.verb.with_sein ? kSein : kHaben)[int(agreement)];
  const Forms present = {c.verb.german_first, c.verb.german_second, c.verb.german_third, c.verb.german};
  return present[int(agreement)];
}

std::string prefixed(const Clause& c, std::string_view verb) { return std::string(c.verb.prefix).append(verb); }

// Returns the end of a German main clause: a separated prefix, a participle or an infinitive.
std::string closing_verb(const Clause& c) {
  if (has_modal(c.mood)) return prefixed(c, c.verb.german);
  return std::string(c.mood == Mood::past ? c.verb.participle : c.verb.prefix);
}

std::string middle_field(const Clause& c) {
  return words({c.recipient.german, c.time.german, c.place.german, c.object.german});
}

std::string verb_first(const Clause& c) {
  return words({finite_verb(c), c.subject.german, middle_field(c), closing_verb(c)});
}

}  // namespace

Phrase statement(const Clause& c) {
  return {english_statement(c), words({c.subject.german, finite_verb(c), middle_field(c), closing_verb(c)})};
}

Phrase time_first(const Clause& clause) {
  Clause rest = clause;
  rest.time = {};
  return {words({clause.time.english, english_statement(rest)}), words({clause.time.german, verb_first(rest)})};
}

Phrase question(const Clause& c) {
  std::string_view auxiliary = c.subject.agreement == Agreement::third ? "does" : "do";
  if (c.mood == Mood::past) auxiliary = "did";
  if (has_modal(c.mood)) auxiliary = modal(c.mood).english;
  return {words({auxiliary, c.subject.english, c.verb.english, english_rest(c), c.time.english}), verb_first(c)};
}

Phrase dependent(const Clause& c) {
  const std::string verbs = has_modal(c.mood) || c.mood == Mood::past ? words({closing_verb(c), finite_verb(c)})
                                                                      : prefixed(c, finite_verb(c));
  return {english_statement(c), words({c.subject.german, middle_field(c), verbs})};
}

Phrase consequent(const Clause& c) { return {english_statement(c), verb_first(c)}; }

Phrase infinitive(const Clause& c) {
  const std::string verb =
      c.verb.prefix.empty() ? words({"zu", c.verb.german}) : prefixed(c, "zu").append(c.verb.german);
  return {words({"to", c.verb.english, english_rest(c), c.time.english}), words({middle_field(c), verb})};
}

std::string_view english_be(Agreement agreement) { return kAm[int(agreement)]; }
std::string_view english_was(Agreement agreement) { return kWas[int(agreement)]; }
std::string_view german_sein(Agreement agreement) { return kSein[int(agreement)]; }
std::string_view german_wurde(Agreement agreement) { return kWurde[int(agreement)]; }

}  // namespace gyre::corpus
