#include "tools/lessons/lesson.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "tools/lessons/lesson_kinds.h"

namespace gyre {

Json lesson_data(std::string_view name) {
  if (name == "scalars") return scalar_lesson();
  if (name == "matrices") return matrix_lesson();
  if (name == "gradcheck") return gradcheck_lesson();
  for (const TapeLesson& lesson : tape_lessons())
    if (lesson.name == name) return record_tape_lesson(lesson);
  throw Error("[lessons] there is no lesson ", name);
}

}  // namespace gyre
