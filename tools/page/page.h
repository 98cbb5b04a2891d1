// Makes self-contained HTML pages: one file with its styles, scripts and data, which needs no network.
#pragma once

#include <string>
#include <string_view>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"

namespace gyre {

// Fills in a template of tools/page/assets. {{NAME}} becomes the string of that name in the fields or, if there is
// none, the asset of that name, which is filled in likewise if it is HTML. The text between {{#NAME}} and {{/NAME}}
// stays if the field is neither absent nor null, false or empty; it is repeated for the items of an array, and the
// names in it are first those of the item, or of a field that is an object. The text between {{^NAME}} and {{/NAME}}
// stays in the other case. A section has no section of its own name.
std::string fill_template(std::string_view text, const Json& fields);

// Fills in a template with {{title}}, {{data}} and {{content}}, which is HTML. The template puts {{data}} into <script
// type="application/json">.
std::string make_page(std::string_view page_template, std::string_view title, const Json& data,
                      std::string_view content = {});

// Throws UsageError instead of overwriting a file whose name does not end in .html, such as the metrics or the weights
// of a run, and Error if the file cannot be written. A command that computes for long calls it first.
void require_page_output(const Path& output);

// Writes a page to a file, with the errors of require_page_output().
void write_page(const Path& output, std::string_view page);

// The text with the characters escaped that have a meaning in HTML, made printable (data/text/utf8.h).
std::string html_text(std::string_view text);

// The JSON without the character <, so that no string of it can end the script element or begin another one.
std::string script_json(const Json& json);

// The content of the file with this path below tools/page/assets. tools/cmake/embed_assets.cmake makes these files part
// of the program. Throws an Error if there is none.
std::string_view page_asset(std::string_view name);

}  // namespace gyre
