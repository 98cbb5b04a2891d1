// Pages from templates: everything that comes from files is escaped, and every asset can be placed.
#include "tools/page/page.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

using namespace gyre;

TEST_CASE("text is escaped for HTML") {
  CHECK(html_text("a<b> & \"c\"") == "a&lt;b&gt; &amp; &quot;c&quot;");
  CHECK(html_text("plain äöü") == "plain äöü");
  CHECK(html_text("'</script>]]>\x1b\xff") == "&#39;&lt;/script&gt;]]&gt;\\x1b\\xff");
}

TEST_CASE("JSON in a script element cannot end it, and has the same values") {
  const Json json{{"</script>", "<!-- <img onerror=x> \\ \" \xff"}, {"number", 0.1}};
  const std::string text = script_json(json);
  CHECK(text.find('<') == std::string::npos);
  const auto read = Json::parse(text);
  CHECK(read["</script>"] == "<!-- <img onerror=x> \\ \" \xEF\xBF\xBD");
  CHECK(read["number"] == 0.1);
}

TEST_CASE("sections of a template stay, go or are repeated, and leave no empty lines") {
  const std::string_view text =
      "{{#rows}}\n{{name}}{{#note}} ({{note}}){{/note}} of {{title}}\n{{/rows}}\n{{^rows}}\nnone\n{{/rows}}\nend";
  const Json rows{{{"name", "a"}, {"note", "first"}}, {{"name", "b"}, {"note", ""}}};
  CHECK(fill_template(text, {{"title", "t"}, {"rows", rows}}) == "a (first) of t\nb of t\nend");
  for (const Json& empty : {Json(), Json(false), Json(""), Json::array()})
    CHECK(fill_template(text, {{"title", "t"}, {"rows", empty}}) == "none\nend");
  CHECK(fill_template("{{#a}}[{{x}}]{{/a}}", {{"x", "outer"}, {"a", {{"x", "inner"}}}}) == "[inner]");
  CHECK_THROWS_WITH_AS(fill_template("{{#a}}b", {{"a", true}}), "[page] expected {{/a}}", Error);
}

TEST_CASE("a template gets its title, its data and assets, each once") {
  const Json data{{"text", "{{title}}"}};
  CHECK(make_page("<h1>{{title}}</h1>{{data}}!", "a & {{data}}", data) ==
        "<h1>a &amp; {{data}}</h1>{\"text\":\"{{title}}\"}!");
  const std::string page = make_page("{{elements.js}}", "", data);
  CHECK(page == page_asset("elements.js"));
  CHECK(page.find("function svgElement") != std::string::npos);
  CHECK_THROWS_WITH_AS(make_page("{{none.js}}", "", data), "[page] there is no asset none.js", Error);
  CHECK_THROWS_WITH_AS(make_page("<p>{{title", "", data), doctest::Contains("expected }}"), Error);
}
