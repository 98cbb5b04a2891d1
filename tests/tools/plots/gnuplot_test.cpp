// Names and texts in gnuplot scripts.
#include "tools/plots/gnuplot.h"

#include <doctest/doctest.h>

#include "gyre/core/error.h"

using namespace gyre;

TEST_CASE("gnuplot strings stay one constant on one line, whatever is in them") {
  CHECK(gnuplot_string("it's \"a\" `b` \\n @c %d") == "'it''s \"a\" `b` \\n @c %d'");
  CHECK(gnuplot_string("evil\nsystem(\"touch PWN\")\nx") == "'evil\\x0asystem(\"touch PWN\")\\x0ax'");
  CHECK(gnuplot_string("'x'") == "\"'\".'x'''");
  CHECK(gnuplot_string("a]]>b]]]>") == "'a]] >b]]] >'");
  CHECK(gnuplot_string("\x1b]0;title\x07\r\xff") == "'\\x1b]0;title\\x07\\x0d\\xff'");
}

TEST_CASE("gnuplot labels of tics are formats") { CHECK(gnuplot_tic("100%'\n") == "'100%%''\\x0a'"); }

TEST_CASE("gnuplot files are neither commands nor abbreviations") {
  CHECK(gnuplot_file("|touch x.svg") == "'./|touch x.svg'");
  CHECK(gnuplot_file("~/it's.svg") == "'./~/it''s.svg'");
  CHECK(gnuplot_file("/a/b.svg") == "'/a/b.svg'");
  CHECK_THROWS_AS(gnuplot_file("a\nb.svg"), Error);
}
