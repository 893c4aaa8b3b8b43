"""How a cluster is when nothing moves any more: the state of each pod in the end, and the timeline
(`SettledSimulation`, `simulate --settle`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from ksched_cli.controlplane.draws import Draw
from ksched_cli.errors import counted
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view import simulate
from ksched_cli.report.view.documents import OrdersPart
from ksched_cli.report.view.ends import (
    STATE_WORDS,
    UNPLACED,
    SettledPart,
    WorldPart,
    doubt,
    draws_notes,
    final_pods_section,
    moved_pods,
    rollouts,
    timeline,
)
from ksched_cli.report.view.model import Figure, Line, Tone, View, counting, pod_and_node
from ksched_cli.report.view.shared import node_map, zone_bars
from ksched_cli.report.view.stream import SimulationDocument
from ksched_cli.world.results import TimelineEvent

if TYPE_CHECKING:
    from ksched_cli.plan.settle import SettledSimulation

_FAILED = ("unschedulable", "error")


class SettledDocument(SimulationDocument, frozen=True, kw_only=True, tag_field="kind", tag="Simulation"):
    timeline: tuple[TimelineEvent, ...]
    finished: Mapping[str, bool]
    draws: tuple[Draw, ...] = ()
    orders: OrdersPart | None = None
    settled: SettledPart


Document = SettledDocument


def document(found: SettledSimulation, options: RenderOptions) -> SettledDocument:
    world = WorldPart.of(found)
    fields = structs.asdict(simulate.document(found.simulation, options)) | structs.asdict(world)
    return SettledDocument(**fields)


def view(found: SettledDocument) -> View:
    """`8 pods: 3 unschedulable, 4 scheduled, 1 deleted, settled after 31s, 12 cycles (12 nodes)`."""
    moved = moved_pods(found.final)
    states = Counter(each["state"] for each in moved)
    unplaced = sum(states[each] for each in UNPLACED)
    return View(
        "simulate --settle",
        counted(len(moved) + len(found.refused), "pod"),
        *_verdict(found, states),
        context=counted(found.stats.nodes, "node"),
        notes=[*(Line(fault, "warn") for fault in found.settled.faults), *draws_notes(found.draws, found.orders)],
        figures=[
            Figure("scheduled", f"{states['scheduled']:,}", "good" if states["scheduled"] else "plain"),
            Figure("no node", f"{unplaced:,}", "bad" if unplaced else "plain"),
            *([Figure("held back", f"{states['gated']:,}", "warn")] if states["gated"] else []),
            *([Figure("refused", f"{len(found.refused):,}", "bad")] if found.refused else []),
            Figure("deleted", f"{states['gone']:,}"),
            counting(found.stats.nodes, "node"),
        ],
        sections=[
            final_pods_section(found.final, "everywhere", simulate.reasons_of(found.pods)),
            timeline(found.timeline, found.settled.seconds, found.final),
            node_map(found.node_table, simulate.MAP_INTRO, partial(simulate.placed_data, found.pods)),
            simulate.pods_section(found.pods, found.node_table, "Last cycle of each pod", found.failure_kinds),
            *simulate.preemptions(found.pods),
            *rollouts(found.finished),
            *simulate.not_tried(found, gated=False),
            *simulate.groups(found),
            *simulate.autoscaling(found),
            *simulate.timings(found),
            zone_bars(found.node_table),
        ],
        rows=sorted(pod_and_node(each["pod"], each.get("node", "")) for each in moved if each["state"] != "gone"),
    )


def _verdict(found: SettledDocument, states: Counter[str]) -> tuple[str, Tone, list[str]]:
    """The verdict, its tone, and details."""
    refused = [f"{len(found.refused)} refused"] if found.refused else []
    bad = [f"{states[state]} {state}" for state in _FAILED if states[state]]
    other = [f"{count} {STATE_WORDS.get(state, state)}" for state, count in states.items() if state not in _FAILED]
    verdict, *details = [*bad, *refused, *other] or ["none moves"]
    doubts = doubt(found.orders)
    fair = states["gone"] or states["gated"] or doubts
    tone: Tone = "bad" if bad or refused or found.settled.ending != "settled" else "warn" if fair else "good"
    return verdict, tone, [*details, *doubts, found.settled.text]
