#!/usr/bin/env bash
# Tests `gyre help`, the man page and completion, which are all generated from the option tables.
. "$(dirname "$0")/lib.sh"

"$GYRE" help > overview.txt
for word in train batches exit-status; do check "the overview has $word" grep -qE "^  $word " overview.txt; done
"$GYRE" help train nmt > nmt.txt
check "help COMMAND prints the same as COMMAND --help" diff nmt.txt <("$GYRE" train nmt --help)
check "common options come first" grep -q -- '--learn-rate RATE' nmt.txt
check "--help is short: $(wc -l < nmt.txt) lines" test "$(wc -l < nmt.txt)" -le 80
check "--help refers to --help-all" grep -qE '^[0-9]+ more options and all aliases: gyre train nmt --help-all$' nmt.txt
"$GYRE" train nmt --help-all > all.txt
check "all options under all names" grep -qE -- '^  -l, --learn-rate, --lr RATE$' all.txt
check "types are words" test -z "$(cat all.txt <("$GYRE" import --help) | grep -E ' x [0-9]|\{false\}')"
check "--help of a command without common options lists all options" diff <("$GYRE" import --help) <("$GYRE" import --help-all)
check "help of the program" grep -qE '^  translate ' <("$GYRE" --help)
check "help of a group lists its commands" grep -qE '^  classify ' <("$GYRE" help train)
sed -n '/^Topics/,$p' overview.txt | tail -n +2 | awk '{ print $1 }' > topics.txt
while read -r topic; do
  "$GYRE" help "$topic" > page.txt
  check "$topic: $(wc -l < page.txt) lines, which fit a terminal" \
    awk -v most="$([ "$topic" = configuration ] && echo 60 || echo 32)" \
    'length > 80 { wide = 1 } END { exit wide || NR < 6 || NR > most }' page.txt # the page on configuration has a table
  # Collect the options that the pages name, to check below that they exist.
  grep -oE -- '--[a-z][a-z-]+' page.txt | sort -u >> options.txt || true
done < topics.txt
rejects 2 'unknown topic or command bathces; did you mean batches\?' "$GYRE" help bathces
rejects 2 'unknown topic or command trian; did you mean train\?' "$GYRE" help trian nmt
rejects 2 'unknown subcommand nm; did you mean nmt\?' "$GYRE" help train nm

"$GYRE" man > gyre.1
while read -r option; do
  case $option in --hostfile | --map-by | --bind-to | --logdir) continue ;; esac # options of mpirun and TensorBoard
  grep -qF -- "${option//-/\\-}" gyre.1 || fail "a topic names the unknown option $option"
done < options.txt
for section in NAME SYNOPSIS DESCRIPTION COMMANDS 'EXIT STATUS' ENVIRONMENT FILES 'SEE ALSO'; do
  grep -qx ".SH $section" gyre.1 || fail "the man page has no section $section"
done
if command -v groff > /dev/null; then
  groff -man -Tutf8 -ww gyre.1 > /dev/null 2> warnings.txt
  same "warnings of groff" "$(head -n 3 warnings.txt)" ""
  groff -man -Tascii -P-cbou gyre.1 > page.txt
  check "a heading" grep -q '^ *gyre train nmt$' page.txt
  grep -A 2 -e '--clip-norm NORM' page.txt | tr -s ' \n' ' ' > clip_norm.txt
  check "an option with its unit, help and default" \
    grep -qe '--clip-norm NORM gradient clipping: .*; 0: no clipping\. Default: 0\.' clip_norm.txt
else
  skipped "reading the man page" "groff is not installed"
fi

# completes WANTED WORD...: completion of the last word must give exactly these words, sorted; ...WANTED: at least this
# one.
completes() {
  local wanted=$1 got
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _gyre
  got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' ')
  [ "$got" = "$wanted" ] || [[ $wanted == ...* && " $got " == *" ${wanted#...} "* ]] \
    || fail "completion of '$*': expected '$wanted', got '$got'"
  echo "ok: $* -> ${wanted:-nothing}"
}
. <("$GYRE" completion bash)
mkdir -p files/texts && cd files
touch train.en train.de "a file.en"
completes "train translate" gyre tra
completes "mlm" gyre train ml
completes "--learn-rate" gyre train nmt --learn-r
completes "...--rope-base" gyre train nmt ""
completes "alibi" gyre train nmt --position al
completes "alibi" gyre train lm --position = al
completes "a file.en texts train.de train.en" gyre train nmt --train-sets ""
completes "train.de train.en" gyre train nmt --train-sets train.en tr
completes "texts" gyre train nmt --model te
completes "" gyre train nmt --learn-rate ""
completes "...--seed" gyre train nmt --learn-rate 1 ""
completes "softmax,window" gyre bench attention --kind softmax,wi
completes "...batches" gyre help ba
completes "nmt" gyre help train n
completes "bash" gyre completion b
completes "...--head" gyre plot attention --model texts --layer 1 ""
completes "decay" gyre plot de
# Completion offers every option of the help.
"$GYRE" train lm --help-all | grep -oE '^  -[a-zA-Z, -]+' | grep -oE -- '--[a-z-]+' > ../of_help.txt
check "more than 100 options" test "$(wc -l < ../of_help.txt)" -gt 100
_gyre_options 'train lm' | tr ' ' '\n' > ../of_completion.txt
check "all $(wc -l < ../of_help.txt) options of train lm" test -z "$(grep -vxFf ../of_completion.txt ../of_help.txt)"

if command -v zsh > /dev/null; then
  mkdir ../functions
  "$GYRE" completion zsh > ../functions/_gyre
  check "zsh completes like bash" timeout 60 zsh -f "$ROOT/tests/tools/complete.zsh" ../functions
else
  skipped "completion in zsh" "zsh is not installed"
fi
