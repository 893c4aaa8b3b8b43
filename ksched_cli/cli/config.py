"""`ksched config view|validate|migrate|schema`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ksched_cli.cli import options
from ksched_cli.cli.printing import complain, print_row, print_text, warn
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.wiring import SchedulerSpec

# Something of the old file cannot be said.
NOT_WHOLE = 1
SHORT = "Look at a KubeSchedulerConfiguration, check it, migrate it, get its schema."
app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=SHORT)

# The versions that there is a way to.
TARGETS = ("v1",)
To = Annotated[str, typer.Option(metavar="VERSION", help="The version to write; there is v1.")]
File = Annotated[str, typer.Argument(metavar="FILE", help="A KubeSchedulerConfiguration or a Policy; - is stdin.")]
ReadBy = Annotated[
    str, typer.Option(metavar="X.Y", help="The minor of Kubernetes that FILE is for. auto: the newest that reads it.")
]
GatesOfReader = Annotated[
    str,
    typer.Option(metavar="A=true,B=false", help="Feature gates that are set for the old file.", show_default=False),
]
OwnPlugin = Annotated[
    list[str],
    typer.Option(
        "--plugin",
        metavar="MODULE:CLASS",
        help="A plugin of your own beside the in-tree ones; by its name alone it is carried over as FILE lists it.",
    ),
]

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="KubeSchedulerConfiguration files.")]

VIEW_HELP = """The effective configuration, every default written out.

What is printed can be used as a configuration itself; it means the same.

Examples:

  ksched config view

  ksched config view --config scheduler.yaml -o json

  ksched config view --kube-version 1.28"""

VALIDATE_HELP = """Whether kube-scheduler would accept the files; if not, every mistake with its line and path.

Examples:

  ksched config validate scheduler.yaml

  ksched config validate scheduler.yaml --kube-version 1.28"""

MIGRATE_HELP = """Rewrite an older configuration, or a Policy, as a configuration of v1.

FILE is a KubeSchedulerConfiguration of any version, or a Policy in JSON or YAML, also in its ConfigMap; - is stdin.
It is read, and its mistakes are told, as by the newest Kubernetes that reads it, or by that of --kube-version.

What is printed means the same to Kubernetes 1.36, and says only what differs from its defaults. Defaults of the old
version that have changed are written out. Comments are not kept.

Notes on stderr tell what has changed. A warning names what cannot be said any more, and what to use instead; the exit
code is 1 then.

Examples:

  ksched config migrate scheduler.yaml > scheduler-v1.yaml

  ksched config migrate policy.cfg --to v1 -o json

  ksched config migrate scheduler.yaml --plugin Coscheduling

  kubectl get configmap scheduler-policy -o yaml | ksched config migrate -"""

SCHEMA_HELP = """A JSON Schema of KubeSchedulerConfiguration, for editors.

Examples:

  ksched config schema > kube-scheduler.schema.json"""


@app.command("view", help=VIEW_HELP, short_help="Print the effective configuration.")
def view(
    config: options.Config = None,
    kube_version: options.KubeVersion = "auto",
    feature_gates: options.FeatureGates = "",
    plugin: options.PluginOption = [],  # noqa: B006  # typer takes the default from here and never changes it
    output: options.OutputOption = options.Output.YAML,
) -> None:
    from ksched_cli.config.view import configuration_document

    _check_output(output)
    setting = _setting(config, kube_version, feature_gates, plugin)
    _print(
        configuration_document(setting.configuration, setting.release, setting.gates, setting.registry.models()), output
    )


@app.command("validate", help=VALIDATE_HELP, short_help="Check configurations, all mistakes at once.")
def validate(
    files: Files,
    kube_version: options.KubeVersion = "auto",
    feature_gates: options.FeatureGates = "",
    plugin: options.PluginOption = [],  # noqa: B006
) -> None:
    from ksched_cli.errors import ConfigError, InputError, Problem

    problems: list[Problem] = []
    for file in files:
        try:
            setting = _setting(file, kube_version, feature_gates, plugin, told=False)
            if setting.not_read:
                use = f"use {setting.release.config.read[0]}"
                problems.append(Problem(setting.not_read, file, path="apiVersion", hint=use))
                continue
        except InputError as mistake:
            problems.extend(mistake.problems)
        else:
            print_row(f"{file}: valid")
    if problems:
        raise ConfigError(problems)


@app.command("migrate", help=MIGRATE_HELP, short_help="Rewrite an older configuration or a Policy as v1.")
def migrate(
    file: File,
    to: To = TARGETS[0],
    kube_version: ReadBy = "auto",
    feature_gates: GatesOfReader = "",
    plugin: OwnPlugin = [],  # noqa: B006
    output: options.OutputOption = options.Output.YAML,
) -> None:
    if to not in TARGETS:
        raise UsageError(f"--to {to}: there is {', '.join(TARGETS)}")
    _check_output(output)
    from ksched_cli.wiring.migrating import migrate_file

    migration = migrate_file(file, sys.stdin.buffer, kube_version, feature_gates, plugin)
    for note in migration.notes:
        complain(f"{'warning' if note.lost else 'note'}: {note.told}")
    _print(migration.document, output)
    raise typer.Exit(0 if migration.whole else NOT_WHOLE)


@app.command("schema", help=SCHEMA_HELP, short_help="Print a JSON Schema for editors.")
def schema(kube_version: options.KubeVersion = "auto") -> None:
    from ksched_cli.config import schema as schemas
    from ksched_cli.report.encoding import json_text

    print_text(json_text(schemas.configuration_schema(_setting(None, kube_version, "").release), indent=2))


def _check_output(output: options.Output) -> None:
    if output not in (options.Output.YAML, options.Output.JSON):
        raise UsageError(f"a configuration is shown as yaml or json, not as {output.value}")


def _print(document: dict[str, Any], output: options.Output) -> None:
    from ksched_cli.report.encoding import write_json, write_yaml

    (write_json if output is options.Output.JSON else write_yaml)(document, sys.stdout)


def _setting(
    path: str | None, kube_version: str, feature_gates: str, plugins: Sequence[str] = (), *, told: bool = True
) -> SchedulerSpec:
    from ksched_cli.wiring import RunOptions, make_setting

    setting = make_setting(
        RunOptions(config=path, kube_version=kube_version, feature_gates=feature_gates, plugins=plugins)
    )
    if told or not setting.not_read:
        warn(setting.warnings)
    return setting
