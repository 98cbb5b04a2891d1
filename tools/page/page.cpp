#include "tools/page/page.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/printable.h"
#include "tools/page/assets.h"

namespace gyre {

void write_page(const Path& output, std::string_view page) {
  const Path file = std::filesystem::weakly_canonical(output);
  if (std::filesystem::is_regular_file(file) && file.extension() != ".html")
    throw UsageError("--output: expected a new file or one that ends in .html, ", output.string(), " exists");
  write_file(output, page);
}

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string script_json(const Json& json) {
  std::string escaped;
  for (const char c : json_text(json)) {
    if (c == '<') {
      escaped += "\\u003c";  // JSON has this character only inside strings
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string make_page(std::string_view page_template, std::string_view title, const Json& data,
                      std::string_view content) {
  std::string page;
  while (true) {
    const size_t begin = page_template.find("{{");
    page += page_template.substr(0, begin);
    if (begin == std::string_view::npos) return page;
    const size_t end = page_template.find("}}", begin);
    require(end != std::string_view::npos, "[page] expected }} after ", page_template.substr(begin, 20));
    const std::string_view name = page_template.substr(begin + 2, end - begin - 2);
    if (name == "title") {
      page += html_text(title);
    } else if (name == "data") {
      page += script_json(data);
    } else if (name == "content") {
      page += content;
    } else if (name.ends_with(".html")) {
      page += make_page(page_asset(name), title, data, content);
    } else {
      page += page_asset(name);
    }
    page_template.remove_prefix(end + 2);
  }
}

}  // namespace gyre
