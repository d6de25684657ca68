// The scripts know nothing of verbs and options: they ask the program that the user is about to
// run, so they fit every version of it. Only file names are completed by the shells themselves.
#include "client/completion/shell_scripts.h"

namespace tony::client {
namespace {

// bash takes `=` and `:` for ends of words, so the words are put together again by the blanks
// between them, and only what stands behind the last such character is replaced.
constexpr char kBash[] = R"(# bash completion for tony and tony-submit
_tony() {
  local line=${COMP_LINE:0:COMP_POINT} words=() word i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && word=${line#"${line%%[![:space:]]*}"}
    if [[ $i == 0 || $line == [[:space:]]* ]]; then
      words+=("$word")
    else
      words[${#words[@]} - 1]+=$word
    fi
    line=${line#"${line%%[![:space:]]*}"}
    line=${line#"$word"}
  done
  local current=${words[${#words[@]} - 1]} head= breaks=${COMP_WORDBREAKS//[^:=]/}
  [[ -n $breaks && $current == *[$breaks]* ]] && head=${current%"${current##*[$breaks]}"}

  local answer files open prefix
  mapfile -t answer < <("${words[0]/#\~\//$HOME/}" __complete "${words[@]:1}" 2>/dev/null)
  [[ ${#answer[@]} -gt 0 ]] || return 0
  files=${answer[0]%%$'\t'*}
  open=${answer[0]#*$'\t'}
  prefix=${open#*$'\t'}
  COMPREPLY=()
  compopt -o nosort 2>/dev/null  # newest jobs first; bash before 4.4 sorts
  for line in "${answer[@]:1}"; do
    word=${line%%$'\t'*}
    COMPREPLY+=("${word#"$head"}")
  done
  [[ $open == open$'\t'* ]] && compopt -o nospace
  [[ $files == none ]] && return 0

  local paths path=${current#"$prefix"}
  case $files in
    files) mapfile -t paths < <(compgen -f -- "$path") ;;
    folders) mapfile -t paths < <(compgen -d -- "$path") ;;
    xml) mapfile -t paths < <(compgen -d -- "$path"; compgen -f -X '!*.xml' -- "$path") ;;
    commands) mapfile -t paths < <(compgen -c -- "$path"; compgen -f -- "$path") ;;
  esac
  compopt -o filenames
  for word in "${paths[@]}"; do
    # bash knows a folder only by its whole word.
    [[ $prefix != "$head" && -d $word ]] && word+=/ && compopt -o nospace
    word=$prefix$word
    COMPREPLY+=("${word#"$head"}")
  done
}
complete -F _tony tony tony-submit
)";

constexpr char kZsh[] = R"(#compdef tony tony-submit
# zsh completion for tony and tony-submit
_tony() {
  local -a answer found shown
  local line word meaning files open prefix program=${(Q)words[1]/#\~\//$HOME/}
  answer=("${(@f)$("$program" __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  (( $#answer )) && [[ -n $answer[1] ]] || return 1
  IFS=$'\t' read -r files open prefix <<<$answer[1]
  for line in "${(@)answer[2,-1]}"; do
    word=${line%%$'\t'*}
    meaning=${line#*$'\t'}
    found+=("$word")
    shown+=("$word${meaning:+  -- $meaning}")
  done
  if (( $#found )); then
    if [[ $open == open ]]; then
      compadd -U -V tony -S '' -l -d shown -a found
    else
      compadd -U -V tony -l -d shown -a found
    fi
  fi
  [[ -n $prefix ]] && compset -P "${(b)prefix}"
  case $files in
    files) _files ;;
    folders) _files -/ ;;
    xml) _files -g '*.xml' ;;
    commands) _alternative 'commands:command:_command_names -e' 'files:file:_files' ;;
  esac
  (( compstate[nmatches] ))
}
if [[ $funcstack[1] == _tony ]]; then
  _tony "$@"
else
  compdef _tony tony tony-submit
fi
)";

constexpr char kFish[] = R"(# fish completion for tony and tony-submit
function __tony_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    test (count $answer) -gt 0; or return
    set -l head (string split \t -- $answer[1])
    test (count $answer) -gt 1; and printf '%s\n' $answer[2..-1]
    set -l path (string replace -- "$head[3]" '' "$current")
    switch $head[1]
        case files
            __fish_complete_path "$path" | string replace -r -- '^' "$head[3]"
        case folders
            __fish_complete_directories "$path" | string replace -r -- '^' "$head[3]"
        case xml
            __fish_complete_suffix "$path" .xml
        case commands
            __fish_complete_command
            __fish_complete_path "$path"
    end
end
complete -c tony -k -f -a '(__tony_complete)'
complete -c tony-submit -k -f -a '(__tony_complete)'
)";

}  // namespace

const std::vector<std::string>& CompletionShells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string CompletionScript(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  return shell == "fish" ? kFish : "";
}

}  // namespace tony::client
