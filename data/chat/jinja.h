// Renders templates in the part of the language Jinja in which chat templates are written, with the settings of Hugging
// Face's transformers: trim_blocks, lstrip_blocks, and {% generation %} around the text that the model is to write.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/json.h"

namespace gyre {

// The bytes [begin, end) of a text.
struct TextRange {
  size_t begin = 0, end = 0;
};

struct RenderedText {
  std::string text;
  std::vector<TextRange> generated;  // the texts inside {% generation %}, in order
};

// It has for (also with break and continue), if, set, macro and generation, expressions with the operators, slices and
// tests of Jinja, and the filters, methods and functions that chat templates use. include, call and the like are
// refused. So is strftime_now, whose text would change from day to day; a template that asks whether it is defined gets
// no.
class JinjaTemplate {
 public:
  // name: name of the template for messages. Throws an Error that names the line and what it did not expect there.
  JinjaTemplate(std::string name, std::string_view text);
  ~JinjaTemplate();
  JinjaTemplate(JinjaTemplate&&) noexcept;
  JinjaTemplate& operator=(JinjaTemplate&&) noexcept;

  const std::string& name() const { return name_; }
  bool marks_generated() const { return marks_generated_; }  // whether it has a {% generation %}
  // variables: an object. Thread-safe. Throws an Error with the message of raise_exception(), or for what fails.
  RenderedText render(const Json& variables) const;

 private:
  struct Program;

  std::string name_;
  std::unique_ptr<const Program> program_;
  bool marks_generated_ = false;
};

}  // namespace gyre
