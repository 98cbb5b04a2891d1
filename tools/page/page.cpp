#include "tools/page/page.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

void reject_other_file(const Path& output) {
  const Path file = std::filesystem::weakly_canonical(output);
  if (std::filesystem::is_regular_file(file) && file.extension() != ".html")
    throw UsageError("--output: expected a new file or one that ends in .html, ", output.string(), " exists");
}

}  // namespace

void require_page_output(const Path& output) {
  reject_other_file(output);
  // The reader of a pipe would take the end of an attempt for the end of the page.
  if (std::filesystem::is_regular_file(output) || !std::filesystem::exists(output)) const AtomicFile attempt(output);
}

void write_page(const Path& output, std::string_view page) {
  reject_other_file(output);
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

namespace {

using Scopes = std::vector<const Json*>;

// The value in the innermost scope that has the field; nullptr if none has it.
const Json* find_field(const Scopes& scopes, std::string_view name) {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (const auto found = (*scope)->find(name); found != (*scope)->end()) return &*found;
  return nullptr;
}

std::string filled(std::string_view text, Scopes& scopes);

// The text between {{#NAME}} or {{^NAME}} and {{/NAME}}. A tag on a line of its own leaves no empty line.
std::string filled_section(std::string_view tag, std::string_view text, Scopes& scopes) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  const Json* const value = find_field(scopes, tag.substr(1));
  const bool is_empty = value == nullptr || value->empty() || *value == false || *value == "";
  if (tag.starts_with('^')) return is_empty ? filled(text, scopes) : "";
  if (is_empty) return "";
  const Json once = Json::array({*value});
  std::string all;
  for (const Json& item : value->is_array() ? *value : once) {
    if (item.is_object()) scopes.push_back(&item);
    all += filled(text, scopes);
    if (item.is_object()) scopes.pop_back();
  }
  return all;
}

std::string filled(std::string_view text, Scopes& scopes) {
  std::string all;
  while (true) {
    const size_t begin = text.find("{{");
    all += text.substr(0, begin);
    if (begin == std::string_view::npos) return all;
    const size_t end = text.find("}}", begin);
    require(end != std::string_view::npos, "[page] expected }} after ", text.substr(begin, 20));
    const std::string_view tag = text.substr(begin + 2, end - begin - 2);
    text.remove_prefix(end + 2);
    if (tag.starts_with('#') || tag.starts_with('^')) {
      const std::string close = concat("{{/", tag.substr(1), "}}");
      const size_t length = text.find(close);
      require(length != std::string_view::npos, "[page] expected ", close);
      all += filled_section(tag, text.substr(0, length), scopes);
      const bool ends_line = length > 0 && text[length - 1] == '\n';
      text.remove_prefix(length + close.size());
      if (ends_line && text.starts_with('\n')) text.remove_prefix(1);
    } else if (const Json* const value = find_field(scopes, tag)) {
      all += value->get_ref<const std::string&>();
    } else {
      all += tag.ends_with(".html") ? filled(page_asset(tag), scopes) : page_asset(tag);
    }
  }
}

}  // namespace

std::string fill_template(std::string_view text, const Json& fields) {
  Scopes scopes{&fields};
  return filled(text, scopes);
}

std::string make_page(std::string_view page_template, std::string_view title, const Json& data,
                      std::string_view content) {
  return fill_template(page_template, {{"title", html_text(title)}, {"data", script_json(data)}, {"content", content}});
}

}  // namespace gyre
