"""`diff`: two clusters, configurations or versions, each as its world comes to rest, and what differs.

A cluster that both sides have is read once, and is one world if both have the same scheduler. If only the rules of the
scheduler differ, `plan/reasons/causes.py` finds the rules that move each pod."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.node_facts import NodeZones
from ksched_cli.api.pod_facts import pod_key
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.controlplane.store import Identity, KeptObjects
from ksched_cli.plan.diff.diff import Diff, Side, diff
from ksched_cli.plan.results.displayed import Displayed
from ksched_cli.plan.results.nodes import NodeColumns
from ksched_cli.plan.results.outcomes import RefusedPod, refused_pods
from ksched_cli.plan.run.checks import check_not_empty, check_scenario_held, check_selection
from ksched_cli.plan.run.coverage import coverage_of
from ksched_cli.plan.run.each import WORTH_ANSWERS, Copy, copies_at_once
from ksched_cli.plan.run.loaded_input import InputMaker, LoadedInput
from ksched_cli.plan.run.options import RunOptions, wanted_pods
from ksched_cli.plan.settle import SettleResult, SettleRun
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes, loaded_after, refused_by
from ksched_cli.world.results import FinalPods, StoredPods, UnmovedPods

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning


class DiffResult(Displayed, Struct, frozen=True):
    """The difference, and the notes about each side's input. `zones` of the nodes of both sides. `autoscaling`: the
    nodes that the autoscaler adds on each side, None without one."""

    diff: Diff
    coverage: tuple[dict[str, Any], dict[str, Any]]
    warnings: tuple[str, ...]
    zones: Mapping[str, str] = field(default_factory=dict)
    autoscaling: tuple[Provisioning | None, Provisioning | None] = (None, None)


def compare(before: RunOptions, after: RunOptions, maker: InputMaker) -> DiffResult:
    """Each side as its world comes to rest. A cluster that both have is read once, and is one world if both have the
    same scheduler: the side before is a trial in it."""
    cluster = maker.read_sources(before) if _same_cluster(before, after) else None
    if "-" in before.filenames and "-" in after.filenames and before.stdin is not None:
        stdin = _Rewinding(before.stdin.read())
        before, after = replace(before, stdin=stdin), replace(after, stdin=stdin)
    start, (first, second) = _both(maker, before, after, cluster)
    check_selection(before, *first.inputs, *second.inputs)
    found = diff(first.side, second.side)
    if before != after and only_rules_differ(before, after):
        # Imported here: most comparisons need no causes.
        from ksched_cli.plan.reasons.causes import find_way, with_causes

        way = find_way(maker, before, after, first.source.spec, second.source.spec)
        everything = diff(first.side, second.side, of_all_pods=True)
        begun = start.source.changed(start.changes).loaded
        found = with_causes(found, everything, way, begun, first.side, second.side)
    zones = NodeZones(*(each.side.nodes.table.objects for each in (first, second)))
    coverage, added = (first.coverage, second.coverage), (first.autoscaling, second.autoscaling)
    return DiffResult(found, coverage, tuple(_warnings(first, second)), zones, added)


def only_rules_differ(before: RunOptions, after: RunOptions) -> bool:
    """The same cluster under another version, other gates or another configuration. A scenario has made two clusters
    of it by now; and extenders are not called once more."""
    alike = replace(after, config=before.config, kube_version=before.kube_version, feature_gates=before.feature_gates)
    return alike == before and before.scenario is None and not before.allow_extenders


class _Start(Struct, frozen=True):
    """A side before its changes are made."""

    source: LoadedInput
    changes: Changes
    run: SettleRun

    @property
    def inputs(self) -> tuple[Loaded, ...]:
        return self.source.loaded, self.changes.manifests


class _Settled(Struct, frozen=True):
    """A side, what it was made of, and the notes about it."""

    side: Side
    source: LoadedInput
    inputs: Sequence[Loaded]
    coverage: dict[str, Any]
    autoscaling: Provisioning | None = None


class _Copied(Struct, frozen=True):
    """What a copy of this process returns of a side that changes no node: everything but the nodes themselves."""

    side: tuple[SettleResult, frozenset[str] | None, tuple[RefusedPod, ...], tuple[str, ...]]
    # Pods of the beginning that are not among the unmoved pods; None if the result has the unmoved pods itself.
    left_out: tuple[Identity, ...] | None
    amounts: tuple[tuple[str, ...], Int64Column, Int64Column]
    coverage: dict[str, Any]


def _both(
    maker: InputMaker, before: RunOptions, after: RunOptions, cluster: Loaded | None
) -> tuple[_Start, tuple[_Settled, _Settled]]:
    """How the side before begins, and both sides."""
    # With all pods wanted there is no need to look at each.
    wanted = wanted_pods(after) if after.namespace or after.selector else None
    start = _begin(maker, before, cluster)
    shared = start.run if cluster is not None and _same_scheduler(before, after) else None
    begun = start.run.world.plane.store.kept()
    copy = _begin_in_copy(before, start, wanted, begun)
    if copy is None:
        with nullcontext() if shared is None else start.run.trial():
            first = _settled(before, start, wanted)
        return start, (first, _settled(after, _begin(maker, after, cluster, shared), wanted, in_all_orders=True))
    nodes = NodeColumns.of(start.run.world.cluster)
    try:
        second = _settled(after, _begin(maker, after, cluster, shared), wanted, in_all_orders=True)
        found = copy.result()
    finally:
        copy.stop()
    if found is None:
        # The copy has failed, and the world is another one by now.
        return start, (_settled(before, _begin(maker, before, cluster), wanted), second)
    settlement, keys, refused, warnings = found.side
    if found.left_out is not None:
        settlement = _with_unmoved(settlement, StoredPods.all_but(found.left_out, begun))
    resources, requested, pods = found.amounts
    nodes = replace(nodes, resources=resources, requested=requested, pods=pods)
    side = Side(settlement, nodes, keys, refused, warnings)
    return start, (_Settled(side, start.source, start.inputs, found.coverage), second)


def _with_unmoved(settlement: SettleResult, unmoved: UnmovedPods) -> SettleResult:
    world = settlement.world
    return replace(settlement, world=replace(world, final=FinalPods(world.final.others, unmoved)))


def _begin_in_copy(
    setup: RunOptions, start: _Start, wanted: Callable[[Pod], bool] | None, begun: KeptObjects
) -> Copy[_Copied | None] | None:
    """The side before on another core, where it changes nothing and takes long. None where it does not."""
    world = start.run.world
    answers = sum(1 for _ in world.loop.queue) * len(world.cluster.nodes)
    if setup.scenario is not None or start.changes or setup.allow_extenders or start.source.autoscaler is not None:
        return None
    if answers < WORTH_ANSWERS or not copies_at_once():
        return None
    here, table = os.getpid(), world.cluster.nodes

    def compute() -> _Copied | None:
        if os.getpid() == here:
            return None
        found = _settled(setup, start, wanted)
        side, nodes = found.side, found.side.nodes
        if nodes.table is not table:
            return None
        amounts = nodes.resources, nodes.requested, nodes.pods
        settlement, unmoved = side.settlement, side.settlement.world.final.unmoved
        left_out = unmoved.left_out_of(begun) if isinstance(unmoved, StoredPods) else None
        if world.plane.store.kept().owners() != begun.owners():
            left_out = None  # The workloads of pods may have other names.
        if left_out is not None:
            settlement = _with_unmoved(settlement, UnmovedPods())
        return _Copied((settlement, side.wanted, side.refused, side.warnings), left_out, amounts, found.coverage)

    return Copy(compute)


def _begin(maker: InputMaker, setup: RunOptions, cluster: Loaded | None, run: SettleRun | None = None) -> _Start:
    source, changes = maker.load_input(setup, cluster)
    # Only the expectations of a scenario need more.
    return _Start(source, changes, run or SettleRun(source, only_preempting=setup.scenario is None))


def _settled(
    setup: RunOptions, start: _Start, wanted: Callable[[Pod], bool] | None, *, in_all_orders: bool = False
) -> _Settled:
    source, changes, world = start.source, start.changes, start.run.world
    inputs = start.inputs
    refused: tuple[RefusedPod, ...] = ()
    if setup.scenario is not None:
        # Imported here: most comparisons have no scenario, and it imports what reads YAML.
        from ksched_cli.plan.scenario import play_scenario

        run = play_scenario(setup.scenario, source, changes, run=start.run)
        check_scenario_held(run.result)
        settlement, loaded = run.settlement, run.loaded
        inputs, pods = (loaded,), loaded.of(Pod)
    else:
        check_not_empty(setup, *inputs)
        result = (start.run.settle if in_all_orders else start.run.settle_once)(changes)
        settlement, loaded = start.run.settled(result), loaded_after(world.plane, changes, with_pods=False)
        pods = world.plane.store.of(Pod)
        refused = refused_pods(refused_by(world.plane))
    keys = frozenset(map(pod_key, filter(wanted, pods))) if wanted is not None else None
    side = Side(settlement, NodeColumns.of(world.cluster), keys, refused, tuple(loaded.warnings))
    coverage = coverage_of(world.scheduler, loaded, source.spec, source.autoscaler)
    return _Settled(side, source, inputs, coverage, start.run.provisioned())


class _Rewinding(io.BytesIO):
    """Manifests that come by stdin are on both sides."""

    def read(self, size: int | None = -1, /) -> bytes:
        self.seek(0)
        return super().read(size)


def _same_cluster(before: RunOptions, after: RunOptions) -> bool:
    return (before.sources, before.live) == (after.sources, after.live)


def _same_scheduler(before: RunOptions, after: RunOptions) -> bool:
    """Whether the sides differ in nothing but what is changed in the cluster, and how that is shown."""
    changes = {"filenames", "reading", "edits", "scenario", "allow_empty", "namespace", "selector"}
    alike = all(
        getattr(before, name) == getattr(after, name) for name in RunOptions.__struct_fields__ if name not in changes
    )
    return alike and (before.scenario is None) == (after.scenario is None)


def _warnings(before: _Settled, after: _Settled) -> list[str]:
    """The notes of both sides; a note of one side only names the side."""
    first, second = (
        (*each.side.warnings, *each.source.spec.warnings, *_unsettled(each.side)) for each in (before, after)
    )
    return [
        *(text for text in first if text in second),
        *(f"before: {text}" for text in first if text not in second),
        *(f"after: {text}" for text in second if text not in first),
    ]


def _unsettled(side: Side) -> tuple[str, ...]:
    world = side.settlement.world
    return () if world.settled else (f"the cluster does not come to rest ({world.ending} after {world.seconds:g} s)",)
