# Runs the parts of gpu_check.sh, each within its own time limit, and writes the report after each of them. Source it
# with these set: out (folder of the report), only (names of the parts to run), deadline (in $SECONDS), scale (factor of
# the limits).
# shellcheck shell=bash disable=SC2154

mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/{report.md,report.jsonl,log}
work=$(mktemp -d)
mkdir "$work/parts"
trap 'rm -rf "$work"' EXIT
failures=0 count=0 section_end=0

json_string() { printf '"%s"' "$(sed 's/\\/\\\\/g; s/"/\\"/g' <<< "$1" | tr '\n\t' '  ' | sed 's/ *$//')"; }

field() { # field NAME < JSON: prints the first number or string of this name
  grep -oE "\"$1\":(-?[0-9.e+-]+|\"[^\"]*\")" | head -n 1 | cut -d: -f2- | tr -d '"'
}

render() {
  {
    printf '# Gyre on a GPU, %s\n\n' "$(date -u '+%Y-%m-%d %H:%M UTC')"
    printf '| part | result | seconds | what |\n|---|---|---|---|\n'
    cat "$work"/parts/*.row
    find "$work/parts" -name '*.md' | sort | xargs -r cat
  } > "$out/report.md.new"
  mv "$out/report.md.new" "$out/report.md"
}

# Functions for parts. say: sets the summary line; detail: adds to the report; within: runs a command within the time
# limit; cannot: ends a part that cannot run; record JSON: adds a result to report.jsonl and prints it.
say() { printf '%s\n' "$*" > "$work/line"; }
detail() { printf '%s\n' "$*" >> "$work/detail"; }
within() { timeout -k 5 $((section_end > SECONDS ? section_end - SECONDS : 1)) "$@"; }
cannot() { say "$*"; exit 77; }
record() { printf '%s\n' "$1" | tee -a "$work/results"; }

# limited SECONDS FUNCTION...: runs a function in a process group of its own. The status is 124 after the time limit,
# also if the processes ignore signals, as those do that wait for a driver that hangs.
limited() {
  local end=$((SECONDS + $1)) pid signal status
  shift
  set -m
  (set +m; set -e; "$@") > "$work/log" 2>&1 < /dev/null &
  pid=$!
  set +m
  while kill -0 "$pid" 2> /dev/null && [ $SECONDS -lt $end ]; do sleep 0.2; done
  if ! kill -0 "$pid" 2> /dev/null; then
    wait "$pid"
    status=$?
    return $status
  fi
  for signal in TERM KILL; do
    kill -$signal -- "-$pid" 2> /dev/null || true
    sleep 1
  done
  return 124
}

# part KIND SECONDS NAME FUNCTION...: runs a part. KIND is correct (must pass), sound (must not fail within the time
# limit) or speed.
part() {
  local kind=$1 limit=$(($2 * scale / 100)) name=$3 left=$((deadline - SECONDS)) rc=0 started=$SECONDS result file
  shift 3
  [[ $name =~ $only ]] || return 0
  count=$((count + 1))
  file=$work/parts/$(printf '%02d' $count)
  rm -f "$work"/{line,detail,results,log}
  echo "== $name" >&2
  if [ "$left" -lt 5 ]; then
    say "the time for all parts is used up (--minutes)"
    rc=77
  else
    limit=$((limit < left ? limit : left))
    section_end=$((SECONDS + limit))
    set +e # not `|| rc=$?`, which would turn off set -e inside the part
    limited $((limit + 7)) "$@"
    rc=$?
    set -e
    { echo "== $name"; cat "$work/log"; } >> "$out/log"
  fi
  case $rc in
    0) result=passed ;;
    77) result='not run' ;;
    124 | 137) result='out of time' ;;
    *) result=FAILED ;;
  esac
  [ -e "$work/line" ] || say "$(tail -n 1 "$work/log" | cut -c1-200)"
  case $kind-$result in
    correct-FAILED | sound-FAILED | 'correct-out of time') failures=$((failures + 1)) ;;
  esac
  printf '| %s | %s | %d | %s |\n' "$name" "$result" $((SECONDS - started)) "$(tr '|' '/' < "$work/line")" > "$file.row"
  printf '{"part":"%s","result":"%s","seconds":%d,"what":%s,"results":[%s]}\n' "$name" "$result" $((SECONDS - started)) \
    "$(json_string "$(cat "$work/line")")" "$(paste -sd, "$work/results" 2> /dev/null)" >> "$out/report.jsonl"
  if [ -e "$work/detail" ]; then
    { printf '\n## %s\n\n' "$name"; cat "$work/detail"; } > "$file.md"
  fi
  case $result in
    FAILED | 'out of time') { printf '\n## %s: end of the log\n\n' "$name"; tail -n 30 "$work/log" | sed 's/^/    /'; } >> "$file.md" ;;
  esac
  printf '   %s: %s\n' "$result" "$(cat "$work/line")" >&2
  render
}
