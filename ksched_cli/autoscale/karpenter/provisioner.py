"""Karpenter's provisioner: the pending pods of a cluster, and the nodes that it would add for them.

Mirrors provisioner.go (which pods, which NodePools), queue.go (the order in which pods are tried), remainingResources
and `Scheduler.Solve` of scheduler.go. `provision` reads objects and returns a `Provisioning`; it changes nothing. One
attempt for a pod is: existing nodes, open claims, a new claim of each NodePool in turn; after a failure one preference
is given up and all is tried again.

Karpenter counts the limits of NodePools pessimistically: a new claim takes as much as the largest of its instance types
has, and gives nothing back when it loses types. No type has a capacity of `nodes`, so that limit only shows when it is
used up before.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from ksched_cli.api.core import Namespace, Node, NodeSelectorRequirement, Pod
from ksched_cli.api.karpenter import NodeClaim as NodeClaimObject
from ksched_cli.api.karpenter import NodePool, is_true
from ksched_cli.api.object_facts import is_terminal
from ksched_cli.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.api.workloads import DaemonSet, PodDisruptionBudget
from ksched_cli.autoscale.instance_types.catalog import InstanceType, Offering
from ksched_cli.autoscale.karpenter.daemons import daemon_pods, reserved_ports
from ksched_cli.autoscale.karpenter.decision import PodWithoutNode, Provisioning, new_node, node_labels
from ksched_cli.autoscale.karpenter.existing_node import ExistingNodes, NodePods
from ksched_cli.autoscale.karpenter.instance_types import InstanceTypes, Mask
from ksched_cli.autoscale.karpenter.labels import NODEPOOL, Provider, provider_of, requirement_problems
from ksched_cli.autoscale.karpenter.messages import (
    DYNAMIC_RESOURCES,
    NO_NODE_POOLS,
    NO_TYPES,
    NOT_ON_KARPENTER,
    Errors,
    SchedulingError,
    TextError,
    limit_error,
    truncated_error,
)
from ksched_cli.autoscale.karpenter.node_claim import (
    ClaimPlacement,
    ClaimTemplate,
    OpenClaims,
    pool_requirements,
    template_requirements,
)
from ksched_cli.autoscale.karpenter.pods import (
    PendingClasses,
    PendingPod,
    Stage,
    required_affinity,
)
from ksched_cli.autoscale.karpenter.preferences import Wishes
from ksched_cli.autoscale.karpenter.requirements import States
from ksched_cli.autoscale.karpenter.reserved import Reservations
from ksched_cli.autoscale.karpenter.resources import (
    Columns,
    ResourceAmount,
    amounts_of,
    requested_resources,
    requests_for_pods,
    subtracted,
)
from ksched_cli.autoscale.karpenter.state import (
    BlockingBudgets,
    StateNode,
    is_protected,
    is_provisionable,
    is_reschedulable,
    is_terminating,
    state_nodes,
)
from ksched_cli.autoscale.karpenter.topology import (
    Hosts,
    PoolDomains,
    RunningNode,
    RunningPods,
    TopologyRules,
    Universe,
    running_pods,
)
from ksched_cli.autoscale.karpenter.volumes import ClaimedVolumes

K = TypeVar("K", bound=Struct)
# MaxInstanceTypes: a claim is sent with so many types at most.
MAX_INSTANCE_TYPES = 600
_SIZE_CODES = ("no-room", "no-combination")


class Options(Struct, frozen=True):
    """Karpenter's own settings, by default as it is shipped."""

    ignore_preferences: bool = False
    best_effort_min_values: bool = False
    reserved_capacity: bool = True


_AS_SHIPPED = Options()


