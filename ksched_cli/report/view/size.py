"""The nodes to add for pending pods, what they cost, and what is proven about the cost (`Sizing` of `plan/size/`). All
amounts of money have the unit of the catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from ksched_cli.errors import counted, named, plural
from ksched_cli.plan.size.results import Sizing, UnsizedPod
from ksched_cli.report.view.autoscaling import assumed_section
from ksched_cli.report.view.model import Bar, Bars, Figure, Line, Section, Table, View, columns, counting, short_reasons
from ksched_cli.report.view.shared import node_map

# The most reasons that are named for a pod.
_REASONS = 4
# Of more shapes, only the number is shown.
_NAMED_SHAPES = 6


Document = Sizing


def view(found: Sizing) -> View:
    """`60 pending pods: all fit with 14 more nodes, 2.93 USD/h, gap 1.2 %`."""
    placed, waiting, held = len(found.pods), len(found.unplaced), len(found.held_back)
    count = found.count
    more = f"{count:,} more {plural(count, 'node')}" if found.nodes else "no more nodes"
    details = [f"{held:,} left out"] if held else []
    if not placed and not waiting:
        verdict = "no node to add"
    elif waiting:
        verdict = f"{waiting:,} cannot be placed"
        details.append(f"{more} for the others")
    else:
        fit = "fits" if placed == 1 else "fit" if held else "all fit"
        verdict = f"{f'{placed:,} ' if held else ''}{fit} with {more}"
    if found.nodes:
        gap = "nothing is proven" if found.gap is None else f"gap {found.gap:g} %" if found.gap else "proven"
        details += [_price(found, found.cost), gap]
    return View(
        "size",
        counted(placed + waiting + held, "pending pod"),
        verdict,
        "bad" if waiting else "good",
        details,
        notes=[*(Line(text, aside=True) for text in _search(found)), *_cheaper(found)],
        figures=[
            counting(count, "node", "to add"),
            Figure(f"cost, {found.unit}".rstrip(", "), f"{found.cost:f}"),
            counting(placed, "pod", "with a node", "good" if placed else "plain"),
            Figure("no node", f"{waiting:,}", "bad" if waiting else "plain"),
        ],
        sections=[
            node_map(
                found.node_table,
                "A cell is a node, those to add among them. The darker part is what the pending pods take.",
            ),
            *_nodes(found),
            *_unplaced(found),
            *_pods(found),
            *_left_out(found),
            *assumed_section(found.coverage.get("autoscalerAssumed", ())),
        ],
        rows=[(each.shape, each.zone or "-", str(each.count), f"{each.cost:f}") for each in found.nodes],
    )


def _price(found: Sizing, amount: Decimal) -> str:
    return f"{amount:f} {found.unit}".rstrip()


def _search(found: Sizing) -> Iterator[str]:
    """The proven bound of the cost, and how the search ended."""
    search = found.search
    if found.nodes:
        if found.lower_bound is None:
            yield "a greedy method chose the nodes: nothing is proven about the cost"
        elif search.ended == "optimal":
            yield "proven: no set of nodes of the catalog is cheaper"
        else:
            yield f"proven lower bound {_price(found, found.lower_bound)}, gap {found.gap:g} %"
        yield f"searched {search.seconds:.1f} s, {search.sets_tried:,} sets of nodes tried with the scheduler"
    if search.ended == "time":
        yield f"the time limit of {search.time_limit:g} s ended a search: this is the best set found so far"
    if search.ended == "stalled":
        yield "the search ended because it found no cheaper set for 20 % of the time limit"
    if search.ended == "local":
        yield "no cheaper set was found: neither a set of the program nor one that differs from this one by two nodes"
    if found.nodes and found.gap:
        yield "the bound holds for any order of placement; kube-scheduler places one pod after the other and moves none"


def _cheaper(found: Sizing) -> Iterator[Line]:
    """The reason why the next cheaper set fails."""
    if cheaper := found.cheaper:
        nodes = ", ".join(f"{number} {name}" for name, number in cheaper.nodes.items()) or "no new node"
        why = f"{cheaper.pod} has no node: {cheaper.message}"
        yield Line(f"why not {_price(found, cheaper.cost)} ({nodes}): {why}")


def _nodes(found: Sizing) -> list[Section]:
    on = Counter(each.node for each in found.pods)
    rows = [
        [
            f"{each.shape} (spot)" if each.spot else each.shape,
            each.zone,
            each.count,
            _price(found, each.price),
            _price(found, each.cost),
            sum(on[name] for name in each.names),
        ]
        for each in found.nodes
    ]
    bars = [
        Bar(
            f"{each.shape} {each.zone}".rstrip(),
            [("cost", float(each.cost))],
            f"{counted(each.count, 'node')}, {_price(found, each.cost)}",
        )
        for each in found.nodes
    ]
    if not rows:
        return []
    if kept := sum(1 for each in found.pods if not each.shape):
        rows.append(["nodes of the cluster", "", "", "", "0", kept])
    shown = columns("Shape; Zone; Nodes: number; Price: number; Cost: number; Pods: number")
    return [
        Section("to-add", "Nodes to add", Table(shown, rows)),
        Section("costs", "What they cost", Bars(bars), place="page"),
    ]


def _unplaced(found: Sizing) -> list[Section]:
    shown = columns("Pod: same=pod; Workload: workload filters page; Why: flows brief")
    rows = [[each.pod, each.workload, _why(each)] for each in found.unplaced]
    table = Table(shown, rows, most=20, rows_are="pod")
    return [Section("unplaced", "Pods that cannot be placed", table)] if rows else []


def _why(pod: UnsizedPod) -> str:
    if pod.message:
        return pod.message
    shapes: dict[str, list[str]] = {}
    for shape, reason in pod.reasons.items():
        shapes.setdefault(reason or "other pods keep it out", []).append(shape)
    if len(pod.reasons) > _NAMED_SHAPES:
        counts = short_reasons((count, reason) for reason, count in pod.shapes_by_reason.items())
        return f"fits on none of {len(pod.reasons):,} shapes of the catalog: {counts}"
    reasons = [f"{named(names)}: {reason}" for reason, names in shapes.items()]
    more = f"; and {counted(len(reasons) - _REASONS, 'more reason')}" if len(reasons) > _REASONS else ""
    return f"fits on no shape of the catalog: {'; '.join(reasons[:_REASONS])}{more}"


def _pods(found: Sizing) -> list[Section]:
    shown = columns("Pod; Workload: workload filters page; Node; Shape: filters")
    rows = [[each.pod, each.workload, each.node, each.shape or "a node of the cluster"] for each in found.pods]
    return [Section("pods", "Where each pod goes", Table(shown, rows), place="wide")] if rows else []


def _left_out(found: Sizing) -> list[Section]:
    rows = [[name, "shape", why] for name, why in found.unusable_shapes.items()]
    rows += [[name, "pod", why] for name, why in found.held_back.items()]
    shown = columns("Left out; What: filters; Why: flows")
    return [Section("left-out", "Left out", Table(shown, rows, most=20))] if rows else []
