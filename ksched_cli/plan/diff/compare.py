"""`diff`: two clusters, configurations or versions, each as its world comes to rest, and what differs.

A cluster that both sides have is read once, and is one world if both have the same scheduler. If only the rules of the
scheduler differ, `find_way` gives the way from the rules of one side to those of the other, for the causes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.node_facts import NodeZones
from ksched_cli.api.pod_facts import pod_key
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.controlplane.store import Identity, KeptObjects
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import KschedError
from ksched_cli.plan.diff.diff import Diff, Side, diff
from ksched_cli.plan.reasons.causes import RuleSet, Way
from ksched_cli.plan.reference.versions import GATE_RULES, MINOR_RULES
from ksched_cli.plan.results.displayed import Displayed
from ksched_cli.plan.results.nodes import NodeColumns
from ksched_cli.plan.results.outcomes import RefusedPod, refused_pods
from ksched_cli.plan.run.checks import check_not_empty, check_scenario_held, check_selection
from ksched_cli.plan.run.coverage import coverage_of
from ksched_cli.plan.run.each import WORTH_ANSWERS, Copy, copies_at_once
from ksched_cli.plan.run.loaded_input import InputMaker, LoadedInput, SchedulerSpec, scheduler_maker
from ksched_cli.plan.run.options import RunOptions, wanted_pods
from ksched_cli.plan.settle import SettleResult, SettleRun
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import RELEASES
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.release_fields import as_stored
from ksched_cli.whatif.changes import Changes, loaded_after, refused_by
from ksched_cli.world.results import FinalPods, StoredPods, UnmovedPods


def find_way(maker: InputMaker, before: RunOptions, after: RunOptions, start: SchedulerSpec, end: SchedulerSpec) -> Way:
    """From minor to minor under the configuration and gates of the older side; at last to the gates, and the
    configuration, of the newer one."""
    if start.release.minor > end.release.minor:
        # A gate has its own rules from the first minor that has it.
        return find_way(maker, after, before, end, start).back
    rule_sets, here = [_rule_set(maker, before, start)], start
    for setup in _minors(before, after, start, end):
        there = _setting(maker, setup)
        if there is None:
            continue
        stops = list(_gate_by_gate(maker, here.gates, setup, there))
        if any(each.of_fields and here.release.minor < each.minor <= there.release.minor for each in MINOR_RULES):
            # A minor that has more fields of pods: its rules come first, without these fields.
            rule_sets.append(_rule_set(maker, *stops[0], fields=here))
        rule_sets += [_rule_set(maker, *stop) for stop in stops]
        here = there
    rule_sets.append(_rule_set(maker, after, end, configuration=int(before.config != after.config)))
    return Way(rule_sets)


def _minors(before: RunOptions, after: RunOptions, start: SchedulerSpec, end: SchedulerSpec) -> Iterator[RunOptions]:
    """The setups that the way passes: what a minor changes by itself comes first, then what its gates switch."""
    for each in RELEASES.values():
        if start.release.minor < each.minor < end.release.minor:
            yield replace(before, kube_version=each.version)
    yield replace(before, kube_version=end.release.version, feature_gates=after.feature_gates)


def _rule_set(
    maker: InputMaker,
    setup: RunOptions,
    setting: SchedulerSpec,
    configuration: int = 0,
    fields: SchedulerSpec | None = None,
) -> RuleSet:
    """`fields` is the setting whose API server stores the pods, if it is another one."""
    known, make = fields or setting, scheduler_maker(maker.maker(setup), setting)

    def stored(pod: Pod) -> Pod:
        return as_stored(as_stored([pod], setting.release, setting.gates), known.release, known.gates)[0]

    def without_new_fields(loaded: Loaded) -> Scheduler:
        copy = loaded.copied()
        copy.set_all(Pod, as_stored(loaded.of(Pod), known.release, known.gates))
        return make(copy)

    own = without_new_fields if fields else make
    return RuleSet(setting.release, setting.gates, known.release, configuration, own, stored)


def _gate_by_gate(
    maker: InputMaker, gates: FeatureGates, setup: RunOptions, there: SchedulerSpec
) -> Iterator[tuple[RunOptions, SchedulerSpec]]:
    """The setups from `gates` to those of `there`: each switches one more gate that has rules."""
    known = there.release.known_gates.items()
    switched = sorted(
        name for name, gate in known if not gate.locked and gates.enabled(name) != there.gates.enabled(name)
    )
    ruled = [name for name in switched if name in GATE_RULES]
    others = [name for name in switched if name not in GATE_RULES]
    for done in range(len(ruled)):
        # Gates without rules switch with the last one, or with the first one where they depend on others.
        for left in ([*ruled[done:], *others], ruled[done:]):
            kept = ",".join(f"{name}={str(gates.enabled(name)).lower()}" for name in left)
            stop = replace(setup, feature_gates=f"{setup.feature_gates},{kept}")
            setting = _setting(maker, stop)
            if setting is not None:
                yield stop, setting
                break
    yield setup, there


def _setting(maker: InputMaker, setup: RunOptions) -> SchedulerSpec | None:
    try:
        return maker.scheduler_spec(setup)
    except KschedError:
        return None


class DiffResult(Displayed, Struct, frozen=True):
    """The difference, and the notes about each side's input. `zones` of the nodes of both sides."""

    diff: Diff
    coverage: tuple[dict[str, Any], dict[str, Any]]
    warnings: tuple[str, ...]
    zones: Mapping[str, str] = field(default_factory=dict)


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
        from ksched_cli.plan.reasons.causes import with_causes

        way = find_way(maker, before, after, first.source.spec, second.source.spec)
        everything = diff(first.side, second.side, of_all_pods=True)
        begun = start.source.changed(start.changes).loaded
        found = with_causes(found, everything, way, begun, first.side, second.side)
    zones = NodeZones(*(each.side.nodes.table.objects for each in (first, second)))
    return DiffResult(found, (first.coverage, second.coverage), tuple(_warnings(first, second)), zones)


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
    if setup.scenario is not None or start.changes or setup.allow_extenders:
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
    return _Settled(side, source, inputs, coverage_of(world.scheduler, loaded, source.spec))


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
