# Types into an interactive zsh that loads the completion from the folder $1, and checks the completed line.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1='> '; fpath=($1 \$fpath); autoload -U compinit; compinit -u -d $1/dump; unsetopt beep; print READY"
zpty -r shell output '*READY*READY*'

# typed LINE WANTED: the line completed with Tab must begin with WANTED.
typed() {
  local output
  zpty -w -n shell $'\x15'"$1"$'\t'
  zpty -w -n shell $'\x01print -r -- "<\x05>"\n'
  zpty -r shell output '*'$'\n''<*>*' || exit 1
  local got=${${output##*$'\n'<}%%>*}
  [[ $got == $2* ]] || { print -ru2 "completion of '$1': expected '$2', got '$got'"; exit 1 }
  print -r -- "ok: zsh: $1 -> $2"
}

typed 'gyre transl' 'gyre translate'
typed 'gyre train ml' 'gyre train mlm'
typed 'gyre train nmt --learn-r' 'gyre train nmt --learn-rate'
typed 'gyre train nmt --position al' 'gyre train nmt --position alibi'
typed 'gyre train nmt --train-sets train.e' 'gyre train nmt --train-sets train.en'
typed 'gyre train nmt --model te' 'gyre train nmt --model texts'
typed 'gyre plot dec' 'gyre plot decay'
typed 'gyre help bat' 'gyre help batches'
typed 'gyre completion z' 'gyre completion zsh'
zpty -d shell
