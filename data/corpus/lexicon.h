// The words of the embedded corpus, with the inflected forms that no rule gives.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "data/corpus/german_grammar.h"

namespace gyre::corpus {

// What a word denotes, as bits: a verb takes the objects, and an adjective the nouns, that share a bit with it.
enum Kind : uint32_t {
  kFood = 1,
  kReading = 2,   // books, letters
  kThing = 4,     // other things one can carry
  kProperty = 8,  // cars, houses: expensive
  kAnimal = 16,
  kPeople = 32,
  kDrink = 64,       // portions of a liquid: "three litres of milk"
  kGroceries = 128,  // portions of something solid: "two kilos of sugar"
  kMoney = 256,
};

struct Noun {
  std::string_view english, english_plural;
  std::string_view german;
  Gender gender;
  std::string_view german_plural;
  std::string_view german_genitive = {};  // singular; only where a sentence uses it
  uint32_t kinds = 0;
};

struct Adjective {
  std::string_view english, german_stem;
  uint32_t kinds;
};

enum class Agreement { first, second, third, plural };  // I, you, he, we; German wir and sie share their verb forms

// Indices into pronouns() and possessives().
enum Pronoun { kI, kYou, kHe, kShe, kWe, kThey };

// Somebody who acts or is acted upon.
struct Person {
  std::string_view english, english_object;
  std::string_view german, german_accusative, german_dative;
  Agreement agreement;
  Pronoun pronoun;  // what stands for this person later in the sentence
  bool is_pronoun = false;
};

struct Possessive {
  std::string_view english, german_stem;  // the stem takes ein_ending
};

struct Verb {
  std::string_view english, english_third, english_past;
  std::string_view prefix, german;                             // "mit", "bringen"; an empty prefix does not separate
  std::string_view german_first, german_second, german_third;  // without the prefix; the plural is the infinitive
  std::string_view participle;
  bool with_sein = false;  // builds its perfect with sein
  uint32_t objects = 0;    // the kinds of countable object it takes
  bool dative = false;     // its object stands in the dative
};

struct Place {
  std::string_view english, german;
};

std::span<const Noun> nouns();
std::span<const Adjective> adjectives();
std::span<const Person> pronouns();         // I, you, he, she, we, they
std::span<const Possessive> possessives();  // in the order of pronouns()
std::span<const Person> people();           // the pronouns, and named people
std::span<const Verb> object_verbs();       // verbs with an object that can be counted or measured
std::span<const Verb> person_verbs();       // verbs whose object is one person
std::span<const Verb> giving_verbs();       // verbs with a person in the dative and a counted object
std::span<const Verb> daily_verbs();        // intransitive verbs of somebody's day
std::span<const Place> places();
std::span<const Place> cities();

}  // namespace gyre::corpus
