"""Lists of reference (`plan/reference/`): the minors of Kubernetes and what each changed, plugins, and reason codes.
They have no page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import to_builtins

from ksched_cli.framework.reasons import ReasonCode
from ksched_cli.plan.reasons.codes import plugins_of_code
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.model import Facts, Line, Section, Step, Steps, Table, View, columns

if TYPE_CHECKING:
    from ksched_cli.plan.reference.explain_code import ReasonCodes
    from ksched_cli.plan.reference.plugins import PluginList
    from ksched_cli.plan.reference.versions import VersionChanges, VersionList


# Minors


def versions_document(found: VersionList, options: RenderOptions) -> Any:
    return to_builtins(found.versions)


def versions_view(found: VersionList) -> View:
    """`Kubernetes: 22 minors, 21 checked against recordings (the oldest to the newest)`."""
    recorded = sum(each.recorded for each in found.versions)
    rows = [
        [
            each.version,
            "recordings" if each.recorded else "source code",
            each.changes,
            [name.rpartition("/")[2] for name in each.configuration_versions],
        ]
        for each in found.versions
    ]
    table = Table(columns("Version; Checked against; Changes: number; Configuration: list flows"), rows)
    return View(
        "versions",
        "Kubernetes",
        f"{len(found.versions)} minors",
        "good",
        [f"{recorded} checked against recordings"],
        f"{found.versions[0].version} to {found.versions[-1].version}",
        sections=[Section("versions", "Minors", table)],
        rows=[(each.version,) for each in found.versions],
    )


def changes_document(found: VersionChanges, options: RenderOptions) -> Any:
    return to_builtins(found.changes)


def changes_view(found: VersionChanges) -> View:
    """One entry for each change, with its patch and its gate before the sentence."""
    steps = []
    for each in found.changes:
        gate = f"Gate {each.gate} is on by default. " if each.gate else ""
        patch = f"Since {each.patch}: " if each.patch else ""
        lines = [Line(f"{patch}{gate}{each.change}")]
        steps.append(Step(", ".join(each.plugins), lines, ", ".join(each.about)))
    if not steps:
        steps = [Step("No rule of scheduling changed.")]
    return _list("versions", Steps(steps, dense=True))


# Plugins


_SLOW = "It has no `depends`: ksched asks it about every pod."


def plugins_document(found: PluginList, options: RenderOptions) -> list[Mapping[str, Any]]:
    return list(found.plugins)


def plugins_view(found: PluginList) -> View:
    rows = [
        [
            each["name"],
            each["weight"] or "",
            " ".join((each["summary"], *([_SLOW] if each["askedForEveryPod"] else []))),
        ]
        for each in found.plugins
    ]
    table = Table(columns("Name; Weight: number; What it does: flows"), rows)
    block = Facts(_plugin(found.plugins[0])) if found.in_full else table
    return _list("plugins", block, [(each["name"],) for each in found.plugins])


def _plugin(plugin: Mapping[str, Any]) -> list[tuple[str, str | Sequence[str]]]:
    """A plugin in full."""
    arguments = {key: value for key, value in (plugin["arguments"] or {}).items() if key not in ("apiVersion", "kind")}
    text = yaml.safe_dump(arguments, sort_keys=False).rstrip() if plugin["arguments"] else ""
    facts: list[tuple[str, str | Sequence[str]]] = [
        ("name", plugin["name"]),
        ("does", plugin["summary"]),
        ("points", ", ".join(plugin["extensionPoints"])),
        ("default", "yes" if plugin["default"] else "no"),
        ("weight", str(plugin["weight"] or "")),
        ("arguments", text.split("\n") if text else ""),
        ("retried on", plugin["events"] or "nothing: it rejects no pod"),
        ("speed", _SLOW if plugin["askedForEveryPod"] else ""),
        ("from", plugin["origin"]),
    ]
    return [(name, value) for name, value in facts if value]


# Reason codes


def codes_document(found: ReasonCodes, options: RenderOptions) -> list[dict[str, Any]]:
    return [
        {
            "code": each.code,
            "name": each.name,
            "level": each.level,
            "title": each.title,
            "meaning": each.meaning,
            "advice": list(each.advice),
            "plugins": list(plugins_of_code(each)),
        }
        for each in found.codes
    ]


def codes_view(found: ReasonCodes) -> View:
    if found.in_full:
        return _list("explain-code", Steps([_code(each) for each in found.codes]))
    rows = [[each.code, each.name, each.title] for each in found.codes]
    return _list("explain-code", Table(columns("Code; Name; Meaning: flows"), rows))


def _code(code: ReasonCode) -> Step:
    """A code with its meaning and what to do."""
    lines = [Line(f"{code.title[0].upper()}{code.title[1:]}. {code.meaning}"), Line("What to do:")]
    lines += [Line(f"- {each}", indent=1) for each in code.advice]
    plugins = plugins_of_code(code)
    lines += [Line(f"Reported by {', '.join(plugins)}.", aside=True)] if plugins else []
    return Step(f"{code.code} {code.name}", lines, f"({code.level})")


def _list(command: str, block: Table | Steps | Facts, rows: Sequence[Sequence[str]] = ()) -> View:
    """A View of one section, without a first line."""
    return View(command, "", "", "plain", sections=[Section("list", "", block, joined=True)], rows=rows)
