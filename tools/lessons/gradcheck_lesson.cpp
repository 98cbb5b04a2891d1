#include <nlohmann/json.hpp>
#include <string>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/core/io/json.h"
#include "tools/examples/custom_op/rms_norm.h"
#include "tools/lessons/lesson_kinds.h"

namespace gyre {
namespace {

Json result_json(const GradcheckResult& result) {
  Json entries = Json::array();
  for (const GradcheckEntry& entry : result.entries)
    entries.push_back(
        {{"element", entry.index}, {"analytic", entry.analytic}, {"numeric", entry.numeric}, {"error", entry.error}});
  return {{"input", result.input}, {"passed", result.passed}, {"entries", entries}};
}

// Leaves out a term of the gradient while it exists.
class WrongGradient {
 public:
  explicit WrongGradient(bool is_wrong) { example::leave_out_a_term = is_wrong; }
  ~WrongGradient() { example::leave_out_a_term = false; }
  WrongGradient(const WrongGradient&) = delete;
  WrongGradient& operator=(const WrongGradient&) = delete;
};

Json check(const std::string& title, bool leave_out_a_term) {
  const std::vector<NamedInput> inputs{{"x", readable_numbers({2, 4}, 0)}, {"gamma", readable_numbers({4}, 1)}};
  const WrongGradient scope(leave_out_a_term);
  const std::vector<GradcheckResult> results = gradcheck(
      cpu_kernels(), [](Tape&, const auto& in) { return example::rms_norm(in[0], in[1]); }, inputs);
  Json inputs_json = Json::array();
  for (const GradcheckResult& result : results) inputs_json.push_back(result_json(result));
  return {{"title", title}, {"inputs", inputs_json}};
}

}  // namespace

Json gradcheck_lesson() {
  return {
      {"kind", "gradcheck"},
      {"checks", {check("the backward of rms_norm", false), check("the same without the term mean(g * xhat)", true)}}};
}

}  // namespace gyre
