#!/usr/bin/env bash
# Writes archives with the layout of those of WMT14 English-German, for a rehearsal of wmt14.sh at any size.
#   tools/experiments/wmt14_mirror.sh MIRROR PAIRS [TEXT DEV TEST]
# The training text has PAIRS pairs (from 100) of the embedded corpus, one to four sentences a line, and in each of the
# three corpora the lines of TEXT.en and TEXT.de, if given. DEV and TEST (.en, .de) become newstest2013 and
# newstest2014; by default they are held-out pairs of the embedded corpus. Then:
#   tools/experiments/wmt14.sh OUTPUT --mirror "file://$(realpath MIRROR)" --digests MIRROR/SHA256SUMS
set -euo pipefail
usage() {
  if [ $# -gt 0 ]; then echo "$1" >&2; else sed -n '3,7s/^# *//p' "$0" >&2; fi
  exit 2
}
[ $# -eq 2 ] || [ $# -eq 5 ] || usage
[[ $2 =~ ^[1-9][0-9]{2,8}$ ]] || usage "PAIRS: expected a number from 100, got $2"
gyre=$(realpath "${GYRE:-build/gyre}")
mirror=$1
pairs=$2
text=${3:+$(realpath "$3.en")}
dev=${4:+$(realpath "$4.en")}
test=${5:+$(realpath "$5.en")}
mkdir -p "$mirror"
cd "$mirror"
tree=$(mktemp -d "$PWD/tree.XXXXXX")
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{training,dev,test-full,test}

# Pairs of the embedded corpus in parts of at most a million, which bounds the memory.
generate() { # PAIRS: appends to all.en and all.de
  local left=$1 seed=1 part
  while [ "$left" -gt 0 ]; do
    part=$((left < 1000000 ? left : 1000000))
    "$gyre" data generate --output "$tree" --train "$part" --val 3000 --test 3003 --seed $seed --overwrite
    cat "$tree/train.en" >> "$tree/all.en"
    cat "$tree/train.de" >> "$tree/all.de"
    left=$((left - part)) seed=$((seed + 1))
  done
}

# Joins 1, 2, 3, 4, 1, ... lines; both languages have the same cycle.
join_lines() {
  awk -v size=1 '{ printf "%s%s", $0, (++n == size ? "\n" : " ") } n == size { n = 0; size = size % 4 + 1 }'
}

corpus() { # FIRST LAST LANGUAGE: these pairs and the real text
  sed -n "$1,$2p" "$tree/joined"
  if [ -n "$text" ]; then cat "${text%.en}.$3"; fi
}

segments() { # FILE: as the test sets of WMT are distributed
  echo '<srcset setid="newstest2014" srclang="any">' && echo '<doc sysid="ref" docid="1">' && echo '<p>'
  awk '{ printf "<seg id=\"%d\">%s</seg>\n", NR, $0 }' "$1"
  echo '</p>' && echo '</doc>' && echo '</srcset>'
}

# The shares of the corpora are those of WMT14. Of its test set, 2,737 of 3,003 sentences are in the filtered one.
generate $((pairs * 5 / 2 + 3))
first_cut=$((pairs * 43 / 100)) second_cut=$((pairs * 96 / 100))
for language in en de; do
  join_lines < "$tree/all.$language" > "$tree/joined"
  corpus 1 $first_cut $language > "$tree/training/europarl-v7.de-en.$language"
  corpus $((first_cut + 1)) $second_cut $language > "$tree/commoncrawl.de-en.$language"
  corpus $((second_cut + 1)) "$pairs" $language > "$tree/training/news-commentary-v9.de-en.$language"
  corpus $((first_cut + 1)) $((first_cut + pairs / 20)) $language > "$tree/training/news-commentary-v12.de-en.$language"
  held_out=$tree/val.$language
  if [ -n "$dev" ]; then held_out=${dev%.en}.$language; fi
  cp "$held_out" "$tree/dev/newstest2013.$language"
  if [ $language = en ]; then side=src; else side=ref; fi
  reference=$tree/test.$language
  if [ -n "$test" ]; then reference=${test%.en}.$language; fi
  segments "$reference" > "$tree/test-full/newstest2014-deen-$side.$language.sgm"
  segments <(head -n $(($(wc -l < "$reference") * 2737 / 3003)) "$reference") \
    > "$tree/test/newstest2014-deen-$side.$language.sgm"
done

pack() { # NAME FILE...
  tar -cf - -C "$tree" "${@:2}" | gzip -1 > "$1"
}
pack training-parallel-europarl-v7.tgz training/europarl-v7.de-en.{en,de}
pack training-parallel-commoncrawl.tgz commoncrawl.de-en.{en,de}
pack training-parallel-nc-v9.tgz training/news-commentary-v9.de-en.{en,de}
pack training-parallel-nc-v12.tgz training/news-commentary-v12.de-en.{en,de}
pack dev.tgz dev
pack test-full.tgz test-full
pack test-filtered.tgz test
(cd "$tree" && wc -l training/*.en commoncrawl.de-en.en)
sha256sum -- *.tgz > SHA256SUMS
