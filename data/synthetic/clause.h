// Builds one clause in both languages: conjugation and German word order. The order of the German middle field is
// recipient - time - place - object. The finite verb is second, first or last; the rest of the verb ends the clause.
#pragma once

#include "gyre/data/synthetic/lexicon.h"
#include "gyre/data/synthetic/phrase.h"

namespace gyre::corpus {

// The tense or modal verb. The English past is a German perfect.
enum class Mood { present, past, future, must, can, should, want, would_like };

struct Clause {
  Person subject;
  Verb verb;
  Mood mood = Mood::present;
  Phrase recipient;  // a person; precedes the time in German
  Phrase object;     // an indefinite object or a complement; follows the place in German
  Phrase place;
  Phrase time;
};

Phrase statement(const Clause& clause);   // Anna buys three apples today / Anna kauft heute drei Äpfel
Phrase time_first(const Clause& clause);  // today Anna buys three apples / heute kauft Anna drei Äpfel
Phrase question(const Clause& clause);  // does Anna buy three apples / kauft Anna drei Äpfel; not for want, would_like
Phrase dependent(const Clause& clause);   // Anna buys three apples / Anna drei Äpfel kauft
Phrase consequent(const Clause& clause);  // Anna buys three apples / kauft Anna drei Äpfel; after a subordinate clause
Phrase infinitive(const Clause& clause);  // to buy three apples / drei Äpfel zu kaufen; ignores subject and mood

// Forms of "to be" and "werden" for a subject, without the subject, because the position of a German verb varies.
std::string_view english_be(Agreement agreement);
std::string_view english_was(Agreement agreement);
std::string_view german_sein(Agreement agreement);
std::string_view german_wurde(Agreement agreement);

}  // namespace gyre::corpus
