"""The variants of a sweep, and their run one after the other, each in a trial of a world that stays loaded.

A variant is a number, and everything about it is computed from the number: random choices need no list (`choice`
returns a choice of k out of n by its index, `Permutation` a repeatable order of a large range). A `SweepTask` is what
each worker gets once: the variants, and the input under the configurations and minors that they try (`SweptCluster`).
A row has what became of the pods that lost their node or looked for one (`SweptPods`), the figures of the cluster
(`ClusterMeasure`), and the expectations that failed.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b, sha256
from math import comb, isqrt, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import is_terminal, pod_key, uid_of_pod, waits_for_node
from ksched_cli.api.yaml_reader import read_documents
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.cluster.pod_info import CPU, MEMORY
from ksched_cli.controlplane.controllers.nodelifecycle import WHY as EVICTED_BY_TAINT
from ksched_cli.controlplane.store import owner_identity
from ksched_cli.engine.decision import Decision, random_choice
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import Problem, UsageError
from ksched_cli.plan.drain.pods import (
    NOTHING_MOVES,
    ChangesAnyway,
    PendingPods,
    UnplacedReasons,
    last_version,
    moved_predecessors,
)
from ksched_cli.plan.results.nodes import NodeColumns
from ksched_cli.plan.run.each import DIED, SpanRunner, error_text
from ksched_cli.plan.run.loaded_input import InputMaker, LoadedInput
from ksched_cli.plan.run.options import Configuration, RunOptions
from ksched_cli.plan.run.run import Run
from ksched_cli.plan.scenario import (
    CheckedExpectation,
    StepFacts,
    check_domains,
    check_expectation,
    domain_word,
    domains,
    remove_nodes,
)
from ksched_cli.plan.settle import KeptOutcomes
from ksched_cli.plan.simulate import OutputOptions
from ksched_cli.plan.sweep.model import Sweep
from ksched_cli.plan.sweep.statistics import Figures, PodResultWord, SweptPod, VariantOutcome, VariantRow, encode_rows
from ksched_cli.releases.minors import minor_in
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Edit, specs_by_flag
from ksched_cli.whatif.edits.lib.editor import name_hint, stays_in_a_drain
from ksched_cli.world.results import Ending, Limits, WorldResult
from ksched_cli.world.world import World

if TYPE_CHECKING:
    from ksched_cli.autoscale.autoscaler import Karpenter

# Shares are counted in hundredths of a percent.
_WHOLE = 10_000


class ClusterMeasure:
    """Measures a cluster. What belongs to the nodes themselves (pods of DaemonSets, mirror pods) does not count as use.
    The average pod is that of the cluster as it was when the measure was made."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        infos = cluster.pods.infos
        self._known = np.array([stays_in_a_drain(info.pod) for info in infos], dtype=np.bool_)
        counted = [dict(info.requests) for info, of_node in zip(infos, self._known, strict=True) if not of_node]
        count = max(len(counted), 1)
        self._cpu = sum(each.get(CPU, 0) for each in counted) // count
        self._memory = sum(each.get(MEMORY, 0) for each in counted) // count

    def figures(self) -> Figures:
        """The figures of the nodes; those of the pods are 0."""
        cluster = self._cluster
        nodes = cluster.nodes
        rows = cluster.pods.node_row
        used = np.bincount(rows[(rows >= 0) & ~self._of_nodes()], minlength=len(nodes)) > 0
        cpu, memory = self._stranded()
        return Figures(
            nodes=len(nodes),
            nodes_used=int(used.sum()),
            spread=self._spread(),
            stranded_milli_cpu=cpu,
            stranded_memory=memory,
        )

    def _of_nodes(self) -> BoolColumn:
        """Which rows of the pod table belong to their node."""
        infos = self._cluster.pods.infos
        new = [stays_in_a_drain(info.pod) for info in infos[len(self._known) :]]
        return np.concatenate([self._known, np.array(new, dtype=np.bool_)]) if new else self._known

    def _spread(self) -> int:
        allocatable = self._cluster.nodes.allocatable[CPU]
        there = allocatable > 0
        shares = self._cluster.usage.requested[CPU][there] * _WHOLE // allocatable[there]
        count = len(shares)
        total, squares = int(shares.sum()), int((shares * shares).sum())
        return isqrt(max(count * squares - total * total, 0)) // count if count else 0

    def _stranded(self) -> tuple[int, int]:
        """Free cpu and memory that remain after as many average pods as fit, of the schedulable nodes."""
        nodes, usage = self._cluster.nodes, self._cluster.usage
        free: Int64Column = np.maximum(nodes.allocatable - usage.requested, 0)
        cpu, memory = free[CPU], free[MEMORY]
        fit = np.maximum(nodes.allowed_pods - usage.pod_count, 0)
        if self._cpu:
            fit = np.minimum(fit, cpu // self._cpu)
        if self._memory:
            fit = np.minimum(fit, memory // self._memory)
        schedulable = ~nodes.unschedulable
        left_cpu, left_memory = cpu - fit * self._cpu, memory - fit * self._memory
        return int(left_cpu[schedulable].sum()), int(left_memory[schedulable].sum())


class VariantDecisions(UnplacedReasons):
    """Also keeps the last outcome of each pod, where the sweep expects something."""

    def __init__(self, task: SweepTask, scheduler: Scheduler) -> None:
        super().__init__(scheduler.cluster.undo)
        self._expectations, self._namespace = task.space.sweep.expectations, task.namespace
        self._kept = KeptOutcomes(scheduler.cluster, OutputOptions(top=0))

    def __call__(self, decision: Decision) -> None:
        super().__call__(decision)
        if self._expectations:
            self._kept(decision)

    def failed(self, world: World) -> tuple[CheckedExpectation, ...]:
        """The expectations that do not hold at the end of a variant."""
        if not self._expectations:
            return ()
        facts = StepFacts.of(world, self._kept, self._namespace)
        checked = (check_expectation(each, facts) for each in self._expectations)
        return tuple(each for each in checked if not each.held)


_ENDINGS = {
    "max-time": "the cluster does not come to rest within an hour of virtual time",
    "max-cycles": "the cluster does not come to rest within 100,000 scheduling cycles",
    "oscillation": "the cluster does not come to rest: the same states come again",
}


class PodStory(Struct, frozen=True):
    """What became of one pod. `had_place`: it had a node before. `why` is for pods without a node in the end."""

    result: PodResultWord
    pod: str
    node: str = ""
    why: str = ""
    had_place: bool = False
    preempted: bool = False


class FoundPods(Struct, frozen=True):
    """`waiting` is how many pods of the whole cluster want a node and have none."""

    stories: tuple[PodStory, ...]
    waiting: int


class SweptPods:
    """Reads the pods of a variant from its world. `failing` are the nodes that fail. Pods that have no node without the
    failures either (`resting`) are no result of the failures. Made before the nodes fail."""

    def __init__(self, world: World, failing: Collection[str] = (), resting: ChangesAnyway = NOTHING_MOVES) -> None:
        self._world, self._failing, self._resting = world, frozenset(failing), resting if failing else NOTHING_MOVES
        # Pods that pending pods preempt before the record begins.
        self._earlier = frozenset() if failing else resting.preempted
        # The pod garbage collector marks pods as failed before it deletes them.
        self._before = {uid_of_pod(pod): pod for node in failing for pod in world.plane.store.pods_on(node)}

    def found(self, reasons: UnplacedReasons) -> FoundPods:
        refused = sum(len(each) for each in self._world.api.refusals.values())
        waiting = sum(not pod.gated for pod in self._world.loop.queue) + refused
        preempted = {uid_of_pod(each.pod): each.pod for each in self._world.recorder.preempted}
        unplaced = self._resting.unplaced
        roots = (each for each in moved_predecessors(self._world) if each[0] not in unplaced)
        stories = (self._story(pod, reasons, preempted.get(uid)) for uid, pod in roots)
        found = sorted((each for each in stories if each is not None), key=lambda story: story.pod)
        return FoundPods(tuple(found), waiting)

    def _place_before(self, pod: Pod) -> str:
        """The node that the pod had at the beginning."""
        life = self._world.recorder.lives.get(uid_of_pod(pod))
        return pod.spec.node_name if life is None or (life.bound is None and life.created is None) else ""

    def _story(self, pod: Pod, reasons: UnplacedReasons, victim: Pod | None) -> PodStory | None:
        world, uid, name = self._world, uid_of_pod(pod), pod_key(pod)
        place = self._place_before(pod)
        preempted = uid in self._earlier or (victim is not None and uid not in self._resting.preempted)
        current = last_version(world, pod)
        if current is not None:
            if current.metadata.deletion_timestamp is not None:
                # It stays Terminating: the kubelet of its node does not report.
                return None
            final = world.recorder.final_of(current)
            if final.node:
                return PodStory("scheduled", name, final.node, "", bool(place), preempted)
            if not final.unplaced:
                return None
            why = reasons.of.get(uid_of_pod(current)) or final.message
            return PodStory("unschedulable", name, "", why, bool(place), preempted)
        owner = owner_identity(pod)
        for each in (world.api.refusals.get(owner) or {}).values() if owner is not None else ():
            return PodStory("unschedulable", name, "", each.message, bool(place), preempted)
        pod = victim or self._before.get(uid, pod)
        ends = is_terminal(pod) or pod.metadata.deletion_timestamp is not None or stays_in_a_drain(pod)
        if ends or not (place or preempted):
            return None
        taken = preempted or place in self._failing or world.api.reasons.get(uid) == EVICTED_BY_TAINT
        return PodStory("lost" if taken else "deleted", name, "", _WHY_LOST if taken else "", bool(place), preempted)


_WHY_LOST = "no controller recreates it"


class VariantEnd(Struct, frozen=True):
    """The row of a variant, and the whole end of its world where that is wanted."""

    row: VariantRow
    world: WorldResult | None = None


def row_of(
    variant: Variant,
    cluster: Figures,
    found: FoundPods,
    ending: Ending,
    failed: Sequence[CheckedExpectation] = (),
) -> VariantRow:
    """The row of a variant that has come to rest. `cluster` has the figures of the nodes."""
    stories = found.stories
    evicted = [each for each in stories if each.had_place and each.result != "deleted"]
    preempted = sum(each.preempted for each in evicted)
    figures = replace(
        cluster,
        placed=sum(each.result == "scheduled" for each in stories),
        unschedulable=found.waiting,
        lost=sum(each.result == "lost" for each in stories),
        preempted=preempted,
        evicted=len(evicted) - preempted,
    )
    outcome, reason = _outcome(stories, ending)
    pods = tuple(SweptPod(each.pod, each.result, each.node) for each in stories)
    broken = tuple(each.text for each in failed)
    reason = reason or next((f"{each.text}: {each.against[0]}" for each in failed), "")
    return VariantRow(variant.number, variant.coordinates, outcome, figures, reason, broken, pods)


def _outcome(stories: tuple[PodStory, ...], ending: Ending) -> tuple[VariantOutcome, str]:
    """The worst that happened, and its first cause."""
    for each in stories:
        if each.result == "unschedulable":
            return "no place", f"{each.pod}: {each.why}"
    if ending != "settled":
        return "no place", _ENDINGS[ending]
    for each in stories:
        if each.result == "lost":
            return "loses pods", f"{each.pod}: {each.why}"
    for each in stories:
        if each.preempted:
            return "evicts others", f"{each.pod} is preempted and moves to {each.node}"
    return "safe", ""


class BaseRun(Struct, frozen=True):
    """The cluster without any variant: its row, its nodes, and its coverage."""

    row: VariantRow
    columns: NodeColumns
    coverage: dict[str, Any]


class VariantRunner:
    """Keeps the world of one configuration and one minor, and in it the setting of the last variant: a neighbour with
    the same setting costs its failures only."""

    def __init__(self, task: SweepTask) -> None:
        self._task, self._variants = task, task.space
        self._run: VariantRun | None = None
        self._loaded: tuple[int, int] | None = None

    def run(self, numbers: Iterable[int]) -> Iterator[VariantRow]:
        """The rows of these variants."""
        for number in numbers:
            variant = self._variants[number]
            try:
                yield self._run_of(variant).end(variant).row
            except Exception as problem:
                # What the variant left behind is not trusted.
                self._run = self._loaded = None
                yield VariantRow(number, variant.coordinates, "error", error=error_text(problem))

    def rows(self, span: Iterable[int]) -> bytes:
        """The rows of these variants, as lines of JSON."""
        return encode_rows(self.run(span))

    def whole(self, number: int) -> VariantEnd:
        """The variant with everything that happens in it."""
        variant = self._variants[number]
        return self._run_of(variant).end(variant, whole=True)

    def died(self, number: int) -> bytes:
        """The row of a variant whose worker dies whenever it runs it."""
        return encode_rows([VariantRow(number, self._variants[number].coordinates, "error", error=DIED)])

    def base(self) -> BaseRun:
        """The cluster as it is, without any variant: its row has number -1. UsageError for expectations of pods that
        are not there, and for edits that cannot be made: the largest number of each range is tried."""
        variant = Variant(-1, Setting(), (), {})
        run = self._run_of(variant)
        try:
            row = run.end(variant).row
        except EditMistake as mistake:
            raise UsageError(Problem(f"expect: {mistake}", hint=mistake.hint)) from None
        run.check_edits([each.edits[-1] for each in self._task.space.sweep.edits if each.edits[-1]])
        return BaseRun(row, NodeColumns.of(run.cluster), run.coverage)

    def _run_of(self, variant: Variant) -> VariantRun:
        """The world that has the configuration and the minor of the variant."""
        loaded = variant.setting.grid, variant.setting.version
        if self._run is None or self._loaded != loaded:
            self._run = None
            self._run, self._loaded = VariantRun(self._task, self._task.source.under(*loaded)), loaded
        return self._run


_LONGEST, _MOST_CYCLES = 3600.0, 100_000  # A variant ends after so many virtual seconds or cycles.


class VariantRun(Run):
    """A run of variants. A trial of its world stays open while the setting of the variants is the same."""

    def __init__(self, task: SweepTask, source: LoadedInput) -> None:
        super().__init__(source, keeps_timeline=True)
        self._decisions = VariantDecisions(task, self.scheduler)
        self.observe(self._decisions)
        self._measure = ClusterMeasure(self.cluster)
        self._pending = PendingPods(self.world)
        self._seed, self._namespace = task.space.sweep.seed, task.namespace
        self._fails = task.space.sweep.failing is not None
        self._setting: Setting | None = None
        self._resting = NOTHING_MOVES
        self._trial = self.trial()

    def end(self, variant: Variant, *, whole: bool = False) -> VariantEnd:
        """Run the variant. `whole`: with the timeline and the place of every pod."""
        if variant.setting != self._setting:
            self._enter(variant.setting)
        if not variant.failing:
            with self.trial():
                return self._read(variant, SweptPods(self.world, resting=self._resting), whole)
        with self.trial():
            pods = SweptPods(self.world, variant.failing, self._resting)
            self._fail(variant.failing)
            end = self._read(variant, pods, whole)
            used = set(self.cluster.nodes.labels.keys())
        # A table without some nodes takes over the columns of the table before, and makes all others itself.
        for key in used - self.cluster.nodes.labels.keys():
            self.cluster.nodes.labels.column(key)
        return end

    def check_edits(self, edits: Sequence[Edit]) -> None:
        """Make the edits, and take them back."""
        self._enter(Setting())
        with self.trial(Changes(edits=edits, namespace=self._namespace)):
            pass

    def _enter(self, setting: Setting) -> None:
        """Roll the last setting back, make this one, and give the pending pods their cycles."""
        world, self._setting = self.world, None
        self._trial.begin()
        if setting.tie:
            world.scheduler.cycle.tie_break = random_choice(seed_of(self._seed, "tie", setting.tie), world.undo)
        if setting.order:
            world.loop.queue.shuffle(random.Random(seed_of(self._seed, "order", setting.order)))
        if setting.edits:
            world.apply(Changes(edits=setting.edits, namespace=self._namespace))
        self._pending.place()
        if self._fails:
            self._resting = self._pending.changes_anyway()
            world.begin_record()
        self._setting = setting

    def _fail(self, nodes: Sequence[str]) -> None:
        """The nodes are gone at once. Pods that were pending look for another node; controllers recreate all others."""
        self._pending.leave(nodes)
        remove_nodes(self.world, nodes)

    def _read(self, variant: Variant, pods: SweptPods, whole: bool) -> VariantEnd:
        """Run until nothing moves, and read what the world came to."""
        world, decisions = self.world, self._decisions
        ending = world.run(Limits(world.clock.now + _LONGEST, world.cycles + _MOST_CYCLES))
        row = row_of(variant, self._measure.figures(), pods.found(decisions), ending, decisions.failed(world))
        return VariantEnd(row, world.result(ending) if whole else None)


_ROUNDS = 4


def choice(index: int, size: int) -> tuple[int, ...]:
    """The choice with this index among all choices of `size` different numbers, the smallest number first. Choices are
    counted by their largest number (the combinatorial number system), so that the index needs no upper bound."""
    chosen: list[int] = []
    for left in range(size, 0, -1):
        low, high = left - 1, left
        while comb(high, left) <= index:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if comb(middle, left) <= index else (low, middle)
        index -= comb(low, left)
        chosen.append(low)
    return tuple(reversed(chosen))


class Permutation:
    """The numbers below `size` in an order that the seed decides: number i comes from i alone, by a Feistel network
    over the next even number of bits, again and again until the number is below `size`."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._half = (max(size - 1, 1).bit_length() + 1) // 2
        self._mask = (1 << self._half) - 1
        self._key = blake2b(str(seed).encode(), digest_size=16).digest()

    def __getitem__(self, index: int) -> int:
        number = self._mixed(index)
        while number >= self._size:
            number = self._mixed(number)
        return number

    def _mixed(self, number: int) -> int:
        left, right = number >> self._half, number & self._mask
        for turn in range(_ROUNDS):
            left, right = right, left ^ (self._hash(turn, right) & self._mask)
        return left << self._half | right

    def _hash(self, turn: int, number: int) -> int:
        size = self._half // 8 + 1
        data = turn.to_bytes(1, "big") + number.to_bytes(size, "big")
        return int.from_bytes(blake2b(data, key=self._key, digest_size=min(max(size, 8), 64)).digest(), "big")


def seed_of(seed: int, *parts: object) -> int:
    """A seed of its own for each purpose and number."""
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class SweptCluster(Struct, frozen=True):
    """The cluster with its changes made, its autoscaler, and the options of the scheduler."""

    options: RunOptions
    loaded: Loaded
    sweep: Sweep
    maker: InputMaker
    autoscaler: Karpenter | None = None

    @classmethod
    def of(cls, options: RunOptions, source: LoadedInput, sweep: Sweep, maker: InputMaker) -> SweptCluster:
        """Everything that is for reading is left out: nothing is read again."""
        kept = replace(
            options, sources=(), objects=(), filenames=(), edits=(), scenario=None, progress=None, stdin=None
        )
        loaded = replace(source.loaded, origins={}, texts={}, paths_in_resources={}, _places={})
        # The version may come from the cluster.
        version = source.spec.requested
        if minor_in(version) is None:
            version = source.spec.release.version
        kept = replace(kept, kube_version=version, config=as_document(options.config))
        return cls(kept, loaded, sweep, maker, source.autoscaler)

    def digest(self) -> str:
        """The same for the same cluster under the same options."""
        found = sha256()
        for kind, items in sorted(self.loaded.objects.items(), key=lambda each: each[0].__name__):
            found.update(kind.__name__.encode())
            found.update(msgspec.json.encode(sorted(items, key=_name), order="deterministic"))
        options = self.options
        plugins = [
            each if isinstance(each, str) else f"{each.__module__}:{each.__qualname__}" for each in options.plugins
        ]
        of_scheduler = (options.config, options.kube_version, options.feature_gates, plugins, options.tie_break)
        others = (options.seed, options.sampling, options.allow_extenders, options.namespace)
        found.update(repr((of_scheduler, others)).encode())
        if self.autoscaler is not None:
            found.update(msgspec.json.encode((self.autoscaler.types, repr(self.autoscaler.options))))
        return found.hexdigest()[:32]

    def under(self, grid: int, version: int) -> LoadedInput:
        """The input with the configuration and the minor of these indexes, -1 for those of the options."""
        options = self.options
        if grid >= 0:
            options = replace(options, config=self.sweep.grid[grid].configuration)
        if version >= 0:
            options = replace(options, kube_version=self.sweep.kube_versions[version])
        spec = self.maker.scheduler_spec(options)
        source = LoadedInput(self.loaded, spec, self.maker.scheduler_maker(options), every_pod)
        return source.with_autoscaler(self.autoscaler)


def _name(item: Any) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name


def every_pod(_: object) -> bool:
    return True


def as_document(config: Configuration) -> Mapping[str, Any] | None:
    """The configuration as a value: workers may not have its file. It has been read without mistakes before."""
    if config is None or isinstance(config, Mapping):
        return config
    (document,) = read_documents(Path(config).read_bytes(), config)
    value: Mapping[str, Any] = document.value
    return value


class SweepTask(Struct, frozen=True):
    """The variants and the cluster. `namespace` is where a name is looked for first that comes without one."""

    space: VariantSpace
    source: SweptCluster
    namespace: str = ""

    def runner(self) -> SpanRunner:
        """A runner of this process."""
        return VariantRunner(self)


# More variants than these are drawn from with --sample only.
MOST_VARIANTS = 100_000_000


class Setting(Struct, frozen=True):
    """What a variant is before nodes fail: indexes into the grid and the minors (-1: as the options have it), the
    numbers of an order and a tie-break (0: as without the dimension), and the edits."""

    grid: int = -1
    version: int = -1
    order: int = 0
    tie: int = 0
    edits: tuple[Edit, ...] = ()


class Variant(Struct, frozen=True):
    """`coordinates` has the place in each dimension of the sweep, by the name of the dimension."""

    number: int
    setting: Setting
    failing: tuple[str, ...]
    coordinates: dict[str, Any]


class VariantSpace(Struct, frozen=True, dict=True):
    """The product of the dimensions of a sweep, or a sample of it, by number. `domains` has the nodes of each domain
    that can fail. Failures vary fastest, then tie-breaks and orders, so that neighbours share their setting."""

    sweep: Sweep
    domains: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        sweep = self.sweep
        return (
            len(sweep.kube_versions) or 1,
            len(sweep.grid) or 1,
            *(len(each.edits) for each in sweep.edits),
            sweep.orders or 1,
            sweep.ties or 1,
            comb(len(self.domains), sweep.failing.count) if sweep.failing else 1,
        )

    @property
    def product(self) -> int:
        return prod(self.sizes)

    def __len__(self) -> int:
        sample = self.sweep.sample
        return self.product if sample is None else min(sample, self.product)

    @cached_property
    def _order(self) -> Permutation | None:
        """The order from which a sample takes the first variants."""
        return Permutation(self.product, self.sweep.seed) if len(self) < self.product else None

    def __getitem__(self, number: int) -> Variant:
        index = self._order[number] if self._order else number
        digits: list[int] = []
        for size in reversed(self.sizes):
            index, digit = divmod(index, size)
            digits.append(digit)
        version, grid, *of_edits, order, tie, failing = reversed(digits)
        sweep = self.sweep
        edits = [each.edits[digit] for each, digit in zip(sweep.edits, of_edits, strict=True)]
        setting = Setting(
            grid if sweep.grid else -1,
            version if sweep.kube_versions else -1,
            order + 1 if sweep.orders else 0,
            tie + 1 if sweep.ties else 0,
            tuple(each for each in edits if each is not None),
        )
        failed = choice(failing, sweep.failing.count) if sweep.failing else ()
        nodes = tuple(node for each in failed for node in self.domains[each][1])
        return Variant(number, setting, nodes, self._coordinates(setting, of_edits, failed))

    def _coordinates(self, setting: Setting, of_edits: Sequence[int], failed: Sequence[int]) -> dict[str, Any]:
        sweep = self.sweep
        found: dict[str, Any] = {}
        if sweep.kube_versions:
            found["kubeVersion"] = sweep.kube_versions[setting.version]
        if sweep.grid:
            found["grid"] = dict(sweep.grid[setting.grid].parameters)
        for each, digit in zip(sweep.edits, of_edits, strict=True):
            found.setdefault(specs_by_flag()[each.flag].key, {})[each.subject] = each.first + digit
        if sweep.orders:
            found["order"] = setting.order
        if sweep.ties:
            found["tie"] = setting.tie
        if sweep.failing:
            found["fail"] = [self.domains[each][0] for each in failed]
        return found


def variant_space(sweep: Sweep, loaded: Loaded) -> VariantSpace:
    """The variants of a sweep of this cluster. UsageError if there are none, or too many to try them all."""
    found: dict[str, list[str]] = {}
    if sweep.failing is not None:
        found = domains(loaded.of(Node), sweep.failing.what)
        what, name, where = sweep.failing.what, sweep.failing.name, f"--fail {sweep.failing}"
        check_domains(found, what, sweep.failing.count, where, "" if found else _domain_hint(loaded.of(Node)))
        if name and name not in found:
            raise UsageError(
                Problem(f"the input has no {domain_word(what)} {name}", where, hint=name_hint(name, found))
            )
        found = {name: found[name]} if name else found
    pending = any(map(waits_for_node, loaded.of(Pod)))
    if sweep.orders and not pending:
        text = "no pod of the input is pending: every order gives the same result"
        raise UsageError(Problem(text, f"--orders {sweep.orders}"))
    space = VariantSpace(sweep, tuple((name, tuple(nodes)) for name, nodes in found.items()))
    if sweep.sample is None and space.product > MOST_VARIANTS:
        text = f"the dimensions have {space.product:,} products, and at most {MOST_VARIANTS:,} are tried one by one"
        raise UsageError(Problem(text, hint="--sample N draws N of them"))
    return space


def _domain_hint(nodes: Sequence[Node]) -> str:
    """The label that divides the nodes into the fewest groups, if there are some: `--fail label=example.com/rack`."""
    values: dict[str, list[str]] = {}
    for key, value in (pair for node in nodes for pair in node.metadata.labels.items()):
        values.setdefault(key, []).append(value)
    groups = {key: len(set(found)) for key, found in values.items() if len(found) == len(nodes)}
    fit = {key: number for key, number in groups.items() if 1 < number <= len(nodes) // 2}
    best = min(fit, key=lambda key: (fit[key], key), default="")
    return f"--fail label={best} has {fit[best]} values" if best else ""
