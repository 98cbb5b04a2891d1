#!/usr/bin/env bash
# The documentation matches the sources and the program: links and files exist, commands and options are known.
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
pages=(README.md CHANGELOG.md .github/*.md tools/docs/*.md)

# Prints the matches of a pattern on a page, each once.
matches() { { grep -ohE -- "$1" "$2" || true; } | sort -u; }

for page in "${pages[@]}"; do
  while read -r link; do # without the anchor
    [ -e "$(dirname "$page")/$link" ] || fail "$page links to $link, which does not exist"
  done < <(sed '/^```/,/^```/d' "$page" | matches '\]\([^)#]+' - | cut -c3- | sed '/^https:/d')
done
echo "ok: every link leads to a file"

# Prints the anchors of a page's headings.
anchors() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }
for page in "${pages[@]}"; do anchors "$page" | sed "s|^|$page#|"; done > "$work/anchors.txt"
for page in "${pages[@]}"; do
  while IFS='#' read -r target anchor; do
    target=${target:+$(realpath --relative-to=. "$(dirname "$page")/$target")}
    grep -qxF -- "${target:-$page}#$anchor" "$work/anchors.txt" ||
      fail "$page links to ${target:-$page}#$anchor, which has no such heading"
  done < <(sed '/^```/,/^```/d' "$page" | matches '\]\([^)#]*#[^)]+' - | cut -c3- | sed '/^https:/d')
done
echo "ok: every anchor of a link is a heading"

for page in "${pages[@]}"; do
  while read -r path; do
    [ -e "$path" ] || fail "$page names $path, which does not exist"
  done < <(matches '(^|[` ])(core|autograd|models|data|train|tools|tests)/[A-Za-z0-9_./-]*[A-Za-z0-9_/]([` ,;:]|$)' "$page" |
    tr -d '` ,;:')
done
echo "ok: every file that a page names exists"

while read -r name; do
  grep -rqF --include='*_test.cpp' -- "$name" tests || fail "life_of_an_update.md names the test $name, which does not exist"
done < <(tr -s '\n ' ' ' < tools/docs/life_of_an_update.md | matches '"[^"]+"' - | sed -E 's/^"|( \.\.)?"$//g')
echo "ok: every test that guards a rule exists"

# Tables and commands may be longer, and awk counts bytes, not characters.
same "long lines" "$(awk 'length($0) > 110 && !/^[|]|^    |[^ -~]/ { print FILENAME ":" FNR }' "${pages[@]}")" ""
check "the README has at most 150 lines" test "$(wc -l < README.md)" -le 150
version=$("$GYRE" --version | cut -d ' ' -f 2)
same "the version in CITATION.cff" "$(sed -n 's/^version: //p' CITATION.cff)" "$version"
check "the version in the README" grep -q "^Version $version[.]" README.md

# The figures of results.tsv stand in results.md, or on the page that the section names. None of its fields is empty,
# because `read` joins tabs.
declare -A texts
for page in results roformer fine_tuning models long_context install translator distributed; do texts[$page.md]=$(tr -d '*' < "tools/docs/$page.md"); done
while IFS=$'\t' read -r section what value _ machine date command; do
  page=results.md
  case $section in *.md:*) page=${section%%:*} section=${section#*: } ;; esac
  [[ -n $command && $date =~ ^20[0-9]{2}-[01][0-9]-[0-3][0-9]$ ]] || fail "results.tsv: $what has no date or command"
  [[ ${texts[$page]} == *$'\n'"## $section"* ]] || fail "results.tsv: $page has no section $section"
  [[ ${texts[$page]} == *"$value"* ]] || fail "results.tsv: $page does not have the $value of $what"
  [[ $page != results.md || ${texts[$page]} == *"| $machine |"* ]] || fail "results.tsv: unknown machine $machine"
done < <(tail -n +2 tools/docs/results.tsv)
echo "ok: the pages have the figures of results.tsv"
check "results.md has at most 250 lines" test "$(wc -l < tools/docs/results.md)" -le 250

fence() { sed -n '/^```cpp$/,/^```$/p' "$1" | sed '1d;$d'; }
same "the C++ of the README, which install_test.sh builds" "$(fence README.md)" \
  "$(sed -n '/^  Parameters weights;$/,/^  }$/s/^  //p' tools/examples/xor/xor.cpp)"

# Commands in code blocks, continued lines joined: the subcommand exists, and it knows every option.
sed -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' "${pages[@]}" | sed -E 's/ +#.*//' |
  sed -nE 's/^    (.*[ /])?gyre ([a-z][^|<>&)]*).*$/\2/p' | sort -u > "$work/calls.txt"
check "the pages have at least 60 commands" test "$(wc -l < "$work/calls.txt")" -ge 60
declare -A known # whether a command exists, so that the program starts only once for each
while read -r -a words; do
  command=''
  for word in "${words[@]}"; do
    [[ $word != -* ]] || break
    name=${command:+$command }$word
    if [ -z "${known[$name]-}" ]; then
      known[$name]=yes
      # shellcheck disable=SC2086
      "$GYRE" help $name > "$work/help.txt" 2>&1 && "$GYRE" $name --help-all > "$work/$name.txt" < /dev/null || known[$name]=no
    fi
    [ "${known[$name]}" = yes ] || break
    command=$name
  done
  [ -n "$command" ] || fail "unknown command: gyre ${words[*]}"
  help=" $(tr '\n' ' ' < "$work/$command.txt")"
  for word in "${words[@]}"; do
    [[ $word != --* || $help == *[\ ,]"$word"[\ ,]* ]] || fail "gyre $command has no $word"
  done
done < "$work/calls.txt"
echo "ok: the program knows $(wc -l < "$work/calls.txt") commands and their options"
