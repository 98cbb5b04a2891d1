#!/usr/bin/env bash
# Makes HTML pages of tools/docs and of the public headers: docs.sh DOC_PAGE FOLDER, where DOC_PAGE is the program of
# tools/lessons. README.md becomes index.html; api.html is the index of the headers.
set -euo pipefail
doc_page=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
cd "$(dirname "$0")/../docs"
work=$(mktemp -d)
html=$work/page.html
trap 'rm -rf "$work"' EXIT
for page in *.md; do
  name=${page%.md}
  [ "$name" != README ] || name=index
  cmark-gfm --unsafe --extension table "$page" > "$html"
  "$doc_page" "$html" "$output/$name.html"
done

# The headers that are installed, in the order of the libraries (tools/cmake/install.cmake).
mkdir "$work/api"
(
  cd ../..
  headers=()
  for library in core autograd models data train; do
    while read -r header; do headers+=("$header"); done < <(find $library -name '*.h' ! -path 'core/cpu/*' ! -path 'core/cuda/*' | LC_ALL=C sort)
  done
  awk -v folder="$work/api" -f tools/scripts/api.awk pass=1 "${headers[@]}" pass=2 "${headers[@]}"
)
for page in "$work"/api/*.html; do "$doc_page" "$page" "$output/$(basename "$page")"; done
cp -r images results.tsv "$output/"
