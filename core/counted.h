// A number with its noun: "1 shard", "2 shards".
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace gyre {

// `noun`: in the singular; its plural ends with s.
template <class Number>
std::string counted(Number number, std::string_view noun) {
  return concat(number, " ", noun, number == 1 ? "" : "s");
}

}  // namespace gyre
