// What shells run to complete a command line of ours. They know nothing of the verbs: they ask
// `callgate complete` (completion.h).
#include "completion.h"

namespace callgate::cli {

namespace {

// bash splits words at "=" and replaces only what follows it, so words are put together to ask, and taken
// apart again in the answer.
constexpr std::string_view kBash =
    R"sh(# Completion of callgate for bash. For one session: source <(callgate completion bash)
_callgate() {
    COMPREPLY=()
    local -a typed=()
    local word joined='' paths program=$1
    [[ $program == '~/'* ]] && program=$HOME${program#'~'}
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ $joined ]]; then
            typed[-1]+=$word
            joined=''
        elif [[ $word == = ]] && ((${#typed[@]})) && [[ ${typed[-1]} == --* ]]; then
            typed[-1]+='='
            joined=1
        else
            typed+=("$word")
        fi
    done
    local current=${typed[-1]}
    {
        read -r paths || return 0
        while IFS=$'\t' read -r word _; do
            [[ $current == --*=* && $COMP_WORDBREAKS == *=* ]] && word=${word#*=}
            COMPREPLY+=("$word")
        done
    } < <("$program" complete -- "${typed[@]}" 2>/dev/null)
    ((${#COMPREPLY[@]})) && return 0
    case $paths in
        file) compopt -o default ;;
        directory) compopt -o dirnames ;;
    esac
    return 0
}
complete -F _callgate callgate
)sh";

constexpr std::string_view kZsh = R"sh(#compdef callgate
# Completion of callgate for zsh. For one session: source <(callgate completion zsh)
_callgate() {
    local -a answer described
    local line
    answer=("${(@f)$("${${(Q)words[1]}/#\~\//$HOME/}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in "${(@)answer[2,-1]}"; do
        described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (($#described)) && _describe -V 'callgate' described
    [[ $PREFIX == --*=* ]] && compset -P '*='
    case $answer[1] in
        file) _files ;;
        directory) _files -/ ;;
    esac
}
if [[ $funcstack[1] == _callgate ]]; then
    _callgate "$@"
else
    compdef _callgate callgate
fi
)sh";

constexpr std::string_view kFish =
    R"sh(# Completion of callgate for fish. For one session: callgate completion fish | source
function __callgate_complete
    set -l typed (commandline -opc)
    set -l program (string replace -r '^~/' "$HOME/" -- $typed[1])
    set -e typed[1]
    set -l current (commandline -ct)
    set -l answer ($program complete -- $typed "$current" 2>/dev/null)
    for line in $answer[2..-1]
        echo -- $line
    end
    set -l option (string match -r -- '^--[^=]+=' "$current")
    set -l path (string replace -r -- '^--[^=]+=' '' "$current")
    switch "$answer[1]"
        case file
            __fish_complete_path "$path" | string replace -r -- '^' "$option"
        case directory
            __fish_complete_directories "$path" | string replace -r -- '^' "$option"
    end
end
complete -c callgate -f -k -a '(__callgate_complete)'
)sh";

}  // namespace

std::string_view completion_script(std::string_view shell) {
    if (shell == "bash") return kBash;
    if (shell == "zsh") return kZsh;
    if (shell == "fish") return kFish;
    return {};
}

}  // namespace callgate::cli
