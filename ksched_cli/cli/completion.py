"""`ksched completion SHELL`: a script generated from the commands as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
    for command, option in _taking_values(commands):
        if option.values:
            yield from ((command.path, name, " ".join(option.values)) for name in option.names)


def _taking_values(commands: list[Command]) -> Iterator[tuple[Command, Option]]:
    return ((command, option) for command in commands for option in command.options if option.takes_value)


def _named(commands: list[Command]) -> list[tuple[str, str]]:
    """Command and option, for every option that is given the name of an object."""
    return [(each.path, name) for each, option in _taking_values(commands) if option.kind for name in option.names]


def _with_files(commands: list[Command]) -> list[tuple[str, str]]:
    """Command and option, for every option that is given a file."""
    return [(each.path, name) for each, option in _taking_values(commands) if option.files for name in option.names]


def _with_text(commands: list[Command]) -> list[tuple[str, str]]:
    """Command and option, for every option whose value is free text."""
    return [
        (command.path, name)
        for command, option in _taking_values(commands)
        if not (option.values or option.kind or option.files)
        for name in option.names
    ]


def _cases(pairs: Iterable[tuple[str, str]]) -> str:
    return "|".join(f'"{path} {name}"' for path, name in pairs)


def _steps(commands: list[Command]) -> str:
    """`<where we are> <next word>` for each word that leads into a subcommand."""
    return _cases((command.path, name) for command in commands for name in command.commands)


def _names_of(commands: list[Command], *, files: bool) -> str:
    """The commands whose arguments are names, or files."""
    return "|".join(f'"{each.path}"' for each in commands if (each.files if files else each.names))


def _bash(commands: list[Command]) -> list[str]:
    return [
        "# Completion of ksched for bash; `ksched completion bash` prints it.",
        "_ksched_names() {",
        f'    "${{COMP_WORDS[0]}}" {HIDDEN} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null | grep -v "^:" | cut -f 1',
        "}",
        "_ksched_files() {",
        "    compopt -o filenames 2>/dev/null",
        '    mapfile -t COMPREPLY < <(compgen -f -- "$current")',
        "}",
        "_ksched() {",
        '    local at="" word found="" current="${COMP_WORDS[COMP_CWORD]}"',
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        '        case "$at $word" in',
        f'            {_steps(commands)}) at="${{at:+$at }}$word" ;;',
        "        esac",
        "    done",
        '    case "$at ${COMP_WORDS[COMP_CWORD-1]}" in',
        *(f'        "{path} {name}") found="{values}" ;;' for path, name, values in _values(commands)),
        f'        {_cases(_named(commands))}) found="$(_ksched_names)" ;;',
        f"        {_cases(_with_files(commands))}) _ksched_files; return ;;",
        f"        {_cases(_with_text(commands))}) return ;;",
        '        *) if [[ "$current" == -* ]]; then case "$at" in',
        *(f'            "{each.path}") found="{_bash_options(each)}" ;;' for each in commands),
        '            esac; else case "$at" in',
        *(
            f'            "{each.path}") found="{" ".join((*each.commands, *each.arguments))}" ;;'
            for each in commands
            if each.commands or each.arguments
        ),
        '            esac; case "$at" in',
        f'            {_names_of(commands, files=False)}) found="$found $(_ksched_names)" ;;',
        f"            {_names_of(commands, files=True)}) _ksched_files; return ;;",
        "            esac; fi ;;",
        "    esac",
        '    mapfile -t COMPREPLY < <(compgen -W "$found" -- "$current")',
        '    [[ "${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2>/dev/null',
        "    return 0",
        "}",
        f"complete -F _ksched {' '.join(PROGRAMS)}",
    ]


def _bash_options(command: Command) -> str:
    return " ".join(name for option in command.options for name in option.names)


def _zsh(commands: list[Command]) -> list[str]:
    return [
        f"#compdef {' '.join(PROGRAMS)}",
        "# Completion of ksched for zsh; `ksched completion zsh` prints it.",
        "_ksched_names() {",
        "    local -a lines names counts",
        f'    lines=(${{(f)"$(${{words[1]}} {HIDDEN} "${{(@)words[2,CURRENT]}}" 2>/dev/null)"}})',
        "    names=(${${lines:#:*}%%$'\\t'*})",
        "    counts=(${(M)names:#*=}); names=(${names:#*=})",
        "    (( $#counts )) && compadd -S '' -- $counts",
        "    (( $#names )) && compadd -- $names",
        "}",
        "_ksched() {",
        '    local at="" word',
        "    local -a found",
        '    for word in "${(@)words[2,CURRENT-1]}"; do',
        '        case "$at $word" in',
        f'            {_steps(commands)}) at="${{at:+$at }}$word" ;;',
        "        esac",
        "    done",
        '    case "$at ${words[CURRENT-1]}" in',
        *(f'        "{path} {name}") compadd -- {values}; return ;;' for path, name, values in _values(commands)),
        f"        {_cases(_named(commands))}) _ksched_names; return ;;",
        f"        {_cases(_with_files(commands))}) _files; return ;;",
        f"        {_cases(_with_text(commands))}) return ;;",
        "    esac",
        "    if [[ $PREFIX == -* ]]; then",
        '        case "$at" in',
        *(f'            "{each.path}") found=({_zsh_options(each)}) ;;' for each in commands),
        "        esac",
        "        _describe -o option found",
        "        return",
        "    fi",
        '    case "$at" in',
        *(
            f'        "{each.path}") found=({_zsh_words(each)}) ;;'
            for each in commands
            if each.commands or each.arguments
        ),
        "    esac",
        "    (( $#found )) && _describe command found",
        '    case "$at" in',
        f"        {_names_of(commands, files=False)}) _ksched_names ;;",
        f"        {_names_of(commands, files=True)}) _files ;;",
        "    esac",
        "}",
        'if [ "$funcstack[1]" = "_ksched" ]; then _ksched "$@"; else compdef _ksched ' + " ".join(PROGRAMS) + "; fi",
    ]


def _zsh_options(command: Command) -> str:
    return " ".join(_zsh_pair(name, option.about) for option in command.options for name in option.names)


def _zsh_words(command: Command) -> str:
    return " ".join(_zsh_pair(name, command.about.get(name, "")) for name in (*command.commands, *command.arguments))


def _zsh_pair(name: str, about: str) -> str:
    """As _describe reads it: a colon of the name or the text is escaped."""
    parts = (each.replace("\\", "\\\\").replace(":", "\\:") for each in (name, about) if each)
    return _single_quoted(":".join(parts))


def _single_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(commands: list[Command]) -> list[str]:
    lines = ["# Completion of ksched for fish; `ksched completion fish` prints it."]
    for program in PROGRAMS:
        lines.append(f"complete -c {program} -f")
        for command in commands:
            where = f"-c {program} -n '{_fish_condition(command)}'"
            for name in (*command.commands, *command.arguments):
                lines.append(f"complete {where} -a {name}{_fish_about(command.about.get(name, ''))}")
            if command.names:
                lines.append(f"complete {where} -a '{_FISH_NAMES}'")
            if command.files:
                lines.append(f"complete {where} -F")
            lines += [f"complete {where}{_fish_option(option)}" for option in command.options]
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


def _fish_about(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f" -d '{quoted}'" if text else ""


def _fish_option(option: Option) -> str:
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.names)
    about = _fish_about(option.about)
    if option.kind:
        return f"{names} -x -a '{_FISH_NAMES}'{about}"
    if option.values:
        return f"{names} -x -a '{' '.join(option.values)}'{about}"
    if option.files:
        return f"{names} -r -F{about}"
    return names + (" -x" if option.takes_value else "") + about


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
