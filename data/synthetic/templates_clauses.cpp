#include <string>

#include "gyre/data/synthetic/numbers.h"
#include "gyre/data/synthetic/phrases.h"
#include "gyre/data/synthetic/templates.h"

namespace gyre::corpus {
namespace {

// ---- Clauses for the templates below.

Person event(std::string_view english, std::string_view german) {
  return {english, english, german, german, german, Agreement::third, kThey};
}

struct Schedule {
  Person events[4];
  Verb verbs[2];
};
const Schedule kSchedules[] = {
    {{event("the train", "der Zug"), event("the bus", "der Bus"), event("the ship", "das Schiff"),
      event("the tram", "die Straßenbahn")},
     {{"leave", "leaves", "left", "ab", "fahren", "fahre", "fährst", "fährt", "abgefahren", true},
      {"arrive", "arrives", "arrived", "an", "kommen", "komme", "kommst", "kommt", "angekommen", true}}},
    {{event("the film", "der Film"), event("the concert", "das Konzert"), event("the lesson", "der Unterricht"),
      event("the meeting", "die Sitzung")},
     {{"begin", "begins", "began", "an", "fangen", "fange", "fängst", "fängt", "angefangen"},
      {"end", "ends", "ended", "auf", "hören", "höre", "hörst", "hört", "aufgehört"}}},
    {{event("the museum", "das Museum"), event("the bakery", "die Bäckerei"), event("the shop", "der Laden"),
      event("the library", "die Bibliothek")},
     {{"open", "opens", "opened", "auf", "machen", "mache", "machst", "macht", "aufgemacht"},
      {"close", "closes", "closed", "zu", "machen", "mache", "machst", "macht", "zugemacht"}}},
};

Mood some_mood(Draw& draw) {
  if (draw.chance(0.35)) return Mood::present;
  if (draw.chance(0.45)) return Mood::past;
  static constexpr Mood kModal[] = {Mood::future, Mood::must, Mood::can, Mood::should, Mood::want, Mood::would_like};
  return draw.pick(kModal);
}

Phrase when(Draw& draw, Mood mood) {
  if (mood == Mood::present) return when_usual(draw);
  return mood == Mood::past ? when_past(draw) : when_future(draw);
}

Phrase some_place(Draw& draw) {
  const Place& place = draw.pick(places());
  return {std::string(place.english), std::string(place.german)};
}

// A person other than the subject, in the dative or the accusative.
// Excludes pronouns that look like reflexives ("I help us", "she helps her").
Phrase other_person(Draw& draw, const Person& subject, bool dative) {
  const auto speaks = [](const Person& p) { return p.pronoun == kI || p.pronoun == kWe; };
  const Person& other = draw.pick_if(people(), [&](const Person& p) {
    const bool reflexive = p.pronoun == subject.pronoun || (speaks(p) && speaks(subject));
    return p.english != subject.english && !(p.is_pronoun && reflexive);
  });
  return {std::string(other.english_object), std::string(dative ? other.german_dative : other.german_accusative)};
}

Clause object_clause(Draw& draw, const Person& subject, Mood mood) {
  // Exclude "must need", "wants to need" and so on.
  const auto fits = [&](const Verb& verb) { return mood <= Mood::past || verb.english != "need"; };
  Clause clause{subject, draw.pick_if(object_verbs(), fits), mood, {}, {}, {}, {}};
  clause.object = some_object(draw, clause.verb.objects);
  const bool transfer = clause.verb.objects == kMoney;
  if (!transfer && draw.chance(0.3)) clause.place = some_place(draw);
  if (draw.chance(clause.place.english.empty() ? 0.7 : 0.4)) clause.time = when(draw, mood);
  return clause;
}

Clause giving_clause(Draw& draw, const Person& subject, Mood mood) {
  Clause clause{subject, draw.pick(giving_verbs()), mood, {}, {}, {}, {}};
  clause.recipient = other_person(draw, subject, true);
  clause.object = some_object(draw, clause.verb.objects);
  if (draw.chance(0.4)) clause.time = when(draw, mood);
  return clause;
}

Clause person_clause(Draw& draw, const Person& subject, Mood mood) {
  Clause clause{subject, draw.pick(person_verbs()), mood, {}, {}, {}, when(draw, mood)};
  clause.recipient = other_person(draw, subject, clause.verb.dative);
  return clause;
}

Clause daily_clause(Draw& draw, const Person& subject, Mood mood) {
  return {subject, draw.pick(daily_verbs()), mood, {}, {}, {}, when(draw, mood)};
}

Clause action(Draw& draw, const Person& subject, Mood mood) {
  const uint32_t choice = draw.between(0, 9);
  if (choice < 5) return object_clause(draw, subject, mood);
  if (choice < 6) return giving_clause(draw, subject, mood);
  return choice < 8 ? person_clause(draw, subject, mood) : daily_clause(draw, subject, mood);
}

Clause schedule_clause(Draw& draw) {
  const Schedule& schedule = draw.pick(kSchedules);
  static constexpr Mood kMoods[] = {Mood::present, Mood::present, Mood::past, Mood::future};
  const Mood mood = draw.pick(kMoods);
  Phrase time;
  if (mood != Mood::present) {
    time = when(draw, mood);
  } else {
    time = draw.chance(0.7) ? at_some_time(draw) : every_week(draw);
  }
  return {draw.pick(schedule.events), draw.pick(schedule.verbs), mood, {}, {}, {}, time};
}

// Calls one of the functions above with a random subject and mood.
Clause random_clause(Draw& draw, Clause (*make)(Draw&, const Person&, Mood)) {
  const Person& subject = somebody(draw);
  const Mood mood = some_mood(draw);
  return make(draw, subject, mood);
}

Clause some_clause(Draw& draw) { return draw.chance(0.3) ? schedule_clause(draw) : random_clause(draw, action); }

// A main clause. Sometimes moves its time, if it has one, to the front.
Phrase main_clause(Draw& draw, const Clause& clause) {
  const bool inverted = !clause.time.english.empty() && draw.chance(0.4);
  return ended(inverted ? time_first(clause) : statement(clause));
}

// ---- The templates.

Phrase schedule_sentence(Draw& draw) { return main_clause(draw, schedule_clause(draw)); }

Phrase object_sentence(Draw& draw) { return main_clause(draw, random_clause(draw, object_clause)); }
Phrase giving_sentence(Draw& draw) { return main_clause(draw, random_clause(draw, giving_clause)); }
Phrase person_sentence(Draw& draw) { return main_clause(draw, random_clause(draw, person_clause)); }
Phrase daily_sentence(Draw& draw) { return main_clause(draw, random_clause(draw, daily_clause)); }

Phrase question_sentence(Draw& draw) {
  static constexpr Mood kMoods[] = {Mood::past, Mood::past, Mood::future, Mood::must, Mood::can, Mood::should};
  if (draw.chance(0.3)) return ended(question(schedule_clause(draw)), "?");
  const Person& subject = somebody(draw);
  const Mood mood = draw.pick(kMoods);
  return ended(question(action(draw, subject, mood)), "?");
}

// "Anna is tired because she ..." / "Anna ist müde, weil sie ...", in either order of the two clauses.
Phrase reason_sentence(Draw& draw) {
  static const Phrase kStates[] = {{"tired", "müde"},  {"happy", "glücklich"},     {"hungry", "hungrig"},
                                   {"sad", "traurig"}, {"satisfied", "zufrieden"}, {"rich", "reich"}};
  static const Phrase kConjunctions[] = {{"because", "weil"}, {"although", "obwohl"}};
  const Person& subject = somebody(draw);
  const Person& pronoun = pronouns()[subject.pronoun];
  const Phrase &state = draw.pick(kStates), &conjunction = draw.pick(kConjunctions);
  const std::string_view be = english_be(subject.agreement), sein = german_sein(subject.agreement);
  if (draw.chance(0.7)) {
    const Phrase reason = dependent(action(draw, pronoun, some_mood(draw)));
    return {words({subject.english, be, state.english, conjunction.english, reason.english}) + ".",
            words({subject.german, sein, state.german}) + ", " + words({conjunction.german, reason.german}) + "."};
  }
  const Phrase reason = dependent(action(draw, subject, some_mood(draw)));
  return {words({conjunction.english, reason.english}) + ", " + words({pronoun.english, be, state.english}) + ".",
          words({conjunction.german, reason.german}) + ", " + words({sein, pronoun.german, state.german}) + "."};
}

// "I know that ..." / "ich weiß, dass ..."
Phrase reported_sentence(Draw& draw) {
  static const Phrase kFrames[] = {{"I know that", "ich weiß, dass"},
                                   {"the newspaper writes that", "die Zeitung schreibt, dass"},
                                   {"we hope that", "wir hoffen, dass"},
                                   {"everybody believes that", "alle glauben, dass"},
                                   {"it is possible that", "es ist möglich, dass"}};
  if (draw.chance(0.25))
    return ended(sequence({{"do you know whether", "weißt du, ob"}, dependent(some_clause(draw))}), "?");
  return ended(sequence({draw.pick(kFrames), dependent(some_clause(draw))}));
}

// "If Anna sells three cows, she earns ..." / "Wenn Anna drei Kühe verkauft, verdient sie ..."
Phrase conditional_sentence(Draw& draw) {
  const Person& subject = somebody(draw);
  const bool scheduled = draw.chance(0.4);
  Clause condition = scheduled ? schedule_clause(draw) : object_clause(draw, subject, Mood::present);
  condition.mood = Mood::present;
  condition.time = scheduled ? at_some_time(draw) : Phrase{};
  const Mood mood = draw.chance(0.6) ? Mood::present : draw.chance(0.5) ? Mood::can : Mood::must;
  Clause result = object_clause(draw, scheduled ? subject : pronouns()[subject.pronoun], mood);
  result.time = result.place = {};
  const Phrase first = dependent(condition), second = consequent(result);
  return {words({draw.chance(0.5) ? "if" : "when", first.english}) + ", " + second.english + ".",
          "wenn " + first.german + ", " + second.german + "."};
}

// "The woman who bought three apples ..." / "Die Frau, die drei Äpfel gekauft hat, ..."
Phrase relative_sentence(Draw& draw) {
  const Noun& noun = draw.pick_if(nouns(), [](const Noun& n) { return n.kinds == kPeople; });
  const std::string_view pronoun = definite_article(Case::nominative, noun.gender);
  const Mood mood = draw.chance(0.6) ? Mood::past : Mood::present;
  Clause clause = action(draw, event("who", pronoun), mood);
  if (!clause.object.english.empty()) clause.time = {};
  const Phrase head = the_noun(noun, nullptr, Case::nominative), tail = dependent(clause);
  Phrase predicate;
  const uint32_t n = draw.between(1, 20);
  switch (draw.between(0, 2)) {
    case 0:
      predicate = {"lives on the " + english_ordinal(n) + " floor", "wohnt im " + german_ordinal(n, "en") + " Stock"};
      break;
    case 1:
      predicate = sequence({{"has", "hat"}, counted(n, noun_of_kind(draw, kAnimal), nullptr, Case::accusative, true)});
      break;
    default:
      predicate = sequence({{"pays", "bezahlt"}, price(draw, 1, 99)});
  }
  return {words({head.english, tail.english, predicate.english}) + ".",
          head.german + ", " + tail.german + ", " + predicate.german + "."};
}

// "Anna hopes to buy ..." / "Anna hofft, ... zu kaufen"
Phrase infinitive_sentence(Draw& draw) {
  static constexpr Verb kVerbs[] = {
      {"hope", "hopes", "hoped", "", "hoffen", "hoffe", "hoffst", "hofft", "gehofft"},
      {"plan", "plans", "planned", "", "planen", "plane", "planst", "plant", "geplant"},
      {"try", "tries", "tried", "", "versuchen", "versuche", "versuchst", "versucht", "versucht"},
      {"promise", "promises", "promised", "", "versprechen", "verspreche", "versprichst", "verspricht", "versprochen"},
      {"forget", "forgets", "forgot", "", "vergessen", "vergesse", "vergisst", "vergisst", "vergessen"}};
  const Person& subject = somebody(draw);
  const Mood mood = draw.chance(0.6) ? Mood::present : Mood::past;
  const Phrase frame = statement({subject, draw.pick(kVerbs), mood, {}, {}, {}, {}});
  Clause clause = action(draw, subject, Mood::future);
  if (!clause.object.english.empty()) clause.time = {};
  const Phrase task = infinitive(clause);
  return {frame.english + " " + task.english + ".", frame.german + ", " + task.german + "."};
}

// "We have been living in Berlin for three years" / "Wir wohnen seit drei Jahren in Berlin"
Phrase since_sentence(Draw& draw) {
  struct Activity {
    std::string_view participle;
    Verb verb;
    Phrase complement;
  };
  static const Activity kActivities[] = {
      {"waiting", {"", "", "", "", "warten", "warte", "wartest", "wartet", ""}, {}},
      {"working", {"", "", "", "", "arbeiten", "arbeite", "arbeitest", "arbeitet", ""}, {}},
      {"living", {"", "", "", "", "wohnen", "wohne", "wohnst", "wohnt", ""}, {}},
      {"learning German", {"", "", "", "", "lernen", "lerne", "lernst", "lernt", ""}, {"", "Deutsch"}}};
  const Activity& activity = draw.pick(kActivities);
  const Person& subject = somebody(draw);
  const Place& city = draw.pick(cities());
  const Phrase place =
      draw.chance(0.6) ? Phrase{words({"in", city.english}), words({"in", city.german})} : some_place(draw);
  const Phrase time = since(draw);
  const std::string_view have = subject.agreement == Agreement::third ? "has" : "have";
  const Clause clause{subject, activity.verb, Mood::present, {}, activity.complement, place, time};
  return {words({subject.english, have, "been", activity.participle, place.english, time.english}) + ".",
          statement(clause).german + "."};
}

// "Paul slept for nine hours yesterday" / "Paul hat gestern neun Stunden geschlafen"
Phrase duration_sentence(Draw& draw) {
  static constexpr Verb kVerbs[] = {
      {"sleep", "sleeps", "slept", "", "schlafen", "schlafe", "schläfst", "schläft", "geschlafen"},
      {"wait", "waits", "waited", "", "warten", "warte", "wartest", "wartet", "gewartet"},
      {"work", "works", "worked", "", "arbeiten", "arbeite", "arbeitest", "arbeitet", "gearbeitet"},
      {"dance", "dances", "danced", "", "tanzen", "tanze", "tanzt", "tanzt", "getanzt"}};
  const Mood mood = some_mood(draw);
  const Phrase span = draw.chance(0.6) ? measure(draw, 1, 24, units::kHour) : measure(draw, 2, 90, units::kMinute);
  const Phrase object = sequence({{"for", ""}, span});
  return main_clause(draw, {somebody(draw), draw.pick(kVerbs), mood, {}, object, {}, when(draw, mood)});
}

// "She travels with two dogs": mit and the dative.
Phrase company_sentence(Draw& draw) {
  static constexpr Verb kVerbs[] = {
      {"come", "comes", "came", "", "kommen", "komme", "kommst", "kommt", "gekommen", true},
      {"travel", "travels", "travelled", "", "reisen", "reise", "reist", "reist", "gereist", true},
      {"play", "plays", "played", "", "spielen", "spiele", "spielst", "spielt", "gespielt"}};
  const uint32_t kinds = kAnimal | kPeople;
  const Phrase company =
      draw.chance(0.6) ? some_nouns(draw, kinds, Case::dative) : two_kinds_of_nouns(draw, kinds, Case::dative);
  const Mood mood = some_mood(draw);
  const Phrase time = draw.chance(0.4) ? when(draw, mood) : Phrase{};
  return main_clause(draw,
                     {somebody(draw), draw.pick(kVerbs), mood, {}, sequence({{"with", "mit"}, company}), {}, time});
}

// Two objects: "three cats and a dog", "not two but three cats", "twelve euros for three apples".
Phrase double_object_sentence(Draw& draw) {
  static constexpr Verb kHave = {"have", "has", "had", "", "haben", "habe", "hast", "hat", "gehabt"};
  const Person& subject = somebody(draw);
  const Mood mood = draw.chance(0.5) ? Mood::past : Mood::must;
  const auto trade = [](const Verb& v) { return (v.objects & kFood) && (v.objects & kThing) && v.english != "need"; };
  const Verb& verb = draw.pick_if(object_verbs(), trade);
  const uint32_t kinds = draw.chance(0.5) ? kFood : kThing;
  switch (draw.between(0, 3)) {
    case 0: {
      const Phrase pets = two_kinds_of_nouns(draw, kAnimal, Case::accusative);
      return ended(statement({subject, kHave, Mood::present, {}, pets, {}, {}}));
    }
    case 1: {
      const Phrase both = two_kinds_of_nouns(draw, kinds, Case::accusative);
      return ended(statement({subject, verb, mood, {}, both, {}, {}}));
    }
    case 2: {
      const uint32_t wrong = draw.between(2, 99), right = wrong + draw.between(1, 9);
      const Phrase object =
          sequence({{"not " + english_cardinal(wrong) + " but", "nicht " + german_cardinal(wrong) + ", sondern"},
                    counted(right, noun_of_kind(draw, kinds), nullptr, Case::accusative)});
      return ended(statement({subject, verb, mood, {}, object, {}, {}}));
    }
    default: {
      const Verb& pay = draw.pick_if(object_verbs(), [](const Verb& v) { return v.english == "pay"; });
      const Phrase object = sequence({price(draw, 1, 99), {"for", "für"}, some_nouns(draw, kinds, Case::accusative)});
      return ended(statement({subject, pay, some_mood(draw), {}, object, {}, {}}));
    }
  }
}

constexpr Template kClauseTemplates[] = {{8, schedule_sentence}, {12, object_sentence},    {4, giving_sentence},
                                         {4, person_sentence},   {3, daily_sentence},      {6, question_sentence},
                                         {6, reason_sentence},   {6, reported_sentence},   {4, conditional_sentence},
                                         {3, relative_sentence}, {4, infinitive_sentence}, {4, since_sentence},
                                         {3, duration_sentence}, {4, company_sentence},    {6, double_object_sentence}};

}  // namespace

std::span<const Template> clause_templates() { return kClauseTemplates; }

}  // namespace gyre::corpus
