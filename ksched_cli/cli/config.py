"""`ksched config view|validate|schema`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.running import warn
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.wiring import Setting

SHORT = "Look at a KubeSchedulerConfiguration, check it, get its schema."
app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=SHORT)

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
    from ksched_cli.config.view import to_document

    if output not in (options.Output.YAML, options.Output.JSON):
        raise UsageError(f"a configuration is shown as yaml or json, not as {output.value}")
    setting = _setting(config, kube_version, feature_gates, plugin)
    document = to_document(setting.configuration, setting.release, setting.gates, setting.registry.models())
    if output is options.Output.JSON:
        typer.echo(json.dumps(document, indent=2))
    else:
        import yaml

        yaml.safe_dump(document, sys.stdout, sort_keys=False)


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
                use = f"use {setting.release.config_versions[0]}"
                problems.append(Problem(setting.not_read, file, path="apiVersion", hint=use))
                continue
        except InputError as mistake:
            problems.extend(mistake.problems)
        else:
            typer.echo(f"{file}: valid")
    if problems:
        raise ConfigError(problems)


@app.command("schema", help=SCHEMA_HELP, short_help="Print a JSON Schema for editors.")
def schema(kube_version: options.KubeVersion = "auto") -> None:
    from ksched_cli.config import schema as schemas

    typer.echo(json.dumps(schemas.schema(_setting(None, kube_version, "").release), indent=2))


def _setting(
    path: str | None, kube_version: str, feature_gates: str, plugins: Sequence[str] = (), *, told: bool = True
) -> Setting:
    from ksched_cli.wiring import Setup, make_setting

    setting = make_setting(Setup(config=path, kube_version=kube_version, feature_gates=feature_gates, plugins=plugins))
    if told or not setting.not_read:
        warn(setting.warnings)
    return setting
