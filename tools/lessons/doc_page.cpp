#include "tools/lessons/doc_page.h"

#include <cctype>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "tools/lessons/lesson.h"
#include "tools/page/page.h"

namespace gyre {
namespace {

struct Document {
  std::string title, content;
  std::string contents;  // links to the headings of level 2
  Json lessons = Json::object();
};

std::string without_tags(const std::string& html) { return std::regex_replace(html, std::regex("<[^>]*>"), ""); }

// Makes code and tables that are wider than the screen scroll with the keyboard.
std::string with_scrolling(std::string line) {
  if (line.starts_with("<pre>")) line.insert(4, " tabindex=\"0\"");
  if (line == "<table>") return "<div class=\"scroll\" tabindex=\"0\"><table>";
  if (line == "</table>") return "</table></div>";
  return line;
}

// &lt; and the like: html_text() of the title escapes them again.
std::string unescaped(std::string text) {
  for (const auto& [entity, character] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}})
    text = std::regex_replace(text, std::regex(entity), character);
  return text;
}

void add_heading(Document& document, const std::string& level, const std::string& html) {
  const std::string text = without_tags(html), id = heading_id(unescaped(text));
  if (level == "2") document.contents += "<a href=\"#" + id + "\">" + text + "</a>\n";
  document.content += "<h" + level + " id=\"" + id + "\">" + html + "</h" + level + ">\n";
}

void add_lesson(Document& document, const std::string& name) {
  document.lessons[name] = lesson_data(name);
  document.content += "<section class=\"lesson\" aria-label=\"a tape to walk through: " + name + "\" data-lesson=\"" +
                      name + "\"><p>This figure needs JavaScript.</p></section>\n";
}

std::string with_html_links(const std::string& line) {
  const std::string index = std::regex_replace(line, std::regex("href=\"README\\.md"), "href=\"index.html");
  return std::regex_replace(index, std::regex("href=\"([A-Za-z0-9_]+)\\.md"), "href=\"$1.html");
}

Document read_document(std::string_view html) {
  static const std::regex title("<h1>(.*)</h1>"), heading("<h([23])>(.*)</h[23]>"),
      lesson("<!-- lesson: ([a-z_]+) -->");
  Document document;
  std::istringstream lines{std::string(html)};
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, heading)) {
      add_heading(document, match[1], match[2]);
    } else if (std::regex_match(line, match, lesson)) {
      add_lesson(document, match[1]);
    } else {
      if (document.title.empty() && std::regex_match(line, match, title))
        document.title = unescaped(without_tags(match[1]));
      document.content += with_scrolling(with_html_links(line)) + '\n';
    }
  }
  return document;
}

// The content with the list of headings behind the title.
std::string with_contents(const Document& document) {
  const std::string nav = "<nav class=\"contents\" aria-label=\"contents\">\n" + document.contents + "</nav>\n";
  const size_t title = document.content.find("</h1>\n");
  if (document.contents.empty() || title == std::string::npos) return document.content;
  return std::string(document.content).insert(title + 6, nav);
}

}  // namespace

std::string heading_id(std::string_view text) {
  std::string id;
  for (const char c : text) {
    if (c == ' ') {
      id += '-';
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      id += char(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return id;
}

std::string doc_page(std::string_view html) {
  const Document document = read_document(html);
  require(!document.title.empty(), "[docs] expected a heading of level 1");
  const char* page = document.lessons.empty() ? "docs/page.html" : "docs/lessons.html";
  return make_page(page_asset(page), document.title, document.lessons, with_contents(document));
}

}  // namespace gyre
