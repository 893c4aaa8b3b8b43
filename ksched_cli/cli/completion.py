"""`ksched completion SHELL`: a script generated from the commands as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from ksched_cli.cli.commands import Command, Option, commands_of
from ksched_cli.cli.complete import HIDDEN, TYPING
from ksched_cli.cli.printing import print_text

SHORT = "A script that completes commands and options in your shell."
HELP = "Prints a script that completes the commands, options and values of ksched in your shell."
EPILOG = """Examples:

  source <(ksched completion bash)

  ksched completion zsh > "${fpath[1]}/_ksched"

  ksched completion fish > ~/.config/fish/completions/ksched.fish"""

PROGRAMS = ("ksched", "kubectl-ksched")


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    shell: Annotated[Shell, typer.Argument(help="Which shell to complete in.")], context: typer.Context
) -> None:
    print_text(script(shell, context.find_root().command))


def script(shell: Shell, root: Any) -> str:
    """`root` is the click command of the whole program."""
    lines = _WRITERS[shell](list(commands_of(root)))
    return "\n".join([*lines, ""])


def _values(commands: list[Command]) -> Iterator[tuple[str, str, str]]:
    """Command, option and the values to choose from, for every option that has a list of them."""
    for command in commands:
        for option in command.options:
            if option.values:
                yield from ((command.path, name, " ".join(option.values)) for name in option.names)


def _named(commands: list[Command]) -> list[tuple[str, str]]:
    """Command and option, for every option that is given the name of an object."""
    return [
        (command.path, name)
        for command in commands
        for option in command.options
        if option.kind
        for name in option.names
    ]


def _steps(commands: list[Command]) -> list[str]:
    """`<where we are> <next word>` for each word that leads into a subcommand."""
    return [f'"{command.path} {name}"' for command in commands for name in command.commands]


def _quoted(pairs: list[tuple[str, str]]) -> list[str]:
    return [f'"{path} {name}"' for path, name in pairs]


_BASH_NAMES = ("", " $(_ksched_names)")


def _bash(commands: list[Command]) -> list[str]:
    return [
        "# Completion of ksched for bash; `ksched completion bash` prints it.",
        "_ksched_names() {",
        '    [[ "${COMP_WORDS[COMP_CWORD]}" == -* ]] && return',
        f'    "${{COMP_WORDS[0]}}" {HIDDEN} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null | grep -v "^:"',
        "}",
        "_ksched() {",
        '    local at="" word found=""',
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        '        case "$at $word" in',
        f'            {"|".join(_steps(commands))}) at="${{at:+$at }}$word" ;;',
        "        esac",
        "    done",
        '    case "$at ${COMP_WORDS[COMP_CWORD-1]}" in',
        *(f'        "{path} {name}") found="{values}" ;;' for path, name, values in _values(commands)),
        f'        {"|".join(_quoted(_named(commands)))}) found="$(_ksched_names)" ;;',
        '        *) case "$at" in',
        *(
            f'            "{command.path}") found="{" ".join(command.words)}{_BASH_NAMES[bool(command.names)]}" ;;'
            for command in commands
        ),
        "        esac ;;",
        "    esac",
        '    mapfile -t COMPREPLY < <(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}")',
        "}",
        f"complete -o default -F _ksched {' '.join(PROGRAMS)}",
    ]


_ZSH_NAMES = ("", "; [[ $PREFIX == -* ]] || _ksched_names")


def _zsh(commands: list[Command]) -> list[str]:
    return [
        f"#compdef {' '.join(PROGRAMS)}",
        "# Completion of ksched for zsh; `ksched completion zsh` prints it.",
        "_ksched_names() {",
        f'    compadd -- ${{(f)"$(${{words[1]}} {HIDDEN} "${{(@)words[2,CURRENT]}}" 2>/dev/null | grep -v "^:")"}}',
        "}",
        "_ksched() {",
        '    local at="" word',
        '    for word in "${(@)words[2,CURRENT-1]}"; do',
        '        case "$at $word" in',
        f'            {"|".join(_steps(commands))}) at="${{at:+$at }}$word" ;;',
        "        esac",
        "    done",
        '    case "$at ${words[CURRENT-1]}" in',
        *(f'        "{path} {name}") compadd -- {values}; return ;;' for path, name, values in _values(commands)),
        f"        {'|'.join(_quoted(_named(commands)))}) _ksched_names; return ;;",
        "    esac",
        '    case "$at" in',
        *(
            f'        "{command.path}") compadd -- {" ".join(command.words)}{_ZSH_NAMES[bool(command.names)]} ;;'
            for command in commands
        ),
        "    esac",
        "    _files",
        "}",
        'if [ "$funcstack[1]" = "_ksched" ]; then _ksched "$@"; else compdef _ksched ' + " ".join(PROGRAMS) + "; fi",
    ]


def _fish(commands: list[Command]) -> list[str]:
    lines = ["# Completion of ksched for fish; `ksched completion fish` prints it."]
    for program in PROGRAMS:
        for command in commands:
            where = f"-n '{_fish_condition(command)}'"
            if command.commands or command.arguments:
                offered = " ".join((*command.commands, *command.arguments))
                lines.append(f"complete -c {program} {where} -f -a '{offered}'")
            if command.names:
                lines.append(f"complete -c {program} {where} -f -a '{_FISH_NAMES}'")
            lines += [f"complete -c {program} {where}{_fish_option(option)}" for option in command.options]
    return lines


_FISH_NAMES = (
    f"(set -l typed (commandline -opc); $typed[1] {HIDDEN} $typed[2..-1] (commandline -ct) 2>/dev/null"
    ' | string match -v ":*")'
)


def _fish_condition(command: Command) -> str:
    """Every word of the path was seen; while subcommands are offered, none of them was."""
    seen = [f"__fish_seen_subcommand_from {word}" for word in command.path.split()]
    if command.commands:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(command.commands)}")
    return "; and ".join(seen)


def _fish_option(option: Option) -> str:
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.names)
    if option.kind:
        return f"{names} -x -a '{_FISH_NAMES}'"
    return names + (f" -x -a '{' '.join(option.values)}'" if option.values else "")


def _powershell_named(commands: list[Command]) -> list[str]:
    options = [f"'{path} {name}'" for path, name in _named(commands)]
    return [*options, *(f"'{command.path}'" for command in commands if command.names)]


def _powershell(commands: list[Command]) -> list[str]:
    quoted: Callable[[str], str] = lambda words: ", ".join(f"'{word}'" for word in words.split())  # noqa: E731
    return [
        "# Completion of ksched for PowerShell; `ksched completion powershell` prints it.",
        f"Register-ArgumentCompleter -Native -CommandName {', '.join(PROGRAMS)} -ScriptBlock {{",
        "    param($current, $ast, $position)",
        "    $words = @{",
        *(f"        '{command.path}' = @({quoted(' '.join(command.words))})" for command in commands),
        "    }",
        "    $values = @{",
        *(f"        '{path} {name}' = @({quoted(values)})" for path, name, values in _values(commands)),
        "    }",
        f"    $named = @({', '.join(_powershell_named(commands))})",
        "    $at = ''; $previous = ''; $typed = @()",
        "    foreach ($element in $ast.CommandElements | Select-Object -Skip 1) {",
        "        if ($element.Extent.EndOffset -ge $position) { break }",
        "        $previous = $element.ToString()",
        "        $typed += $previous",
        '        $next = "$at $previous".Trim()',
        "        if ($words.ContainsKey($next)) { $at = $next }",
        "    }",
        '    $found = $values["$at $previous"]',
        '    $names = $named -contains "$at $previous"',
        "    if ($null -eq $found -and -not $names) { $found = $words[$at] }",
        "    if ($names -or ($named -contains $at -and -not $current.StartsWith('-'))) {",
        f"        $more = & $ast.CommandElements[0].ToString() {HIDDEN} {TYPING}$current @typed",
        "        $found = @($found) + @($more | Where-Object { $_ -notlike ':*' })",
        "    }",
        '    $found | Where-Object { $_ -like "$current*" }',
        "}",
    ]


_WRITERS: dict[Shell, Callable[[list[Command]], list[str]]] = {
    Shell.BASH: _bash,
    Shell.ZSH: _zsh,
    Shell.FISH: _fish,
    Shell.POWERSHELL: _powershell,
}
