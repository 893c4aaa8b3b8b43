"""`drain`: nodes of a world are cordoned, and their pods evicted through the eviction API.

Mirrors RunDrain of kubectl/pkg/drain. Nodes are drained together, or each node or zone by itself from the same
beginning: then each drain is a trial of the world, or has a copy of this process. Copies of a pod without a node are
left out of the trials (`SpareCopies`): one of them stands for all.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import full_node_name, pod_key, uid_of_pod, zone_of
from ksched_cli.api.selectors import Selector, read_query
from ksched_cli.api.workloads import DaemonSet, PodDisruptionBudget
from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.budgets import needs_no_budget
from ksched_cli.controlplane.draws import Alternative, Choices
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.engine.hints import QueuedPod
from ksched_cli.errors import Problem, UsageError
from ksched_cli.plan.drain.pods import (
    MOST_CYCLES,
    NOTHING_MOVES,
    DrainReader,
    NodeDrainPlan,
    PendingPods,
    UnplacedReasons,
    moved_predecessors,
)
from ksched_cli.plan.drain.results import (
    Allowed,
    BudgetChange,
    DrainFilters,
    DrainResult,
    Flags,
    GroupDrain,
    Healthy,
    PodFate,
    QueuedPods,
)
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.results.outcomes import Displayed, Stats
from ksched_cli.plan.run.each import copies_at_once, run_trials
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.orders import FIRST_ORDER, decisive_runs, decisive_ties, ends_of, merge_orders
from ksched_cli.plan.run.run import Run
from ksched_cli.progress import steps
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.editor import Editor, name_hint
from ksched_cli.whatif.edits.node_fields import Cordon
from ksched_cli.world.results import Ending, Limits
from ksched_cli.world.world import World, WorldTrial


class BudgetWatch:
    """A watch: it remembers each budget's status at the start and the fewest healthy pods since then."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        budgets = api.store.of(PodDisruptionBudget)
        self._before = {identity_of(item): item.status for item in budgets}
        self._lowest = {identity_of(item): item.status.current_healthy for item in budgets}
        if budgets:
            api.watch(self._changed)

    def _changed(self, old: Any, new: Any) -> None:
        if isinstance(new, PodDisruptionBudget) and identity_of(new) in self._lowest:
            lowest = self._lowest[identity_of(new)]
            self._lowest[identity_of(new)] = min(lowest, new.status.current_healthy)

    def changes(self, pods: Iterable[Pod]) -> tuple[BudgetChange, ...]:
        """The budgets that cover one of these pods, by name."""
        if not self._before:
            return ()
        covering = (item for pod in pods if not needs_no_budget(pod) for item in self._api.budgets.covering(pod))
        found = {identity_of(item): item for item in covering}
        return tuple(self._change(identity, item) for identity, item in sorted(found.items()))

    def _change(self, identity: Identity, item: PodDisruptionBudget) -> BudgetChange:
        before, now = self._before[identity], item.status
        return BudgetChange(
            f"{item.metadata.namespace}/{item.metadata.name}",
            now.desired_healthy,
            Healthy(before.current_healthy, self._lowest[identity], now.current_healthy),
            Allowed(before.disruptions_allowed, now.disruptions_allowed),
        )


