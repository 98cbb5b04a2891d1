#!/usr/bin/env bash
# Includes follow the arrows of the rooms: tools -> train -> models -> autograd -> core, train -> data -> core. Libraries
# stay in their rooms too. Prints each offending line; status 1 if there is any.
set -euo pipefail
cd "$(dirname "$0")/../.."

rooms='core|autograd|models|data|train|tools|tests'
bad=0

# allow ROOM PATTERN: quoted includes of any room in ROOM/ must match PATTERN.
allow() {
  local found
  found=$(grep -rnE "^ *#include \"($rooms)/" "$1" --include='*.h' --include='*.cpp' --include='*.cu' |
    grep -vE "#include \"($2)/" || true)
  [ -z "$found" ] && return
  echo "$found"
  echo "  $1 may include only: ${2//|/, }"
  bad=1
}

# only ROOMS HEADER: a library's header is included in these rooms alone.
only() {
  local found
  found=$(grep -rnE "^ *#include <($2)" core autograd models data train tools --include='*.h' --include='*.cpp' |
    grep -vE "^($1)/" || true)
  [ -z "$found" ] && return
  echo "$found"
  echo "  <$2> belongs to: ${1//|/, }"
  bad=1
}

allow core 'core'
allow autograd 'autograd|core'
allow models 'models|autograd|core'
allow data 'data|core'
allow train 'train|models|data|autograd|core'
allow tools 'tools|train|models|data|autograd|core'

only 'core' 'cblas\.h|omp\.h'
only 'train' 'mpi\.h'
only 'tools' 'CLI/'
only 'train|tools' 'spdlog/'
only 'data' 'sentencepiece'

[ $bad -eq 0 ] && echo "layers: every include follows the arrows"
exit $bad
