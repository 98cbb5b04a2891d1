#!/usr/bin/env bash
# Tests the wheel of tools/scripts/wheel.sh, and with it the bundle: unpacked as pip does it, the program runs with an
# empty environment, and the wheel's list of its files is right.
. "$(dirname "$0")/lib.sh"
for command in zip unzip basenc; do
  command -v $command > /dev/null || { skipped "the wheel" "$command is not installed"; exit 0; }
done

"$ROOT/tools/scripts/wheel.sh" "$BUILD" dist > wheel.log 2>&1 || { cat wheel.log >&2; fail "making the wheel"; }
version=$("$GYRE" --version | awk '{ print $2 }')
wheel=$(echo dist/*)
check "the name of the wheel" grep -qE "^dist/gyre-$version-py3-none-manylinux_2_[0-9]+_[a-z0-9_]+\.whl$" <<< "$wheel"
unzip -q "$wheel" -d wheel
cd wheel
find . -type f -printf '%P\n' | sort > ../files.txt
cut -d , -f 1 "gyre-$version.dist-info/RECORD" | sort > ../recorded.txt
check "RECORD names all files" diff ../files.txt ../recorded.txt
file=gyre-$version.data/scripts/gyre
digest=$(openssl dgst -sha256 -binary "$file" 2> /dev/null | base64 | tr '+/' '-_' | tr -d =) || digest=
[ -z "$digest" ] || check "a digest of RECORD" grep -qxF "$file,sha256=$digest,$(stat -c %s "$file")" "gyre-$version.dist-info/RECORD"
check "the licenses of the libraries" test -s "gyre-$version.dist-info/licenses/gyre" -a "$(ls "gyre-$version.dist-info/licenses" | wc -l)" -gt 5
cd ..

# As pip installs it, into another place.
mkdir -p "an environment"
cp -r wheel/*.data/data/. wheel/*.data/scripts/. "an environment/"
mkdir "an environment/bin"
mv "an environment/gyre" "an environment/bin/"
ln -s "$work/an environment/bin/gyre" gyre
same "the program with an empty environment" "$(env -i ./gyre --version)" "$("$GYRE" --version)"
# A program with CUDA also loads cuBLAS, which the machine of the user has.
others=$(env -i LD_LIBRARY_PATH="$work/an environment/lib/gyre/lib" ldd "an environment/lib/gyre/libexec/gyre" |
  awk '$2 == "=>" && !/an environment/ && $1 !~ /^(libc|libm|libdl|librt|libpthread|libresolv|libutil|libcublas|libcublasLt)\.so/')
same "it loads only its own libraries and those of glibc and CUDA" "$others" ""
small_corpus
GYRE="$work/gyre" small_train --model run --after 2u --quiet
check "it trains" test -s run/metrics.jsonl
