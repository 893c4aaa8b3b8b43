"""The help of every command is complete, and the manual's table of commands has all of them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import pytest
from typer import Option, Typer

from ksched_cli.cli.help_layout import RARE, HelpCommand, option_names
from ksched_cli.cli.main import EVERY, program_with, run
from ksched_cli.simulator import edit_specs
from tests.cli.transcripts import ROOT
from tests.running import Ksched

PROGRAM = program_with(EVERY)


def commands_of(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands_of(child, f"{path} {name}".strip())


COMMANDS = dict(commands_of(PROGRAM))
LEAVES = [path for path, each in COMMANDS.items() if not hasattr(each, "commands")]
# Nothing can be said to it that an example would show.
WITHOUT_EXAMPLES = {"version"}
MANUAL = (ROOT / "ksched_cli" / "help" / "commands.md").read_text()


def shown_help(path: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run([*path.split(), "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("path", list(COMMANDS))
def test_help_fits_a_page_and_names_every_option_with_what_it_does(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown_help(path, capsys)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert len(text.splitlines()) <= 90
    for param in COMMANDS[path].params:
        assert param.help, f"{path}: {param.name} has no help"
        if param.param_type_name == "argument":
            continue
        assert [*param.opts, *param.secondary_opts][-1] in text
        if not (param.rich_help_panel or "").endswith(RARE):
            # The names, and behind them or in the next line what the option does.
            assert re.search(rf"^  {re.escape(option_names(param, short=True))}( \S+)?(  +|\n {{32}})\S", text, re.M)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in LEAVES if path not in WITHOUT_EXAMPLES])
def test_help_has_examples_of_the_command_and_they_can_be_run(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = COMMANDS[path]
    text = f"{command.help}\n{command.epilog or ''}"
    _, found, after = text.partition("Examples:")
    assert found
    examples = [line.strip() for line in after.splitlines() if f"ksched {path}" in line]
    assert examples
    for example in examples:
        for words in _calls(example):
            _parse(words)


def _calls(example: str) -> list[list[str]]:
    """What stands behind `ksched` in a line of shell."""
    parts = re.split(r"[|()]", re.sub(r"\s+>.*", "", example))
    return [shlex.split(part)[1:] for part in parts if part.strip().startswith("ksched ")]


def _parse(words: list[str]) -> None:
    """click reads the words without running anything: an option that is not there is an error."""
    command: Any = PROGRAM
    while hasattr(command, "commands"):
        command = command.commands[words[0]]
        words = words[1:]
    context = type(PROGRAM).context_class(command) if hasattr(type(PROGRAM), "context_class") else None
    assert context is not None
    command.parse_args(context, list(words))


@pytest.mark.parametrize("path", [path for path in COMMANDS if path and " " not in path])
def test_the_manual_has_a_row_for_every_command(path: str) -> None:
    rows = re.findall(r"^\| `ksched ([a-z-]+)", MANUAL, re.MULTILINE)
    assert rows.count(path) == 1


def test_the_manual_has_rows_for_these_commands_only() -> None:
    assert set(re.findall(r"^\| `ksched ([a-z-]+)", MANUAL, re.MULTILINE)) <= COMMANDS.keys()


def test_options_that_the_manuals_table_names_are_there() -> None:
    for row in re.findall(r"^\| `ksched ([^|]+)\|", MANUAL, re.MULTILINE):
        for part in re.findall(r"(?<![\w-])(--[a-z][a-z-]+|-[a-zA-Z])\b", row):
            path = re.split(r"[ `]", row)[0]
            names = {name for each in COMMANDS[path].params for name in (*each.opts, *each.secondary_opts)}
            assert part in names | {"-h", "--help"}, f"ksched {path} has no {part}"


def test_the_list_of_commands_tells_what_each_does(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown_help("", capsys)
    for path in COMMANDS:
        if path and " " not in path:
            assert re.search(rf"^  {path} +\S", text, re.MULTILINE)


@pytest.mark.slow
def test_the_help_of_all_imports_no_command() -> None:
    code = (
        "import sys\nfrom ksched_cli.cli.main import run\nrun(['--help'])\n"
        "print(*(name for name in sys.modules if name.startswith('ksched_cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("ksched_cli.") for name in done.stdout.splitlines()[-1].split()}
    assert loaded <= {
        "cli",
        "cli.main",
        "cli.streams",
        "cli.help_layout",
        "errors",
        "process",
        "progress",
        "report",
        "report.progress",
    }


def test_the_help_of_simulate_is_shorter_than_60_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown_help("simulate", capsys).splitlines()
    assert len(lines) < 60
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Examples:", "Options:", "Input:", "What-if edits:", "Rules:", "Output:"]


@pytest.mark.parametrize("columns", [60, 120])
def test_help_is_as_wide_as_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    widest = max(map(len, shown_help("check", capsys).splitlines()))
    assert columns - 12 < widest <= columns


def test_help_options_describes_every_option_of_every_command(ksched: Ksched) -> None:
    shown = ksched("help", "options", code=0).out
    text = " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80
    for path in LEAVES:
        for param in COMMANDS[path].params if " " not in path else ():
            if param.param_type_name == "option":
                assert param.opts[-1] in text
                assert " ".join(param.help.split()) in text, param.opts
    # An option of one command alone is described once, under the name of the command.
    assert shown.count("  --mix A=3,B=1") == 1
    own = shown.partition("\ncapacity:\n")[2].partition("\n\n")[0]
    assert "  --mix A=3,B=1" in own


def test_help_edits_has_every_edit_in_its_order(ksched: Ksched) -> None:
    """UPDATE_GOLDEN=1 writes the sentence anew."""
    order = f"Edits are made in this order: {', '.join(f'`--{spec.flag}`' for spec in edit_specs())}."
    sentence = "\n".join(textwrap.wrap(order, 120, break_on_hyphens=False))
    page = ROOT / "ksched_cli" / "help" / "edits.md"
    if os.environ.get("UPDATE_GOLDEN"):
        page.write_text(re.sub(r"Edits are made in this order: [^.]*\.", lambda _: sentence, page.read_text()))
    assert sentence in page.read_text()
    assert "Edits are made in this order:" in ksched("help", "edits", code=0).out


@pytest.mark.slow
def test_a_page_is_laid_out_on_a_terminal_only(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ksched("help", "edits", code=0).out
    assert "```yaml" in text
    assert "\x1b[" not in text
    monkeypatch.setenv("FORCE_COLOR", "1")
    laid_out = ksched("help", "edits", code=0).out
    assert "```" not in laid_out
    assert "\x1b[1m" in laid_out


Way = StrEnum("Way", ["ab", "abc"])
MADE_HELP = """Do it.

