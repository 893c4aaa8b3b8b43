"""`scenario`: each step changes a world, the world comes to rest, and the expectations of the step are checked.

`check_expectation` compares an expectation with the facts of a step. The expectation `survives` tries the loss of nodes
in a trial (`end_without`). `consolidate` and `sweep` use expectations and failures, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import is_terminal, pod_key
from ksched_cli.controlplane.controllers.daemon_pods import should_run
from ksched_cli.errors import InputError, Problem, UsageError, counted
from ksched_cli.plan.results.nodes import NodeChanges, NodeColumns
from ksched_cli.plan.results.outcomes import Displayed, GatedPod, PodOutcome, RefusedPod, refused_pods
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.settle import KeptOutcomes, SettleResult, SettleRun
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.read_options import ManifestReading
from ksched_cli.whatif.changes import Changes, loaded_after, refused_by
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.lib.targets import pods_meant
from ksched_cli.whatif.edits.nodes import RemoveNode
from ksched_cli.whatif.scenario import (
    TOPOLOGY,
    Expectation,
    NoPreemption,
    On,
    Scenario,
    ScenarioStep,
    Schedulable,
    Spread,
    Survives,
    load_scenario,
    validation_run,
)
from ksched_cli.world.results import DEFAULT_LIMITS, Ending, Limits, WorldResult
from ksched_cli.world.world import World

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning


class EndWithoutNodes(Struct, frozen=True):
    """What a world comes to without some nodes, and the cycles after their loss that preempt."""

    world: WorldResult
    preempting: tuple[PodOutcome, ...]


def remove_nodes(world: World, names: Sequence[str]) -> None:
    """Remove the nodes. What follows from it happens as the world runs."""
    with world.cluster.leaving_together():
        world.apply(Changes(edits=[RemoveNode(name) for name in names]))


def end_without(world: World, preempting: Sequence[PodOutcome], names: Sequence[str]) -> EndWithoutNodes:
    """Try the loss of the nodes in the world. Cycles of the world that preempt are added to `preempting`, which is
    rolled back with it."""
    before = len(preempting)
    with world.trial():
        remove_nodes(world, names)
        now, cycles = world.clock.now, world.cycles
        ending = world.run(Limits(now + DEFAULT_LIMITS.max_time, cycles + DEFAULT_LIMITS.max_cycles))
        return EndWithoutNodes(world.result(ending), tuple(preempting[before:]))


class HeldOrders(Struct, frozen=True):
    """In how many of the orders that were tried an expectation holds."""

    tried: int
    held: int


class CheckedExpectation(Struct, frozen=True, omit_defaults=True):
    """An expectation, and the facts that contradict it, one line each. `orders` is None if there was only one order."""

    text: str
    line: int
    held: bool
    against: tuple[str, ...]
    orders: HeldOrders | None = None


class StepFacts(Struct, frozen=True):
    """The world after a step. `outcomes` are those of pods that were pending, by pod. `without` returns the end of the
    world without some nodes."""

    loaded: Loaded
    outcomes: Mapping[str, PodOutcome]
    preempting: Sequence[PodOutcome]
    without: Callable[[Sequence[str]], EndWithoutNodes]
    namespace: str

    @classmethod
    def of(cls, world: World, kept: KeptOutcomes, namespace: str) -> StepFacts:
        """The facts of the present world."""
        without = partial(end_without, world, kept.all_preempting)
        return cls(world.plane.store.as_loaded(), kept.tried(), kept.preempting, without, namespace)

    def why_pending(self, pod: str) -> str:
        outcome = self.outcomes.get(pod)
        if outcome is None:
            return "it is held back or belongs to another scheduler"
        return outcome.message or outcome.result


def check_expectation(expectation: Expectation, facts: StepFacts) -> CheckedExpectation:
    against = tuple(_CHECKS[type(expectation)](expectation, facts))
    return CheckedExpectation(str(expectation), expectation.place.line, not against, against)


def in_all_orders(ends: Sequence[CheckedExpectation]) -> CheckedExpectation:
    """One expectation at the end of each order: it holds if it holds in all of them."""
    failing = [each for each in ends if not each.held]
    if len(ends) == 1:
        return ends[0]
    orders = HeldOrders(len(ends), len(ends) - len(failing))
    against = failing[-1].against if failing else ()
    if 0 < len(failing) < len(ends):
        against = (f"holds in {orders.held} of {orders.tried} orders only; in the others:", *against)
    return replace(ends[-1], held=not failing, against=against, orders=orders)


def _schedulable(wanted: Schedulable, facts: StepFacts) -> Iterator[str]:
    if wanted.target is not None:
        yield from _placed(wanted.target, wanted.wanted, ("*",), "", facts)
        return
    failing = [outcome for outcome in facts.outcomes.values() if not outcome.node]
    if wanted.wanted:
        yield from (f"{outcome.pod}: {outcome.message or outcome.result}" for outcome in failing)
    elif not failing:
        yield f"all {len(facts.outcomes)} pending pods have found a node"


def _on(wanted: On, facts: StepFacts) -> Iterator[str]:
    return _placed(wanted.target, wanted.wanted, wanted.nodes, " has no node", facts)


def _placed(target: Reference, wanted: bool, patterns: Sequence[str], no_node: str, facts: StepFacts) -> Iterator[str]:
    """The pods of the target that are on other nodes than those of the patterns, or, if not `wanted`, on these."""
    for pod in pods_meant(facts.loaded, target, facts.namespace):
        name, node = pod_key(pod), pod.spec.node_name
        if not node and wanted:
            yield f"{name}{no_node}: {facts.why_pending(name)}"
        elif node and any(fnmatchcase(node, pattern) for pattern in patterns) is not wanted:
            yield f"{name} is on {node}"


def _spread(wanted: Spread, facts: StepFacts) -> Iterator[str]:
    """The skew, if it is too large. The domains are those of the pods and of nodes that the pods may be on."""
    pods = pods_meant(facts.loaded, wanted.target, facts.namespace)
    nodes = {node.metadata.name: node for node in facts.loaded.of(Node)}
    counts: dict[str, int] = {}
    on_node = Counter(pod.spec.node_name for pod in pods)
    for name, node in nodes.items():
        domain = node.metadata.labels.get(wanted.topology_key)
        if domain is not None and pods and (on_node[name] or _may_be_on(pods[0], node)):
            counts[domain] = counts.get(domain, 0) + on_node[name]
    if counts and max(counts.values()) - min(counts.values()) > wanted.max_skew:
        listed = ", ".join(f"{domain} {count}" for domain, count in sorted(counts.items()))
        yield f"{listed}: they differ by {max(counts.values()) - min(counts.values())}"


def _may_be_on(pod: Pod, node: Node) -> bool:
    return not node.spec.unschedulable and should_run(replace(pod.spec, node_name=""), node)


def _no_preemption(_: NoPreemption, facts: StepFacts) -> Iterator[str]:
    for outcome in facts.preempting:
        assert outcome.preemption is not None
        yield f"{outcome.pod} preempts {', '.join(outcome.preemption.victims)} on {outcome.preemption.node}"


def domains(nodes: Iterable[Node], what: str) -> dict[str, list[str]]:
    """The names of the nodes by failure domain: a node, or the value of a label."""
    key = TOPOLOGY.get(what, what)
    found: dict[str, list[str]] = {}
    for name, node in sorted((node.metadata.name, node) for node in nodes):
        value = name if what == "node" else node.metadata.labels.get(key)
        if value is not None:
            found.setdefault(value, []).append(name)
    return found


def domain_word(what: str) -> str:
    """`zone`, or `value of example.com/rack`."""
    return what if what in TOPOLOGY else f"value of {what}"


def check_domains(found: Mapping[str, Sequence[str]], what: str, count: int, where: str, hint: str = "") -> None:
    """UsageError about the option `where` if there is no domain of this kind, or fewer than are to fail together."""
    if not found:
        raise UsageError(Problem(f"no node of the input has the label {TOPOLOGY.get(what, what)}", where, hint=hint))
    if len(found) < count:
        text = f"{count} cannot fail together: the input has {counted(len(found), domain_word(what))}"
        raise UsageError(Problem(text, where))


def _survives(wanted: Survives, facts: StepFacts) -> Iterator[str]:
    nodes_of = domains(facts.loaded.of(Node), wanted.what)
    occupied = {pod.spec.node_name for pod in facts.loaded.of(Pod) if not is_terminal(pod)}
    waiting = {pod_key(pod) for pod in facts.loaded.of(Pod) if not pod.spec.node_name}
    for lost in combinations(nodes_of, wanted.count):
        gone = [node for domain in lost for node in nodes_of[domain]]
        if not occupied.isdisjoint(gone):
            found = _not_surviving(facts.without(gone), waiting)
            yield from (f"without {', '.join(lost)}: {text}" for text in found)


def _not_surviving(left: EndWithoutNodes, waiting: set[str]) -> Iterator[str]:
    """Pods that preempt others to have a node, and pods without a node unless they replace such a victim."""
    victims: set[str] = set()
    for outcome in left.preempting:
        if outcome.pod not in waiting and outcome.preemption and outcome.nominated_node:
            victims.update(outcome.preemption.victims)
            names = ", ".join(outcome.preemption.victims)
            yield f"{outcome.pod}: it would have to preempt {names} on {outcome.nominated_node}"
    for pod in left.world.unplaced:
        if pod.pod not in waiting and pod.replaces not in victims:
            yield f"{pod.pod}: {pod.message or pod.state}"


_CHECKS: Mapping[type[Any], Callable[[Any, StepFacts], Iterator[str]]] = {
    Schedulable: _schedulable,
    On: _on,
    Spread: _spread,
    NoPreemption: _no_preemption,
    Survives: _survives,
}


class StepResult(Struct, frozen=True):
    """What a step did and what came of it. `pods` has the last cycle of every pod that was pending, `preempting` every
    cycle that preempted. `end` is what the world came to, and in how many orders."""

    name: str
    line: int
    edits: tuple[str, ...]
    pods: tuple[PodOutcome, ...]
    gated: tuple[GatedPod, ...]
    refused: tuple[RefusedPod, ...]
    preempting: tuple[PodOutcome, ...]
    checks: tuple[CheckedExpectation, ...]
    warnings: tuple[str, ...]
    end: WorldResult


class ScenarioRun(Displayed, Struct, frozen=True):
    """What each step came to, what the world came to, the cluster after the last step, and the nodes before the first
    step and after the last."""

    name: str
    source: str
    steps: tuple[StepResult, ...]
    settle_result: SettleResult
    loaded: Loaded
    nodes: NodeChanges
    coverage: Mapping[str, Any] = {}
    # The nodes that the autoscaler of the cluster adds in all steps.
    autoscaling: Provisioning | None = None

    @property
    def failed(self) -> tuple[CheckedExpectation, ...]:
        """The expectations that did not hold."""
        return tuple(each for step in self.steps for each in step.checks if not each.held)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those about the input; those about a step are in its result."""
        of_steps = {text for step in self.steps for text in step.warnings}
        return tuple(text for text in self.loaded.warnings if text not in of_steps)

    @property
    def settled(self) -> bool:
        return self.settle_result.world.settled


