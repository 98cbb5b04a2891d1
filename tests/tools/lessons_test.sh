#!/usr/bin/env bash
# Tests the HTML documentation (make docs): its links, the pages of the headers, and in a browser the lessons, which
# walk by themselves.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/tools/browser/browsers.sh"
command -v cmark-gfm > /dev/null || skip_test "cmark-gfm is not installed"
doc_page=$(dirname "$GYRE")/doc_page
"$ROOT/tools/scripts/docs.sh" "$doc_page" docs
same "a page of each Markdown file" "$(ls docs | grep '\.html$' | grep -cv '^api')" "$(ls "$ROOT"/tools/docs/*.md | wc -l)"
same "pages of the headers" "$(cd docs && echo api*.html)" \
  "api-autograd.html api-core.html api-data.html api-models.html api-train.html api.html"
same "pages without a link to the index" "$(grep -L 'href="index.html"' docs/*.html)" ""
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

cd "$ROOT"
mapfile -t headers < <(find core autograd models data train -name '*.h' ! -path 'core/cpu/*' ! -path 'core/cuda/*')
cd "$work"
same "headers on the pages" "$(cat docs/api-*.html | grep -c '^<h2 id=".*\.h</h2>$')" ${#headers[@]}
# Every class and enum is in the index; the comment of an op stands above it, and its types are links.
sed -nE 's/^(class|struct|enum class) ([A-Za-z0-9_]+)( final)?( :.*)? \{.*/\2/p' "${headers[@]/#/$ROOT/}" | sort -u > types.txt
sed -nE 's/^<a href="api-[a-z]+\.html#[A-Za-z0-9_]+">([A-Za-z0-9_]+)<\/a>$/\1/p' docs/api.html | sort -u > names.txt
check "$(wc -l < types.txt) types" test "$(wc -l < types.txt)" -gt 500
same "types that the index lacks" "$(comm -23 types.txt names.txt)" ""
check "the comment above an op" grep -qF '<a id="layer_norm"></a><p>Layer normalization over the last axis' docs/api-autograd.html
check "its declaration" grep -qE '>Var</a> layer_norm\(const <a href="api-autograd.html#Var">' docs/api-autograd.html
check "a link to another library" grep -qF '<a href="api-core.html#Tensor">Tensor</a>' docs/api-train.html
same "private members on the pages" "$(grep -c '^ private:' docs/api-*.html | grep -v ':0$')" ""

printf 'text\n' > empty.html
rejects 1 '^doc_page: empty.html: \[docs\] expected a heading of level 1$' "$doc_page" empty.html x.html
printf '<h1>a</h1>\n<!-- lesson: none -->\n' > unknown.html
rejects 1 'there is no lesson none' "$doc_page" unknown.html x.html
rejects 2 '^usage: ' "$doc_page" x.html

if ! has_chromium; then
  skipped "walking through the lessons" "chromium-headless-shell is not installed or does not start"
  exit 0
fi
with_scripts docs/autodiff.html walk.js lessons_walk.js > walked.html
in_chromium walked.html > dom.txt
same "no errors" "$(noted errors dom.txt)" ""
same "all lessons" "$(noted lessons dom.txt)" "$lessons"
check "$(noted walked dom.txt) steps" test "$(noted walked dom.txt)" -ge 60
check "no objects as text" test "$(grep -c '\[object' dom.txt)" -eq 0
same "gradients that differ from finite differences" "$(noted differing dom.txt)" 0
same "elements that differ" "$(noted disagreements dom.txt)" 0
check "$(noted agreements dom.txt) elements computed again" test "$(noted agreements dom.txt)" -gt 300