def provision(
    objects: Callable[[type[Any]], Sequence[Any]],
    types: Sequence[InstanceType],
    options: Options = _AS_SHIPPED,
    *,
    offered: Mapping[str, range] = {},
    now: datetime | None = None,
    is_pending: Callable[[Pod], bool] = is_provisionable,
) -> Provisioning:
    """What `Provisioner.Schedule` decides. `objects` returns all objects of a kind; `types` are those of all NodePools,
    or `offered` has the range of each; `is_pending`: which pods Karpenter looks at."""
    return _Run(objects, types, offered, options, now, is_pending).run()


def _listed(objects: Callable[[type[Any]], Sequence[Any]], kind: type[K]) -> list[K]:
    """All objects of a kind by namespace and name. An API server lists them in no order."""
    return sorted(objects(kind), key=lambda each: (each.metadata.namespace, each.metadata.name))


class Offer(Struct, frozen=True):
    """An instance type as a NodePool launches it, with an offering that is available, and the labels of its nodes."""

    pool: NodePool
    instance_type: InstanceType
    offering: Offering
    labels: Mapping[str, str]


def offers(
    objects: Callable[[type[Any]], Sequence[Any]],
    types: Sequence[InstanceType],
    options: Options,
    offered: Mapping[str, range],
) -> list[Offer]:
    """Everything that NodePools could launch now, in the order of the NodePools."""
    return list(_Run(objects, types, offered, options, None, is_provisionable).offers())


