#!/usr/bin/env bash
# Checks that no two types outside unnamed namespaces have the same name: C++ takes both for one type, the linker keeps
# one of their destructors, and only some compilers then build a program that fails.
#   tools/scripts/check_types.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
# Kernels of CPUs (core/cpu) are compiled once for each instruction set, and each fuzzer is a program of its own.
twice=$(git ls-files -- '*.h' '*.cpp' | grep -v '^core/cpu/\|^tests/fuzz/' | xargs awk '
  FNR == 1 { unnamed = 0; space = "" }
  /^namespace \{/ { unnamed = 1 }
  /^\}  \/\/ namespace$/ { unnamed = 0 }
  /^namespace [A-Za-z_:]+ \{/ { space = $2 }
  !unnamed && /^(struct|class|enum class) [A-Za-z0-9_]+( final)?( : .*)? \{/ {
    name = space "::" ($1 == "enum" ? $3 : $2)
    places[name] = places[name] " " FILENAME ":" FNR
    if (++count[name] == 2) names[++found] = name
  }
  END { for (i = 1; i <= found; ++i) print "error: " names[i] " is defined in" places[names[i]] }')
[ -z "$twice" ] || { echo "$twice" >&2; exit 1; }
echo "types: no name is used twice"