def least_certain(end: WorldResult, steps: Sequence[WorldResult]) -> WorldResult:
    """The end of the last step with the orders of the step that fits in the fewest of its orders."""
    draws = tuple(dict.fromkeys((*end.draws, *(draw for each in steps for draw in each.draws))))
    found = [(each.orders.finished / each.orders.tried, each) for each in steps if each.orders is not None]
    if not found:
        return end
    _, worst = min(found, key=lambda each: each[0])
    return replace(end, draws=draws, orders=worst.orders, doubtful=worst.doubtful)


class ScenarioWorld:
    """`first` is changed before the first step."""

    def __init__(self, run: SettleRun, first: Changes, limits: Limits) -> None:
        self._run, self._world, self._limits = run, run.world, limits
        self._before = NodeColumns.of(self._world.cluster)
        self._changes = [first]
        self._ending: Ending = "settled"
        self._world.apply(first)

    def run(self, scenario: Scenario, changes: Sequence[Changes]) -> ScenarioRun:
        """All steps, also after expectations that fail, up to one after which the world does not come to rest."""
        results = []
        for step, change in zip(scenario.steps, changes, strict=True):
            results.append(self._take_step(step, change))
            if self._ending != "settled":
                break
        end = least_certain(self._world.result(self._ending), [each.end for each in results])
        found = self._run.settled(end)
        loaded = loaded_after(self._world.plane, *self._changes)
        nodes = NodeChanges(self._before, NodeColumns.of(self._world.cluster))
        made = scenario.name, scenario.source, tuple(results)
        return ScenarioRun(*made, found, loaded, nodes, self._run.coverage, self._run.provisioned())

    def _take_step(self, step: ScenarioStep, change: Changes) -> StepResult:
        """Make the change and run until nothing moves, in the orders that draws may take."""
        plane, kept = self._world.plane, self._run.kept
        warned, refused = {*plane.warnings, *plane.blocked_evictions()}, {each.pod for each in self._refused()}
        self._world.recorder.note("Step", message=step.name)
        kept.begin_step()
        self._changes.append(change)
        ends: list[tuple[CheckedExpectation, ...]] = []
        result = self._run.settle(change, self._limits, lambda: ends.append(self._checked(step, change)))
        self._ending = result.ending
        return StepResult(
            step.name,
            step.place.line,
            (*(f"apply {path}" for path in step.manifests), *(str(each.edit)[2:] for each in step.edits)),
            tuple(kept.tried().values()),
            self._gated(),
            tuple(each for each in self._refused() if each.pod not in refused),
            tuple(kept.preempting),
            tuple(map(in_all_orders, zip(*ends, strict=True))),
            tuple(text for text in (*plane.warnings, *plane.blocked_evictions()) if text not in warned),
            result,
        )

    def _checked(self, step: ScenarioStep, change: Changes) -> tuple[CheckedExpectation, ...]:
        """The expectations as the world is now."""
        facts = StepFacts.of(self._world, self._run.kept, change.namespace)
        return tuple(check_expectation(each, facts) for each in step.expectations)

    def _gated(self) -> tuple[GatedPod, ...]:
        held = (pod for pod in self._world.loop.queue if pod.gated)
        return tuple(GatedPod(pod.info.key, pod.gating_plugin, (pod.gating_message,)) for pod in held)

    def _refused(self) -> tuple[RefusedPod, ...]:
        return refused_pods(refused_by(self._world.plane))


def play_scenario(
    path: str,
    source: LoadedInput,
    *changes: Changes,
    limits: Limits = DEFAULT_LIMITS,
    run: SettleRun | None = None,
) -> ScenarioRun:
    """Run the steps of the file after the changes, in a world of the input, which is that of `run` if there is one. All
    mistakes of the file are raised together."""
    *earlier, first = changes
    for each in earlier:
        source = source.changed(each)
    scenario, problems = load_scenario(path)
    reading = source.spec.reading(ManifestReading(), first.namespace, source.loaded)
    steps, found = validation_run(scenario, source.loaded, first, reading)
    problems += found
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    return ScenarioWorld(run or SettleRun(source), first, limits).run(scenario, steps)
