#!/usr/bin/env bash
# Tests --output with targets other than regular files (pipes, devices, descriptors) and with links: it writes through
# them and never replaces them.
. "$(dirname "$0")/lib.sh"
small_corpus 2> corpus.log
small_train --model run --after 2u --quiet
head -n 3 test.en > input
translate() { "$GYRE" translate --model run --input input --max-length-extra 5 --quiet "$@"; }
translate --output plain

mkfifo pipe
cat pipe > read.txt &
translate --output pipe
wait $!
check "a pipe's reader gets the translations" cmp plain read.txt
check "the pipe is still a pipe" test -p pipe
cat pipe > read.model &
"$GYRE" vocab --input train.en train.de --type bpe --size 300 --output pipe 2> vocab.log
wait $!
check "a vocabulary goes through a pipe" cmp vocab.model read.model
rejects 1 'pipe: expected a regular file to write to, got a device, a pipe or a socket' \
  "$GYRE" data build --vocab vocab.model --source train.en --output pipe
same "one line" "$lines" 1

for arguments in "data generate --help" "bench --help-all" --version "data check --train-sets train.en train.de --vocab vocab.model --no-plan"; do
  rejects 1 "^gyre: standard output: writing failed$" bash -c '"$0" $1 > /dev/full' "$GYRE" "$arguments"
done

echo before > log
translate --output /dev/fd/9 9>> log
same "appending to a descriptor keeps the existing text" "$(head -n 1 log; tail -n +2 log | cmp - plain && echo same)" "before
same"
translate --output /dev/stdout > redirected
check "/dev/stdout is standard output" cmp plain redirected

mkdir elsewhere
ln -s elsewhere/file link
translate --output link
check "a dangling link creates its target" cmp plain elsewhere/file
echo old > elsewhere/file
chmod 640 elsewhere/file
translate --output link
check "the target of a link is replaced" cmp plain elsewhere/file
check "the link is kept" test -L link
same "permissions are kept" "$(stat -c %a elsewhere/file)" 640

# Use a device created by the test, because as root a failing test could replace a device of the system.
if mknod null c 1 3 2> mknod.log && { : > null; } 2> mknod.log; then
  translate --output null
  "$GYRE" vocab --input train.en train.de --type bpe --size 300 --output null 2> vocab.log
  check "the device is still a device" test -c null
else
  skipped "outputs to a device" "creating one needs root and a file system that allows it"
fi
