#!/usr/bin/env bash
# Reproduces WMT14 English-German or English-French from the public archives to the BLEU figures of the literature
# (tools/docs/wmt14.md).
#   tools/experiments/wmt14.sh OUTPUT [OPTION]... [-- OPTIONS OF gyre train nmt]
#   --pair en-de|en-fr                   languages; default en-de
#   --preparation fairseq|tensor2tensor  Moses tokens and subword-nmt merges, or raw text and SentencePiece (default)
#   --position rope|sinusoidal|shaw      position encoding; default rope; shaw clips at 16, and with
#                                        --size big at 8
#   --size base|big                      transformer-base or transformer-big; default base
#   --ranks N                            ranks of training; default 1
#   --device cpu|cuda                    device of training and decoding; default cpu
#   --news-commentary v9|v12             v9 is that of WMT14, v12 that of fairseq's script for
#                                        en-de; default v9
#   --keep-test-overlap                  keep training pairs that are in a test set, as the published scripts do
#   --vocab-size N                       merges (fairseq, default 40000) or pieces (tensor2tensor, default 37000,
#                                        en-fr: 32000)
#   --sample-lines N                     lines that SentencePiece trains on; 0: all; default 500000
#   --average lastN|ema                  weights to decode with: mean of the last N checkpoints; default last5,
#                                        and last20 with --size big
#   --mirror URL                         directory of the archives, under their public names
#   --digests FILE                       with --mirror: its SHA256SUMS instead of the public digests
#   --stall-seconds N                    reconnect after N seconds with less than 1 kB per second; default 60
#   --stages "NAME..."                   run these stages only
#   --from STAGE                         redo this stage and all after it; a trained model is kept as train-N
#   --redo STAGE                         redo this stage; deletes its results, for train the model
#   --skip STAGE                         take this stage as done
# Stages: fetch prepare vocab store train average translate score. Each has a folder in OUTPUT. A stage that is done is
# skipped, unless its options or those of an earlier stage changed. The same call, without --from and --redo, resumes
# after an interruption.
set -euo pipefail
export LC_ALL=C.UTF-8 # for the order of files, and for quotes in recorded commands
root=$(cd "$(dirname "$0")/../.." && pwd)
stage_scripts=$root/tools/experiments/wmt14
usage() {
  if [ $# -gt 0 ]; then echo "$1" >&2; else sed -n '4,29s/^# *//p' "$0" >&2; fi
  exit 2
}

all_stages="fetch prepare vocab store train average translate score"
[ -n "${1-}" ] && [ "${1#-}" = "$1" ] || usage
out=$1
shift
pair=en-de preparation=tensor2tensor position=rope size=base ranks=1 device=cpu news=v9 overlap=drop vocab_size=''
sample_lines='' average='' mirror='' digests='' stall=60 stages=$all_stages from='' redo='' redo_after='' skip=''

one_of() { # OPTION VALUE CHOICE...
  local choice
  for choice in "${@:3}"; do if [ "$2" = "$choice" ]; then return; fi; done
  usage "$1: expected one of ${*:3}, got $2"
}
number() { # OPTION LEAST VALUE
  [[ $3 =~ ^[0-9]{1,9}$ ]] && [ "$3" -ge "$2" ] || usage "$1: expected a number from $2, got $3"
}
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  if [ "$1" = --keep-test-overlap ]; then overlap=keep && shift && continue; fi
  [[ $1 == --?* ]] || usage "expected an option or -- before the options of gyre train nmt, got $1"
  [ $# -ge 2 ] || usage "expected a value after $1, got none"
  case $1 in
    --pair) one_of "$1" "$2" en-de en-fr && pair=$2 ;;
    --preparation) one_of "$1" "$2" fairseq tensor2tensor && preparation=$2 ;;
    --position) one_of "$1" "$2" rope sinusoidal shaw && position=$2 ;;
    --size) one_of "$1" "$2" base big && size=$2 ;;
    --ranks) number "$1" 1 "$2" && ranks=$2 ;;
    --device) one_of "$1" "$2" cpu cuda && device=$2 ;;
    --news-commentary) one_of "$1" "$2" v9 v12 && news=$2 ;;
    --vocab-size) number "$1" 1 "$2" && vocab_size=$2 ;;
    --sample-lines) number "$1" 0 "$2" && sample_lines=$2 ;;
    --average) [[ $2 =~ ^(last[1-9][0-9]{0,3}|ema)$ ]] || usage "$1: expected lastN such as last5, or ema, got $2"
      average=$2 ;;
    --mirror) [[ $2 =~ ^[a-z]+://. ]] || usage "$1: expected an address such as http://host/folder, got $2"
      mirror=${2%/} ;;
    --digests) [ -r "$2" ] || usage "$1: expected a file that can be read, got $2"
      digests=$(realpath "$2") ;;
    --stall-seconds) number "$1" 1 "$2" && stall=$2 ;;
    --stages) for name in $2; do one_of "$1" "$name" $all_stages; done
      stages=$2 ;;
    --from) one_of "$1" "$2" $all_stages && from=$2 ;;
    --redo) one_of "$1" "$2" $all_stages && redo+=" $2" ;;
    --skip) one_of "$1" "$2" $all_stages && skip+=" $2" ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
if [ $# -gt 0 ]; then shift; fi
train_options=("$@")
[ -z "$digests" ] || [ -n "$mirror" ] || usage "--digests would have no effect: --mirror is not given"
[ -z "$sample_lines" ] || [ "$preparation" = tensor2tensor ] ||
  usage "--sample-lines would have no effect: subword-nmt learns from all lines"
[ "$pair-$news" != en-fr-v12 ] || usage "--news-commentary v12: expected v9 with --pair en-fr, as in fairseq's script"
sample_lines=${sample_lines:-500000}
if [ -z "$vocab_size" ]; then
  case $preparation-$pair in fairseq-*) vocab_size=40000 ;; *-en-fr) vocab_size=32000 ;; *) vocab_size=37000 ;; esac
fi
if [ -z "$average" ]; then case $size in big) average=last20 ;; *) average=last5 ;; esac; fi
for name in $skip; do
  [[ " $redo $from " != *" $name "* ]] || usage "--skip $name: expected another stage than those to be redone"
done
if [ -n "$from" ]; then redo_after="$from ${all_stages#*"$from"}"; fi
for word in "${train_options[@]}"; do
  case ${word%%=*} in
    --model | --train-sets | --valid-sets | --vocab) usage "${word%%=*}: expected none after --, the stages set it" ;;
  esac
done

src=${pair%-*} tgt=${pair#*-}
gyre=$(realpath "${GYRE:-$root/build/gyre}")
[ -x "$gyre" ] || usage "expected the program gyre at $gyre; build it with make, or set GYRE"
for file in stages data train score; do . "$stage_scripts/$file.sh"; done

mkdir -p "$out/.stages"
cd "$out" # all paths below are relative, so that the bundle does not depend on the place of OUTPUT
lock_output
for stage in $all_stages; do
  if [[ " $stages " == *" $stage "* ]]; then run_stage "$stage"; fi
done
summarize
