// The words of the embedded corpus, with their irregular forms.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gyre::corpus {

// ---- Regular German inflection: articles, adjective endings and the dative plural ----------------------------------

enum class Gender { masculine, feminine, neuter };
enum class Case { nominative, accusative, dative, genitive };

std::string_view definite_article(Case c, Gender g);  // singular: der, die, das, den, ...
std::string_view ein_ending(Case c, Gender g);        // ending of ein, mein, ihr, ...: "", "e", "en", "em", "er", "es"

// Adjective endings: singular after der (weak) and ein (mixed), and plural after a numeral (strong): "drei rote Äpfel".
std::string_view adjective_after_der(Case c, Gender g);
std::string_view adjective_after_ein(Case c, Gender g);
std::string_view adjective_after_numeral(Case c);

// "Äpfel" -> "Äpfeln"; plurals in -n and -s do not change.
std::string dative_plural(std::string_view plural);

// Semantic kinds as bits. A verb takes the objects that share a bit with it, and an adjective the nouns that do.
enum Kind : uint32_t {
  kFood = 1,
  kReading = 2,   // books, letters
  kThing = 4,     // other portable objects
  kProperty = 8,  // cars, houses: expensive
  kAnimal = 16,
  kPeople = 32,
  kDrink = 64,       // portions of a liquid: "three litres of milk"
  kGroceries = 128,  // portions of a solid: "two kilos of sugar"
  kMoney = 256,
};

struct Noun {
  std::string_view english, english_plural;
  std::string_view german;
  Gender gender;
  std::string_view german_plural;
  std::string_view german_genitive = {};  // singular; present only if a sentence uses it
  uint32_t kinds = 0;
};

struct Adjective {
  std::string_view english, german_stem;
  uint32_t kinds;
};

enum class Agreement { first, second, third, plural };  // I, you, he, we; German wir and sie share their verb forms

// Indices into pronouns() and possessives().
enum Pronoun { kI, kYou, kHe, kShe, kWe, kThey };

// A person who is the subject or an object of a sentence.
struct Person {
  std::string_view english, english_object;
  std::string_view german, german_accusative, german_dative;
  Agreement agreement;
  Pronoun pronoun;  // replaces this person later in the sentence
  bool is_pronoun = false;
};

struct Possessive {
  std::string_view english, german_stem;  // the stem takes ein_ending
};

struct Verb {
  std::string_view english, english_third, english_past;
  std::string_view prefix, german;                             // "mit", "bringen"; empty prefix: not separable
  std::string_view german_first, german_second, german_third;  // forms without the prefix; the plural is the infinitive
  std::string_view participle;
  bool with_sein = false;  // forms its perfect with sein
  uint32_t objects = 0;    // kinds of countable objects that it takes
  bool dative = false;     // whether its object is in the dative
};

struct Place {
  std::string_view english, german;
};

std::span<const Noun> nouns();
std::span<const Adjective> adjectives();
std::span<const Person> pronouns();         // I, you, he, she, we, they
std::span<const Possessive> possessives();  // words in the order of pronouns()
std::span<const Person> people();           // the pronouns and all other persons
std::span<const Verb> object_verbs();       // verbs with an object that can be counted or measured
std::span<const Verb> person_verbs();       // verbs whose object is one person
std::span<const Verb> giving_verbs();       // verbs with a person in the dative and a counted object
std::span<const Verb> daily_verbs();        // intransitive verbs for daily activities
std::span<const Place> places();
std::span<const Place> cities();

}  // namespace gyre::corpus
