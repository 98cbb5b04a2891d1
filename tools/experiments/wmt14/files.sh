# Functions that create files so that an interrupted call leaves none that is incomplete (sourced by wmt14.sh).

# Records a command line for the bundle: paths relative to OUTPUT, final names, and gyre by its name.
record() {
  local output='' line
  while :; do
    case $1 in
      in_new_folder) shift 2 ;;
      with_findings) shift ;;
      output_to) output=" > $2" && shift 2 ;;
      *) break ;;
    esac
  done
  line="${*@Q}$output"
  line=${line//"$gyre"/gyre}
  line=${line//"$root/"/}
  line=${line//.part/}
  sed -E "s/'([A-Za-z0-9_.,:=+@/-]+)'/\1/g" <<< "$line" >> ".stages/$stage.commands"
}

# create TARGET COMMAND...: creates a file or folder unless it exists. The command writes TARGET.part. The size of the
# target in bytes, for the progress, comes from the variable `expected` if it is set.
create() {
  local target=$1 status
  shift
  record "$@"
  if [ -e "$target" ]; then return; fi
  rm -rf "$target.part"
  begin_file "$target" "${expected:-0}"
  say "   $target"
  set +e # a function in a condition would ignore its failing commands
  (set -e; "$@")
  status=$?
  set -e
  [ "$status" -eq 0 ] || fail "$target was not created; its command ended with status $status"
  mv "$target.part" "$target"
  rm -f .stages/current
}

# create_folder TARGET COMMAND...: likewise for a folder, which exists before the command begins.
create_folder() {
  create "$1" in_new_folder "$1.part" "${@:2}"
}
in_new_folder() {
  mkdir -p "$1"
  "${@:2}"
}

# output_to FILE COMMAND...: writes the standard output of the command to a file.
output_to() { "${@:2}" > "$1"; }
