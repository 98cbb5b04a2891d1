#!/usr/bin/env bash
# Makes HTML pages of tools/docs: docs.sh DOC_PAGE FOLDER, where DOC_PAGE is the program of tools/lessons. README.md
# becomes index.html.
set -euo pipefail
doc_page=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
cd "$(dirname "$0")/../docs"
html=$(mktemp)
trap 'rm -f "$html"' EXIT
for page in *.md; do
  name=${page%.md}
  [ "$name" != README ] || name=index
  cmark-gfm --unsafe --extension table "$page" > "$html"
  "$doc_page" "$html" "$output/$name.html"
done
cp -r images results.tsv "$output/"
