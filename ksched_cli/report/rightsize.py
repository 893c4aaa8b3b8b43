"""Renders what pods may request: as a document, a table and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, TextIO

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ksched_cli.report.amounts import at_most, at_most_all, exact, exact_all, short, short_all
from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.entries import stats_entry
from ksched_cli.report.escaping import escape_markdown
from ksched_cli.report.money import plain_money
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.summary_line import BAD, FAIR, GOOD, counted, summary_line
from ksched_cli.report.view.omissions import omissions, print_omissions
from ksched_cli.report.visible import shows_visible, visible, with_texts
from ksched_cli.sources.own_documents import API_VERSION

if TYPE_CHECKING:
    from ksched_cli.plan.rightsize import RequestLimit, Rightsizing, ShapeFit, WorkloadRequests

_DIGITS = Decimal("0.00001")


def rightsizing_document(found: Rightsizing, options: RenderOptions) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Rightsizing",
        "unit": found.unit,
        "workloads": [_entry(each) for each in found.workloads],
        "coverage": dict(found.coverage),
        "stats": stats_entry(found.stats),
        **node_table_entry(found.columns),
    }


def _entry(workload: WorkloadRequests) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "workload": workload.workload,
        "pods": workload.pods,
        "placed": workload.placed,
        "message": workload.message,
        "requests": exact_all({each.resource: each.requested for each in workload.limits}),
        "most": exact_all({each.resource: each.most for each in workload.limits if each.most is not None}),
        "shapes": [_shape_entry(each) for each in workload.shapes],
    }
    return {key: each for key, each in entry.items() if each != ""}


def _shape_entry(fit: ShapeFit) -> dict[str, Any]:
    entry: dict[str, Any] = {"shape": fit.shape, "pods": fit.pods}
    if fit.why_not:
        return {**entry, "whyNot": fit.why_not}
    entry |= {"most": exact_all(fit.most), "oneMore": exact_all(fit.one_more)}
    entry |= {"stranded": exact_all(fit.stranded), "strandedPercent": dict(fit.stranded_percent)}
    return {**entry, **({"pricePerPod": pod_price(fit)} if fit.price is not None else {})}


def pod_price(fit: ShapeFit) -> str:
    """The price of a pod with five decimals."""
    assert fit.price is not None
    return plain_money(fit.price.quantize(_DIGITS, ROUND_HALF_UP))


@shows_visible
@shows_nodes
def print_rightsizing(found: Rightsizing, out: TextIO, options: RenderOptions) -> None:
    console = make_console(options.width, out)
    for index, each in enumerate(found.workloads):
        if index:
            console.print()
        print_hanging(console, rightsizing_summary_line(each))
        for line in limit_lines(each):
            console.print(Padding(Text(line), (0, 0, 0, 2)))
        console.print()
        console.print(Padding(_shapes_table(each, found.unit, options.headers), (0, 0, 0, 2)))
    print_omissions(found.coverage, console)


def rightsizing_summary_line(workload: WorkloadRequests) -> Text:
    """`Deployment/shop/web: 2 of 4 pods fit now, each requests cpu 500m`."""
    requests = short_all({each.resource: each.requested for each in workload.limits}) or "nothing"
    pods, fits = counted(workload.pods, "pod"), "fits" if workload.pods == 1 else "fit"
    if workload.fits:
        verdict, style = f"{'the pod' if workload.pods == 1 else f'all {pods}'} {fits} now", GOOD
    else:
        verdict, style = f"{workload.placed:,} of {pods} {fits} now", FAIR if workload.placed else BAD
    return summary_line(workload.workload, verdict, style, [f"each requests {requests}"])


def limit_lines(workload: WorkloadRequests) -> Iterator[str]:
    """The lines with the most that each pod may request in the cluster as it is."""
    for each in workload.limits:
        yield _limit_line(each)
    if workload.message:
        yield f"a pod without a node: {workload.message}"


def _limit_line(limit: RequestLimit) -> str:
    if limit.most is None:
        return f"{limit.resource}: the pods do not fit, whatever they request of it"
    most, requested = at_most(limit.resource, limit.most), exact(limit.resource, limit.requested)
    if limit.most >= limit.requested:
        return f"{limit.resource}: each pod may request up to {most} now, and all still fit (it requests {requested})"
    return f"{limit.resource}: with {most} instead of {requested} all pods fit now"


def _shapes_table(workload: WorkloadRequests, unit: str, headers: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, show_header=headers)
    priced = any(each.price is not None for each in workload.shapes)
    table.add_column("SHAPE")
    table.add_column("PODS", justify="right")
    for name in ("EACH UP TO", "ONE MORE AT", "STRANDED"):
        table.add_column(name)
    if priced:
        table.add_column(f"{unit} A POD".strip(), justify="right")
    for each in workload.shapes:
        cells = (
            (at_most_all(each.most), at_most_all(each.one_more) or "-", _stranded(each))
            if each.pods
            else (each.why_not, "-", "-")
        )
        price = [pod_price(each) if each.price is not None else "-"] if priced else []
        table.add_row(each.shape, f"{each.pods:,}", *cells, *price)
    return table


def _stranded(fit: ShapeFit) -> str:
    parts = [_share(name, fit.stranded, fit.stranded_percent) for name in fit.stranded if fit.stranded[name]]
    return ", ".join(parts) or "nothing"


def _share(name: str, amounts: Mapping[str, int], percent: Mapping[str, int]) -> str:
    return f"{name} {short(name, amounts[name])} ({percent[name]} %)"


def write_rightsizing_markdown(found: Rightsizing, out: TextIO, options: RenderOptions) -> None:
    out.write("\n".join([*_markdown(with_texts(found, visible)), ""]))


def _markdown(found: Rightsizing) -> Iterator[str]:
    for each in found.workloads:
        yield f"### ksched rightsize: {escape_markdown(rightsizing_summary_line(each).plain)}"
        yield ""
        yield from (f"- {escape_markdown(line)}" for line in limit_lines(each))
        yield ""
        yield "| shape | pods | each up to | one more at | stranded | price of a pod |"
        yield "|---|--:|---|---|---|--:|"
        for fit in each.shapes:
            texts = (
                at_most_all(fit.most) or fit.why_not,
                at_most_all(fit.one_more),
                _stranded(fit) if fit.pods else "",
            )
            price = pod_price(fit) if fit.price is not None else ""
            yield f"| {' | '.join(map(escape_markdown, (fit.shape, str(fit.pods), *texts, price)))} |"
        yield ""
    omitted = omissions(found.coverage)
    if omitted:
        yield f"Not taken into account: {escape_markdown('; '.join(omitted))}"
