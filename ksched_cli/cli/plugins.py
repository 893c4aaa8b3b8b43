"""`ksched plugins [NAME]`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from ksched_cli.cli import options
from ksched_cli.cli.printing import print_row, print_text, warn
from ksched_cli.errors import UsageError
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT

if TYPE_CHECKING:
    from ksched_cli.framework.interfaces import Plugin
    from ksched_cli.wiring import SchedulerSpec

SHORT = "What each plugin does, where, and with which arguments."
HELP = """What each plugin does, its extension points, its default weight, its arguments, and the events that make
kube-scheduler retry a pod that it rejected."""
EPILOG = f"""Examples:

  ksched plugins

  ksched plugins {NODE_RESOURCES_FIT}

  ksched plugins -o json --kube-version 1.33"""

Name = Annotated[Optional[str], typer.Argument(metavar="[NAME]", show_default=False, help="One plugin, in full.")]  # noqa: UP045


def plugins(
    name: Name = None,
    kube_version: options.KubeVersion = "auto",
    feature_gates: options.FeatureGates = "",
    plugin: options.PluginOption = [],  # noqa: B006  # typer takes the default from here and never changes it
    output: options.OutputOption = options.Output.TABLE,
) -> None:
    from ksched_cli.wiring import RunOptions, make_setting

    setting = make_setting(RunOptions(kube_version=kube_version, feature_gates=feature_gates, plugins=plugin))
    warn(setting.warnings)
    known = list(setting.registry)
    if name is not None and name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
        raise UsageError(f"no plugin is named {name}; {hint}")
    found = [_describe(each, setting) for each in (known if name is None else [name])]
    from ksched_cli.report.encoding import json_text, yaml_text

    if output is options.Output.JSON:
        print_text(json_text(found, indent=2))
    elif output is options.Output.NAME:
        for each in found:
            print_row(each["name"])
    elif output is options.Output.YAML:
        print_text(yaml_text(found))
    else:
        _show(found, in_full=name is not None)


def _describe(name: str, setting: SchedulerSpec) -> dict[str, Any]:
    from ksched_cli.config.enabled_plugins import default_weights
    from ksched_cli.framework.interfaces import extension_points

    plugin = setting.registry[name]
    weights = default_weights(setting.release, setting.gates)
    return {
        "name": name,
        "summary": plugin.summary or (vars(plugin).get("__doc__") or "").strip().partition("\n")[0],
        "default": name in weights,
        "weight": weights.get(name) or None,
        "extensionPoints": list(extension_points(plugin, setting.release)),
        "arguments": _arguments(plugin),
        "events": _events(plugin, setting.registry.origin(name)),
        "origin": setting.registry.origin(name),
    }


def _events(plugin: type[Plugin], origin: str) -> list[str]:
    """A plugin of one's own that names none is asked again at every event."""
    from ksched_cli.engine.registry import IN_TREE_ORIGIN
    from ksched_cli.framework.events import EVERY_EVENT

    own = origin != IN_TREE_ORIGIN
    return [str(event) for event in plugin.events or (EVERY_EVENT if own else ())]


def _arguments(plugin: type[Plugin]) -> Any:
    """With their defaults; those that must be given are named."""
    import msgspec

    from ksched_cli.config.own_args import own_args
    from ksched_cli.config.plugin_args import ARGS_OF

    if plugin.name in ARGS_OF:
        return msgspec.to_builtins(ARGS_OF[plugin.name]())
    if plugin.args_model is None:
        return {}
    args, mistakes = own_args(plugin.args_model, {})
    return {"needs": [text for _, text in mistakes]} if mistakes else msgspec.to_builtins(args)


def _show(found: list[dict[str, Any]], *, in_full: bool) -> None:
    from ksched_cli.report.console import make_console
    from ksched_cli.report.plugins import print_plugin, print_plugins

    if in_full:
        print_plugin(found[0], make_console())
    else:
        print_plugins(found, make_console())
