#include <string>

#include "gyre/data/synthetic/numbers.h"
#include "gyre/data/synthetic/phrases.h"
#include "gyre/data/synthetic/templates.h"

namespace gyre::corpus {
namespace {

// A plausible price for a noun of this kind.
Phrase price_of(Draw& draw, const Noun& noun) {
  if (noun.kinds & kProperty) {
    const Noun& currency = draw.chance(0.7) ? money::kEuro : money::kDollar;
    return counted(draw.large_number(), currency, nullptr, Case::accusative);
  }
  return noun.kinds & kFood ? price(draw, 1, 9) : price(draw, 2, 400);
}

Phrase price_sentence(Draw& draw) {
  const Noun& noun = noun_of_kind(draw, kFood | kReading | kThing | kProperty);
  const Phrase cost = price_of(draw, noun), subject = the_noun(noun, maybe_adjective(draw, noun), Case::nominative);
  switch (draw.between(0, 3)) {
    case 0:
      return ended(
          {"does " + subject.english + " cost " + cost.english, "kostet " + subject.german + " " + cost.german}, "?");
    case 1: {
      const uint32_t n = draw.between(2, 40);
      return ended(
          sequence({counted(n, noun, maybe_adjective(draw, noun), Case::nominative), {"cost", "kosten"}, cost}));
    }
    default:
      return ended(sequence({subject, {"costs", "kostet"}, cost}));
  }
}

Phrase price_with_genitive(Draw& draw) {
  const Noun& noun = noun_of_kind(draw, kThing | kProperty);
  const Phrase cost = price_of(draw, noun), owner = the_noun(noun, maybe_adjective(draw, noun), Case::genitive);
  return ended({"the price of " + owner.english + " is " + cost.english,
                "der Preis " + owner.german + " beträgt " + cost.german});
}

Phrase wage_sentence(Draw& draw) {
  static const Phrase kPeriods[] = {{"a month", "im Monat"}, {"a year", "im Jahr"}, {"a day", "am Tag"}};
  const Person& subject = somebody(draw);
  const Verb& earn = draw.pick_if(object_verbs(), [](const Verb& v) { return v.objects == kMoney; });
  const Phrase object = sequence({price(draw, 100, 9999), draw.pick(kPeriods)});
  return ended(statement({subject, earn, Mood::present, {}, object, {}, {}}));
}

struct Dimension {
  Phrase things[3];
  Phrase positive, comparative;
  const Noun& unit;
  uint32_t low, high;
};
const Dimension kDimensions[] = {
    {{{"the bridge", "die Brücke"}, {"the street", "die Straße"}, {"the fence", "der Zaun"}},
     {"long", "lang"},
     {"longer", "länger"},
     units::kMeter,
     20,
     999},
    {{{"the river", "der Fluss"}, {"the coast", "die Küste"}, {"the tunnel", "der Tunnel"}},
     {"long", "lang"},
     {"longer", "länger"},
     units::kKilometer,
     1,
     999},
    {{{"the mountain", "der Berg"}, {"the hill", "der Hügel"}, {"the volcano", "der Vulkan"}},
     {"high", "hoch"},
     {"higher", "höher"},
     units::kMeter,
     100,
     8999},
    {{{"the tower", "der Turm"}, {"the church", "die Kirche"}, {"the tree", "der Baum"}},
     {"high", "hoch"},
     {"higher", "höher"},
     units::kMeter,
     2,
     300},
    {{{"the table", "der Tisch"}, {"the door", "die Tür"}, {"the window", "das Fenster"}},
     {"wide", "breit"},
     {"wider", "breiter"},
     units::kCentimeter,
     21,
     199},
    {{{"the lake", "der See"}, {"the well", "der Brunnen"}, {"the hole", "das Loch"}},
     {"deep", "tief"},
     {"deeper", "tiefer"},
     units::kMeter,
     1,
     250},
};

Phrase dimension_sentence(Draw& draw) {
  const Dimension& dimension = draw.pick(kDimensions);
  const Phrase size = measure(draw, dimension.low, dimension.high, dimension.unit);
  return ended(sequence({draw.pick(dimension.things), {"is", "ist"}, size, dimension.positive}));
}

Phrase comparison_sentence(Draw& draw) {
  const Dimension& dimension = draw.pick(kDimensions);
  const uint32_t first = draw.between(0, 2), second = (first + draw.between(1, 2)) % 3;
  const Phrase difference = measure(draw, 1, 99, dimension.unit);
  return ended(sequence({dimension.things[first],
                         {"is", "ist"},
                         difference,
                         dimension.comparative,
                         {"than", "als"},
                         dimension.things[second]}));
}

Phrase weight_sentence(Draw& draw) {
  static const Phrase kHeavy[] = {{"the suitcase", "der Koffer"}, {"the bag", "die Tasche"},
                                  {"the dog", "der Hund"},        {"the sheep", "das Schaf"},
                                  {"the table", "der Tisch"},     {"the child", "das Kind"}};
  const bool heavy = draw.chance(0.5);
  const Noun& light = noun_of_kind(draw, kFood | kReading);
  const Phrase what = heavy ? draw.pick(kHeavy) : the_noun(light, maybe_adjective(draw, light), Case::nominative);
  const Phrase weight = heavy ? measure(draw, 1, 99, units::kKilo) : measure(draw, 20, 999, units::kGram);
  return ended(sequence({what, {"weighs", "wiegt"}, weight}));
}

// "It is ... from A to B" / "Von A nach B sind es ..."
Phrase distance_sentence(Draw& draw) {
  const size_t count = cities().size(), first = draw.between(0, uint32_t(count) - 1);
  const Place &from = cities()[first], &to = cities()[(first + draw.between(1, uint32_t(count) - 1)) % count];
  const Phrase distance = measure(draw, 20, 2500, units::kKilometer);
  return {words({"it is", distance.english, "from", from.english, "to", to.english}) + ".",
          words({"von", from.german, "nach", to.german, "sind es", distance.german}) + "."};
}

Phrase temperature_sentence(Draw& draw) {
  static const Phrase kDays[] = {{"today it is", "heute sind es"},
                                 {"tomorrow it will be", "morgen werden es"},
                                 {"in the garden it is", "im Garten sind es"}};
  const Phrase sign = draw.chance(0.3) ? Phrase{"minus", "minus"} : Phrase{};
  const uint32_t n = draw.between(2, 40);
  return ended(sequence({draw.pick(kDays), sign, counted(n, units::kDegree, nullptr, Case::nominative)}));
}

Phrase population_sentence(Draw& draw) {
  static const Phrase kHomes[] = {{"town", "Stadt"}, {"capital", "Hauptstadt"}, {"region", "Region"}};
  const Phrase& home = draw.pick(kHomes);
  const uint32_t n = draw.large_number();
  const std::string english = english_cardinal(n), german = german_count(n, Gender::masculine, Case::accusative);
  if (draw.chance(0.5))
    return {"the " + home.english + " has " + english + " inhabitants.",
            "die " + home.german + " hat " + german + " Einwohner."};
  return {english + " people live in the " + home.english + ".",
          "in der " + home.german + " leben " + german + " Menschen."};
}

Phrase age_sentence(Draw& draw) {
  const Person& subject = somebody(draw);
  const uint32_t n = draw.between(1, 99);
  const Phrase age = counted(n, units::kYear, nullptr, Case::accusative);
  return {words({subject.english, english_be(subject.agreement), age.english, "old"}) + ".",
          words({subject.german, german_sein(subject.agreement), age.german, "alt"}) + "."};
}

Phrase arithmetic_sentence(Draw& draw) {
  uint32_t a = draw.between(0, draw.chance(0.6) ? 99 : 9999), b = draw.between(0, draw.chance(0.6) ? 99 : 999);
  switch (draw.between(0, 2)) {
    case 0:
      return ended(sequence({cardinal(a), {"plus", "plus"}, cardinal(b), {"is", "ist"}, cardinal(a + b)}));
    case 1:
      return ended(sequence({cardinal(a + b), {"minus", "minus"}, cardinal(b), {"is", "ist"}, cardinal(a)}));
    default:
      a %= 100, b %= 100;
  }
  return ended(sequence({cardinal(a), {"times", "mal"}, cardinal(b), {"is", "ist"}, cardinal(a * b)}));
}

Phrase bare_number_sentence(Draw& draw) {
  static const Phrase kFrames[] = {{"the winning number is", "die Gewinnzahl ist"},
                                   {"the answer is", "die Antwort ist"},
                                   {"the secret number is", "die Geheimzahl ist"},
                                   {"she says the number", "sie sagt die Zahl"},
                                   {"he counts to", "er zählt bis"},
                                   {"the largest number is", "die größte Zahl ist"}};
  return ended(sequence({draw.pick(kFrames), cardinal(draw.any_number())}));
}

// Numerals as names: pages, rooms, buses, houses.
Phrase label_sentence(Draw& draw) {
  static const Phrase kFrames[] = {{"the answer is on page", "die Antwort steht auf Seite"},
                                   {"the guest is waiting in room", "der Gast wartet in Zimmer"},
                                   {"the key is for room", "der Schlüssel ist für Zimmer"},
                                   {"the picture is on page", "das Bild ist auf Seite"},
                                   {"please take bus number", "nimm bitte den Bus Nummer"},
                                   {"the train leaves from platform", "der Zug fährt von Gleis"}};
  const Phrase& frame = draw.pick(kFrames);
  const uint32_t n = draw.chance(0.6) ? draw.between(1, 99) : draw.between(100, 999);
  const std::string_view end = frame.english.starts_with("the train") ? " ab." : ".";
  return {frame.english + " " + english_cardinal(n) + ".", frame.german + " " + german_cardinal(n) + std::string(end)};
}

// "There are three apples on the table" / "Auf dem Tisch liegen drei Äpfel"
Phrase existence_sentence(Draw& draw) {
  struct Spot {
    Phrase place;
    std::string_view singular, plural;
    uint32_t kinds;
  };
  static const Spot kSpots[] = {{{"on the table", "auf dem Tisch"}, "liegt", "liegen", kFood | kReading},
                                {{"in the box", "in der Kiste"}, "liegt", "liegen", kFood | kReading},
                                {{"in the garden", "im Garten"}, "ist", "sind", kAnimal | kPeople},
                                {{"in front of the house", "vor dem Haus"}, "ist", "sind", kAnimal | kPeople},
                                {{"in the kitchen", "in der Küche"}, "ist", "sind", kThing}};
  const Spot& spot = draw.pick(kSpots);
  const uint32_t n = draw.handful();
  const Noun& noun = noun_of_kind(draw, spot.kinds);
  const Adjective* adjective = maybe_adjective(draw, noun);
  const Phrase things = counted(n, noun, adjective, Case::nominative, draw.chance(0.5));
  return {words({n == 1 ? "there is" : "there are", things.english, spot.place.english}) + ".",
          words({spot.place.german, n == 1 ? spot.singular : spot.plural, things.german}) + "."};
}

Phrase score_sentence(Draw& draw) {
  static const Phrase kTeams[] = {
      {"our team", "unsere Mannschaft"}, {"the other team", "die andere Mannschaft"}, {"his team", "seine Mannschaft"}};
  static const Phrase kResults[] = {{"won", "gewonnen"}, {"lost", "verloren"}};
  const Phrase &team = draw.pick(kTeams), &result = draw.pick(kResults);
  const Phrase first = cardinal(draw.between(0, 40)), second = cardinal(draw.between(0, 40));
  return {words({team.english, result.english, first.english, "to", second.english}) + ".",
          words({team.german, "hat", first.german, "zu", second.german, result.german}) + "."};
}

Phrase percent_sentence(Draw& draw) {
  static const Phrase kGroups[] = {{"of the pupils", "der Schüler"},
                                   {"of the guests", "der Gäste"},
                                   {"of the women", "der Frauen"},
                                   {"of the men", "der Männer"}};
  static const Phrase kActs[] = {{"learn German", "lernen Deutsch"},
                                 {"live in the city", "wohnen in der Stadt"},
                                 {"drink coffee", "trinken Kaffee"},
                                 {"come by bus", "kommen mit dem Bus"}};
  const Phrase share = cardinal(draw.between(2, 100));
  return ended(sequence({share, {"per cent", "Prozent"}, draw.pick(kGroups), draw.pick(kActs)}));
}

constexpr Template kNumberTemplates[] = {
    {6, price_sentence},      {3, price_with_genitive}, {3, wage_sentence},       {3, dimension_sentence},
    {2, comparison_sentence}, {2, weight_sentence},     {2, distance_sentence},   {1, temperature_sentence},
    {4, population_sentence}, {2, age_sentence},        {3, arithmetic_sentence}, {6, bare_number_sentence},
    {2, label_sentence},      {4, existence_sentence},  {1, score_sentence},      {1, percent_sentence}};

}  // namespace

std::span<const Template> number_templates() { return kNumberTemplates; }

}  // namespace gyre::corpus
