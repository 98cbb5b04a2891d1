#!/usr/bin/env bash
# Pretrains a small English encoder on books and exports its best checkpoint, with a model card, for transformers.
#   tools/experiments/english_encoder.sh TEXT OUTPUT [OPTIONS OF gyre train mlm]...
# TEXT: documents separated by blank lines. OUTPUT gets the vocabulary and the token store, the run english-encoder/ and
# hf/, the directory for transformers. Environment: RANKS=2, PIECES=8000 (of the vocabulary), LICENSE (of the model, for
# its card; default: the card names none). Existing results are kept, so the script resumes an interrupted training.
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 2 ]; then
  sed -n '3,6s/^# *//p' "$0" >&2
  exit 2
fi
text=$1
output=$2
shift 2
gyre=${GYRE:-build/gyre}
run=$output/english-encoder

"$here/books_data.sh" "$text" "$output" "${PIECES:-8000}"
"$here/../scripts/mpirun.sh" -n "${RANKS:-2}" "$gyre" train mlm \
  --config "$here/../recipes/mlm-small.toml" "$here/mlm_long.toml" \
  --train-sets "$output/text.tok" --vocab "$output/vocab.txt" --model "$run" "$@"
check_ended "$run"
license=()
if [ -n "${LICENSE-}" ]; then license=(--license "$LICENSE"); fi
"$gyre" export --to hf --model "$run" --checkpoint best --output "$output/hf" --overwrite --title "English encoder" \
  --language en "${license[@]}"
# The table of the card: metric, value and update of the best validations.
sed -n '/^## Validation/,/^## /s/^| \([a-z-]*\) | \([0-9.]*\) | \([0-9,]*\) |$/\1: \2 after \3 updates/p' "$output/hf/README.md"