class NodeEvictions:
    """`requested` are the pods whose eviction was requested. `ending` is the first end that is not `settled`."""

    def __init__(self, world: World, flags: Flags) -> None:
        self._world, self._drainer, self._store = world, world.plane.drainer, world.plane.store
        self._flags = flags
        self._filters = DrainFilters(flags, self._store.of(DaemonSet), world.api.now())
        self.budgets = BudgetWatch(world.api)
        self.requested: list[Pod] = []
        self.ending: Ending = "settled"

    def run(self, seconds: float = math.inf, until: Callable[[], bool] | None = None) -> None:
        """Go on until nothing moves, for so many seconds, or until this holds."""
        limit = self._world.clock.now + seconds
        ending = self._world.run(Limits(limit, self._world.cycles + MOST_CYCLES, until))
        if (seconds < math.inf or until is not None) and ending == "max-time":
            return
        self.ending = ending if self.ending == "settled" else self.ending

    def start(self, name: str) -> NodeDrainPlan:
        """List the pods of the node as kubectl does, and evict them unless it refuses one of them."""
        node = NodeDrainPlan(name)
        for pod in sorted(self._store.pods_on(name), key=pod_key):
            node.add(pod, self._filters.judge(pod))
        node.left = [] if node.refused else list(node.evict)
        self.requested += node.left
        if node.left:
            self._request(node)
        return node

    def retry(self, node: NodeDrainPlan) -> bool:
        """Request the evictions of the pods that are left once more. Returns whether any was granted."""
        node.left = [pod for pod in node.left if self._is_there(pod)]
        return self._request(node)

    def _request(self, node: NodeDrainPlan) -> bool:
        """Request all evictions, each again every 5 s, until all pods are gone, nothing moves, or kubectl's time is
        over: kubectl does not wait for the pods that controllers make in their place. Returns whether any was
        granted."""
        flags, granted = self._flags, self._drainer.granted
        self._drainer.evict(node.left, deletes=flags.disable_eviction, grace=flags.grace_period)
        clock, limit = self._world.clock, math.inf if flags.timeout is None else self._world.clock.now + flags.timeout
        while True:
            self.run(limit - clock.now, lambda: not any(map(self._is_waited_for, node.left)))
            moment = min((self._skipped_from(pod) for pod in node.left if self._is_waited_for(pod)), default=math.inf)
            if moment >= limit:
                break
            # A timer without effect: the clock goes on to the moment from which kubectl skips a pod.
            self._world.at(moment, lambda plane: None)
        there = [pod for pod in node.left if self._is_there(pod)]
        waited_for = [pod for pod in there if self._is_waited_for(pod)]
        node.skipped += [pod for pod in there if not self._is_waited_for(pod)]
        node.timed_out = flags.timeout is not None and bool(waited_for)
        self._drainer.give_up()
        if not waited_for:
            moment = self._notices(pod for pod in node.left if not self._is_there(pod))
            self._world.at(moment, lambda plane: None)
            self.run(until=lambda: clock.now >= moment)
        any_granted = any(uid_of_pod(pod) in granted for pod in node.left)
        node.left = [pod for pod in there if uid_of_pod(pod) not in granted]
        return any_granted

    def _notices(self, pods: Iterable[Pod]) -> float:
        """When kubectl notices that all these pods are gone: it looks after each at once and then every second
        (waitForDelete)."""
        now, granted, ends = self._world.clock.now, self._drainer.granted, self._world.plane.kubelets.ends
        moments = [now]
        for pod in pods:
            begin = granted.get(uid_of_pod(pod), now)
            seconds = ends.get(uid_of_pod(pod), begin) - begin
            moments.append(begin + math.floor(seconds) + 1 if seconds > 0 else begin)
        return max(moments)

    def _is_there(self, pod: Pod) -> bool:
        return self._store.same_pod(pod) is not None

    def _is_waited_for(self, pod: Pod) -> bool:
        return self._is_there(pod) and self._world.clock.now < self._skipped_from(pod)

    def _skipped_from(self, pod: Pod) -> float:
        """The moment of the run from which kubectl skips the pod."""
        start = self._world.api.now() - self._world.clock.now
        return self._flags.skipped_from(self._store.same_pod(pod) or pod) - start


def _cordon(nodes: Iterable[str], plane: ControlPlane) -> None:
    editor = Editor(plane)
    for node in nodes:
        Cordon(node).apply(editor)


def merge_drain_orders(
    first: DrainResult, others: Sequence[Alternative], again: Callable[[Choices], DrainResult]
) -> DrainResult:
    """The first drain with the outcomes of the other orders, if they differ, or else with the workloads that do not end
    alike."""
    if not others:
        return first
    tried = decisive_runs(_end_of(first), others, [again(each.choices) for each in others], _end_of)
    outcomes = Counter(each.first_outcome for each in (first, *(run for _, run in tried)))
    if len(outcomes) == 1:
        worlds = iter([run.world for _, run in tried])
        world = merge_orders(first.world, [each for each, _ in tried], lambda _: next(worlds))
        return replace(first, world=world) if world.doubtful else first
    ties = decisive_ties(first.first_outcome, ((each, run.first_outcome) for each, run in tried))
    draws = tuple(dict.fromkeys((*first.world.draws, *ties)))
    return replace(first, orders=dict(outcomes), world=replace(first.world, draws=draws))


def _end_of(drain: DrainResult) -> object:
    """What another order may change: the outcome, and the pods of each workload that have no node."""
    return drain.first_outcome, ends_of(drain.world)


# So many copies of each template stay in the queue.
KEPT_COPIES = 50