class _Run:
    """One pass of the provisioner."""

    def __init__(
        self,
        objects: Callable[[type[Any]], Sequence[Any]],
        types: Sequence[InstanceType],
        offered: Mapping[str, range],
        options: Options,
        now: datetime | None,
        is_pending: Callable[[Pod], bool],
    ) -> None:
        self.options, self._now = options, now
        self.objects = objects
        pods = _listed(objects, Pod)
        self.pods, self._nodes = pods, _listed(objects, Node)
        every_pool = _listed(objects, NodePool)
        self.provider = provider_of(pool.spec.template.spec.node_class_ref.api_group for pool in every_pool)
        self.pools = _by_weight(pool for pool in every_pool if _is_usable(pool))
        claims = _listed(objects, NodeClaimObject)
        self._unlaunched = [each.metadata.name for each in claims if not each.status.provider_id]
        self._state = state_nodes(self._nodes, claims)
        self._on_node: dict[str, list[Pod]] = defaultdict(list)
        for pod in pods:
            if pod.spec.node_name:
                self._on_node[pod.spec.node_name].append(pod)
        self.volumes = ClaimedVolumes(
            {(each.metadata.namespace, each.metadata.name): each for each in _listed(objects, PersistentVolumeClaim)},
            {each.metadata.name: each for each in _listed(objects, PersistentVolume)},
            {each.metadata.name: each for each in _listed(objects, StorageClass)},
        )
        self.types, self.offered = types, offered
        self._is_pending = is_pending

    def run(self) -> Provisioning:
        pending, unplaced, not_considered = self._pending()
        moving = self._moving()
        decision = Provisioning(unplaced=unplaced, not_considered=not_considered)
        if self._unlaunched:
            text = f"Karpenter waits for NodeClaim {self._unlaunched[0]}, which has no providerID yet"
            return self._without_pass(decision, (*pending, *moving), "sync", text)
        if not self.pools:
            return self._without_pass(decision, (*pending, *moving), "nodepools", NO_NODE_POOLS)
        if not pending and not moving:
            return decision
        _Solver(self, [*pending, *moving], decision).solve()
        return decision

    def offers(self) -> Iterator[Offer]:
        solver = _Solver(self, [], Provisioning())
        pools = {each.metadata.name: each for each in self.pools}
        for template, rows in solver.usable_types():
            for row in rows:
                for offering in solver.types.offerings_of(template.state, row):
                    labels = node_labels(
                        self.types[row].requirements, {key: template.state[key].selectors() for key in template.state}
                    )
                    yield Offer(pools[template.name], self.types[row], offering, labels)

    def _without_pass(self, decision: Provisioning, pods: Iterable[Pod], stage: str, text: str) -> Provisioning:
        for pod in pods:
            decision.unplaced.append(PodWithoutNode(_name(pod), stage, text))
        return decision

    def _pending(self) -> tuple[list[Pod], list[PodWithoutNode], list[str]]:
        """GetPendingPods: the pods that Karpenter places, those that it refuses, and those that it does not look at."""
        found, refused, left = [], [], []
        for pod in self.pods:
            if pod.spec.node_name:
                continue
            if not self._is_pending(pod):
                left.append(_name(pod))
                continue
            problems = "; ".join(_pod_problems(pod, self.provider, self.volumes))
            if problems:
                refused.append(PodWithoutNode(_name(pod), "validate", problems))
            else:
                found.append(pod)
        return found, refused, left

    def _moving(self) -> list[Pod]:
        """CurrentlyReschedulablePods of the nodes that are being deleted."""
        budgets = BlockingBudgets(_listed(self.objects, PodDisruptionBudget))
        return [
            pod
            for each in self._state
            if each.is_deleting and each.node is not None
            for pod in self._on_node[each.node.metadata.name]
            if is_reschedulable(pod)
            and not is_protected(pod, self._now)
            and not budgets.is_fully_blocked(pod, self._now)
        ]

    def active_nodes(self) -> list[tuple[StateNode, NodePods]]:
        limits = {
            each.metadata.name: {
                driver.name: driver.allocatable.count or 0
                for driver in each.spec.drivers
                if driver.allocatable is not None
            }
            for each in _listed(self.objects, CSINode)
        }
        return [(each, self._node_pods(each, limits)) for each in self._state if not each.is_deleting]

    def _node_pods(self, state: StateNode, limits: Mapping[str, Mapping[str, int]]) -> NodePods:
        if state.node is None:
            return NodePods()
        name = state.node.metadata.name
        pods = [(pod, self.volumes.claims_by_driver(pod)) for pod in self._on_node[name] if not is_terminal(pod)]
        return NodePods(pods, limits.get(name, {}))

    def running_nodes(self) -> list[RunningNode]:
        """All nodes. Those that Karpenter's state does not have, or that are being deleted, add no domains."""
        active = {
            each.node.metadata.name: each for each in self._state if each.node is not None and not each.is_deleting
        }
        found = []
        for node in self._nodes:
            state = active.get(node.metadata.name)
            domains = node.metadata.labels if state is None else state.labels
            labels, taints = node.metadata.labels, node.spec.taints
            found.append(RunningNode(node.metadata.name, labels, taints, domains, state is not None))
        return found

    def running_pods(self, excluded: set[int]) -> RunningPods:
        names = {each.metadata.name for each in self._nodes}
        known = {each.node.metadata.name for each in self._state if each.node is not None}
        bound = [pod for pod in self.pods if id(pod) not in excluded and pod.spec.node_name in names]
        counted = (pod for pod in bound if not is_terminal(pod) and not is_terminating(pod))
        apart = [
            (pod.metadata.namespace, term, pod.spec.node_name, pod.spec.tolerations)
            for pod in bound
            if not is_terminal(pod) and pod.spec.node_name in known
            for term in required_affinity(pod)[1]
        ]
        return RunningPods(
            running_pods((pod.metadata.namespace, pod.metadata.labels, pod.spec.node_name) for pod in counted), apart
        )


