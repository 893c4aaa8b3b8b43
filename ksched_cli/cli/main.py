"""The entry point of `ksched` and `kubectl-ksched`: the table of commands, and what becomes of errors. A command's
module is imported only when the command is typed, so that `--help` and completion start quickly."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import sys
from collections.abc import Collection
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from ksched_cli.cli.streams import abandon_stdout, command_line, complain, leave, prepare_streams, print_text
from ksched_cli.errors import KschedError, Terminated, UsageError, capitalised, did_you_mean
from ksched_cli.process import allow_copies
from ksched_cli.progress import listen
from ksched_cli.report.progress import RunProgress

INTERNAL_ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
# A full disk, a failing disk, a limit of the file's size, a quota, a descriptor that is not open for writing.
_UNWRITABLE = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF)
NO_COLOUR = "--no-color"
# Commands whose workloads come from manifests alone.
_TAKES_MANIFESTS = ("capacity", "rightsize")
# Shells and kubectl call this command; the help does not list it.
COMPLETE = "__complete"
EVERY = "*"

# Each is a module beside this one, and is imported when it runs: the help of all commands imports none of them.
COMMANDS = {
    "simulate": "Place every pending pod and show why.",
    "capacity": "How many more pods fit, where, and what runs out first.",
    "size": "The cheapest nodes to add so that every pending pod has a node.",
    "consolidate": "Which nodes can be removed or replaced, in an order in which it can be done.",
    "rightsize": "How much the pods of a manifest may request and still fit.",
    "drain": "Where the pods of nodes go when they are drained, and what holds them.",
    "sweep": "Thousands of variants at once: failures, orders, counts, versions.",
    "diff": "What moves between two clusters, configurations or versions.",
    "check": "Would these manifests schedule? For CI.",
    "explain-code": "What a reason code of `check` means, and what to do.",
    "explain": "Why a pod is Pending, or why it went where it is.",
    "snapshot": "Put what scheduling reads of a cluster into one file.",
    "trace": "Make a cluster of a scheduling trace in two tables.",
    "demo": "Do it on a small packaged cluster.",
    "verify": "How far the answers agree with what your cluster did.",
    "report": "Make an HTML page of a stored JSON document.",
    "watch": "Follow a live cluster and say what becomes of its pending pods.",
    "instance-types": "Which instance types a cloud or a catalog has, and their prices.",
    "plugins": "What each plugin does, where, and with which arguments.",
    "completion": "A script that completes commands and options in your shell.",
    "versions": "Which minors of Kubernetes are modelled, and what each changed.",
    "version": "Print the versions.",
    "help": "Show a page of the manual, or the help of a command.",
    "scenario": "Scenario files: check them, get their schema.",
    "config": "Look at a KubeSchedulerConfiguration, check it, migrate it, get its schema.",
}


class _Program(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        from ksched_cli.cli.help_layout import without_models

        return without_models(super().get_params(ctx))


def make_app(wanted: Collection[str]) -> typer.Typer:
    """The program with these commands; the others are only names in its help."""
    app = typer.Typer(
        name="ksched",
        cls=_Program,
        help="What would kube-scheduler do? Runs its scheduling cycle on a dump of your cluster, and binds nothing.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, short in COMMANDS.items():
        if name not in wanted:
            app.command(name, short_help=short)(_named_only)
            continue
        from ksched_cli.cli.help_layout import HelpCommand

        function = name.replace("-", "_")
        module = import_module(f"ksched_cli.cli.{function}")
        about, epilog = getattr(module, "HELP", short), getattr(module, "EPILOG", None)
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name, help=about, short_help=short, epilog=epilog)
        else:
            command = app.command(name, cls=HelpCommand, help=about, short_help=short, epilog=epilog)
            command(getattr(module, function))
    return app


def _named_only() -> None:
    """A command that was not typed."""


def main() -> NoReturn:
    """Run the command and leave with its exit code."""
    leave(run(sys.argv[1:]))


def complete_for_kubectl() -> NoReturn:
    """`kubectl_complete-ksched`, which kubectl runs for `kubectl ksched <TAB>`."""
    leave(run([COMPLETE, *sys.argv[1:]]))


def run(arguments: list[str]) -> int:
    """The exit code of the command. Every failure is a sentence on stderr."""
    allow_copies()
    shown = RunProgress(bar=sys.stderr is not None and sys.stderr.isatty())
    listen(shown)
    command_line.set(shlex.join([_program(), *arguments]))
    try:
        prepare_streams()
        with shown.cleared_for_output():
            code = _paged(arguments, shown) if sys.stdout.isatty() else _dispatch(arguments)
            sys.stdout.flush()
    except KschedError as mistake:
        for problem in mistake.problems:
            complain(str(problem))
        return mistake.exit_code
    except (typer.Abort, KeyboardInterrupt, Terminated) as ended:
        complain(shown.summary())
        if isinstance(ended, Terminated):
            # The signal, without a handler now, ends the process: its parent sees the same status as of other commands.
            os.kill(os.getpid(), signal.SIGTERM)
        return INTERRUPTED
    except BrokenPipeError:
        abandon_stdout()
        return BROKEN_PIPE
    except OSError as problem:
        return _unwritable(problem)
    except Exception as bug:
        # Whether typer brings its own click or uses the installed one depends on its version; both can do this.
        if hasattr(bug, "format_message"):
            return _usage_error(bug)
        if os.environ.get("KSCHED_TRACEBACK"):
            raise
        return _bug(bug)
    finally:
        listen(None)
    return code if isinstance(code, int) else 0


def _paged(arguments: list[str], shown: RunProgress) -> object:
    from ksched_cli.cli.streams import paged

    with paged(arguments, shown.close):
        return _dispatch(arguments)


def _dispatch(arguments: list[str]) -> object:
    arguments = _without_colour(arguments)
    if arguments in (["version"], ["--version"]):
        # There is nothing to parse: the commands need not be built.
        from ksched_cli.cli.version import version

        version()
        return 0
    if arguments[:1] == [COMPLETE]:
        from ksched_cli.cli.complete import print_completion

        return print_completion(arguments[1:])
    return _invoke(arguments)


def _without_colour(arguments: list[str]) -> list[str]:
    """The arguments before `--` without --no-color, which counts as NO_COLOR=1 does."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [each for each in arguments[:end] if each != NO_COLOUR]
    if len(kept) < end:
        os.environ["NO_COLOR"] = "1"
    return [*kept, *arguments[end:]]