class SpareCopies:
    """Pods of one template that wait for a node are interchangeable, and a cycle that fails changes nothing. So the
    copies that are set aside find no node as long as one that stayed in the queue finds none either. `were_needed`: in
    some run since they were set aside, no such copy was left, and the run has to be repeated with all of them. `count`:
    how many are set aside."""

    def __init__(self, world: World) -> None:
        self._world = world
        # By template, the pods that stayed in the queue. Only of templates with copies that did not.
        self._kept: dict[bytes, list[QueuedPod]] = {}
        self.were_needed = False
        self.count = 0
        # Begins where they were set aside.
        self._trial: WorldTrial | None = None

    def set_aside(self) -> None:
        """Take all but the first copies of each template out of the queue, until `restore` or a roll back."""
        self._trial = self._world.trial().begin()
        queue, copies = self._world.loop.queue, dict[bytes, list[QueuedPod]]()
        for pod in queue:
            if self._has_failed(pod):
                copies.setdefault(pod.info.template, []).append(pod)
        self.reset()
        for template, pods in copies.items():
            if len(pods) > KEPT_COPIES:
                pods.sort(key=lambda pod: pod.turn)
                self._kept[template] = pods[:KEPT_COPIES]
                self.count += len(pods) - KEPT_COPIES
                for pod in pods[KEPT_COPIES:]:
                    queue.delete(pod.row)

    def restore(self) -> None:
        """Return the copies to the queue: roll back to where they were set aside."""
        assert self._trial is not None
        self._trial.roll_back()
        self.reset()

    def reset(self) -> None:
        """Forget which copies were set aside: a roll back has returned them to the queue."""
        self._kept, self.were_needed, self.count = {}, False, 0

    def notice(self) -> None:
        """Look at the run that has just ended."""
        preempting = {each.by for each in self._world.recorder.preempted}
        if not all(any(self._has_waited(each, preempting) for each in pods) for pods in self._kept.values()):
            self.were_needed = True

    def _has_failed(self, pod: QueuedPod) -> bool:
        """Whether the pod found no node, and nothing else came of its cycle."""
        is_alone = group_of(pod.info) is None and not self._world.scheduler.nominator.node_of(pod.row)
        return is_alone and not pod.gated and bool(pod.attempts) and bool(pod.unschedulable_plugins)

    def _has_waited(self, pod: QueuedPod, preempting: set[str]) -> bool:
        """Whether the pod found no node in the whole run, and made room on none."""
        world, life = self._world, self._world.recorder.lives.get(pod.info.uid)
        if pod.row in world.cluster.pods.gone or (life is not None and life.bound is not None):
            return False
        return pod.info.key not in preempting and not world.scheduler.nominator.node_of(pod.row)


# Of many drains each is tried in so many other orders, and all together in so many.
_MOST_ORDERS_OF_EACH, _MOST_ORDERS_OF_ALL = 2, 200
_FEW_RISKS = 4
# With fewer nodes all drains together take less than a second.
_WORTH_NODES = 500


class _FirstOrder(Struct, frozen=True):
    """A drain in the first order, and the other orders to try. It is to be repeated if it `needs_spares`."""

    result: DrainResult
    others: Sequence[Alternative]
    needs_spares: bool


