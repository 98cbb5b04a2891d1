// One clause in both languages: conjugation, and where German puts its words. The German middle field is
// recipient - time - place - object; the finite verb is second, first or last, the rest of the verb closes the clause.
#pragma once

#include "data/corpus/lexicon.h"
#include "data/corpus/phrase.h"

namespace gyre::corpus {

// The tense or modal verb. The English past is a German perfect.
enum class Mood { present, past, future, must, can, should, want, would_like };

struct Clause {
  Person subject;
  Verb verb;
  Mood mood = Mood::present;
  Phrase recipient;  // a person, before the time in German
  Phrase object;     // an indefinite object or a complement, after the place in German
  Phrase place;
  Phrase time;
};

Phrase statement(const Clause& clause);   // Anna buys three apples today / Anna kauft heute drei Äpfel
Phrase time_first(const Clause& clause);  // today Anna buys three apples / heute kauft Anna drei Äpfel
Phrase question(const Clause& clause);  // does Anna buy three apples / kauft Anna drei Äpfel; not for want, would_like
Phrase dependent(const Clause& clause);   // Anna buys three apples / Anna drei Äpfel kauft
Phrase consequent(const Clause& clause);  // Anna buys three apples / kauft Anna drei Äpfel: after a subordinate clause
Phrase infinitive(const Clause& clause);  // to buy three apples / drei Äpfel zu kaufen; subject and mood do not matter

// "Anna is", "I am": to be with its subject; the German verb apart, for it may have to move.
std::string_view english_be(Agreement agreement);
std::string_view english_was(Agreement agreement);
std::string_view german_sein(Agreement agreement);
std::string_view german_wurde(Agreement agreement);

}  // namespace gyre::corpus
