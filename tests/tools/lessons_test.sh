#!/usr/bin/env bash
# Tests the HTML documentation (make docs): its links, and in a browser the lessons, which walk by themselves.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/tools/browser/browsers.sh"
command -v cmark-gfm > /dev/null || skip_test "cmark-gfm is not installed"
doc_page=$(dirname "$GYRE")/doc_page
"$ROOT/tools/scripts/docs.sh" "$doc_page" docs
same "a page of each Markdown file" "$(ls docs | grep -c '\.html$')" "$(ls "$ROOT"/tools/docs/*.md | wc -l)"
lessons=$(grep -c '^<!-- lesson: ' "$ROOT/tools/docs/autodiff.md")
same "a figure of each lesson" "$(grep -c 'class="lesson"' docs/autodiff.html)" "$lessons"
check "a page of one file" test -z "$(grep -oE 'src="|<link|@import|url\(|fetch\(' docs/autodiff.html)"

for page in docs/*.html; do
  while read -r link; do
    file=${link%%#*} anchor=${link#"${link%%#*}"}
    [ -z "$file" ] || [[ $file != *.html && $file == *../* ]] || [ -e "docs/$file" ] || fail "$page links to $file"
    target=${file:-$(basename "$page")}
    [ -z "$anchor" ] || [[ $target != *.html ]] || grep -q "id=\"${anchor#\#}\"" "docs/$target" || fail "$page links to $link"
  done < <(grep -oE 'href="[^"]+' "$page" | cut -c7- | grep -v '^https:')
done
echo "ok: every link leads to a page and a heading"

printf 'text\n' > empty.html
rejects 1 '^doc_page: empty.html: \[docs\] expected a heading of level 1$' "$doc_page" empty.html x.html
printf '<h1>a</h1>\n<!-- lesson: none -->\n' > unknown.html
rejects 1 'there is no lesson none' "$doc_page" unknown.html x.html
rejects 2 '^usage: ' "$doc_page" x.html

if ! has_chromium; then
  skipped "walking through the lessons" "chromium is not installed or does not start"
  exit 0
fi
with_scripts docs/autodiff.html walk.js lessons_walk.js > walked.html
in_chromium walked.html > dom.txt
same "no errors" "$(noted errors dom.txt)" ""
same "all lessons" "$(noted lessons dom.txt)" "$lessons"
check "$(noted walked dom.txt) steps" test "$(noted walked dom.txt)" -gt 70
check "no objects as text" test "$(grep -c '\[object' dom.txt)" -eq 0
same "gradients that differ from finite differences" "$(noted differing dom.txt)" 0
same "elements that differ" "$(noted disagreements dom.txt)" 0
check "$(noted agreements dom.txt) elements computed again" test "$(noted agreements dom.txt)" -gt 300
