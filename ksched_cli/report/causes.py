"""Shows why pods are on other nodes: the rule that changed, under each pod and summed up at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ksched_cli.api.listing import named
from ksched_cli.plan.diff.diff import Cause, Decider, Diff, Figure, OnNode, PodChange, Tally
from ksched_cli.releases.changes import RuleChange
from ksched_cli.report.entries import entry_of, filled
from ksched_cli.report.grid import Column, Grid
from ksched_cli.report.visible import shows_visible

_PODS = 2
_LINES = 2
ITSELF = "kube-scheduler"


def cause_lines(change: PodChange, *, wide: bool = False) -> list[str]:
    """The lines under a pod of `diff`."""
    cause = change.cause
    if cause is None:
        return []
    lines = [*_first_line(cause), *(_decider(each, change) for each in cause.deciders)]
    if cause.alone is not None:
        lines[-1] += f" (to {cause.alone or 'no node'}, had other pods stayed)"
    if cause.kind == "rule" and cause.pods:
        lines.append(f"and {_moved(cause)}")
    left = len(lines) - _LINES
    if wide or left <= 0:
        return lines
    return [*lines[: _LINES - 1], f"{lines[_LINES - 1]} (and {left} more)"]


def _first_line(cause: Cause) -> Iterator[str]:
    if cause.kind == "preemption":
        yield f"{'before, it was ' if cause.side == 'before' else ''}evicted for {cause.preemptor}"
    elif cause.kind == "others" and not cause.pods:
        yield "other pods are elsewhere"
    elif cause.kind == "others":
        yield _moved(cause)


def _moved(cause: Cause) -> str:
    return f"other pods moved ahead of it: {named(cause.pods, _PODS)}"


def _decider(decider: Decider, change: PodChange) -> str:
    if decider.aspect == "queue":
        held = change.after is not None and change.after.state in ("gated", "ignored")
        return f"{_who(decider)} {'holds it back' if held else 'held it back'}"
    if not decider.nodes:
        return f"{_who(decider)} tries its group as a whole on one side only"
    figures = ", ".join(map(_figure, decider.nodes))
    verb = {"score": "scores", "weight": "weighs"}.get(decider.aspect, "on")
    return f"{_who(decider)} {verb} {figures}"


def _who(decider: Decider) -> str:
    # All changed rules together make a score; of several rules of a filter one is enough.
    joined = " and " if decider.aspect in ("score", "weight") else " or "
    since = joined.join(dict.fromkeys(map(_since, decider.rules)))
    why = ", ".join(filter(None, (since, "the configuration" if decider.configuration else "")))
    return f"{decider.plugin or ITSELF} ({why})" if why else decider.plugin or ITSELF


def _since(rule: RuleChange) -> str:
    return ", ".join(filter(None, (rule.since, f"gate {rule.gate}" if rule.gate else "")))


def _figure(figure: OnNode) -> str:
    colon = ":" if isinstance(figure.before, str) or isinstance(figure.after, str) else ""
    return f"{figure.node}{colon} {_figure_text(figure.before)} -> {_figure_text(figure.after)}"


def _figure_text(figure: Figure) -> str:
    return "-" if figure is None else str(figure)


# Summed up


@shows_visible
def print_rules(diff: Diff, console: Console, *, wide: bool = False) -> None:
    """Print the rules that changed, with how many pods each moved; rules that moved no pod only with -o wide."""
    if diff.rules is None:
        return
    moving = [each for each in diff.rules if each.pods]
    rows = [*map(_row, moving), *_other_rows(diff)]
    if rows:
        console.print(Text("Why they moved", style="bold"))
        console.print(_table(rows))
    idle = [each for each in diff.rules if not each.pods]
    if idle and wide:
        console.print(Text("Rules that changed and moved no pod", style="bold"))
        console.print(_table([("", each, text) for _, each, text in map(_row, idle)]))
    elif idle:
        count = f"{len(idle)} {'more ' if moving else ''}rule{'' if len(idle) == 1 else 's'} changed"
        console.print(Text(f"{count} and moved no pod (-o wide lists them)", style="dim"))
    if rows or idle:
        console.print()


_Row = tuple[str, str, str]


def _row(tally: Tally) -> _Row:
    rule = tally.rule
    return str(tally.pods), f"{', '.join(each or ITSELF for each in rule.plugins)} ({_since(rule)})", rule.text


def _other_rows(diff: Diff) -> Iterator[_Row]:
    causes = [change.cause for change in diff.changes if change.cause is not None]
    configured = [any(each.configuration and not each.rules for each in cause.deciders) for cause in causes]
    counts = {
        "the configuration": sum(configured),
        "preemption by others": sum(cause.kind == "preemption" and not cause.deciders for cause in causes),
        "other pods that moved": sum(cause.kind == "others" for cause in causes),
    }
    return ((str(count), title, "") for title, count in counts.items() if count)


def _table(rows: Sequence[_Row]) -> Grid:
    table = Grid(Column(right=True), Column(flows=True))
    for count, title, text in rows:
        table.add(f"{count:>4}", Text.assemble((title, "bold"), (f": {text}" if text else "", "dim")))
    return table


def markdown_rules(diff: Diff) -> list[str]:
    if not diff.rules:
        return []
    moving = [each for each in diff.rules if each.pods]
    idle = len(diff.rules) - len(moving)
    lines = []
    if moving:
        lines += ["| pods | rule that changed | |", "|---|---|---|"]
        lines += [f"| {' | '.join(_row(each))} |" for each in moving]
        lines.append("")
    if idle:
        lines += [f"{idle} {'more ' if moving else ''}rule{'' if idle == 1 else 's'} changed and moved no pod.", ""]
    return lines


# For programs


def cause_entry(cause: Cause) -> dict[str, Any]:
    deciders = {"deciders": [_decider_entry(each) for each in cause.deciders], "pods": list(cause.pods)}
    alone = {} if cause.alone is None else {"alone": cause.alone}
    return filled(entry_of(cause, "kind preemptor side") | deciders) | alone


def _decider_entry(decider: Decider) -> dict[str, Any]:
    rules = [_rule_entry(each) for each in decider.rules]
    nodes = [entry_of(each, "node before after") for each in decider.nodes]
    entry = {**entry_of(decider, "plugin aspect"), "rules": rules, "nodes": nodes}
    return filled({**entry, "configuration": decider.configuration})


def _rule_entry(rule: RuleChange) -> dict[str, Any]:
    return {"since": rule.since, **({"gate": rule.gate} if rule.gate else {}), "text": rule.text}


def tally_entry(tally: Tally) -> dict[str, Any]:
    rule = tally.rule
    about = {"plugins": list(rule.plugins), "aspects": sorted(rule.aspects)}
    return {**_rule_entry(rule), **about, "pods": tally.pods}
