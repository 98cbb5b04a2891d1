# Functions that open pages in browsers. Source it after lib.sh.
browser_files=$ROOT/tests/tools/browser

# with_scripts PAGE SCRIPT...: prints the page with these scripts of tests/tools/browser at its end
with_scripts() {
  local page=$1 script
  shift
  sed '/^<\/body>$/,$d' "$page"
  for script in "$@"; do
    printf '<script>\n%s\n</script>\n' "$(cat "$browser_files/$script")"
  done
  printf '</body>\n</html>\n'
}

# framed PAGE WIDTH HEIGHT: prints a page that shows this page in a frame of this size
framed() { sed "s|PAGE\"|$1\"|; s/WIDTH/$2/; s/HEIGHT/$3/" "$browser_files/frame.html"; }

# A browser that is installed may still be unable to start, for example in a container.
has_chromium() {
  command -v chromium-headless-shell > /dev/null || return
  printf '<!DOCTYPE html>\n<html data-state="shown"></html>\n' > probe.html
  [ "$(in_chromium probe.html | sed -n 's/.*data-state="\([a-z]*\)".*/\1/p')" = shown ]
}
has_firefox() {
  command -v firefox-esr > /dev/null && command -v python3 > /dev/null || return
  printf '<!DOCTYPE html>\n<html data-state="shown"></html>\n' > probe.html
  HOME=$work timeout 120 python3 "$browser_files/firefox.py" light probe.html | grep -q 'data-state="shown"'
}

# in_chromium PAGE [OPTION...]: prints the document as Chromium has drawn it. A Chromium that hangs, and the processes that
# it started, are ended after five minutes, and the page is opened once more.
in_chromium() {
  local page=$1 profile
  shift
  for profile in browser another_browser; do
    timeout --kill-after=10 300 chromium-headless-shell --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
      --allow-file-access-from-files --user-data-dir="$work/$profile" "$@" --dump-dom "file://$work/$page" \
      > document.txt 2> browser.log && break
    rm -rf "${work:?}/$profile"
  done
  cat document.txt
}

# noted NAME FILE: the value that a script of the page has noted on the root element
noted() { sed -nE "s/^.*<html[^>]* data-$1=\"([^\"]*)\".*/\1/p" "$2"; }
