"""`ksched completion SHELL`: a script generated from the commands as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from ksched_cli.cli.commands import Command, Option, commands_of
from ksched_cli.cli.complete import HIDDEN, TYPING
from ksched_cli.cli.streams import print_text

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
    """The script for a shell. `root` is the click command of the whole program."""
    lines = _WRITERS[shell](list(commands_of(root)))
    return "\n".join([*lines, ""])


def _values(commands: list[Command]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The commands with their options that have a list of values, and these values."""
    return ((place, option.values) for place, option in _taking_values(commands) if option.values)


def _taking_values(commands: list[Command]) -> Iterator[tuple[str, Option]]:
    """`simulate --from` with its option, for each name of every option that takes a value."""
    for command in commands:
        for option in command.options:
            yield from ((f"{command.path} {name}", option) for name in option.names if option.takes_value)


def _named(commands: list[Command]) -> list[str]:
    """The commands with their options whose value is the name of an object."""
    return [place for place, option in _taking_values(commands) if option.kind]


def _with_files(commands: list[Command]) -> list[str]:
    """The commands with their options whose value is a file."""
    return [place for place, option in _taking_values(commands) if option.files]


def _with_text(commands: list[Command]) -> list[str]:
    """The commands with their options whose value is free text."""
    return [place for place, each in _taking_values(commands) if not (each.values or each.kind or each.files)]


def _cases(places: Iterable[str]) -> str:
    return "|".join(f'"{place}"' for place in places)


def _steps(commands: list[Command]) -> str:
    """`<where we are> <next word>` for each word that leads into a subcommand."""
    return _cases(f"{command.path} {name}" for command in commands for name in command.commands)


def _names_of(commands: list[Command], *, files: bool) -> str:
    """The commands whose arguments are names, or files."""
    return _cases(each.path for each in commands if (each.files if files else each.names))


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
        *(f'        "{place}") found="{" ".join(values)}" ;;' for place, values in _values(commands)),
        f'        {_cases(_named(commands))}) found="$(_ksched_names)" ;;',
        f"        {_cases(_with_files(commands))}) _ksched_files; return ;;",
        f"        {_cases(_with_text(commands))}) return ;;",
        '        *) if [[ "$current" == -* ]]; then case "$at" in',
        *(f'            "{each.path}") found="{" ".join(each.option_names)}" ;;' for each in commands),
        '            esac; else case "$at" in',
        *(f'            "{each.path}") found="{" ".join(each.next_words)}" ;;' for each in commands if each.next_words),
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
        *(f'        "{place}") compadd -- {" ".join(values)}; return ;;' for place, values in _values(commands)),
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
        *(f'        "{each.path}") found=({_zsh_words(each)}) ;;' for each in commands if each.next_words),
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
    return " ".join(_zsh_pair(name, command.about.get(name, "")) for name in command.next_words)


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
            for name in command.next_words:
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


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _powershell(commands: list[Command]) -> list[str]:
    named = [*_named(commands), *(command.path for command in commands if command.names)]
    return [
        "# Completion of ksched for PowerShell; `ksched completion powershell` prints it.",
        f"Register-ArgumentCompleter -Native -CommandName {', '.join(PROGRAMS)} -ScriptBlock {{",
        "    param($current, $ast, $position)",
        "    $words = @{",
        *(f"        '{each.path}' = @({_quoted((*each.next_words, *each.option_names))})" for each in commands),
        "    }",
        "    $values = @{",
        *(f"        '{place}' = @({_quoted(values)})" for place, values in _values(commands)),
        "    }",
        f"    $named = @({_quoted(named)})",
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
