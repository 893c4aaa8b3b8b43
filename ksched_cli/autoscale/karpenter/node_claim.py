"""Claims for new nodes, as rows: what each may still become while pods are added to it, and the order in which open
claims are tried.

Mirrors nodeclaim.go and nodeclaimtemplate.go. `can_add` and `add` are NodeClaim.CanAdd and NodeClaim.Add for one row.
To find the first open claim that takes a pod, all rows are first compared at once in what rules most of them out:
taints, requirements, hosts, and the room of the largest instance type that is left. Only what remains is tried in turn,
so the cost of a pod does not grow with the number of claims that are full.

Karpenter sorts its open claims by the number of their pods before every attempt (Scheduler.add). `sort.Slice` is
pdqsort (sort/zsortfunc.go), which is not stable: from 13 claims on, the order of claims with
equally many pods depends on the order before. `sort_slice` returns that order. Between two
sorts one claim is new or has one pod more. With 50 claims or more, pdqsort then mostly ends after one move
(`partialInsertionSort`). That move is a bisection here, so that a sort does not look at every claim.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from operator import lt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.api.karpenter import NodePool
from ksched_cli.autoscale.karpenter.host_ports import HostPortUsage
from ksched_cli.autoscale.karpenter.instance_types import InstanceTypes, Mask
from ksched_cli.autoscale.karpenter.labels import NODEPOOL
from ksched_cli.autoscale.karpenter.messages import (
    Criteria,
    ReservedError,
    SchedulingError,
    TypesError,
    incompatible,
    port_error,
    taint_error,
)
from ksched_cli.autoscale.karpenter.pods import PendingClass, PendingPod, Stage
from ksched_cli.autoscale.karpenter.requirements import HOSTNAME, LabelRequirement, LabelRequirements, States
from ksched_cli.autoscale.karpenter.reserved import NONE, Reservations
from ksched_cli.autoscale.karpenter.resources import Amounts, Vector
from ksched_cli.autoscale.karpenter.taints import Taints
from ksched_cli.autoscale.karpenter.topology import Hosts, TopologyRules
from ksched_cli.plugins.lib.unstable_sort import SHORTEST_SHIFTING, UnstableSort, sort_slice

_FIRST_ROWS = 64


class ClaimTemplate(Struct, eq=False):
    """What the claims of one NodePool begin with (NodeClaimTemplate). `daemons`: what DaemonSets request on each node;
    `types`: the instance types that meet the requirements. `min_values_relaxed`: of the last claim. The claims of a
    NodePool share one map of annotations, so all of them get this value."""

    pool: NodePool
    number: int
    state: LabelRequirements
    types: Mask
    daemons: Amounts = {}
    daemon_requests: Vector = np.zeros(0, np.int64)
    ports: HostPortUsage = HostPortUsage()
    min_values_relaxed: bool = False

    @property
    def name(self) -> str:
        return self.pool.metadata.name

    @property
    def taints(self) -> Taints:
        return self.pool.spec.template.spec.taints


def template_requirements(pool: NodePool) -> LabelRequirements:
    """NewNodeClaimTemplate: requirements and labels of the NodePool, its name and that of its NodeClass."""
    template = pool.spec.template
    reference = template.spec.node_class_ref
    labels = {
        **template.metadata.labels,
        NODEPOOL: pool.metadata.name,
        f"{reference.api_group}/{reference.kind.lower()}": reference.name,
    }
    return pool_requirements(pool, labels)


def pool_requirements(pool: NodePool, labels: Mapping[str, str]) -> LabelRequirements:
    """The requirements of the template of a NodePool, with these labels."""
    own = (
        LabelRequirement.of(each.key, each.operator, each.values, each.min_values)
        for each in pool.spec.template.spec.requirements
    )
    return LabelRequirements((*own, *LabelRequirements.of_labels(labels).values()))


class ClaimPlacement(Struct):
    """What a claim becomes when a pod is added."""

    state: LabelRequirements
    types: Mask
    requests: Vector
    reserved: frozenset[str] = frozenset()
    drawn: frozenset[str] = frozenset()
    min_values_relaxed: bool = False


class OpenClaim(Struct, eq=False):
    """One claim for a new node."""

    row: int
    template: ClaimTemplate
    host: int
    state: LabelRequirements
    types: Mask
    requests: Vector
    ports: HostPortUsage
    pods: list[PendingPod] = []
    reserved: frozenset[str] = frozenset()
    drawn: frozenset[str] = frozenset()


class ClaimRefusal(Struct, frozen=True):
    """Why a claim does not take a pod. `error` makes the error, which few readers need. `of_state`: every claim with
    the same requirements refuses the pod."""

    error: Callable[[], SchedulingError]
    of_state: bool = False


class OpenClaims:
    """All claims of one run, and their columns."""

    def __init__(
        self,
        types: InstanceTypes,
        states: States,
        topology: TopologyRules,
        hosts: Hosts,
        reservations: Reservations,
        known: frozenset[str],
    ) -> None:
        self.claims: list[OpenClaim] = []
        self._types, self._states, self._topology, self._hosts = types, states, topology, hosts
        self._reservations, self._known = reservations, known
        self._order = ClaimOrder()
        self._state_of: NDArray[np.int64] = np.zeros(_FIRST_ROWS, np.int64)
        self._template_of: NDArray[np.int64] = np.zeros(_FIRST_ROWS, np.int64)
        self._host_of: NDArray[np.int64] = np.zeros(_FIRST_ROWS, np.int64)
        # What the largest of the remaining types has left, for each resource.
        self._room: NDArray[np.int64] = np.zeros((_FIRST_ROWS, types.allocatable.shape[1]), np.int64)
        self._templates: list[ClaimTemplate] = []
        self._placeholders = 0

    def open(self, template: ClaimTemplate, types: Mask) -> OpenClaim:
        """NewNodeClaim: a claim that is not among the claims until a pod is added. Each has a name for its host."""
        self._placeholders += 1
        host = self._hosts.number(f"hostname-placeholder-{self._placeholders:04d}")
        requests = template.daemon_requests
        return OpenClaim(-1, template, host, template.state, types, requests, template.ports.copy(), [])

    def first(self, pod: PendingPod, stage: Stage) -> tuple[OpenClaim, ClaimPlacement] | None:
        """The first open claim, in order, that takes the pod (addToInflightNode)."""
        if not self.claims:
            return None
        order = self._order.rows
        rows = order[self._may_take(pod.of, stage)[order]]
        while len(rows):
            claim = self.claims[rows[0]]
            found = self.can_add(claim, pod, stage, relax_min_values=False)
            if isinstance(found, ClaimPlacement):
                return claim, found
            rows = rows[self._state_of[rows] != self._state_of[rows[0]]] if found.of_state else rows[1:]
        return None

    def _may_take(self, pod: PendingClass, stage: Stage) -> Mask:
        """Which rows the columns do not rule out."""
        size = len(self.claims)
        found: Mask = np.logical_and.reduce(self._room[:size] >= pod.requests, axis=1)
        tolerated = [not stage.untolerated(each.taints) for each in self._templates]
        if not all(tolerated):
            found &= np.array(tolerated)[self._template_of[:size]]
        found &= stage.compatible_with(self._state_of[:size], strict=False)
        allowed = self._topology.allowed_hosts(pod, stage, self._host_of[:size])
        return found if allowed is None else found & allowed

    def can_add(
        self, claim: OpenClaim, pod: PendingPod, stage: Stage, *, relax_min_values: bool
    ) -> ClaimPlacement | ClaimRefusal:
        """NodeClaim.CanAdd."""
        taints = stage.untolerated(claim.template.taints)
        if taints:
            return ClaimRefusal(lambda: taint_error(taints), of_state=True)
        conflict = claim.ports.conflict(pod.key, pod.of.ports) if pod.of.ports else None
        if conflict is not None:
            return ClaimRefusal(lambda: port_error(*conflict))
        base = self._states.added(claim.state, stage.requirements, strict=False)
        if base is None or (stage.hostname is not None and not stage.hostname.has(self._hosts.names[claim.host])):
            return ClaimRefusal(lambda: self._incompatible(claim, stage), of_state=base is None)
        found: ClaimPlacement | ClaimRefusal | None = None
        for volumes in pod.of.volumes.alternatives or (None,):
            found = self._with_volumes(claim, pod, stage, base, volumes, relax_min_values)
            if isinstance(found, ClaimPlacement):
                break
        assert found is not None
        return found

    def _incompatible(self, claim: OpenClaim, stage: Stage) -> SchedulingError:
        """The error with the hostnames, which the states leave out."""
        own = LabelRequirement(HOSTNAME, frozenset((self._hosts.names[claim.host],)))
        wanted = (
            stage.requirements
            if stage.hostname is None
            else LabelRequirements((*stage.requirements.values(), stage.hostname))
        )
        return incompatible(LabelRequirements((*claim.state.values(), own)), wanted, self._known)

    def _with_volumes(
        self,
        claim: OpenClaim,
        pod: PendingPod,
        stage: Stage,
        base: LabelRequirements,
        volumes: LabelRequirements | None,
        relax_min_values: bool,
    ) -> ClaimPlacement | ClaimRefusal:
        """tryVolumeAlternative."""
        before = self._topology.with_volumes(base, volumes, claim.host, strict=False)
        if before is None:
            wanted = volumes or LabelRequirements()
            prefix = "incompatible volume requirements, "
            return ClaimRefusal(lambda: incompatible(base, wanted, self._known, prefix=prefix))
        state, drawn = self._topology.narrowed(pod.of, stage, before, claim.host, strict=False)
        if state is None:
            # Rules about hosts were compared before; what is left are the domains of the state.
            of_state = volumes is None
            return ClaimRefusal(lambda: self._topology.error(pod.of, stage, before, claim.host), of_state=of_state)
        requests = claim.requests + pod.of.requests
        types = claim.types & self._types.usable(state) & self._types.fits(requests)
        too_few = self._types.too_few_values(state, types) if state.has_min_values else {}
        if too_few and relax_min_values:
            state = self._states.numbered(state.with_min_values(too_few))
        elif too_few:
            types = np.zeros_like(types)
        if not types.any():
            return self._no_types(claim, pod, state, requests, too_few)
        reserved = NONE
        if self._reservations.any:
            compatible, reserved = self._reservations.available(state, types, claim.reserved)
            if not reserved and (compatible or claim.reserved):
                is_lost = not compatible
                return ClaimRefusal(lambda: ReservedError(lost=is_lost))
        return ClaimPlacement(state, types, requests, reserved, drawn, bool(too_few))

    def _no_types(
        self, claim: OpenClaim, pod: PendingPod, state: LabelRequirements, requests: Vector, too_few: Mapping[str, int]
    ) -> ClaimRefusal:
        def error() -> SchedulingError:
            compatible = self._types.compatible(state)[claim.types]
            fits = self._types.fits(requests)[claim.types]
            offered = self._types.offered(state)[claim.types]
            criteria = Criteria(
                bool(compatible.any()),
                bool(fits.any()),
                bool(offered.any()),
                bool((compatible & fits & ~offered).any()),
                bool((compatible & offered & ~fits).any()),
                bool((fits & offered & ~compatible).any()),
            )
            return TypesError(criteria, state, claim.template.daemons, pod.of.amounts, too_few)

        return ClaimRefusal(error)

    def add(self, claim: OpenClaim, pod: PendingPod, placement: ClaimPlacement) -> None:
        """NodeClaim.Add. A new claim becomes an open one."""
        if claim.row < 0:
            claim.row = len(self.claims)
            self.claims.append(claim)
            self._grow()
            self._template_of[claim.row] = self._number(claim.template)
            self._host_of[claim.row] = claim.host
            self._order.add(claim.row)
        else:
            self._order.raised(int(np.flatnonzero(self._order.rows == claim.row)[0]))
        claim.pods.append(pod)
        claim.state, claim.types, claim.requests = placement.state, placement.types, placement.requests
        claim.drawn |= placement.drawn
        self._state_of[claim.row] = claim.state.number
        self._room[claim.row] = self._types.allocatable[claim.types].max(axis=0) - claim.requests
        self._hosts.register(claim.host)
        self._topology.record(pod.of, claim.template.taints, claim.state, claim.host, placement.drawn)
        if pod.of.ports:
            claim.ports.set(pod.key, pod.of.ports)
        self._reservations.change(claim.reserved, placement.reserved)
        claim.reserved = placement.reserved

    def _grow(self) -> None:
        if len(self.claims) > len(self._state_of):
            for name in ("_state_of", "_template_of", "_host_of", "_room"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate((column, np.zeros_like(column))))

    def _number(self, template: ClaimTemplate) -> int:
        if template not in self._templates:
            self._templates.append(template)
        return self._templates.index(template)


class ClaimOrder:
    """Rows of claims by their number of pods. They are in order after each `add` and `raised`."""

    def __init__(self) -> None:
        self._counts: list[int] = []
        self._rows: list[int] = []
        self._by_count = UnstableSort(self._counts, lt)
        self._array: NDArray[np.int64] = np.empty(64, np.int64)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows in order."""
        return self._array[: len(self._rows)]

    def add(self, row: int) -> None:
        """A new claim with one pod goes to the end and is sorted in."""
        size = len(self._rows)
        if size == len(self._array):
            self._array = np.concatenate((self._array, self._array))
        self._rows.append(row)
        self._counts.append(1)
        self._array[size] = row
        if size and self._counts[size - 1] > 1:
            self._sort(size, bisect_right(self._counts, 1, 0, size))

    def raised(self, place: int) -> None:
        """The claim at this place has one pod more."""
        counts = self._counts
        counts[place] += 1
        if place + 1 < len(counts) and counts[place + 1] < counts[place]:
            self._sort(place, bisect_left(counts, counts[place], place + 1) - 1)

    def _sort(self, changed: int, to: int) -> None:
        """sort.Slice of rows in order but for one. `to`: where one move of it ends."""
        counts, rows, size = self._counts, self._rows, len(self._rows)
        if size >= SHORTEST_SHIFTING and self._by_count.choose_pivot(0, size)[1]:
            counts.insert(to, counts.pop(changed))
            rows.insert(to, rows.pop(changed))
            low, high = min(changed, to), max(changed, to) + 1
            self._array[low:high] = rows[low:high]
            return
        ordered = sort_slice(list(zip(counts, rows, strict=True)), _has_fewer)
        counts[:], rows[:] = ([each[part] for each in ordered] for part in range(2))
        self._array[:size] = rows


def _has_fewer(left: tuple[int, int], right: tuple[int, int]) -> bool:
    return left[0] < right[0]
