#!/usr/bin/env bash
# Tests the pages of gyre report, gyre inspect page and make docs in browsers, on a screen and on a phone, light and dark: no errors,
# enough contrast, controls with names that Tab reaches, nothing wider than the screen.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/tools/browser/browsers.sh"
command -v cmark-gfm > /dev/null || skip_test "cmark-gfm is not installed"

small_corpus
train() { small_train --valid-sets val.en val.de --disp-freq 2u --valid-freq 4u --after 8u --quiet "$@"; }
train --model run
train --model other --learn-rate 0.01
mkdir pages
"$GYRE" report --model run --output pages/run.html
"$GYRE" report --model run other --output pages/runs.html
"$GYRE" inspect page --model run --length 6 --output pages/step.html 2> step.log
"$GYRE" inspect page --preset transformer-tiny --differences 20 --output pages/tiny.html
"$GYRE" inspect page --preset transformer-base --differences 20 --output pages/base.html
"$ROOT/tools/scripts/docs.sh" "$(dirname "$GYRE")/doc_page" docs
cp docs/autodiff.html pages/lessons.html
with_scripts pages/lessons.html page_checks.js lessons_states.js > lessons.html
for page in run runs; do with_scripts pages/$page.html page_checks.js report_states.js > $page.html; done
for page in step tiny base; do with_scripts pages/$page.html page_checks.js tape_states.js > $page.html; done
frames=()
for page in run runs step tiny base lessons; do
  for size in 1280x720 390x844; do
    framed $page.html ${size/x/ } > $page.$size.html
    frames+=($page.$size.html)
  done
done

well() { # well NAME FILE: the page in the file has no problems
  same "$1: loaded" "$(noted loaded "$2")" true
  same "$1: colors" "$(noted scheme "$2")" "${1##* }"
  same "$1: errors" "$(noted errors "$2")" ""
  same "$1: problems" "$(noted problems "$2")" ""
  check "$1: $(noted texts "$2") texts, $(noted controls "$2") controls" test "$(noted texts "$2")" -gt 50
  case $1 in *tiny*1280* | *base*1280*) check "$1: $(noted layers "$2") layers in the map" test "$(noted layers "$2")" -ge 8 ;; esac
}

if ! has_chromium; then
  skipped "pages in Chromium" "chromium-headless-shell is not installed or does not start"
else
  for scheme in 0:dark 1:light; do
    for frame in "${frames[@]}"; do
      in_chromium $frame --window-size=1600,1000 --blink-settings=preferredColorScheme=${scheme%:*} > drawn.txt
      well "Chromium, $frame, ${scheme#*:}" drawn.txt
    done
  done
fi

if ! has_firefox; then
  skipped "pages in Firefox" "firefox-esr or python3 is not installed, or Firefox does not start"
else
  firefox() { HOME=$work timeout 600 python3 "$browser_files/firefox.py" "$@"; }
  for scheme in dark light; do
    firefox $scheme "${frames[@]}" > drawn_pages.txt
    for frame in "${frames[@]}"; do
      read -r line || fail "Firefox printed no line for $frame"
      echo "$line" > drawn.txt
      well "Firefox, $frame, $scheme" drawn.txt
    done < drawn_pages.txt
  done
  firefox --tab pages/*.html > tabs.txt
  cat tabs.txt
  same "controls that Tab does not reach" "$(grep -v ': none$' tabs.txt || true)" ""
fi
