# Stage vocab: learns the joint vocabulary of both languages (sourced by wmt14.sh).

stage_vocab() {
  case $preparation in
    fairseq)
      make_folder vocab/joint "$gyre" vocab --type subword-nmt --merges "$vocab_size" --input prepare/train.en prepare/train.de \
        --output vocab/joint.part/joint.vocab --codes-output vocab/joint.part/codes
      ;;
    tensor2tensor)
      make_folder vocab/joint "$gyre" vocab --type bpe --size "$vocab_size" --sample-lines "$sample_lines" --character-coverage 1 \
        --input prepare/train.en prepare/train.de --output vocab/joint.part/joint.vocab
      ;;
  esac
}
vocabulary=vocab/joint/joint.vocab
