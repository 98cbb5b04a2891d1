#!/usr/bin/env bash
# Writes archives with the layout of those of WMT14, for a rehearsal of wmt14.sh at any size.
#   tools/experiments/wmt14_mirror.sh [--pair en-de|en-fr] MIRROR PAIRS [TEXT DEV TEST]
# The training text has PAIRS pairs (from 100) of the embedded corpus, one to four sentences a line, and in each of the
# corpora the lines of TEXT.en and TEXT.de, if given. DEV and TEST (.en, .de) become newstest2013 and newstest2014; by
# default they are held-out pairs of the embedded corpus. With --pair en-fr the files of both sides end in .en and .fr,
# and German stands in for French, which the embedded corpus does not have. Then:
#   tools/experiments/wmt14.sh OUTPUT --mirror "file://$(realpath MIRROR)" --digests MIRROR/SHA256SUMS
set -euo pipefail
usage() {
  if [ $# -gt 0 ]; then echo "$1" >&2; else sed -n '3,8s/^# *//p' "$0" >&2; fi
  exit 2
}
pair=en-de
if [ "${1-}" = --pair ]; then
  [[ ${2-} =~ ^en-(de|fr)$ ]] || usage "--pair: expected one of en-de en-fr, got ${2-}"
  pair=$2
  shift 2
fi
target=${pair#en-}
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
mkdir -p "$tree"/{training,un,dev,test-full,test}

# Pairs of the embedded corpus in parts of at most a million, which bounds the memory.
generate() { # PAIRS: appends to all.en and all.$target
  local left=$1 seed=1 part
  while [ "$left" -gt 0 ]; do
    part=$((left < 1000000 ? left : 1000000))
    "$gyre" data generate --output "$tree" --train "$part" --val 3000 --test 3003 --seed $seed --overwrite
    cat "$tree/train.en" >> "$tree/all.en"
    cat "$tree/train.de" >> "$tree/all.$target"
    left=$((left - part)) seed=$((seed + 1))
  done
}

# Joins 1, 2, 3, 4, 1, ... lines; both languages have the same cycle.
join_lines() {
  awk -v size=1 '{ printf "%s%s", $0, (++n == size ? "\n" : " ") } n == size { n = 0; size = size % 4 + 1 }'
}

# Cuts the joined pairs into corpora: each call takes those up to a share of all in thousandths, and the real text.
cut=0
corpus() { # THOUSANDTHS FILE
  local first=$((cut + 1))
  cut=$((pairs * $1 / 1000))
  sed -n "$first,${cut}p" "$tree/joined" > "$2"
  if [ -n "$text" ]; then cat "${text%.en}.$language" >> "$2"; fi
}

segments() { # FILE: as the test sets of WMT are distributed
  echo '<srcset setid="newstest2014" srclang="any">' && echo '<doc sysid="ref" docid="1">' && echo '<p>'
  awk '{ printf "<seg id=\"%d\">%s</seg>\n", NR, $0 }' "$1"
  echo '</p>' && echo '</doc>' && echo '</srcset>'
}

# The shares of the corpora are those of WMT14. Of its German test set, 2,737 of 3,003 sentences are in the filtered
# one.
generate $((pairs * 5 / 2 + 3))
if [ "$pair" = en-fr ]; then mv "$tree/val.de" "$tree/val.fr" && mv "$tree/test.de" "$tree/test.fr"; fi
for language in en "$target"; do
  join_lines < "$tree/all.$language" > "$tree/joined"
  cut=0
  if [ "$pair" = en-fr ]; then
    corpus 50 "$tree/training/europarl-v7.fr-en.$language"
    corpus 130 "$tree/commoncrawl.fr-en.$language"
    corpus 445 "$tree/un/undoc.2000.fr-en.$language"
    corpus 450 "$tree/training/news-commentary-v9.fr-en.$language"
    corpus 1000 "$tree/giga-fren.release2.fixed.$language"
    gzip -1 "$tree/giga-fren.release2.fixed.$language"
  else
    corpus 430 "$tree/training/europarl-v7.de-en.$language"
    corpus 960 "$tree/commoncrawl.de-en.$language"
    corpus 1000 "$tree/training/news-commentary-v9.de-en.$language"
    cut=$((pairs * 430 / 1000))
    corpus 480 "$tree/training/news-commentary-v12.de-en.$language"
  fi
  held_out=$tree/val.$language
  if [ -n "$dev" ]; then held_out=${dev%.en}.$language; fi
  cp "$held_out" "$tree/dev/newstest2013.$language"
  if [ $language = en ]; then side=src; else side=ref; fi
  reference=$tree/test.$language
  if [ -n "$test" ]; then reference=${test%.en}.$language; fi
  segments "$reference" > "$tree/test-full/newstest2014-${target}en-$side.$language.sgm"
  segments <(head -n $(($(wc -l < "$reference") * 2737 / 3003)) "$reference") \
    > "$tree/test/newstest2014-${target}en-$side.$language.sgm"
done

pack() { # NAME FILE...
  tar -cf - -C "$tree" "${@:2}" | gzip -1 > "$1"
}
pack training-parallel-europarl-v7.tgz training/europarl-v7."$target"-en.{en,"$target"}
pack training-parallel-commoncrawl.tgz commoncrawl."$target"-en.{en,"$target"}
pack training-parallel-nc-v9.tgz training/news-commentary-v9."$target"-en.{en,"$target"}
if [ "$pair" = en-fr ]; then
  pack training-parallel-un.tgz un
  tar -cf training-giga-fren.tar -C "$tree" giga-fren.release2.fixed.{en,fr}.gz
else
  pack training-parallel-nc-v12.tgz training/news-commentary-v12.de-en.{en,de}
fi
pack dev.tgz dev
pack test-full.tgz test-full
pack test-filtered.tgz test
(cd "$tree" && find training un commoncrawl* -name '*.en' -exec wc -l {} +)
sha256sum -- *.t?? > SHA256SUMS
