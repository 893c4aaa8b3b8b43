"""`ksched config view|validate|migrate|schema`: the KubeSchedulerConfiguration (`Simulator.configuration` and its
neighbours). `migrate` exits with 1 if the new configuration cannot express all of the old one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from msgspec.structs import replace

from ksched_cli.cli import options
from ksched_cli.cli.file_commands import file_problems
from ksched_cli.cli.groups import takes_groups
from ksched_cli.cli.help_layout import HelpCommand, HelpGroup
from ksched_cli.cli.showing import show
from ksched_cli.cli.streams import complain, print_json, warn
from ksched_cli.errors import ConfigError, UsageError
from ksched_cli.releases import DEFAULT_VERSION
from ksched_cli.simulator import RunOptions, Simulator

# The new version cannot express something of the old file.
NOT_WHOLE = 1
app = typer.Typer(cls=HelpGroup, no_args_is_help=True)

# The versions that there is a way to.
TARGETS = ("v1",)
ReadBy = Annotated[
    str, typer.Option(metavar="X.Y", help="The minor of Kubernetes that FILE is for. auto: the newest that reads it.")
]
ReadAfter = Annotated[
    str,
    typer.Option(
        metavar="X.Y",
        help=f"The minor that reads the result. Without it, {DEFAULT_VERSION}, or that of FILE if it is later.",
    ),
]
GatesOfReader = Annotated[
    str, typer.Option(metavar="A=true,B=false", help="Feature gates that are set for the old file.")
]
OwnPlugin = Annotated[
    list[str],
    typer.Option(
        "--plugin",
        metavar="MODULE:CLASS",
        help="A plugin of your own beside the in-tree ones; by its name alone it is carried over as FILE lists it.",
    ),
]

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

MIGRATE_HELP = f"""Rewrite an older configuration, or a Policy, as a configuration of v1.

FILE is a KubeSchedulerConfiguration of any version, or a Policy in JSON or YAML, also in its ConfigMap; - is stdin.
It is read, and its mistakes are reported, as by the newest Kubernetes that reads it, or by that of --kube-version.

What is printed means the same to Kubernetes {DEFAULT_VERSION}, or to the minor of --to-kube-version, and has only what
differs from its defaults. Defaults of the old version that have changed are written out. Comments are not kept.

Notes on stderr list what has changed. A warning names what v1 cannot express, and what to use instead; the exit
code is 1 then.

Examples:

  ksched config migrate scheduler.yaml > scheduler-v1.yaml

  ksched config migrate policy.cfg --to v1 -o json

  ksched config migrate scheduler.yaml --to-kube-version 1.37

  ksched config migrate scheduler.yaml --plugin Coscheduling

  kubectl get configmap scheduler-policy -o yaml | ksched config migrate -"""

SCHEMA_HELP = """A JSON Schema of KubeSchedulerConfiguration, for editors.

Examples:

  ksched config schema > kube-scheduler.schema.json"""


@app.command("view", cls=HelpCommand, help=VIEW_HELP, short_help="Print the effective configuration.")
@takes_groups
def view(
    config: options.Config = None,
    kube_version: options.KubeVersion = "auto",
    feature_gates: options.FeatureGates = "",
    plugin: options.PluginOption = [],  # noqa: B006  # typer takes the default from here and never changes it
    output: Annotated[str, options.FormatOption("EffectiveConfiguration")] = "yaml",
) -> None:
    run = RunOptions(config=config, kube_version=kube_version, feature_gates=feature_gates, plugins=plugin)
    found = Simulator.configuration(run)
    show(found, output, warnings=found.warnings)


@app.command("validate", cls=HelpCommand, help=VALIDATE_HELP, short_help="Check configurations, all mistakes at once.")
def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="KubeSchedulerConfiguration files.")],
    kube_version: options.KubeVersion = "auto",
    feature_gates: options.FeatureGates = "",
    plugin: options.PluginOption = [],  # noqa: B006
) -> None:
    def validate_file(file: str) -> None:
        run = RunOptions(config=file, kube_version=kube_version, feature_gates=feature_gates, plugins=plugin)
        warn(Simulator.validate_configuration(run))

    if problems := file_problems(files, validate_file):
        raise ConfigError(problems)


@app.command(
    "migrate", cls=HelpCommand, help=MIGRATE_HELP, short_help="Rewrite an older configuration or a Policy as v1."
)
@takes_groups
def migrate(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A KubeSchedulerConfiguration or a Policy; - is stdin.")],
    to: Annotated[str, typer.Option(metavar="VERSION", help="The version to write; there is v1.")] = TARGETS[0],
    kube_version: ReadBy = "auto",
    to_kube_version: ReadAfter = "",
    feature_gates: GatesOfReader = "",
    plugin: OwnPlugin = [],  # noqa: B006
    output: Annotated[str, options.FormatOption("Migration")] = "yaml",
) -> None:
    if to not in TARGETS:
        raise UsageError(f"--to {to}: there is {', '.join(TARGETS)}")
    run = RunOptions(config=file, kube_version=kube_version, feature_gates=feature_gates, plugins=plugin)
    migration = Simulator.migrate_configuration(replace(run, stdin=sys.stdin.buffer), to_kube_version)
    for note in migration.notes:
        complain(f"{'warning' if note.lost else 'note'}: {note.problem}")
    show(migration, output)
    raise typer.Exit(0 if migration.whole else NOT_WHOLE)


@app.command("schema", cls=HelpCommand, help=SCHEMA_HELP, short_help="Print a JSON Schema for editors.")
def schema(kube_version: options.KubeVersion = "auto") -> None:
    print_json(Simulator.configuration_schema(kube_version))
