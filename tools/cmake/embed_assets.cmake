# Writes a C++ file with the content of all files below a folder, for tools/page/page.h. Run as a script:
#   cmake -D FOLDER=tools/page/assets -D OUTPUT=assets.cpp -P tools/cmake/embed_assets.cmake
file(GLOB_RECURSE assets RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT assets)
set(rows "")
foreach(name IN LISTS assets)
  file(READ ${FOLDER}/${name} content)
  string(FIND "${content}" ")asset\"" end_of_literal)
  if(NOT end_of_literal EQUAL -1)
    message(FATAL_ERROR "${FOLDER}/${name} contains )asset\", which ends the C++ literal")
  endif()
  string(APPEND rows "    {\"${name}\", R\"asset(${content})asset\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by tools/cmake/embed_assets.cmake.
#include \"tools/page/page.h\"

#include <utility>

#include \"gyre/core/error.h\"

namespace gyre {
namespace {

constexpr std::pair<std::string_view, std::string_view> kAssets[] = {
${rows}};

}  // namespace

std::string_view page_asset(std::string_view name) {
  for (const auto& [asset, content] : kAssets)
    if (asset == name) return content;
  throw Error(\"[page] there is no asset \", name);
}

}  // namespace gyre
")