class _Solver:
    """NewScheduler and Solve."""

    def __init__(self, given: _Run, pods: Sequence[Pod], decision: Provisioning) -> None:
        self._options, self._decision = given.options, decision
        options, provider, nodes = given.options, given.provider, given.active_nodes()
        volumes_of = {id(pod): given.volumes.of(pod) for pod in pods}
        daemons = daemon_pods(_listed(given.objects, DaemonSet), given.pods)
        capacities = [each.capacity for each in given.types]
        columns = Columns(
            (*capacities, *map(requested_resources, pods), *(each.amounts for each in daemons), ("pods",))
        )
        self.types = InstanceTypes(given.types, provider, columns)
        states, hosts = States(provider.well_known), Hosts()
        self._limits = PoolLimits(given.pools, self.types, columns)
        self._topology = TopologyRules(
            Universe([_domains(pool) for pool in given.pools] if given.types else [], self.types),
            states,
            hosts,
            given.running_nodes(),
            given.running_pods({id(pod) for pod in pods if not volumes_of[id(pod)].is_missing}),
            {each.metadata.name: each.metadata.labels for each in _listed(given.objects, Namespace)},
            provider.well_known,
            ignore_preferences=options.ignore_preferences,
        )
        tolerate = any(
            taint.effect == "PreferNoSchedule" for pool in given.pools for taint in pool.spec.template.spec.taints
        )
        classes = PendingClasses(
            columns, states, ignore_preferences=options.ignore_preferences, tolerate_preferences=tolerate
        )
        self._pods = []
        for pod in pods:
            volumes = volumes_of[id(pod)]
            found = classes.pending(pod, volumes)
            self._pods.append(found)
            if not volumes.is_missing:
                self._topology.update(found.of, _first_stage(found))
        self._templates = self._usable_templates(given.pools, given.offered, states)
        for template in self._templates:
            own = [each for each in daemons if each.is_compatible(template.taints, template.state, provider.well_known)]
            template.daemons = requests_for_pods(each.pod for each in own)
            template.daemon_requests = columns.vector(template.daemons)
        for template in self._templates:
            # Once more, since the comparison has changed the pods.
            own = [each for each in daemons if each.is_compatible(template.taints, template.state, provider.well_known)]
            template.ports = reserved_ports(own)
        for node, _ in nodes:
            self._limits.take_node(node.labels.get(NODEPOOL, ""), node.capacity)
        self._existing = ExistingNodes(nodes, daemons, states, self._topology, hosts, columns)
        self._reservations = Reservations(self.types, enabled=options.reserved_capacity)
        self._claims = OpenClaims(self.types, states, self._topology, hosts, self._reservations, provider.well_known)

    def _usable_templates(
        self, pools: Iterable[NodePool], offered: Mapping[str, range], states: States
    ) -> list[ClaimTemplate]:
        """The NodePools that have an instance type. A NodePool without one is named in the decision."""
        found: list[ClaimTemplate] = []
        for pool in pools:
            state = states.numbered(template_requirements(pool))
            types = self.types.usable(state)
            # No request at all still fits no type that has less than nothing.
            types = types & self.types.fits(np.zeros(self.types.allocatable.shape[1], np.int64))
            if pool.metadata.name in offered:
                types &= np.isin(np.arange(len(self.types)), offered[pool.metadata.name])
            too_few = self.types.too_few_values(state, types) if state.has_min_values else {}
            if types.any() and (not too_few or self._options.best_effort_min_values):
                found.append(ClaimTemplate(pool, len(found), state, types))
            else:
                self._decision.pools_without_types[pool.metadata.name] = sorted(too_few)
        return found

    def usable_types(self) -> Iterator[tuple[ClaimTemplate, list[int]]]:
        """For each NodePool the rows of the types that it can launch within its limits."""
        for template in self._templates:
            within = self._limits.within(template.name)
            types = template.types if within is None else template.types & within
            used_up = self._limits.are_nodes_used_up(template.name)
            yield template, [] if used_up else np.flatnonzero(types).tolist()

    def solve(self) -> None:
        errors: dict[str, SchedulingError] = {}
        queue = Queue(self._pods)
        while (pod := queue.pop()) is not None:
            error = self._try(pod)
            if error is None:
                errors.pop(pod.name, None)
            else:
                errors[pod.name] = error
                self._topology.update(pod.of, _first_stage(pod))
                queue.push(pod)
        self._report(errors)

    def _try(self, pod: PendingPod) -> SchedulingError | None:
        """trySchedule: the error of the last attempt."""
        number = 0
        while True:
            stage = pod.of.stage(number)
            assert stage is not None
            error = self._add(pod, stage)
            if error is None or pod.of.has_claims or (isinstance(error, Errors) and error.is_reserved):
                return error
            number += 1
            following = pod.of.stage(number)
            if following is None:
                return error
            self._topology.update(pod.of, following)

    def _add(self, pod: PendingPod, stage: Stage) -> SchedulingError | None:
        """Scheduler.add: one attempt."""
        if pod.of.has_claims:
            return TextError("dynamic-resources", DYNAMIC_RESOURCES)
        on_node = self._existing.first(pod, stage)
        if on_node is not None:
            self._existing.add(on_node[0], pod, on_node[1])
            return None
        on_claim = self._claims.first(pod, stage)
        if on_claim is not None:
            self._claims.add(on_claim[0], pod, on_claim[1])
            return None
        if not self._templates:
            return TextError("no-type", NO_TYPES)
        return self._add_to_new(pod, stage)

    def _add_to_new(self, pod: PendingPod, stage: Stage) -> SchedulingError | None:
        """addToNewNodeClaim: a claim of the first NodePool that can make one."""
        errors: list[tuple[str, SchedulingError]] = []
        for template in self._templates:
            pool = template.name
            if self._limits.are_nodes_used_up(pool):
                errors.append((pool, limit_error(pool, nodes=True)))
                continue
            within = self._limits.within(pool)
            types = template.types if within is None else template.types & within
            if not types.any():
                errors.append((pool, limit_error(pool, nodes=False)))
                continue
            claim = self._claims.open(template, types)
            relax = self._options.best_effort_min_values
            found = self._claims.can_add(claim, pod, stage, relax_min_values=relax)
            if isinstance(found, ClaimPlacement):
                template.min_values_relaxed = found.min_values_relaxed
                self._claims.add(claim, pod, found)
                self._limits.take_claim(pool, claim.types)
                return None
            errors.append((pool, found.error()))
            if Errors(errors[-1:]).is_reserved:
                break
        return Errors(errors)

    def _report(self, errors: Mapping[str, SchedulingError]) -> None:
        """The results: claims with their types cut and ordered, pods on nodes, and the errors as texts."""
        decision = self._decision
        failed: dict[str, SchedulingError] = dict(errors)
        for claim in self._claims.claims:
            found = new_node(claim, self.types, MAX_INSTANCE_TYPES, strict=not self._options.best_effort_min_values)
            if isinstance(found, dict):
                for pod in claim.pods:
                    failed[pod.name] = truncated_error(claim.template.name, found)
            else:
                decision.new_nodes.append(found)
        decision.new_nodes.sort(key=lambda each: each.pods[0])
        for node in self._existing.nodes:
            if node.pods:
                decision.existing[node.node.name] = sorted(pod.name for pod in node.pods)
        daemons = {
            each.name: {name: str(amount) for name, amount in each.daemons.items() if name != "pods"}
            for each in self._templates
        }
        for name, error in failed.items():
            by_pool = {pool: str(each) for pool, each in error.by_pool} if isinstance(error, Errors) else {}
            codes = {pool: each.code for pool, each in error.by_pool} if isinstance(error, Errors) else {}
            taken = {pool: daemons[pool] for pool, code in codes.items() if code in _SIZE_CODES and daemons.get(pool)}
            decision.unplaced.append(PodWithoutNode(name, "solve", str(error), by_pool, codes, taken))
        decision.unplaced.sort(key=lambda each: each.pod)


