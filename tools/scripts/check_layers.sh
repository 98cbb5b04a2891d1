#!/usr/bin/env bash
# Checks that includes respect the groups of folders below, which have no circles, and that third-party headers are
# included only in their folders. Prints each offending line; exit status 1 if there is any.
set -euo pipefail
cd "$(dirname "$0")/../.."

# GROUP : its folders, with all folders below them : the groups that it may include. It includes only groups that are
# listed before it.
# A folder belongs to the group with the longest path.
groups='
core     : core                                                                        :
backends : core/cpu core/cuda                                                          : core
autograd : autograd                                                                    : core
models   : models                                                                      : core autograd
text     : data/text data/tokenizer                                                    : core
data     : data                                                                        : core text
parallel : train/parallel train/log                                                    : core autograd text
optim    : train/optim train/checkpoint train/pretrained                               : core autograd models text parallel
train    : train                                                                       : core autograd models text data parallel optim
tasks    : train/tasks train/metrics train/analysis                                    : core autograd models text data parallel optim train
program  : tools                                                                       : core autograd models text data parallel optim train tasks
workload : tools/workload tools/bench tools/inspect tools/page tools/lessons tools/examples : core autograd models text data parallel optim train tasks program
commands : tools/commands                                                              : core autograd models text data parallel optim train tasks program workload
'

# HEADER (a pattern): the folders that may include it.
headers='
cblas\.h|omp\.h                   : core
mpi\.h                            : train/parallel/mpi
CLI/                              : tools
spdlog/                           : train tools
nlohmann/                         : core/io data/chat data/text data/tokenizer models/config models/hugging_face train tools
sentencepiece                     : data/tokenizer
zlib\.h|zstd\.h|lzma\.h            : data/text
unicode/                          : data/text data/tokenizer train/metrics
'

git ls-files core autograd models data train tools | grep -E '\.(h|cpp|cu|cuh)$' | xargs grep -nE '^ *#include ["<]' |
  awk -v groups="$groups" -v headers="$headers" '
    function rows(text, cells,    lines, i, n, count, parts) {
      n = split(text, lines, "\n")
      for (i = 1; i <= n; ++i) if (lines[i] ~ /[^ ]/) {
        ++count; split(lines[i], parts, / *: */)
        cells[count, 1] = parts[1]; cells[count, 2] = " " parts[2] " "; cells[count, 3] = " " parts[3] " "
      }
      return count
    }
    function offends(reason) { print line; print "  " reason; bad = 1 }
    function under(folder, list,    names, i, n) {
      n = split(list, names, " ")
      for (i = 1; i <= n; ++i) if (index(folder "/", names[i] "/") == 1) return 1
      return 0
    }
    function group_of(folder,    i) {
      for (; folder != ""; sub(/(^|\/)[^\/]*$/, "", folder))
        for (i = 1; i <= group_count; ++i) if (index(group[i, 2], " " folder " ")) return i
      return 0
    }
    BEGIN {
      group_count = rows(groups, group); header_count = rows(headers, header)
      for (i = 1; i <= group_count; ++i) {
        n = split(group[i, 3], names, " ")
        for (j = 1; j <= n; ++j) if (index(above, " " names[j] " ") == 0) offends("the group " names[j] " does not stand above " group[i, 1])
        above = above " " group[i, 1] " "
      }
    }
    {
      line = $0
      split(line, parts, ":"); from = parts[1]; sub(/\/[^\/]*$/, "", from); own = group_of(from)
      if (!own) { if (!(from in reported)) offends(from " is in no group of tools/scripts/check_layers.sh"); reported[from]; next }
      included = line; sub(/^[^:]*:[^:]*: *#include ["<]/, "", included); sub(/[">].*/, "", included)
      for (i = 1; i <= header_count; ++i)
        if (line ~ /#include </ && included ~ "^(" header[i, 1] ")" && !under(from, header[i, 2]))
          offends("<" included "> may be included only in" header[i, 2])
      if (line !~ /#include "/ || included !~ /\//) next
      if (included !~ /^(gyre|tools)\//) { offends("headers of the libraries are included as \"gyre/...\""); next }
      sub(/^gyre\//, "", included); to = included; sub(/\/[^\/]*$/, "", to); other = group_of(to)
      if (other != own && index(group[own, 3], " " group[other, 1] " ") == 0) offends(group[own, 1] " may include only" group[own, 3])
    }
    END { if (!bad) print "layers: all includes are allowed"; exit bad }'
