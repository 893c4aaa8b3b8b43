"""Karpenter as a controller of a world: pending pods are answered with nodes that register later.

Mirrors the loop around the provisioner (provisioner.go Reconcile, batcher.go) and what becomes of a NodeClaim
(controllers/nodeclaim/lifecycle). A second after the last pod was found unschedulable one pass runs. Each new claim is
a NodeClaim at once, so that the next pass counts on its node and on the limits of its NodePool; after `startup` seconds
its node registers, and kube-scheduler binds pods to it. kube-scheduler may choose otherwise than Karpenter planned.

Assumed: the cloud launches the cheapest offering, and startup taints are gone when the node registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec.structs import replace

from ksched_cli.api.core import Node, NodeCondition, NodeSpec, NodeStatus, ObjectMeta, Pod
from ksched_cli.api.karpenter import Condition, NodeClaim, NodeClaimStatus, NodePool
from ksched_cli.api.object_facts import pod_key, uid_of_pod
from ksched_cli.autoscale.instance_types.catalog import InstanceType
from ksched_cli.autoscale.karpenter.decision import NewNode, Provisioning, node_labels
from ksched_cli.autoscale.karpenter.instance_types import allocatable_of
from ksched_cli.autoscale.karpenter.labels import CAPACITY_TYPE, INITIALIZED, REGISTERED
from ksched_cli.autoscale.karpenter.requirements import HOSTNAME, ZONE
from ksched_cli.autoscale.karpenter.state import is_provisionable, may_be_provisioned
from ksched_cli.cluster.undo import LoggedList, LoggedSet, UndoLog
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.work import Worker
from ksched_cli.engine.decision import Decision

# BatchIdleDuration.
BATCH_SECONDS = 1.0


class _Recorder(Protocol):
    def note(self, event: str, **more: Any) -> None: ...


class AutoscaledWorld(Protocol):
    """The parts of a world that the controller uses."""

    plane: ControlPlane
    undo: UndoLog
    listeners: list[Callable[[Decision], None]]
    controllers: list[object]

    @property
    def recorder(self) -> _Recorder: ...


# What one pass decides, from a function that returns all objects of a kind and one that returns whether a pod waits.
Provisioner: TypeAlias = Callable[[Callable[[type[Any]], list[Any]], Callable[[Pod], bool]], Provisioning]


class KarpenterController(Worker):
    """`objects` are those that only Karpenter reads; `types` has the instance types by NodePool and name."""

    def __init__(
        self,
        world: AutoscaledWorld,
        provision: Provisioner,
        objects: Mapping[type[Any], list[Any]],
        types: Mapping[str, Mapping[str, InstanceType]],
        startup: float,
    ) -> None:
        self._world, self._provision, self._objects, self._startup = world, provision, objects, startup
        self._types = types
        self._pools: dict[str, NodePool] = {each.metadata.name: each for each in objects.get(NodePool, ())}
        self._unschedulable: set[str] = LoggedSet(world.undo)
        # The nodes of claims that have registered. A claim goes with its node.
        nodes = {each.metadata.name for each in world.plane.store.of(Node)}
        claims: list[NodeClaim] = objects.get(NodeClaim, [])
        self._registered: set[str] = LoggedSet(world.undo)
        self._registered.update(nodes & {each.status.node_name for each in claims})
        self._claims: list[NodeClaim] = LoggedList(world.undo)
        self._added: list[NewNode] = LoggedList(world.undo)
        self._passes: list[Provisioning] = LoggedList(world.undo)
        # Objects that only the present pass sees.
        self._more: Mapping[type[Any], Sequence[Any]] = {}
        self._more_pods: set[int] = set()
        world.listeners.append(self._decided)

    def result(self) -> Provisioning:
        """All nodes that were added, and what the last pass has decided for pods that still wait."""
        last = self._passes[-1] if self._passes else Provisioning()
        added = sorted(self._added, key=lambda each: each.pods[0])
        bound = {pod_key(pod): pod.spec.node_name for pod in self._world.plane.store.of(Pod)}
        elsewhere = {
            pod: bound[pod] for node in added for pod in node.pods if bound.get(pod) and bound[pod] != node.name
        }
        waiting = [each for each in last.unplaced if not bound.get(each.pod)]
        return replace(last, new_nodes=added, existing={}, unplaced=waiting, elsewhere=elsewhere)

    def _decided(self, decision: Decision) -> None:
        """A pod without a place waits for a pass, unless preemption makes room for it."""
        uid = uid_of_pod(decision.pod.pod)
        if decision.result == "unschedulable" and not decision.nominated_node:
            self._unschedulable.add(uid)
            self._world.plane.queue.add_after(self, None, BATCH_SECONDS)
        else:
            self._unschedulable.discard(uid)

    def pass_for(self, more: Mapping[type[Any], Sequence[Any]]) -> None:
        """A pass now, in which these objects exist too: pods with a node take their room, the others wait."""
        self._more, self._more_pods = more, set(map(id, more.get(Pod, ())))
        self.reconcile(None)
        self._more, self._more_pods = {}, set()

    def reconcile(self, key: object) -> None:
        found = self._provision(self._all_of, self._is_pending)
        self._passes.append(found)
        for node in found.new_nodes:
            self._launch(node)

    def _all_of(self, kind: type[Any]) -> list[Any]:
        store = self._world.plane.store
        if kind is NodeClaim:
            claims = (*self._objects.get(NodeClaim, ()), *self._claims)
            gone = {name for name in self._registered if store.get(Node, name) is None}
            return [each for each in claims if each.status.node_name not in gone]
        return [*(self._objects.get(kind) or store.of(kind)), *self._more.get(kind, ())]

    def _is_pending(self, pod: Pod) -> bool:
        waits = id(pod) in self._more_pods or uid_of_pod(pod) in self._unschedulable
        return is_provisionable(pod) or (waits and may_be_provisioned(pod))

    def _launch(self, new: NewNode) -> None:
        """Make the NodeClaim, and its node when the instance has started."""
        pool, of_type = self._pools[new.node_pool], self._types[new.node_pool][new.cheapest.instance_type]
        name = self._free_name(new.node_pool)
        of_offering = {ZONE: new.launch.zone, CAPACITY_TYPE: new.launch.capacity_type}
        labels = {**node_labels(of_type.requirements, new.requirements), **of_offering, HOSTNAME: name}
        spec = pool.spec.template.spec
        status = NodeClaimStatus(
            f"karpenter:///{name}",
            name,
            of_type.capacity,
            {resource: str(amount) for resource, amount in allocatable_of(of_type).items()},
            (Condition("Launched", "True"),),
        )
        meta = ObjectMeta(name=name, uid=f"nodeclaim-{name}", labels=labels)
        claim = NodeClaim(meta, replace(spec, requirements=()), status)
        self._claims.append(claim)
        self._added.append(replace(new, name=name))
        plane = self._world.plane
        pods = f"{len(new.pods)} pod{'s' * (len(new.pods) != 1)}"
        text = f"{name}: {new.cheapest.instance_type} of NodePool {new.node_pool} for {pods}"
        self._world.recorder.note("NodeClaimCreated", message=text)
        plane.queue.at(plane.clock.now + self._startup, lambda: self._register(claim))

    def _free_name(self, pool: str) -> str:
        """The first of `pool-1`, `pool-2`, ... that no node and no NodeClaim has. Karpenter's names end in five random
        letters."""
        taken = {claim.metadata.name for claim in self._all_of(NodeClaim)}
        number = 1
        while f"{pool}-{number}" in taken or self._world.plane.store.get(Node, f"{pool}-{number}") is not None:
            number += 1
        return f"{pool}-{number}"

    def _register(self, claim: NodeClaim) -> None:
        """The node joins the cluster (lifecycle/registration.go and initialization.go)."""
        self._registered.add(claim.metadata.name)
        labels = {**claim.metadata.labels, REGISTERED: "true", INITIALIZED: "true"}
        meta = ObjectMeta(
            name=claim.metadata.name,
            uid=f"node-{claim.metadata.name}",
            labels=labels,
            creation_timestamp=self._world.plane.api.timestamp(),
        )
        spec = NodeSpec(taints=claim.spec.taints, provider_id=claim.status.provider_id)
        status = NodeStatus(claim.status.capacity, claim.status.allocatable, (NodeCondition("Ready", "True"),))
        self._world.plane.api.create(Node(meta, spec, status))
