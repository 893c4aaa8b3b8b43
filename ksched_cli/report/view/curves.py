"""Sections about curves: how full the cluster gets while pods arrive (`simulate --curve`, `sweep --curve`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.plan.curve import Curve
from ksched_cli.report.view.documents import DocumentPart
from ksched_cli.report.view.model import Chart, Line, Lines, Section, Series, Table, columns, counted

ARRIVED, ALLOCATED = "percent of the capacity that has arrived", "percent allocated"
# Rows of the table of a curve.
_STEP, _NEAR_THE_END = 10, 90


class FirstFailurePart(DocumentPart, frozen=True, kw_only=True):
    """The first pod without a node."""

    pod: str
    arrived: float
    allocated: float


class CurvePart(DocumentPart, frozen=True, kw_only=True):
    """See `Curve`."""

    resource: str
    capacity: int
    arrived: float
    allocated: float
    failed: int
    first: int
    allocated_at: Sequence[float]
    failed_at: Sequence[int]
    unusable_at: Mapping[str, Sequence[float]] = {}
    first_failure: FirstFailurePart | None = None

    @classmethod
    def of(cls, curve: Curve) -> CurvePart:
        failure = curve.first_failure
        part = None
        if failure is not None:
            part = FirstFailurePart(pod=failure.pod, arrived=failure.arrived, allocated=failure.allocated)
        return cls.like(curve, first_failure=part)


def curve_sections(curves: Sequence[CurvePart]) -> Iterator[Section]:
    """A chart of all resources, and for each a table and what it comes to."""
    if not curves:
        return
    lines = [Line(sentence(each)) for each in curves]
    yield Section("curve", "How full the cluster gets", Lines(lines), place="everywhere")
    chart = Chart([Series(each.resource, _points(each, each.allocated_at)) for each in curves], ARRIVED, ALLOCATED)
    intro = "For each resource the share that is allocated when so much of it has arrived."
    yield Section("curve-chart", "Allocated while pods arrive", chart, intro, place="page")
    for number, each in enumerate(curves):
        title = f"While {each.resource} arrives"
        yield Section(f"curve-{number}", title, _table(each), titled=True, folded=True)
        if each.unusable_at:
            free = [Series(name, _points(each, shares)) for name, shares in each.unusable_at.items()]
            about = "Percent of the capacity that is free and of no use to typical pods, by what its node lacks."
            chart = Chart(free, ARRIVED, "percent free and of no use")
            yield Section(f"curve-unusable-{number}", f"What of {each.resource} cannot be used", chart, about, "page")


def sentence(curve: CurvePart) -> str:
    """`cpu: 92.1 % allocated when 130.0 % have arrived; the first pod fails at 88.2 % (shop/web-1)`."""
    text = f"{curve.resource}: {curve.allocated:.1f} % allocated when {curve.arrived:.1f} % have arrived"
    failure = curve.first_failure
    if failure is None:
        return f"{text}; no pod fails"
    first = f"arrives at {failure.arrived:.1f} % ({failure.pod})"
    return f"{text}; the first of {counted(curve.failed, 'pod')} without a node {first}"


def _points(curve: CurvePart, shares: Sequence[float]) -> list[tuple[float, float]]:
    return [(curve.first + number, share) for number, share in enumerate(shares)]


def _table(curve: CurvePart) -> Table:
    """A row for every tenth percent, and the last one."""
    names = list(curve.unusable_at)
    shown = columns("Arrived %: number; Allocated %: number; No node: number; Of no use %: number; Most of it")
    last = len(curve.allocated_at) - 1
    rows: list[list[Any]] = []
    for number in range(last + 1):
        percent = curve.first + number
        if percent % _STEP and number not in (0, last):
            continue
        parts = {name: curve.unusable_at[name][number] for name in names}
        most = max(parts, key=parts.__getitem__, default="")
        total = round(sum(parts.values()), 2)
        row = [percent, curve.allocated_at[number], curve.failed_at[number], total]
        rows.append([*row, f"{most} {parts[most]:.1f} %" if most and parts[most] else ""])
    return Table(shown, rows, rows_are="point")