class DrainRun(Run):
    """A run whose nodes are drained: some nodes once, or many groups of nodes, each in a trial. With `moved_only`, the
    end of a drain has only the pods to which something happened."""

    def __init__(self, source: LoadedInput, flags: Flags, *, moved_only: bool = True) -> None:
        super().__init__(source)
        self._reasons = UnplacedReasons(self.cluster.undo)
        self.observe(self._reasons)
        self._pending = PendingPods(self.world)
        self._flags, self._moved_only = flags, moved_only
        self.spares = SpareCopies(self.world)
        # Set when the pending pods are placed.
        self._anyway = NOTHING_MOVES

    def drain_in_turn(self, groups: Sequence[Sequence[str]]) -> Iterator[DrainResult]:
        """Drain each group from the same beginning. A single group is drained in all orders that draws may take, and
        the world is at the end of the first order then."""
        if len(groups) == 1:
            self._pending.place()
            self._anyway = self._pending.changes_anyway()
            yield self.run_all_orders(partial(self._drain_all, groups[0]), merge_drain_orders)
            return
        self.place_pending()
        self.spares.set_aside()
        # In copies of this process no drain leaves fewer orders for the next one.
        few = len(groups) <= _MOST_ORDERS_OF_ALL // _MOST_ORDERS_OF_EACH
        at_once = copies_at_once() if few and sum(map(len, groups)) >= _WORTH_NODES else 0
        if at_once:
            yield from self._drain_in_copies(groups, at_once)
            return
        left = _MOST_ORDERS_OF_ALL
        for nodes in groups:
            result, tried = self._drain_in_trial(nodes, left)
            if self.spares.were_needed:
                self.spares.restore()
                result, tried = self._drain_in_trial(nodes, left)
                self.spares.set_aside()
            left -= tried
            yield result

    def _drain_in_trial(self, nodes: Sequence[str], left: int = _MOST_ORDERS_OF_EACH) -> tuple[DrainResult, int]:
        """The result, and in how many other orders, of which so many are left, the drain was tried."""
        with self.trial():
            result = self.drain(nodes)
            others = self._other_orders(left)
        again = partial(self.try_order, partial(self._drain_all, nodes))
        return merge_drain_orders(result, others, again), len(others)

    def _other_orders(self, left: int = _MOST_ORDERS_OF_EACH) -> list[Alternative]:
        """The other orders in which the last drain is tried, of which so many are left."""
        most = min(_MOST_ORDERS_OF_EACH, left)
        return self.draw_watch.others(self.world, _FEW_RISKS)[:most] if left else []

    # In copies of this process

    def _drain_in_copies(self, groups: Sequence[Sequence[str]], at_once: int) -> Iterator[DrainResult]:
        """Drain each group in the first order, and then those for which draws may decide otherwise in other orders.
        Each order has a copy of this process."""
        waiting: list[_FirstOrder] = []
        more: list[Callable[[], DrainResult]] = []
        firsts = run_trials([partial(self._first_order, nodes) for nodes in groups], at_once)
        for nodes, first in zip(groups, firsts, strict=True):
            if first.needs_spares:
                more.append(partial(self._drain_with_spares, nodes))
            else:
                more += [partial(self._other_order, nodes, each.choices) for each in first.others]
            if more:
                waiting.append(first)
            else:
                yield first.result
        results = run_trials(more, at_once)
        for first in waiting:
            if first.needs_spares:
                yield next(results)
            else:
                yield merge_drain_orders(first.result, first.others, lambda _: next(results))

    def _first_order(self, nodes: Sequence[str]) -> _FirstOrder:
        self.spares.were_needed = False
        with self.last_trial():
            result = self.drain(nodes)
            others = self._other_orders()
        return _FirstOrder(result, others, self.spares.were_needed)

    def _other_order(self, nodes: Sequence[str], choices: Choices) -> DrainResult:
        with self.last_trial():
            return self.drain(nodes, choices)

    def _drain_with_spares(self, nodes: Sequence[str]) -> DrainResult:
        self.spares.restore()
        result, _ = self._drain_in_trial(nodes)
        self.spares.set_aside()
        return result

    # One drain

    def place_pending(self) -> None:
        """Give the pending pods their nodes, and record from there."""
        self._pending.place()
        with self.trial():
            self.spares.set_aside()
            anyway = self._pending.changes_anyway(self.spares.notice)
        self._anyway = self._pending.changes_anyway() if self.spares.were_needed else anyway
        self.spares.reset()
        self.world.begin_record()

    def drain(self, nodes: Sequence[str], choices: Choices = FIRST_ORDER) -> DrainResult:
        """Drain the nodes with these draws."""
        return self.in_order(partial(self._drain_all, nodes), choices)

    def _drain_all(self, nodes: Sequence[str], choices: Choices) -> DrainResult:
        """Cordon the nodes, place the pending pods that these had taken, and drain one node after the other (RunDrain).
        Nodes with refused evictions are tried again after the others, whose new pods may have helped."""
        world, anyway = self.world, self._anyway
        with world.cluster.specs_change_together():
            world.apply(partial(_cordon, nodes))
        draining = NodeEvictions(world, self._flags)
        self._pending.leave(nodes)
        self._pending.place()
        drained = [draining.start(node) for node in nodes]
        any_granted = True
        while any_granted:
            # Each of these nodes is tried again, also after an eviction of an earlier one is granted.
            granted = [draining.retry(node) for node in drained if node.left and not node.timed_out]
            any_granted = any(granted)
        draining.run()
        reader = DrainReader(world, self._reasons, anyway.preempted)
        preempted = [each for each in world.recorder.preempted if uid_of_pod(each.pod) not in anyway.preempted]
        counted = {uid_of_pod(pod) for node in drained for pod in node.evict} - anyway.preempted
        counted |= {uid_of_pod(each.pod) for each in preempted}
        result = DrainResult(
            tuple(map(reader.node_drain, drained)),
            draining.budgets.changes([*draining.requested, *(each.pod for each in preempted)]),
            tuple(map(reader.evicted, preempted)),
            QueuedPods(self._pending.pods, self._pending.placed, self.spares.count),
            tuple(self._displaced(reader, counted)),
            world.result(draining.ending, moved_only=self._moved_only),
            autoscaling=self.provisioned(),
        )
        self.spares.notice()
        return result

    def _displaced(self, reader: DrainReader, counted: Collection[str]) -> Iterator[PodFate]:
        """The pods that have a node without the drain and have none with it. Pods of `counted` are part of the result
        already."""
        for uid, pod in moved_predecessors(self.world):
            if uid in self._anyway.placed and uid not in counted and (fate := reader.waits(pod)) is not None:
                yield fate


