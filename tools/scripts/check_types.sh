#!/usr/bin/env bash
# Checks that no two types outside unnamed namespaces have the same name: C++ takes both for one type, the linker keeps
# one definition of each inline member function, and only some compilers then build a program that fails.
#   tools/scripts/check_types.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
# Each fuzzer is a program of its own, and headers of the emulated GPU replace others.
twice=$(git ls-files -- '*.h' '*.cpp' '*.cu' '*.cuh' | grep -vE '^tests/(fuzz|cuda_emulation/include/gyre)/' | xargs awk '
  FNR == 1 { unnamed = 0; space = "" }
  /^namespace \{/ { unnamed = 1 }
  /^\}  \/\/ namespace$/ { unnamed = 0 }
  /^namespace [A-Za-z0-9_:]+ \{/ { space = $2 }
  !unnamed && /^(struct|class|union|enum|enum class)( alignas\([a-zA-Z0-9]+\))? [A-Za-z0-9_]+( final)?( : .*)? \{/ {
    sub(/ alignas\([a-zA-Z0-9]+\)/, "")
    name = space "::" ($2 == "class" ? $3 : $2)
    places[name] = places[name] " " FILENAME ":" FNR
    if (++count[name] == 2) names[++found] = name
  }
  END { for (i = 1; i <= found; ++i) print "error: " names[i] " is defined in" places[names[i]] }')
[ -z "$twice" ] || { echo "$twice" >&2; exit 1; }
echo "types: no name is used twice"