def _first_stage(pod: PendingPod) -> Stage:
    found = pod.of.stage(0)
    assert found is not None
    return found


def _name(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _is_usable(pool: NodePool) -> bool:
    """Whether Karpenter makes nodes of the NodePool: ready, not static, not being deleted. A NodePool without
    conditions is a manifest, or of a Karpenter before v1, which wrote none: it counts as ready."""
    conditions = pool.status.conditions
    is_ready = not conditions or is_true(conditions, "Ready")
    return is_ready and pool.spec.replicas is None and not pool.metadata.deletion_timestamp


def node_pool_provider(pool: NodePool) -> Provider:
    return provider_of((pool.spec.template.spec.node_class_ref.api_group,))


def _by_weight(pools: Iterable[NodePool]) -> list[NodePool]:
    """OrderByWeight: heavy ones first; of equal weight the last in the alphabet."""
    by_name = sorted(pools, key=lambda each: each.metadata.name, reverse=True)
    return sorted(by_name, key=lambda each: -(each.spec.weight or 0))


def _domains(pool: NodePool) -> PoolDomains:
    template = pool.spec.template
    return PoolDomains(pool_requirements(pool, template.metadata.labels), template.spec.taints)


def _pod_problems(pod: Pod, provider: Provider, volumes: ClaimedVolumes) -> Iterable[str]:
    """Validate: why Karpenter does not try to place the pod."""
    wishes = Wishes.of(pod.spec)
    nodepool = wishes.requirements().get(NODEPOOL)
    if nodepool is not None and nodepool.operator == "DoesNotExist":
        yield NOT_ON_KARPENTER
    for key in sorted(wishes.node_selector):
        yield from requirement_problems(NodeSelectorRequirement(key, "In", (wishes.node_selector[key],)), provider)
    for term in wishes.required or ():
        if term.match_fields:
            yield "node selector term with matchFields is not supported"
        for requirement in term.match_expressions:
            yield from requirement_problems(requirement, provider)
    problem = volumes.problem(pod)
    if problem:
        yield problem


NODES = "nodes"


class PoolLimits:
    def __init__(self, pools: list[NodePool], types: InstanceTypes, columns: Columns) -> None:
        self._types, self._columns = types, columns
        self._left = {pool.metadata.name: amounts_of(pool.spec.limits or {}) for pool in pools}
        self._masks: dict[str, Mask] = {}

    def take_node(self, pool: str, capacity: Mapping[str, ResourceAmount]) -> None:
        """A node of the pool that exists."""
        if pool in self._left:
            self._left[pool] = subtracted(self._left[pool], {**capacity, NODES: ResourceAmount(1000)})

    def are_nodes_used_up(self, pool: str) -> bool:
        left = self._left[pool].get(NODES)
        return left is not None and left.milli == 0

    def within(self, pool: str) -> Mask | None:
        """filterByRemainingResources: the types whose capacity is within what is left, None without limits."""
        left = self._left[pool]
        if not left:
            return None
        found = self._masks.get(pool)
        if found is None:
            most = self._columns.vector(left, missing=2**62)
            found = np.logical_and.reduce(self._types.capacity <= most, axis=1)
            if any(each.milli < 0 for each in left.values()):
                # Even a type that has nothing of the resource has more than is left.
                found[:] = False
            self._masks[pool] = found
        return found

    def take_claim(self, pool: str, types: Mask) -> None:
        """subtractMax: a new claim that may become any of these types."""
        left = self._left[pool]
        if left and types.any():
            largest = self._types.capacity[types].max(axis=0)
            names = self._columns.names
            self._left[pool] = subtracted(
                left, {name: ResourceAmount(int(most)) for name, most in zip(names, largest, strict=True)}
            )
            self._masks.pop(pool, None)


class Queue:
    """Largest pods first. A pod without a place goes to the end; the queue ends when a whole round places none."""

    def __init__(self, pods: Iterable[PendingPod]) -> None:
        self._pods = deque(sorted(pods, key=lambda each: each.sort_key))
        self._length_at_push: dict[int, int] = {}

    def pop(self) -> PendingPod | None:
        """The next pod; None when no pod is left, or none made progress since this one was pushed."""
        if not self._pods or self._length_at_push.get(id(self._pods[0])) == len(self._pods):
            return None
        return self._pods.popleft()

    def push(self, pod: PendingPod) -> None:
        self._pods.append(pod)
        self._length_at_push[id(pod)] = len(self._pods)
