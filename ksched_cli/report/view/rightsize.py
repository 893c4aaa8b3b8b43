"""What the pods of each workload may request at most, now and on each shape of nodes (`Rightsizing`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from ksched_cli.errors import counted
from ksched_cli.plan.rightsize import Rightsizing, ShapeFit, WorkloadRequests
from ksched_cli.plan.size.results import without_zeros
from ksched_cli.report.amounts import (
    amount_of,
    amounts_of,
    at_most,
    at_most_all,
    exact_all,
    short,
    short_all,
)
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.documents import DocumentPart
from ksched_cli.report.view.model import Heading, Line, Section, Table, Tone, View, columns, counting
from ksched_cli.report.view.shared import node_map

_DIGITS = Decimal("0.00001")
_MAP = "A cell is a node. The darker part is what pending pods take, with the requests as they are."


class ShapePart(DocumentPart, frozen=True, kw_only=True):
    """`why_not`: why none fits; the amounts are there without it."""

    shape: str
    pods: int
    why_not: str = ""
    most: Mapping[str, str] | None = None
    one_more: Mapping[str, str] | None = None
    stranded: Mapping[str, str] | None = None
    stranded_percent: Mapping[str, int] | None = None
    price_per_pod: str = ""

    @classmethod
    def of(cls, fit: ShapeFit) -> ShapePart:
        if fit.why_not:
            return cls(shape=fit.shape, pods=fit.pods, why_not=fit.why_not)
        price = "" if fit.price is None else without_zeros(fit.price.quantize(_DIGITS, ROUND_HALF_UP)).document()
        amounts = {name: exact_all(getattr(fit, name)) for name in ("most", "one_more", "stranded")}
        return cls.like(fit, **amounts, price_per_pod=price)


class RequestsPart(DocumentPart, frozen=True, kw_only=True):
    workload: str
    pods: int
    placed: int
    message: str = ""
    requests: Mapping[str, str]
    most: Mapping[str, str]
    shapes: tuple[ShapePart, ...]

    @classmethod
    def of(cls, found: WorkloadRequests) -> RequestsPart:
        return cls.like(
            found,
            requests=exact_all({each.resource: each.requested for each in found.limits}),
            most=exact_all({each.resource: each.most for each in found.limits if each.most is not None}),
            shapes=tuple(map(ShapePart.of, found.shapes)),
        )


class RightsizingDocument(DocumentPart, frozen=True, kw_only=True, tag_field="kind", tag="Rightsizing"):
    unit: str
    workloads: tuple[RequestsPart, ...]
    coverage: Mapping[str, Any]
    stats: Any
    node_table: Any = None


Document = RightsizingDocument


def document(found: Rightsizing, options: RenderOptions) -> RightsizingDocument:
    workloads = tuple(map(RequestsPart.of, found.workloads))
    return RightsizingDocument.like(found, workloads=workloads, node_table=found.columns)


def view(found: RightsizingDocument) -> View:
    """`Deployment/shop/web: 2 of 4 pods fit now, each requests cpu 500m`."""
    workloads = found.workloads
    pods, placed = sum(each.pods for each in workloads), sum(each.placed for each in workloads)
    one = len(workloads) == 1
    tone: Tone = "good" if placed == pods else "warn" if placed else "bad"
    details, notes = [], []
    if one:
        details = [f"each requests {short_all(amounts_of(workloads[0].requests)) or 'nothing'}"]
        notes = [Line(text) for text in limit_lines(workloads[0])]
    notes += [Line(f"a pod without a node: {each.message}") for each in workloads if each.message]
    return View(
        "rightsize",
        workloads[0].workload if one else counted(len(workloads), "workload"),
        _verdict(pods, placed),
        tone,
        details,
        notes=notes,
        figures=[
            counting(len(workloads), "workload"),
            counting(placed, "pod", "with room now", "good" if placed else "plain"),
            counting(pods - placed, "pod", "without room now", "bad" if placed < pods else "plain"),
        ],
        sections=[
            *([] if one else [_now(found)]),
            *(section for each in workloads for section in _shapes(each, found.unit, titled=not one)),
            node_map(found.node_table, _MAP),
        ],
        rows=[(each.workload, f"{each.placed}/{each.pods}") for each in workloads],
    )


def _verdict(pods: int, placed: int) -> str:
    fits = "fits" if pods == 1 else "fit"
    if placed == pods:
        return f"{'the pod' if pods == 1 else f'all {pods:,} pods'} {fits} now"
    return f"{placed:,} of {counted(pods, 'pod')} {fits} now"


def limit_lines(workload: RequestsPart) -> Iterator[str]:
    """The most that each pod may request of each resource in the cluster as it is."""
    for resource, requested in workload.requests.items():
        if resource not in workload.most:
            yield f"{resource}: the pods do not fit, whatever they request of it"
            continue
        amount = amount_of(resource, workload.most[resource])
        most = at_most(resource, amount)
        if amount >= amount_of(resource, requested):
            yield f"{resource}: each pod may request up to {most} now, and all still fit (it requests {requested})"
        else:
            yield f"{resource}: with {most} instead of {requested} all pods fit now"


def _now(found: RightsizingDocument) -> Section:
    shown = columns(
        "Workload; Pods: number; Fit now: number; Cpu: number; Cpu up to: number; Memory: number; Memory up to: number"
    )
    rows = [
        [
            each.workload,
            each.pods,
            each.placed,
            each.requests.get("cpu", "0"),
            _most(each, "cpu"),
            each.requests.get("memory", "0"),
            _most(each, "memory"),
        ]
        for each in found.workloads
    ]
    return Section("now", "What each pod requests, and may request now", Table(shown, rows))


def _most(workload: RequestsPart, resource: str) -> str:
    found = workload.most.get(resource)
    return at_most(resource, amount_of(resource, found)) if found is not None else "does not fit"


def _shapes(workload: RequestsPart, unit: str, *, titled: bool) -> list[Section]:
    price = f"{unit} a pod".strip()
    shown = columns("Shape; Pods: number; Each up to: flows; One more at; Stranded: flows")
    shown.append(Heading(price, "number"))
    rows = [
        [
            each.shape,
            each.pods,
            at_most_all(amounts_of(each.most)) or each.why_not,
            at_most_all(amounts_of(each.one_more)),
            _stranded(each),
            each.price_per_pod,
        ]
        for each in workload.shapes
    ]
    title = f"{workload.workload} on an empty node of each shape"
    name = f"shapes-{workload.workload}".replace("/", "-")
    return [Section(name, title, Table(shown, rows), titled=titled)] if rows else []


def _stranded(fit: ShapePart) -> str:
    if fit.stranded is None:
        return ""
    amounts, percent = amounts_of(fit.stranded), fit.stranded_percent or {}
    parts = [f"{name} {short(name, amount)} ({percent[name]} %)" for name, amount in amounts.items() if amount]
    return ", ".join(parts) or "nothing"
