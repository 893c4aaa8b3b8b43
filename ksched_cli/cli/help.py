"""`ksched help [TOPIC]`: the pages of the manual in `help/`, the help of a command, or the options of all commands. The
layout of a command's help is in `help_layout.py`."""

from __future__ import annotations

import difflib
from importlib.resources import files
from typing import Annotated

import typer

from ksched_cli.cli.streams import print_text
from ksched_cli.errors import Problem, UsageError

HELP = """Show a page of the manual, or the help of a command. Without a topic, list the pages."""
EPILOG = """Examples:

  ksched help
  ksched help inputs
  ksched help simulate"""

# The pages, in the order in which a new user reads them.
TOPICS = {
    "commands": "every command, templates and exit codes",
    "inputs": "clusters, dumps, manifests and snapshots",
    "edits": "what-if edits, scenarios, running until nothing moves",
    "sizing": "nodes to buy, nodes to remove, requests that fit; catalogs and prices",
    "ci": "check in CI, GitHub Actions and pre-commit",
    "testing": "tests of manifests with pytest",
    "sweeps": "thousands of variants at once, and how long they take",
    "versions": "minors and patches of Kubernetes, sampling, which rule moved a pod",
    "plugins": "a plugin of your own",
    "policies": "a policy of your own, compared on a production trace",
    "python": "ksched from Python and notebooks",
    "performance": "how fast ksched is, and how to measure it",
    "public-manifests": "verdicts of check on the manifests of public projects",
    "stability": "what stays the same between releases",
}

OPTIONS = "options"

Topic = Annotated[str, typer.Argument(metavar="[TOPIC]", help="A page of the manual or a command.")]


def help(topic: Topic = "") -> object:  # the command's name
    from ksched_cli.cli.main import COMMANDS, run

    if not topic:
        width = max(map(len, TOPICS))
        lines = (f"  {name:<{width}}  {about}" for name, about in TOPICS.items())
        options = f"  {OPTIONS:<{width}}  every option of every command"
        print_text("\n".join(["Pages of the manual (ksched help TOPIC):", "", *lines, options]))
        return 0
    if topic in TOPICS:
        _show(topic)
        return 0
    if topic == OPTIONS:
        _show_options()
        return 0
    if topic in COMMANDS:
        return run([topic, "--help"])
    names = [*TOPICS, OPTIONS, *COMMANDS]
    close = difflib.get_close_matches(topic, names, 1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(TOPICS)}, and the commands"
    raise UsageError(Problem(f'the manual has no page "{topic}"', hint=hint))


def _show_options() -> None:
    from ksched_cli.cli.help_layout import all_options, terminal_width
    from ksched_cli.cli.main import EVERY, program_with

    program = program_with(EVERY)
    commands = {name: command for name, command in program.commands.items() if not hasattr(command, "commands")}
    print_text("\n".join(["Options of all commands", *all_options(commands, terminal_width())]))


def page(topic: str) -> str:
    """The Markdown of a page."""
    return (files("ksched_cli") / "help" / f"{topic}.md").read_text(encoding="utf-8")


def _show(topic: str) -> None:
    """Laid out on a terminal; as Markdown elsewhere."""
    from ksched_cli.report.console import make_console

    console = make_console()
    if not console.is_terminal:
        print_text(page(topic))
        return
    from rich.markdown import Markdown

    console.print(Markdown(page(topic)))
