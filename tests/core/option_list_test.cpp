#include "gyre/core/option_list.h"

#include <doctest/doctest.h>

#include "tests/errors.h"

using namespace gyre;

namespace {

enum class Color : uint8_t { red, green };

}  // namespace

template <>
inline constexpr std::pair<Color, std::string_view> gyre::kEnumNames<Color>[] = {{Color::red, "red"},
                                                                                 {Color::green, "green"}};

namespace {

struct PaintOptions {
  Color color = Color::red;
  double layers = 2;
  bool dries = true;
  std::string brush = "flat";
  std::vector<double> shares{0.5, 0.25};

  void declare(OptionList& list) {
    list.group("Paint");
    list.add(OnResume::other_data, "-c,--color,--colour", &color, "");
    list.add(OnResume::other_bits, "--layers", &layers, "",
             {.bounds = between(1, 5), .unused = [this] { return dries ? "" : "--no-dries"; }});
    list.add(OnResume::same_bits, "--dries,!--no-dries", &dries, "",
             OptionDetails{.also_called = {"dry", "quick"},
                           .values_called = {{"off", {"wet", "slow"}}},
                           .elsewhere = {{{"dries"}, "Easel", "the paint is dry", "the paint dries", false}}});
    list.add(OnResume::same_bits, "--brush", one_of(&brush, {"flat", "very-round"}), "");
    list.add(OnResume::same_bits, "--shares", &shares, "");
  }
};

}  // namespace

TEST_CASE("an option reads and writes the field that it is declared for") {
  PaintOptions paint;
  OptionList list;
  paint.declare(list);
  CHECK(list.entries().size() == 5);
  CHECK(list.at("color").name() == "color");
  CHECK(list.at("color").value.choices == std::vector<std::string>{"red", "green"});
  list.at("color").value.read({"green"});
  list.at("layers").value.read({"3"});
  list.at("brush").value.read({"very_round"});
  list.at("shares").value.read({"1", "0"});
  CHECK(paint.color == Color::green);
  CHECK(paint.layers == 3);
  CHECK(paint.brush == "very-round");
  CHECK(paint.shares == std::vector<double>{1, 0});
  CHECK(list.at("color").value.toml() == "\"green\"");
  CHECK(list.at("color").value.text() == "green");
  CHECK(list.at("dries").value.text() == "on");
  CHECK(list.at("shares").value.toml() == "[1, 0]");
  CHECK(list.at("shares").value.text() == "1 0");
  CHECK(list.at("dries").also_called == std::vector<std::string>{"dry", "quick"});
  CHECK(list.at("dries").values_called.at("off") == std::vector<std::string>{"wet", "slow"});
  CHECK(list.at("dries").elsewhere.front().program == "Easel");
  CHECK(list.at("layers").is_read());
  paint.dries = false;
  CHECK(!list.at("layers").is_read());
  CHECK(contains(error_of([&] { list.at("color").value.read({"gren"}); }), "did you mean green?"));
}

TEST_CASE("an option for an enum accepts some of its values, or a word that leaves the choice to the program") {
  Color color = Color::red;
  const OptionValue green = one_of(&color, {Color::green});
  green.read({"green"});
  CHECK(color == Color::green);
  CHECK(contains(error_of([&] { green.read({"red"}); }), "expected one of green; got 'red'"));
  std::optional<Color> chosen = Color::red;
  const OptionValue any = one_of(&chosen, "auto");
  CHECK(any.choices == std::vector<std::string>{"red", "green", "auto"});
  CHECK(any.toml() == "\"red\"");
  any.read({"auto"});
  CHECK(!chosen);
  CHECK(any.text() == "auto");
  const OptionValue not_given = one_of(&chosen, "");
  CHECK(not_given.choices == std::vector<std::string>{"red", "green"});
  CHECK(not_given.toml().empty());
}

TEST_CASE("values outside of the bounds and the choices of an option are rejected") {
  PaintOptions paint;
  CHECK_NOTHROW(OptionList::of(paint).check());
  paint.layers = 6;
  CHECK(error_of([&] { OptionList::of(paint).check(); }) == "[--layers] expected a number from 1 to 5, got 6");
  paint.layers = 1;
  paint.brush = "thin";
  CHECK(error_of([&] { OptionList::of(paint).check(); }) == "[--brush] expected one of flat, very-round, got 'thin'");
  const auto holds = [](const Bounds& bounds, double value) { return bounds.contain(value); };
  CHECK(holds(at_least(1), 1));
  CHECK(!holds(at_least(1), 0));
  CHECK(holds(fraction(), 0));
  CHECK(!holds(fraction(), 1));
  CHECK(!holds(positive(), 0));
  CHECK(!holds(finite_at_least(0), std::numeric_limits<double>::infinity()));
  CHECK(!holds(finite_at_least(0), std::numeric_limits<double>::quiet_NaN()));
}
