/** bash 3.2 and newer. The answer is a word and a description per line, or `:files` or `:folders`. */
const BASH = `# bash completion for kubelab: source <(kubelab completion bash)
_kubelab() {
  local current="\${COMP_WORDS[COMP_CWORD]}" answer line IFS=$'\\n'
  [ "$current" = "=" ] && current=""
  answer=$("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
  case "$answer" in
    :files) compopt -o filenames 2>/dev/null; answer=$(compgen -f -- "$current") ;;
    :folders) compopt -o filenames 2>/dev/null; answer=$(compgen -d -- "$current") ;;
    *) answer=$(printf '%s\\n' "$answer" | cut -f 1) ;;
  esac
  # Line by line: COMPREPLY=(...) would expand a name such as *.
  COMPREPLY=()
  while read -r line; do [ -z "$line" ] || COMPREPLY+=("$line"); done <<< "$answer"
}
complete -F _kubelab kubelab`;

const ZSH = `#compdef kubelab
# zsh completion for kubelab: source <(kubelab completion zsh)
_kubelab() {
  local answer line
  local -a found
  answer=$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null) || return
  case "$answer" in
    :files) _files ;;
    :folders) _files -/ ;;
    *)
      for line in "\${(@f)answer}"; do
        [ -n "$line" ] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
      done
      _describe kubelab found
      ;;
  esac
}
if [ "\${funcstack[1]}" = "_kubelab" ]; then _kubelab "$@"; else compdef _kubelab kubelab; fi`;

const FISH = `# fish completion for kubelab: kubelab completion fish > ~/.config/fish/completions/kubelab.fish
function __kubelab_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l answer ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
  switch "$answer"
    case :files
      __fish_complete_path "$current"
    case :folders
      __fish_complete_directories "$current"
    case '*'
      printf '%s\\n' $answer
  end
end
complete -c kubelab -f -a '(__kubelab_complete)'`;

/** The scripts of `kubelab completion`. */
export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
