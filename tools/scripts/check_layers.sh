#!/usr/bin/env bash
# Checks that includes respect the dependencies between the libraries (tools -> train -> models -> autograd -> core,
# train -> data -> core) and between the folders of a library, and that third-party headers are included only in their
# folders. Prints each offending line; exit status 1 if there is any.
set -euo pipefail
cd "$(dirname "$0")/../.."

# FOLDER: the other folders of the same library that it may include. Every folder must be listed, by its name or as one
# of the folders below another one (train/tasks/*).
folders='
core                              : core/hardware core/virtual_gpu
core/hardware                     : core core/kernels
core/io                           : core
core/kernels                      : core core/hardware core/virtual_gpu
core/cpu                          : core core/hardware core/kernels
core/cpu/attention                : core core/kernels core/cpu core/cpu/gemm
core/cpu/gemm                     : core core/hardware core/kernels core/cpu
core/cpu/linear_attention         : core core/kernels core/cpu core/cpu/attention
core/cpu/loss                     : core core/kernels core/cpu
core/cpu/packed                   : core core/hardware core/kernels core/cpu core/cpu/gemm
core/cuda                         : core core/hardware core/kernels core/cuda/runtime
core/cuda/attention               : core core/kernels core/cuda core/cuda/runtime
core/cuda/gemm                    : core core/hardware core/kernels core/cuda core/cuda/runtime
core/cuda/linear_attention        : core core/kernels core/cuda core/cuda/runtime
core/cuda/loss                    : core core/kernels core/cuda core/cuda/runtime
core/cuda/runtime                 : core core/hardware core/kernels
core/virtual_gpu                  : core core/kernels
autograd                          :
autograd/ops                      : autograd
autograd/ops/linear_attention     : autograd autograd/ops
autograd/inspect                  : autograd
autograd/gradcheck                : autograd autograd/gradcheck/op_cases
autograd/gradcheck/op_cases       : autograd autograd/gradcheck
models                            : models/config models/modules models/position
models/config                     : models/position
models/position                   :
models/modules                    : models/config models/position
models/decode                     : models models/config models/modules
models/hugging_face               : models models/config models/modules models/position
data/text                         :
data/text/cleaning                : data/text
data/text/moses                   : data/text
data/tokenizer                    : data/text data/tokenizer/byte_bpe data/tokenizer/hugging_face data/tokenizer/sentencepiece data/tokenizer/subword_nmt data/tokenizer/wordpiece data/tokenizer/wobert
data/tokenizer/byte_bpe           : data/text data/tokenizer data/tokenizer/hugging_face
data/tokenizer/hugging_face       : data/text data/tokenizer
data/tokenizer/sentencepiece      : data/text data/tokenizer
data/tokenizer/subword_nmt        : data/text data/tokenizer
data/tokenizer/wordpiece          : data/text data/tokenizer data/tokenizer/hugging_face
data/tokenizer/wobert             : data/text data/tokenizer data/tokenizer/wordpiece
data/store                        : data/text data/tokenizer
data/batch                        : data/text data/tokenizer data/tokenizer/hugging_face data/store
data/checking                     : data/text data/text/cleaning data/tokenizer data/store data/batch
data/synthetic                    :
train                             : train/checkpoint train/log train/optim train/parallel train/parallel/health
train/log                         :
train/metrics                     :
train/metrics/significance        : train/metrics
train/parallel                    : train/parallel/health train/parallel/shared_memory
train/parallel/health             :
train/parallel/mpi                : train/log train/parallel train/parallel/health train/parallel/shared_memory
train/parallel/shared_memory      : train/parallel
train/optim                       : train/parallel
train/checkpoint                  : train/optim train/parallel
train/pretrained                  : train/checkpoint
train/tasks                       : train train/checkpoint train/parallel train/pretrained
train/tasks/*                     : train train/checkpoint train/log train/metrics train/optim train/parallel train/pretrained train/tasks
train/analysis                    : train/tasks train/log
tools                             : tools/command_line tools/help tools/options
tools/command_line                : tools/plots
tools/help                        : tools/command_line
tools/options                     : tools/command_line
tools/options/tasks               : tools/command_line tools/options
tools/workload                    : tools tools/command_line tools/workload/gpu
tools/workload/gpu                : tools tools/workload
tools/bench                       : tools tools/options tools/workload tools/workload/gpu
tools/plots                       :
tools/page                        :
tools/page/run                    : tools/command_line tools/page
tools/lessons                     : tools/examples/custom_op tools/examples/scalar_tape tools/page tools/page/tape
tools/page/tape                   : tools/inspect/tape tools/workload
tools/inspect                     : tools tools/command_line tools/options tools/plots tools/workload
tools/inspect/tape                : tools/inspect tools/plots
tools/commands                    : tools tools/bench tools/command_line tools/help tools/inspect tools/options tools/options/tasks tools/page tools/page/run tools/workload tools/workload/gpu
tools/commands/data               : tools tools/command_line tools/options tools/options/tasks tools/workload tools/workload/gpu
tools/commands/evaluate           : tools tools/command_line tools/options tools/options/tasks
tools/commands/inspect            : tools tools/command_line tools/inspect tools/inspect/tape tools/options tools/options/tasks tools/page tools/page/tape tools/plots tools/workload tools/workload/gpu
tools/commands/plan               : tools tools/command_line tools/options tools/options/tasks tools/workload tools/workload/gpu
tools/commands/plot               : tools tools/command_line tools/options tools/plots
tools/commands/train              : tools tools/command_line tools/options tools/options/tasks
tools/examples/char_lm            :
tools/examples/custom_op          :
tools/examples/scalar_tape        :
tools/examples/xor                :
'

# LIBRARY: the other libraries that it may include.
libraries='
core     :
autograd : core
models   : autograd core
data     : core
train    : models data autograd core
tools    : train models data autograd core
'

# HEADER (a pattern): the folders that may include it.
headers='
cblas\.h|omp\.h                   : core
mpi\.h                            : train/parallel/mpi
CLI/                              : tools
spdlog/                           : train tools
nlohmann/                         : core/io data/text data/tokenizer models/config models/hugging_face train tools
sentencepiece                     : data/tokenizer
zlib\.h|zstd\.h|lzma\.h            : data/text
unicode/                          : data/text data/tokenizer train/metrics
'

git ls-files core autograd models data train tools | grep -E '\.(h|cpp|cu|cuh)$' | xargs grep -nE '^ *#include ["<]' |
  awk -v folders="$folders" -v libraries="$libraries" -v headers="$headers" '
    function table(text, keys, values,    lines, i, n, colon, key) {
      n = split(text, lines, "\n")
      for (i = 1; i <= n; ++i) if ((colon = index(lines[i], " : ")) || (colon = index(lines[i], " :"))) {
        key = substr(lines[i], 1, colon - 1); gsub(/ +$/, "", key)
        keys[++keys[0]] = key; values[key] = " " substr(lines[i], colon + 3) " "
      }
    }
    function offends(reason) { print line; print "  " reason; bad = 1 }
    function under(folder, list,    names, i, n) {
      n = split(list, names, " ")
      for (i = 1; i <= n; ++i) if (index(folder "/", names[i] "/") == 1) return 1
      return 0
    }
    BEGIN { table(folders, folder_keys, may_enter); table(libraries, library_keys, may_use); table(headers, header_keys, owners) }
    {
      line = $0
      split(line, parts, ":"); from = parts[1]; sub(/\/[^\/]*$/, "", from); library = from; sub(/\/.*/, "", library)
      row = from
      if (!(row in may_enter)) sub(/\/[^\/]*$/, "/*", row)
      if (!(row in may_enter)) { if (!(from in reported)) offends(from " is not listed in tools/scripts/check_layers.sh"); reported[from]; next }
      included = line; sub(/^[^:]*:[^:]*: *#include ["<]/, "", included); sub(/[">].*/, "", included)
      for (i = 1; i <= header_keys[0]; ++i)
        if (line ~ /#include </ && included ~ "^(" header_keys[i] ")" && !under(from, owners[header_keys[i]]))
          offends("<" included "> may be included only in" owners[header_keys[i]])
      if (line !~ /#include "/ || included !~ /\//) next
      if (included !~ /^(gyre|tools)\//) { offends("headers of the libraries are included as \"gyre/...\""); next }
      sub(/^gyre\//, "", included); to = included; sub(/\/[^\/]*$/, "", to); other = to; sub(/\/.*/, "", other)
      if (other != library && index(may_use[library], " " other " ") == 0) offends(library " may include only" may_use[library])
      if (other == library && to != from && index(may_enter[row], " " to " ") == 0) offends(from " may include only" may_enter[row])
      if (other != library && to ~ /^core\/(cpu|cuda)/) offends("the kernels are private to core")
    }
    END { if (!bad) print "layers: all includes are allowed"; exit bad }'