# What is drained by itself.
TrialUnit = Literal["node", "zone"]

_NO_ZONE = "(no zone)"


def find_nodes(loaded: Loaded, names: Sequence[str], selector: Selector | None) -> list[str]:
    """The named nodes in that order, once each; those that the selector matches; all, when neither is given."""
    nodes = {node.metadata.name: node for node in loaded.of(Node)}
    wanted = list(dict.fromkeys(full_node_name(name, nodes) for name in names))
    unknown = [name for name in wanted if name not in nodes]
    if unknown:
        raise UsageError(Problem(f'there is no node "{name}"', hint=name_hint(name, nodes)) for name in unknown)
    if names:
        return wanted
    return sorted(name for name, node in nodes.items() if selector is None or selector.matches(node.metadata.labels))


def in_turn(loaded: Loaded, nodes: Sequence[str], each: TrialUnit | None) -> list[tuple[str, tuple[str, ...]]]:
    """What is drained together, by its name: everything, or every node or zone by itself."""
    if each is None:
        return [(", ".join(nodes), tuple(nodes))]
    if each == "node":
        return [(node, (node,)) for node in nodes]
    zones: dict[str, list[str]] = {}
    for node in nodes:
        found = loaded.get(Node, node)
        assert found is not None
        zones.setdefault(zone_of(found) or _NO_ZONE, []).append(node)
    if [*zones] == [_NO_ZONE]:
        text = "no node of the input has the label topology.kubernetes.io/zone"
        raise UsageError(Problem(text, "--each zone", hint="--each node"))
    return [(zone, tuple(sorted(members))) for zone, members in sorted(zones.items())]


class DrainReport(Displayed, Struct, frozen=True):
    """All nodes drained together in a single trial, or each node or zone (`each`) in a trial of its own. `nodes` are
    all nodes before the drain and after it; only before where each has a trial of its own. `was_interrupted`: the
    trials are those that were done by then."""

    trials: tuple[GroupDrain, ...]
    each: TrialUnit | None
    nodes: NodeChanges
    coverage: Mapping[str, Any]
    warnings: tuple[str, ...]
    stats: Stats
    was_interrupted: bool = False


def drain_nodes(
    source: LoadedInput,
    names: Sequence[str],
    selector: str,
    flags: Flags,
    *,
    each: TrialUnit | None = None,
    pending_first: bool = True,
    every_pod: bool = False,
    done: Callable[[GroupDrain], object] = lambda trial: None,
    stop_on_interrupt: bool = False,
) -> DrainReport:
    """Every trial starts from the loaded cluster, in which the pending pods get their nodes once: those that take a
    place on nodes of the trial look for another one. With `every_pod` the end of a single drain has all pods, not only
    those to which something happened. `done` is called with each trial at its end. With `stop_on_interrupt` the result
    has the trials that are done when the user interrupts the run, if there are any."""
    nodes = find_nodes(source.loaded, names, read_query(selector) if selector else None)
    if not nodes:
        raise UsageError("there is no node to drain" + (f": none matches -l {selector}" if selector else ""))
    source.refuse_rollouts()
    if not pending_first:
        source = replace(source, loaded=source.loaded.without_pending())
    run = DrainRun(source, flags, moved_only=not every_pod)
    started = time.perf_counter()
    groups = in_turn(source.loaded, nodes, each)
    results = zip(groups, run.drain_in_turn([group for _, group in groups]), strict=True)
    trials: list[GroupDrain] = []
    was_interrupted = False
    try:
        for (name, group), result in steps(results, "drains are done", len(groups)):
            trials.append(GroupDrain(name, group, result))
            done(trials[-1])
    except KeyboardInterrupt:
        if not stop_on_interrupt or not trials:
            raise
        was_interrupted = True
    evicted = sum(len(node.of("moves", "unplaced")) for trial in trials for node in trial.drain.nodes)
    return DrainReport(
        tuple(trials),
        each,
        run.node_changes() if each is None else NodeChanges(run.nodes, run.nodes),
        run.coverage,
        source.warnings,
        run.stats(evicted, time.perf_counter() - started),
        was_interrupted,
    )
