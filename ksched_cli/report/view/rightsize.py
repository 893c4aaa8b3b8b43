"""What the pods of each workload may request at most, now and on each shape of nodes (`Rightsizing`)."""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli.api.quantity import quantity_text
from ksched_cli.errors import counted
from ksched_cli.plan.rightsize import Rightsizing, ShapeFit, WorkloadRequests
from ksched_cli.report.amounts import at_most, at_most_all, short, short_all
from ksched_cli.report.view.model import Heading, Line, Section, Table, Tone, View, columns, counting
from ksched_cli.report.view.shared import node_map

_MAP = "A cell is a node. The darker part is what pending pods take, with the requests as they are."


Document = Rightsizing


def view(found: Rightsizing) -> View:
    """`Deployment/shop/web: 2 of 4 pods fit now, each requests cpu 500m`."""
    workloads = found.workloads
    pods, placed = sum(each.pods for each in workloads), sum(each.placed for each in workloads)
    one = len(workloads) == 1
    tone: Tone = "good" if placed == pods else "warn" if placed else "bad"
    details, notes = [], []
    if one:
        details = [f"each requests {short_all(workloads[0].requests) or 'nothing'}"]
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


def limit_lines(workload: WorkloadRequests) -> Iterator[str]:
    """The most that each pod may request of each resource in the cluster as it is."""
    for resource, requested in workload.requests.items():
        if resource not in workload.most:
            yield f"{resource}: the pods do not fit, whatever they request of it"
            continue
        most, now = at_most(resource, workload.most[resource]), quantity_text(resource, requested)
        if workload.most[resource] >= requested:
            yield f"{resource}: each pod may request up to {most} now, and all still fit (it requests {now})"
        else:
            yield f"{resource}: with {most} instead of {now} all pods fit now"


def _now(found: Rightsizing) -> Section:
    shown = columns(
        "Workload; Pods: number; Fit now: number; Cpu: number; Cpu up to: number; Memory: number; Memory up to: number"
    )
    rows = [
        [
            each.workload,
            each.pods,
            each.placed,
            quantity_text("cpu", each.requests.get("cpu", 0)),
            _most(each, "cpu"),
            quantity_text("memory", each.requests.get("memory", 0)),
            _most(each, "memory"),
        ]
        for each in found.workloads
    ]
    return Section("now", "What each pod requests, and may request now", Table(shown, rows))


def _most(workload: WorkloadRequests, resource: str) -> str:
    return at_most(resource, workload.most[resource]) if resource in workload.most else "does not fit"


def _shapes(workload: WorkloadRequests, unit: str, *, titled: bool) -> list[Section]:
    price = f"{unit} a pod".strip()
    shown = columns("Shape; Pods: number; Each up to: flows; One more at; Stranded: flows")
    shown.append(Heading(price, "number"))
    rows = [
        [
            each.shape,
            each.pods,
            at_most_all(each.most or {}) or each.why_not,
            at_most_all(each.one_more or {}),
            _stranded(each),
            "" if each.price_per_pod is None else f"{each.price_per_pod:f}",
        ]
        for each in workload.shapes
    ]
    title = f"{workload.workload} on an empty node of each shape"
    name = f"shapes-{workload.workload}".replace("/", "-")
    return [Section(name, title, Table(shown, rows), titled=titled)] if rows else []


def _stranded(fit: ShapeFit) -> str:
    if fit.stranded is None:
        return ""
    percent = fit.stranded_percent or {}
    parts = [f"{name} {short(name, amount)} ({percent[name]} %)" for name, amount in fit.stranded.items() if amount]
    return ", ".join(parts) or "nothing"
