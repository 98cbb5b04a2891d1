# Stage vocab: learns the joint vocabulary of both languages (sourced by wmt14.sh).

vocabulary=vocab/joint/joint.vocab

stage_vocab() {
  local options
  case $preparation in
    fairseq) options=(--type subword-nmt --merges "$vocab_size" --codes-output vocab/joint.part/codes) ;;
    tensor2tensor)
      options=(--type bpe --size "$vocab_size" --sample-lines "$sample_lines" --character-coverage 1) ;;
  esac
  create_folder vocab/joint "$gyre" vocab "${options[@]}" --input prepare/train.en prepare/train.de \
    --output vocab/joint.part/joint.vocab
}