Examples:
  ksched do {fits}
  ksched do {long}

A note."""
MADE_OPTIONS = Typer()


@MADE_OPTIONS.command(
    cls=HelpCommand,
    help=MADE_HELP.format(fits="a" * 48, long=f"{'b' * 39} with-hyphens {'c' * 39} {'d' * 60} e"),
)
def _made(
    first: Annotated[str, Option("--first", metavar="N" * 20, help="Has 28 letters.")] = "",
    second: Annotated[str, Option("--second", metavar="N" * 20, help="Has 29 letters.")] = "",
    way: Annotated[Way, Option("--a-way-of-28-letters", help="Choices that fit.")] = Way.ab,
    other: Annotated[Way, Option("--my-way-of-29-letters", help="Choices that do not fit.")] = Way.ab,
) -> None:
    """An example and names of options that just fit, and others that are a letter too long."""


def test_the_layout_of_lines_that_just_fit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit, match="0"):
        MADE_OPTIONS(["--help"])
    assert (
        capsys.readouterr()
        .out.partition("Examples:\n")[2]
        .startswith(f"""\
  ksched do {"a" * 48}
  ksched do {"b" * 39} \\
      with-hyphens {"c" * 39} \\
      {"d" * 60} \\
      e

Options:
  --first NNNNNNNNNNNNNNNNNNNN  Has 28 letters
  --second NNNNNNNNNNNNNNNNNNNN
                                Has 29 letters
  --a-way-of-28-letters ab|abc  Choices that fit
  --my-way-of-29-letters        Choices that do not fit: ab,
                                abc
""")
    )
