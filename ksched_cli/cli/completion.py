"""`ksched completion SHELL`: a script that completes the words of ksched in your shell.

The scripts know no command and no option. They call `ksched __complete` (complete.py) at each TAB and hand its lines to
the shell: a candidate, behind a tab what it does, and at the end `:0` for files, `:6` for no space, `:4` for nothing
else.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ksched_cli.cli.streams import print_text

HELP = "Prints a script that completes the commands, options and values of ksched in your shell."
EPILOG = """Examples:

  source <(ksched completion bash)
  ksched completion zsh > "${fpath[1]}/_ksched"
  ksched completion fish > ~/.config/fish/completions/ksched.fish"""

_BASH = r"""# Completion of ksched for bash; `ksched completion bash` prints it.
_ksched() {
    local line current="${COMP_WORDS[COMP_CWORD]}" files=""
    COMPREPLY=()
    while IFS= read -r line; do
        case "$line" in
            :0) files=1 ;;
            :6) compopt -o nospace 2>/dev/null ;;
            :*) ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ -n "$files" ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    fi
    return 0
}
complete -F _ksched ksched kubectl-ksched
"""

_ZSH = r"""#compdef ksched kubectl-ksched
# Completion of ksched for zsh; `ksched completion zsh` prints it.
_ksched() {
    local line name files=""
    local -a found behind
    for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        case "$line" in
            :0) files=1 ;;
            :6) behind=(-S '') ;;
            :*|'') ;;
            *$'\t'*) name="${line%%$'\t'*}"; found+=("${name//:/\\:}:${line#*$'\t'}") ;;
            *) found+=("${line//:/\\:}") ;;
        esac
    done
    if [[ $PREFIX == -* ]]; then
        (( $#found )) && _describe -o option found $behind
    else
        (( $#found )) && _describe word found $behind
    fi
    [[ -n $files ]] && _files
}
if [ "$funcstack[1]" = "_ksched" ]; then _ksched "$@"; else compdef _ksched ksched kubectl-ksched; fi
"""

_FISH = r"""# Completion of ksched for fish; `ksched completion fish` prints it.
function __ksched_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    for line in ($typed[1] __complete $typed[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':0'
                __fish_complete_path "$current"
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c ksched -f -a '(__ksched_complete)'
complete -c kubectl-ksched -f -a '(__ksched_complete)'
"""

_POWERSHELL = r"""# Completion of ksched for PowerShell; `ksched completion powershell` prints it.
Register-ArgumentCompleter -Native -CommandName ksched, kubectl-ksched -ScriptBlock {
    param($current, $ast, $position)
    $typed = @()
    foreach ($element in $ast.CommandElements | Select-Object -Skip 1) {
        if ($element.Extent.EndOffset -ge $position) { break }
        $typed += $element.ToString()
    }
    & $ast.CommandElements[0].ToString() __complete --typing=$current @typed | Where-Object { $_ -notlike ':*' } |
        ForEach-Object { ($_ -split "`t")[0] }
}
"""


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


SCRIPTS = {Shell.BASH: _BASH, Shell.ZSH: _ZSH, Shell.FISH: _FISH, Shell.POWERSHELL: _POWERSHELL}


def completion(shell: Annotated[Shell, typer.Argument(help="Which shell to complete in.")]) -> None:
    print_text(SCRIPTS[shell])
