"""The entry point of `ksched` and `kubectl-ksched`: commands, and what becomes of errors."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from ksched_cli.cli import (
    capacity,
    check,
    completion,
    config,
    demo,
    diff,
    drain,
    explain,
    explain_code,
    plugins,
    scenario,
    simulate,
    snapshot,
    verify,
    version,
    watch,
)
from ksched_cli.cli.complete import HIDDEN, print_completion
from ksched_cli.cli.templates import captured, find_template, spelled
from ksched_cli.errors import KschedError, UsageError

INTERNAL_ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

app = typer.Typer(
    name="ksched",
    help="What would kube-scheduler do? Runs its scheduling cycle on a dump of your cluster, and binds nothing.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("simulate", help=simulate.HELP, short_help=simulate.SHORT, epilog=simulate.EPILOG)(simulate.simulate)
app.command("capacity", help=capacity.HELP, short_help=capacity.SHORT, epilog=capacity.EPILOG)(capacity.capacity)
app.command("drain", help=drain.HELP, short_help=drain.SHORT, epilog=drain.EPILOG)(drain.drain)
app.command("diff", help=diff.HELP, short_help=diff.SHORT, epilog=diff.EPILOG)(diff.diff)
app.command("check", help=check.HELP, short_help=check.SHORT, epilog=check.EPILOG)(check.check)
app.command("explain-code", help=explain_code.HELP, short_help=explain_code.SHORT, epilog=explain_code.EPILOG)(
    explain_code.explain_code
)
app.command("explain", help=explain.HELP, short_help=explain.SHORT, epilog=explain.EPILOG)(explain.explain)
app.command("snapshot", help=snapshot.HELP, short_help=snapshot.SHORT, epilog=snapshot.EPILOG)(snapshot.snapshot)
app.command("demo", help=demo.HELP, short_help=demo.SHORT, epilog=demo.EPILOG)(demo.demo)
app.add_typer(scenario.app, name="scenario", short_help=scenario.SHORT)
app.command("verify", help=verify.HELP, short_help=verify.SHORT, epilog=verify.EPILOG)(verify.verify)
app.command("watch", help=watch.HELP, short_help=watch.SHORT, epilog=watch.EPILOG)(watch.watch)
app.add_typer(config.app, name="config", short_help=config.SHORT)
app.command("plugins", help=plugins.HELP, short_help=plugins.SHORT, epilog=plugins.EPILOG)(plugins.plugins)
app.command("completion", help=completion.HELP, short_help=completion.SHORT, epilog=completion.EPILOG)(
    completion.completion
)
app.command("version", help=version.HELP, short_help=version.SHORT)(version.version)


def main() -> NoReturn:
    """Run the command; every failure becomes a sentence on stderr and an exit code."""
    sys.exit(run(sys.argv[1:]))


def complete_for_kubectl() -> NoReturn:
    """`kubectl_complete-ksched`, which kubectl runs for `kubectl ksched <TAB>`."""
    sys.exit(run([HIDDEN, *sys.argv[1:]]))


def run(arguments: list[str]) -> int:
    if arguments == ["version"]:
        # Nothing to parse, and typer's parser would import pydantic for it, which takes longer than all the rest.
        version.version()
        return 0
    if arguments[:1] == [HIDDEN]:
        return print_completion(arguments[1:], typer.main.get_command(app))
    try:
        code = _invoke(spelled(arguments))
        sys.stdout.flush()
    except KschedError as mistake:
        for problem in mistake.problems:
            _complain(str(problem))
        return mistake.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has had enough. The interpreter must not flush into the pipe once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as bug:
        # Whether typer brings its own click or uses the installed one depends on its version; both can do this.
        if hasattr(bug, "format_message"):
            return _usage_error(bug)
        if os.environ.get("KSCHED_TRACEBACK"):
            raise
        _complain(f"a bug in ksched: {type(bug).__name__}: {bug}")
        _complain("set KSCHED_TRACEBACK=1 to see where, and please report it")
        return INTERNAL_ERROR
    return code if isinstance(code, int) else 0


def _invoke(arguments: list[str]) -> object:
    """The command, or a template over the document that it prints."""
    template = find_template(arguments)
    if template is None:
        return app(args=arguments, prog_name=_program(), standalone_mode=False)
    with captured() as printed:
        code = app(args=template.arguments, prog_name=_program(), standalone_mode=False)
    template.show(printed.getvalue())
    return code


def _usage_error(mistake: Exception) -> int:
    """click's own complaints, in the form of all others and with the way to the help."""
    text: str = mistake.format_message()  # type: ignore[attr-defined]  # asked for by the caller
    if type(mistake).__name__ == "NoArgsIsHelpError":
        print(text)  # noqa: T201
        return 0
    _complain(text)
    context = getattr(mistake, "ctx", None)
    if context is not None:
        _complain(f"see `{context.command_path} --help`")
    return UsageError.exit_code


def _complain(text: str) -> None:
    print(f"ksched: {text}", file=sys.stderr)  # noqa: T201


def _program() -> str:
    """kubectl runs a plugin by its file name; help should say what the person typed."""
    return "kubectl ksched" if os.path.basename(sys.argv[0]).startswith("kubectl-") else "ksched"