def _unwritable(problem: OSError) -> int:
    """The output cannot be written: only then is a file no part of the problem, and the system at fault."""
    if problem.errno not in _UNWRITABLE or problem.filename is not None:
        if os.environ.get("KSCHED_TRACEBACK"):
            raise problem
        return _bug(problem)
    abandon_stdout()
    complain(f"cannot write the output: {(problem.strerror or str(problem)).lower()}")
    return UsageError.exit_code


def _bug(bug: Exception) -> int:
    complain(f"a bug in ksched: {type(bug).__name__}: {bug}")
    complain("set KSCHED_TRACEBACK=1 to see where, and please report it")
    return INTERNAL_ERROR


def _as_pflag(argument: str) -> str:
    """`-n=ml` as kubectl's flags take it: without the sign."""
    return argument[:2] + argument[3:] if re.match(r"-[A-Za-z]=.", argument) else argument


def _invoke(arguments: list[str]) -> object:
    """The command, or a template over the document that it prints."""
    arguments = [_as_pflag(each) for each in arguments]
    if not any(each.startswith(("-o", "--output")) for each in arguments):
        return _called(arguments)
    from ksched_cli.cli.templates import captured, find_template

    template = find_template(arguments)
    if template is None:
        return _called(arguments)
    with captured() as printed:
        code = _called(template.arguments)
    template.show(printed.getvalue())
    return code


def _called(arguments: list[str]) -> object:
    """What the command returns. click's own `main` would take a closed pipe for exit code 1."""
    first = arguments[0] if arguments else ""
    command = program_with(first if first in COMMANDS else "")
    try:
        with command.make_context(_program(), list(arguments)) as context:
            return command.invoke(context)
    except typer.Exit as left:
        return left.exit_code


@cache
def program_with(command: str) -> Any:
    """The program in which this command, or every command, can run. A process makes each program once."""
    return typer.main.get_command(make_app(COMMANDS if command == EVERY else [command]))


def _usage_error(mistake: Exception) -> int:
    """click's own complaints, in the form of all others and with the way to the help."""
    text: str = mistake.format_message()  # type: ignore[attr-defined]  # requested by the caller
    if type(mistake).__name__ == "NoArgsIsHelpError":
        print_text(text)
        return 0
    context = getattr(mistake, "ctx", None)
    complain(
        _with_near_options(mistake, context)
        if type(mistake).__name__ == "NoSuchOption"
        else _with_nearest_command(text)
    )
    if hint := _hint(text, getattr(context, "info_name", None)):
        complain(hint)
    elif context is not None:
        complain(f"see `{context.command_path} --help`")
    return UsageError.exit_code


# How alike an option is that was meant.
_NEAR = 0.85


def _with_near_options(mistake: Any, context: Any) -> str:
    """`--each-zone` is meant as `--each zone`. Other options are named only if few letters differ."""
    given = mistake.option_name
    options = [name for each in context.command.params for name in each.opts] if context is not None else []
    text = f"No such option: {given}"
    beginning, _, value = given.rpartition("-")
    if beginning in options and value:
        return f"{text}. Did you mean {beginning} {value}?"
    near = did_you_mean(given, [each for each in options if each.startswith("--")], cutoff=_NEAR)
    return f"{text}. {capitalised(near)}" if near else f"{text}."


def _with_nearest_command(text: str) -> str:
    """The complaint about an unknown command, with the commands that may be meant: old versions of typer lack them."""
    found = re.fullmatch(r"No such command '(.+?)'\.", text)
    if found is None:
        return text
    from difflib import get_close_matches

    near = get_close_matches(found[1], COMMANDS)
    return f"{text} Did you mean {', '.join(map(repr, near))}?" if near else text


def _hint(text: str, command: str | None) -> str:
    """What may have been meant by an argument that the command does not take."""
    if found := re.search(r"unexpected extra argument\S* \((\S+?)[ )]", text):
        path = found[1]
        if os.path.exists(path):
            return f"a cluster is read with --from {path}, manifests with -f {path}"
        if command in _TAKES_MANIFESTS and re.fullmatch(r"[a-z]+/[a-z0-9.-]+", path):
            grow = f"; in a dump, try a count: {_program()} simulate --from FILE --settle --scale {path}=N"
            pipe = f"pipe the workload as a manifest: kubectl get {path} -o yaml | {_program()} {command} -f -"
            return f"{pipe}{grow if command == 'capacity' else ''}"
    if (found := re.search(r"No such command '(.+?)'", text)) and os.path.exists(found[1]):
        return f"name a command first, as in: {_program()} simulate --from {found[1]}"
    return ""


def _program() -> str:
    """kubectl runs a plugin by its file name; help shows what the person typed."""
    return "kubectl ksched" if os.path.basename(sys.argv[0]).startswith("kubectl-") else "ksched"
