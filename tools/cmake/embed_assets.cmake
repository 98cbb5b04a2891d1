# Writes a C++ file with the content of all files of a folder, for tools/page/assets.h. Run as a script:
#   cmake -D FOLDER=tools/page/assets -D OUTPUT=assets.cpp -P tools/cmake/embed_assets.cmake
file(GLOB assets ${FOLDER}/*)
list(SORT assets)
set(rows "")
foreach(asset IN LISTS assets)
  get_filename_component(name ${asset} NAME)
  file(READ ${asset} content)
  string(FIND "${content}" ")asset\"" end_of_literal)
  if(NOT end_of_literal EQUAL -1)
    message(FATAL_ERROR "${asset} contains )asset\", which ends the C++ literal")
  endif()
  string(APPEND rows "    {\"${name}\", R\"asset(${content})asset\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by tools/cmake/embed_assets.cmake.
#include \"tools/page/assets.h\"

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
