#include "gyre/data/synthetic/lexicon.h"

namespace gyre::corpus {
namespace {

// Rows: nominative, accusative, dative, genitive; columns: masculine, feminine, neuter.
using Table = std::string_view[4][3];

constexpr Table kDefinite = {
    {"der", "die", "das"}, {"den", "die", "das"}, {"dem", "der", "dem"}, {"des", "der", "des"}};
constexpr Table kEin = {{"", "e", ""}, {"en", "e", ""}, {"em", "er", "em"}, {"es", "er", "es"}};
constexpr Table kAfterDer = {{"e", "e", "e"}, {"en", "e", "e"}, {"en", "en", "en"}, {"en", "en", "en"}};
constexpr Table kAfterEin = {{"er", "e", "es"}, {"en", "e", "es"}, {"en", "en", "en"}, {"en", "en", "en"}};

std::string_view look_up(const Table& table, Case c, Gender g) { return table[int(c)][int(g)]; }

}  // namespace

std::string_view definite_article(Case c, Gender g) { return look_up(kDefinite, c, g); }
std::string_view ein_ending(Case c, Gender g) { return look_up(kEin, c, g); }
std::string_view adjective_after_der(Case c, Gender g) { return look_up(kAfterDer, c, g); }
std::string_view adjective_after_ein(Case c, Gender g) { return look_up(kAfterEin, c, g); }

std::string_view adjective_after_numeral(Case c) {
  constexpr std::string_view kStrongPlural[] = {"e", "e", "en", "er"};
  return kStrongPlural[int(c)];
}

std::string dative_plural(std::string_view plural) {
  std::string text(plural);
  if (!text.ends_with('n') && !text.ends_with('s')) text += 'n';
  return text;
}

namespace {

constexpr auto kM = Gender::masculine;
constexpr auto kF = Gender::feminine;
constexpr auto kN = Gender::neuter;

constexpr Noun kNouns[] = {
    {"apple", "apples", "Apfel", kM, "Äpfel", "Apfels", kFood},
    {"pear", "pears", "Birne", kF, "Birnen", "Birne", kFood},
    {"egg", "eggs", "Ei", kN, "Eier", "Eis", kFood},
    {"potato", "potatoes", "Kartoffel", kF, "Kartoffeln", "Kartoffel", kFood},
    {"banana", "bananas", "Banane", kF, "Bananen", "Banane", kFood},
    {"tomato", "tomatoes", "Tomate", kF, "Tomaten", "Tomate", kFood},
    {"cake", "cakes", "Kuchen", kM, "Kuchen", "Kuchens", kFood},
    {"bread roll", "bread rolls", "Brötchen", kN, "Brötchen", "Brötchens", kFood},
    {"sausage", "sausages", "Wurst", kF, "Würste", "Wurst", kFood},
    {"book", "books", "Buch", kN, "Bücher", "Buches", kReading},
    {"letter", "letters", "Brief", kM, "Briefe", "Briefes", kReading},
    {"postcard", "postcards", "Postkarte", kF, "Postkarten", "Postkarte", kReading},
    {"report", "reports", "Bericht", kM, "Berichte", "Berichtes", kReading},
    {"cup", "cups", "Tasse", kF, "Tassen", "Tasse", kThing},
    {"plate", "plates", "Teller", kM, "Teller", "Tellers", kThing},
    {"glass", "glasses", "Glas", kN, "Gläser", "Glases", kThing},
    {"chair", "chairs", "Stuhl", kM, "Stühle", "Stuhls", kThing},
    {"table", "tables", "Tisch", kM, "Tische", "Tisches", kThing},
    {"lamp", "lamps", "Lampe", kF, "Lampen", "Lampe", kThing},
    {"key", "keys", "Schlüssel", kM, "Schlüssel", "Schlüssels", kThing},
    {"picture", "pictures", "Bild", kN, "Bilder", "Bildes", kThing},
    {"clock", "clocks", "Uhr", kF, "Uhren", "Uhr", kThing},
    {"shirt", "shirts", "Hemd", kN, "Hemden", "Hemdes", kThing},
    {"jacket", "jackets", "Jacke", kF, "Jacken", "Jacke", kThing},
    {"coat", "coats", "Mantel", kM, "Mäntel", "Mantels", kThing},
    {"hat", "hats", "Hut", kM, "Hüte", "Hutes", kThing},
    {"knife", "knives", "Messer", kN, "Messer", "Messers", kThing},
    {"spoon", "spoons", "Löffel", kM, "Löffel", "Löffels", kThing},
    {"suitcase", "suitcases", "Koffer", kM, "Koffer", "Koffers", kThing},
    {"bag", "bags", "Tasche", kF, "Taschen", "Tasche", kThing},
    {"umbrella", "umbrellas", "Regenschirm", kM, "Regenschirme", "Regenschirms", kThing},
    {"car", "cars", "Auto", kN, "Autos", "Autos", kProperty},
    {"house", "houses", "Haus", kN, "Häuser", "Hauses", kProperty},
    {"bicycle", "bicycles", "Fahrrad", kN, "Fahrräder", "Fahrrads", kProperty},
    {"boat", "boats", "Boot", kN, "Boote", "Bootes", kProperty},
    {"flat", "flats", "Wohnung", kF, "Wohnungen", "Wohnung", kProperty},
    {"machine", "machines", "Maschine", kF, "Maschinen", "Maschine", kProperty},
    {"lorry", "lorries", "Lastwagen", kM, "Lastwagen", "Lastwagens", kProperty},
    {"dog", "dogs", "Hund", kM, "Hunde", "Hundes", kAnimal},
    {"cat", "cats", "Katze", kF, "Katzen", "Katze", kAnimal},
    {"horse", "horses", "Pferd", kN, "Pferde", "Pferdes", kAnimal},
    {"cow", "cows", "Kuh", kF, "Kühe", "Kuh", kAnimal},
    {"bird", "birds", "Vogel", kM, "Vögel", "Vogels", kAnimal},
    {"mouse", "mice", "Maus", kF, "Mäuse", "Maus", kAnimal},
    {"sheep", "sheep", "Schaf", kN, "Schafe", "Schafes", kAnimal},
    {"duck", "ducks", "Ente", kF, "Enten", "Ente", kAnimal},
    {"child", "children", "Kind", kN, "Kinder", "Kindes", kPeople},
    {"woman", "women", "Frau", kF, "Frauen", "Frau", kPeople},
    {"man", "men", "Mann", kM, "Männer", "Mannes", kPeople},
    {"girl", "girls", "Mädchen", kN, "Mädchen", "Mädchens", kPeople},
    {"guest", "guests", "Gast", kM, "Gäste", "Gastes", kPeople},
    {"friend", "friends", "Freund", kM, "Freunde", "Freundes", kPeople},
    {"aunt", "aunts", "Tante", kF, "Tanten", "Tante", kPeople},
};

constexpr Adjective kAdjectives[] = {
    {"red", "rot", kThing | kProperty},
    {"blue", "blau", kThing | kProperty},
    {"green", "grün", kThing | kProperty},
    {"black", "schwarz", kThing | kProperty | kAnimal},
    {"white", "weiß", kThing | kProperty | kAnimal},
    {"old", "alt", kReading | kThing | kProperty | kAnimal},
    {"new", "neu", kReading | kThing | kProperty},
    {"small", "klein", kFood | kThing | kProperty | kAnimal},
    {"big", "groß", kFood | kThing | kProperty | kAnimal},
    {"beautiful", "schön", kReading | kThing | kProperty | kAnimal},
    {"cheap", "billig", kFood | kReading | kThing | kProperty},
    {"fresh", "frisch", kFood},
    {"young", "jung", kAnimal | kPeople},
    {"friendly", "freundlich", kPeople},
    {"clever", "klug", kAnimal | kPeople},
};

constexpr auto kFirst = Agreement::first;
constexpr auto kSecond = Agreement::second;
constexpr auto kThird = Agreement::third;
constexpr auto kPlural = Agreement::plural;

// The pronouns must come first, because pronouns() is the head of this table.
constexpr Person kPeopleTable[] = {
    {"I", "me", "ich", "mich", "mir", kFirst, kI, true},
    {"you", "you", "du", "dich", "dir", kSecond, kYou, true},
    {"he", "him", "er", "ihn", "ihm", kThird, kHe, true},
    {"she", "her", "sie", "sie", "ihr", kThird, kShe, true},
    {"we", "us", "wir", "uns", "uns", kPlural, kWe, true},
    {"they", "them", "sie", "sie", "ihnen", kPlural, kThey, true},
    {"Anna", "Anna", "Anna", "Anna", "Anna", kThird, kShe},
    {"Paul", "Paul", "Paul", "Paul", "Paul", kThird, kHe},
    {"Maria", "Maria", "Maria", "Maria", "Maria", kThird, kShe},
    {"Max", "Max", "Max", "Max", "Max", kThird, kHe},
    {"my brother", "my brother", "mein Bruder", "meinen Bruder", "meinem Bruder", kThird, kHe},
    {"my sister", "my sister", "meine Schwester", "meine Schwester", "meiner Schwester", kThird, kShe},
    {"his father", "his father", "sein Vater", "seinen Vater", "seinem Vater", kThird, kHe},
    {"her mother", "her mother", "ihre Mutter", "ihre Mutter", "ihrer Mutter", kThird, kShe},
    {"your uncle", "your uncle", "dein Onkel", "deinen Onkel", "deinem Onkel", kThird, kHe},
    {"our neighbour", "our neighbour", "unser Nachbar", "unseren Nachbarn", "unserem Nachbarn", kThird, kHe},
    {"the teacher", "the teacher", "der Lehrer", "den Lehrer", "dem Lehrer", kThird, kHe},
    {"the doctor", "the doctor", "die Ärztin", "die Ärztin", "der Ärztin", kThird, kShe},
    {"the farmer", "the farmer", "der Bauer", "den Bauern", "dem Bauern", kThird, kHe},
    {"the children", "the children", "die Kinder", "die Kinder", "den Kindern", kPlural, kThey},
    {"my parents", "my parents", "meine Eltern", "meine Eltern", "meinen Eltern", kPlural, kThey},
    {"our friends", "our friends", "unsere Freunde", "unsere Freunde", "unseren Freunden", kPlural, kThey},
};

constexpr Possessive kPossessives[] = {{"my", "mein"}, {"your", "dein"}, {"his", "sein"},
                                       {"her", "ihr"}, {"our", "unser"}, {"their", "ihr"}};

// Excludes English verbs whose past equals their present ("read", "put"): the German tense would be ambiguous.
constexpr Verb kObjectVerbs[] = {
    {"buy", "buys", "bought", "", "kaufen", "kaufe", "kaufst", "kauft", "gekauft", false,
     kFood | kReading | kThing | kProperty | kAnimal | kDrink | kGroceries},
    {"sell", "sells", "sold", "", "verkaufen", "verkaufe", "verkaufst", "verkauft", "verkauft", false,
     kFood | kReading | kThing | kProperty | kAnimal | kDrink | kGroceries},
    {"need", "needs", "needed", "", "brauchen", "brauche", "brauchst", "braucht", "gebraucht", false,
     kFood | kReading | kThing | kProperty | kDrink | kGroceries | kMoney},
    {"see", "sees", "saw", "", "sehen", "sehe", "siehst", "sieht", "gesehen", false, kProperty | kAnimal | kPeople},
    {"find", "finds", "found", "", "finden", "finde", "findest", "findet", "gefunden", false,
     kReading | kThing | kAnimal | kMoney},
    {"order", "orders", "ordered", "", "bestellen", "bestelle", "bestellst", "bestellt", "bestellt", false,
     kFood | kReading | kThing | kDrink | kGroceries},
    {"count", "counts", "counted", "", "zählen", "zähle", "zählst", "zählt", "gezählt", false,
     kFood | kThing | kProperty | kAnimal | kPeople},
    {"eat", "eats", "ate", "", "essen", "esse", "isst", "isst", "gegessen", false, kFood},
    {"drink", "drinks", "drank", "", "trinken", "trinke", "trinkst", "trinkt", "getrunken", false, kDrink},
    {"write", "writes", "wrote", "", "schreiben", "schreibe", "schreibst", "schreibt", "geschrieben", false, kReading},
    {"borrow", "borrows", "borrowed", "aus", "leihen", "leihe", "leihst", "leiht", "ausgeliehen", false,
     kReading | kThing},
    {"bring along", "brings along", "brought along", "mit", "bringen", "bringe", "bringst", "bringt", "mitgebracht",
     false, kFood | kReading | kThing | kPeople | kDrink | kGroceries},
    {"throw away", "throws away", "threw away", "weg", "werfen", "werfe", "wirfst", "wirft", "weggeworfen", false,
     kFood | kReading | kThing},
    {"carry", "carries", "carried", "", "tragen", "trage", "trägst", "trägt", "getragen", false, kThing},
    {"lose", "loses", "lost", "", "verlieren", "verliere", "verlierst", "verliert", "verloren", false, kThing | kMoney},
    {"draw", "draws", "drew", "", "zeichnen", "zeichne", "zeichnest", "zeichnet", "gezeichnet", false,
     kThing | kProperty | kAnimal | kPeople},
    {"feed", "feeds", "fed", "", "füttern", "füttere", "fütterst", "füttert", "gefüttert", false, kAnimal},
    {"invite", "invites", "invited", "ein", "laden", "lade", "lädst", "lädt", "eingeladen", false, kPeople},
    {"repair", "repairs", "repaired", "", "reparieren", "repariere", "reparierst", "repariert", "repariert", false,
     kProperty},
    {"pay", "pays", "paid", "", "bezahlen", "bezahle", "bezahlst", "bezahlt", "bezahlt", false, kMoney},
    {"spend", "spends", "spent", "aus", "geben", "gebe", "gibst", "gibt", "ausgegeben", false, kMoney},
    {"save", "saves", "saved", "", "sparen", "spare", "sparst", "spart", "gespart", false, kMoney},
    {"earn", "earns", "earned", "", "verdienen", "verdiene", "verdienst", "verdient", "verdient", false, kMoney},
};

constexpr Verb kPersonVerbs[] = {
    {"call", "calls", "called", "an", "rufen", "rufe", "rufst", "ruft", "angerufen"},
    {"visit", "visits", "visited", "", "besuchen", "besuche", "besuchst", "besucht", "besucht"},
    {"meet", "meets", "met", "", "treffen", "treffe", "triffst", "trifft", "getroffen"},
    {"greet", "greets", "greeted", "", "begrüßen", "begrüße", "begrüßt", "begrüßt", "begrüßt"},
    {"help", "helps", "helped", "", "helfen", "helfe", "hilfst", "hilft", "geholfen", false, 0, true},
    {"thank", "thanks", "thanked", "", "danken", "danke", "dankst", "dankt", "gedankt", false, 0, true},
};

constexpr Verb kGivingVerbs[] = {
    {"give", "gives", "gave", "", "geben", "gebe", "gibst", "gibt", "gegeben", false,
     kFood | kReading | kThing | kMoney},
    {"show", "shows", "showed", "", "zeigen", "zeige", "zeigst", "zeigt", "gezeigt", false,
     kReading | kThing | kProperty | kAnimal},
    {"send", "sends", "sent", "", "schicken", "schicke", "schickst", "schickt", "geschickt", false,
     kReading | kThing | kMoney},
};

constexpr Verb kDailyVerbs[] = {
    {"get up", "gets up", "got up", "auf", "stehen", "stehe", "stehst", "steht", "aufgestanden", true},
    {"wake up", "wakes up", "woke up", "auf", "wachen", "wache", "wachst", "wacht", "aufgewacht", true},
    {"fall asleep", "falls asleep", "fell asleep", "ein", "schlafen", "schlafe", "schläfst", "schläft", "eingeschlafen",
     true},
    {"drive off", "drives off", "drove off", "los", "fahren", "fahre", "fährst", "fährt", "losgefahren", true},
    {"arrive", "arrives", "arrived", "an", "kommen", "komme", "kommst", "kommt", "angekommen", true},
    {"come back", "comes back", "came back", "zurück", "kommen", "komme", "kommst", "kommt", "zurückgekommen", true},
    {"have breakfast", "has breakfast", "had breakfast", "", "frühstücken", "frühstücke", "frühstückst", "frühstückt",
     "gefrühstückt"},
    {"work", "works", "worked", "", "arbeiten", "arbeite", "arbeitest", "arbeitet", "gearbeitet"},
    {"sing", "sings", "sang", "", "singen", "singe", "singst", "singt", "gesungen"},
};

constexpr Place kPlaces[] = {{"at the market", "auf dem Markt"}, {"in the garden", "im Garten"},
                             {"at the station", "am Bahnhof"},   {"in the city", "in der Stadt"},
                             {"in the village", "im Dorf"},      {"at school", "in der Schule"},
                             {"on the island", "auf der Insel"}, {"in the park", "im Park"}};

constexpr Place kCities[] = {{"Berlin", "Berlin"}, {"Hamburg", "Hamburg"}, {"Munich", "München"},
                             {"Vienna", "Wien"},   {"Cologne", "Köln"},    {"Zurich", "Zürich"},
                             {"London", "London"}, {"Paris", "Paris"},     {"Rome", "Rom"}};

}  // namespace

std::span<const Noun> nouns() { return kNouns; }
std::span<const Adjective> adjectives() { return kAdjectives; }
std::span<const Person> people() { return kPeopleTable; }
std::span<const Person> pronouns() { return people().first(std::size(kPossessives)); }
std::span<const Possessive> possessives() { return kPossessives; }
std::span<const Verb> object_verbs() { return kObjectVerbs; }
std::span<const Verb> person_verbs() { return kPersonVerbs; }
std::span<const Verb> giving_verbs() { return kGivingVerbs; }
std::span<const Verb> daily_verbs() { return kDailyVerbs; }
std::span<const Place> places() { return kPlaces; }
std::span<const Place> cities() { return kCities; }

}  // namespace gyre::corpus
