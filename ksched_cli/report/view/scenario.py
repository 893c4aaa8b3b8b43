"""What each step of a scenario does, and whether its expectations hold (`ScenarioRun` of `plan/scenario.py`, `simulate
--scenario`). The end of the world is shown by `ends.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import field
from msgspec.structs import asdict

from ksched_cli.controlplane.draws import Draw
from ksched_cli.errors import counted, named
from ksched_cli.plan.results.outcomes import RefusedPod
from ksched_cli.plan.scenario import CheckedExpectation, ScenarioRun, StepResult
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view import simulate
from ksched_cli.report.view.autoscaling import sections_of
from ksched_cli.report.view.documents import DocumentPart, OrdersPart
from ksched_cli.report.view.ends import (
    SettledPart,
    WorldPart,
    draws_text,
    ending_lines,
    final_pods_section,
    rollouts,
    timeline,
)
from ksched_cli.report.view.model import Line, Section, Step, Steps, Tone, View, counting
from ksched_cli.report.view.pods import PodPart
from ksched_cli.report.view.shared import node_map, zone_bars
from ksched_cli.world.results import TimelineEvent

# So many pods are named for a reason, and so many reasons of a step; -o wide has all.
_MOST_NAMES, _MOST_REASONS = 3, 5
_MAP = "A cell is a node before the first and after the last step, filled by what pods request of it."


class ScenarioStepPart(DocumentPart, frozen=True, kw_only=True):
    """`pods` has the last cycle of every pod that was pending, `preempting` every cycle that preempted."""

    name: str
    line: int
    edits: tuple[str, ...]
    pods: tuple[PodPart, ...]
    gated: tuple[str, ...]
    refused: tuple[RefusedPod, ...]
    preempting: tuple[PodPart, ...]
    warnings: tuple[str, ...]
    expectations: tuple[CheckedExpectation, ...]
    draws: tuple[Draw, ...] = ()
    orders: OrdersPart | None = None

    @classmethod
    def of(cls, step: StepResult) -> ScenarioStepPart:
        return cls.like(
            step,
            pods=tuple(map(PodPart.of, step.pods)),
            gated=tuple(each.pod for each in step.gated),
            preempting=tuple(map(PodPart.of, step.preempting)),
            expectations=step.checks,
            draws=step.end.draws,
            orders=OrdersPart.of(step.end),
        )


class ScenarioRunDocument(DocumentPart, frozen=True, kw_only=True, tag_field="kind", tag="ScenarioResult"):
    """`timeline` and `settled` are there with --settle and for a page."""

    name: str
    source: str
    held: bool
    steps: tuple[ScenarioStepPart, ...]
    timeline: tuple[TimelineEvent, ...] | None = None
    final: Any
    finished: Mapping[str, bool]
    draws: tuple[Draw, ...] = ()
    orders: OrdersPart | None = None
    settled: SettledPart | None = None
    autoscaling: Mapping[str, Any] | None = None
    node_table: Any = None
    coverage: Mapping[str, Any] = field(default_factory=dict)


Document = ScenarioRunDocument


def document(run: ScenarioRun, options: RenderOptions) -> ScenarioRunDocument:
    return ScenarioRunDocument.like(
        run,
        held=not run.failed,
        steps=tuple(map(ScenarioStepPart.of, run.steps)),
        **asdict(WorldPart.of(run.settle_result.world, timeline=options.timeline)),
        node_table=run.nodes,
    )


def view(found: ScenarioRunDocument) -> View:
    """`lose-a-zone: 1 of 3 expectations failed, in step 3`."""
    checks = [each for step in found.steps for each in step.expectations]
    failed = sum(not each.held for each in checks)
    last = {pod.pod: pod for step in found.steps for pod in step.pods}
    return View(
        "simulate --scenario",
        found.name,
        *_verdict(found, len(checks), failed),
        notes=[
            Line(f"Scenario {found.name}, {found.source}.", place="page"),
            *([Line(draws_text(found.draws, found.orders), "warn", place="page")] if found.draws else []),
        ],
        figures=[
            counting(len(found.steps), "step"),
            counting(len(checks) - failed, "expectation", "met", "good" if checks else "plain"),
            counting(failed, "expectation", "failed", "bad" if failed else "plain"),
        ],
        sections=[
            Section("steps", "Step by step", Steps(list(_steps(found.steps)), steps_are="step")),
            *_end(found, list(last.values())),
            *sections_of(found.autoscaling, found.coverage),
            node_map(found.node_table, _MAP),
            simulate.pods_section(tuple(last.values()), found.node_table, "Last cycle of each pod"),
            *simulate.preemptions([pod for step in found.steps for pod in step.preempting]),
            *rollouts(found.finished),
            zone_bars(found.node_table),
        ],
    )


def _verdict(found: ScenarioRunDocument, checks: int, failed: int) -> tuple[str, Tone, list[str]]:
    """The verdict, its tone, and details."""
    if failed:
        places = [str(at) for at, step in enumerate(found.steps, 1) if any(not each.held for each in step.expectations)]
        where = f"in step{'' if len(places) == 1 else 's'} {', '.join(places)}"
        return f"{failed} of {counted(checks, 'expectation')} failed", "bad", [where]
    text = f"all {checks} expectations hold" if checks > 1 else f"{checks} expectation holds" if checks else "done"
    details = [counted(len(found.steps), "step")]
    if found.settled is not None and found.settled.ending != "settled":
        return text, "bad", [*details, found.settled.text]
    return text, "good", details


def _end(found: ScenarioRunDocument, last: Sequence[PodPart]) -> Iterator[Section]:
    """How the cluster is in the end; without a timeline on a page only."""
    if found.settled is None or found.timeline is None:
        yield final_pods_section(found.final)
        return
    yield Section("ending", "The end", ending_lines(found.settled))
    yield final_pods_section(found.final, "everywhere", simulate.reasons_of(last))
    yield timeline(found.timeline, found.settled.seconds, found.final)


def _steps(steps: Sequence[ScenarioStepPart]) -> Iterator[Step]:
    quoted: dict[str, int] = {}
    for number, step in enumerate(steps, 1):
        yield Step(f"{number}. {step.name}", list(_lines(step, number, quoted)), _came_of(step))


def _lines(step: ScenarioStepPart, number: int, quoted: dict[str, int]) -> Iterator[Line]:
    """What the step does, the pods without a node, and the expectations. A reason is quoted once: `quoted` has the step
    that did."""
    yield from (Line(f"~ {edit}") for edit in step.edits)
    yield from (Line(f"! {text}", "warn") for text in step.warnings)
    yield from (Line(f"+ {pod.pod} -> {pod.node}", "good", place="deep") for pod in step.pods if pod.node)
    by_reason: dict[str, list[PodPart]] = {}
    reasons = simulate.reasons_of(step.pods)
    for pod in step.pods:
        if not pod.node:
            by_reason.setdefault(reasons.get(pod.pod) or pod.message or pod.result, []).append(pod)
    for at, (reason, pods) in enumerate(by_reason.items()):
        before = quoted.setdefault(reason, number)
        why = reason if before == number else f"as in step {before}"
        names = named([pod.pod for pod in pods], _MOST_NAMES)
        yield Line(f"- {names}: {why}", "bad", place="everywhere" if at < _MOST_REASONS else "wide")
        message = pods[0].message
        if before == number and message and message != reason:
            yield Line(message, aside=True, place="deep", indent=1)
    if left := sum(len(pods) for pods in list(by_reason.values())[_MOST_REASONS:]):
        yield Line(f"and {counted(left, 'pod')} more without a node (-o wide shows them)", place="narrow")
    if step.draws and step.orders is not None and step.orders.workloads:
        yield Line(f"? {draws_text(step.draws, step.orders)}", "warn")
    for each in step.expectations:
        yield from _expectation(each, step.pods)


def _expectation(each: CheckedExpectation, pods: Sequence[PodPart]) -> Iterator[Line]:
    if each.held:
        yield Line(f"ok {each.text}", "good")
        return
    yield Line(f"FAIL {each.text} (line {each.line})", "bad")
    unplaced = [pod.pod for pod in pods if not pod.node and f"{pod.pod}: {pod.message or pod.result}" in each.against]
    quoted = {f"{pod.pod}: {pod.message or pod.result}" for pod in pods if pod.pod in unplaced}
    if unplaced:
        yield Line(f"no node for the reasons above: {named(unplaced, _MOST_NAMES)}", "bad", indent=1)
    others = [text for text in each.against if text not in quoted]
    for at, text in enumerate(others):
        yield Line(text, "bad", indent=1, place="everywhere" if at < _MOST_REASONS else "wide")
    if len(others) > _MOST_REASONS:
        yield Line(f"and {len(others) - _MOST_REASONS:,} more (-o wide shows them)", indent=1, place="narrow")


def _came_of(step: ScenarioStepPart) -> str:
    """`3 pods placed, 1 without a node`."""
    placed = sum(bool(pod.node) for pod in step.pods)
    parts = [f"{counted(placed, 'pod')} placed"] if step.pods else ["no pending pods"]
    counts = {
        "without a node": len(step.pods) - placed,
        "by preemption": len(step.preempting),
        "held back": len(step.gated),
        "refused": len(step.refused),
    }
    return ", ".join([*parts, *(f"{number} {word}" for word, number in counts.items() if number)])
