# Stage fetch: downloads the archives, resumes interrupted transfers, and compares the digests (sourced by wmt14.sh).

# Prints "FILE BYTES ALGORITHM DIGEST ADDRESS" of each archive that the options need.
list_archives() {
  local file bytes algorithm digest address
  while read -r file bytes algorithm digest address; do
    case $file in
      '#'*) continue ;;
      training-parallel-nc-v*) [ "$file" = "training-parallel-nc-$news.tgz" ] || continue ;;
    esac
    if [ -n "$mirror" ]; then address=$mirror/$file; fi
    if [ -n "$digests" ]; then
      bytes=- algorithm=sha256
      digest=$(awk -v file="$file" '$2 == file || $2 == "*" file { print $1; exit }' "$digests")
      [[ $digest =~ ^[0-9a-f]{64}$ ]] || usage "$digests: expected a line with the SHA-256 digest of $file"
    fi
    echo "$file $bytes $algorithm $digest $address"
  done < "$stage_scripts/archives.tsv"
}
archives=$(list_archives)

is_genuine() { # FILE ALGORITHM DIGEST
  [ -s "$1" ] && [ "$("${2}sum" < "$1" | cut -d ' ' -f 1)" = "$3" ]
}
size_of() { stat -c %s "$1" 2> /dev/null || echo 0; }

# Downloads to FILE.part, from its present end on, until the server has no more. Ends with status 0 when the transfer is
# complete; the digest decides whether its bytes are right.
transfer() { # FILE BYTES ADDRESS
  local part=$1.part bytes=$2 address=$3 most=0 status code idle=0
  while [ "$bytes" = - ] || [ "$(size_of "$part")" -lt "$bytes" ]; do
    if [ "$(size_of "$part")" -gt "$most" ]; then most=$(size_of "$part"); fi
    status=0
    code=$(curl --silent --show-error --fail --location --connect-timeout 30 --speed-limit 1000 --speed-time "$stall" \
      --continue-at - --write-out '%{http_code}' --output "$part" "$address") || status=$?
    case $status-$code in
      0-*) return ;;
      *-416) return ;;                        # nothing is left to send
      33-* | 36-*) rm -f "$part" ;;           # the server cannot resume, or the file of the mirror is shorter
      22-408 | 22-429) ;;                     # the server asks for another attempt
      22-4?? | 3-* | 6-* | 23-* | 37-* | 78-*) fail "$address: curl ended with status $status, HTTP status $code" ;;
    esac
    if [ "$(size_of "$part")" -gt "$most" ]; then idle=0; else idle=$((idle + 1)); fi
    [ "$idle" -lt 5 ] || fail "$address: no progress in 5 attempts; the last one ended with curl's status $status"
    say "   $1: interrupted after $(megabytes "$(size_of "$part")"), continuing"
    sleep "$idle"
  done
}

fetch_archive() { # FILE BYTES ALGORITHM DIGEST ADDRESS
  local file=fetch/$1 attempt found
  for attempt in first second; do
    transfer "$file" "$2" "$5"
    if is_genuine "$file.part" "$3" "$4"; then return; fi
    found="$(size_of "$file.part") bytes with the $3 digest $("${3}sum" < "$file.part" | cut -d ' ' -f 1)"
    rm -f "$file.part"
    if [ "$attempt" = first ]; then say "   $1: expected the $3 digest $4, got $found; fetching it again"; fi
  done
  fail "$5: expected a file with the $3 digest $4, got $found, twice"
}

stage_fetch() {
  local file bytes algorithm digest address
  command -v curl > /dev/null || (cd "$root" && tools/scripts/setup.sh curl >&2)
  while read -r file bytes algorithm digest address; do
    echo "curl --location --continue-at - --output fetch/$file ${address/#"$mirror"\//MIRROR/}" >> .stages/fetch.commands
    if [ -e "fetch/$file" ]; then
      if is_genuine "fetch/$file" "$algorithm" "$digest"; then continue; fi
      say "   $file: not the file with the $algorithm digest $digest; fetching it again"
      rm -f "fetch/$file"
    fi
    begin_file "fetch/$file" "${bytes/#-/0}"
    say "   fetch/$file from $address"
    if [ "$bytes" != - ]; then require_space $((bytes - $(size_of "fetch/$file.part"))) "fetch/$file"; fi
    fetch_archive "$file" "$bytes" "$algorithm" "$digest" "$address" < /dev/null
    mv "fetch/$file.part" "fetch/$file"
    rm -f .stages/current
  done <<< "$archives"
}

discard_fetch() { :; } # the digests decide
