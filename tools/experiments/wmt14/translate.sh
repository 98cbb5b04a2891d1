# Stage translate: translates the test sets, and joins Moses tokens to text (sourced by wmt14.sh).

# Beam size, length penalty and maximum length are those of Vaswani et al. (2017), section 6.1.
search_options() {
  echo --beam-size 4 --length-penalty 0.6 --max-length-factor 1 --max-length-extra 50
  # tensor2tensor divides by ((5 + length) / 6)^0.6, fairseq by length^0.6.
  if [ "$preparation" = tensor2tensor ]; then echo --length-penalty-form gnmt; fi
}

stage_translate() {
  local name raw
  for name in $test_sets; do
    raw=translate/$name.de
    if [ "$preparation" = fairseq ]; then raw=translate/$name.tokens.de; fi
    # shellcheck disable=SC2046
    expected=$(bytes_of "prepare/$name.de") create "$raw" "$gyre" translate --model train \
      --checkpoint "$(cat average/checkpoint)" --device "$device" $(search_options) \
      --input "prepare/$name.en" --output "$raw.part"
    if [ "$preparation" = fairseq ]; then
      create "translate/$name.de" "$gyre" data detokenize --language de --input "$raw" --output "translate/$name.de.part"
    fi
  done
}
