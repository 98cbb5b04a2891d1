#!/usr/bin/env bash
# --output writes through what is not a regular file (a pipe, a device, a descriptor) and through links, and never
# replaces them.
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
check "the pipe is still one" test -p pipe
cat pipe > read.model &
"$GYRE" vocab --input train.en train.de --type bpe --size 300 --output pipe 2> vocab.log
wait $!
check "a vocabulary goes through a pipe" cmp vocab.model read.model
rejects 1 'pipe: expected a regular file to write to, got a device, a pipe or a socket' \
  "$GYRE" data build --vocab vocab.model --source train.en --output pipe
same "one line" "$lines" 1

echo before > log
translate --output /dev/fd/9 9>> log
same "what a descriptor was opened to append to is kept" "$(head -n 1 log; tail -n +2 log | cmp - plain && echo same)" "before
same"
translate --output /dev/stdout > redirected
check "/dev/stdout is standard output" cmp plain redirected

mkdir elsewhere
ln -s elsewhere/file link
translate --output link
check "a link to nothing makes what it names" cmp plain elsewhere/file
echo old > elsewhere/file
chmod 640 elsewhere/file
translate --output link
check "what a link names is replaced" cmp plain elsewhere/file
check "the link stays" test -L link
same "permissions stay" "$(stat -c %a elsewhere/file)" 640

# A device of the test's own: writing to one of the system's would be no test to run as root.
if mknod null c 1 3 2> mknod.log && { : > null; } 2> mknod.log; then
  translate --output null
  "$GYRE" vocab --input train.en train.de --type bpe --size 300 --output null 2> vocab.log
  check "a device is still one" test -c null
else
  skipped "outputs on a device" "making one needs root and a file system that allows it"
fi
