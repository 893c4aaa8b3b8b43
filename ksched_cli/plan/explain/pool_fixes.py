"""Fixes on the NodePools of Karpenter for a pod that no NodePool takes: at most one for each NodePool.

The reason of the NodePool leads to a change: a limit is raised, a requirement is added or widened, minValues is left
out, or the workload tolerates the taint. After each change Karpenter decides again, up to three changes for a NodePool.
What remains runs in a world until nothing moves: the promise counts the pods of the workload that have a node there.
`PodSource` writes the toleration into the workload.

Not proposed: changes of topology rules and of NodeClasses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.api.json_patch import Operation, add, apply_patch, drop, patch_pod, put
from ksched_cli.api.karpenter import NodePool, NodeSelectorRequirementWithMinValues
from ksched_cli.api.object_facts import pod_key
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.autoscale.autoscaler import Karpenter
from ksched_cli.autoscale.karpenter.decision import NewNode, Provisioning
from ksched_cli.autoscale.karpenter.labels import CAPACITY_TYPE, NODEPOOL
from ksched_cli.autoscale.karpenter.preferences import Wishes
from ksched_cli.autoscale.karpenter.requirements import ZONE, LabelRequirement
from ksched_cli.autoscale.karpenter.taints import untolerated
from ksched_cli.controlplane.store import Store, top_owner
from ksched_cli.plan.reasons.fixes.search import OwnPods, change_workload, node_of
from ksched_cli.plan.reasons.fixes.values import AdvisedChange, Fix, Promise, patch_command
from ksched_cli.plan.reasons.fixes.workload import PodSource
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.run import Run

_MOST_CHANGES = 3
_GIB = 2**30


class _Attempt(Struct, frozen=True):
    """A NodePool with patches, and tolerations that the pods get."""

    pool: NodePool
    texts: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()
    tolerated: tuple[Taint, ...] = ()

    def patched(self, text: str, *operations: Operation) -> _Attempt:
        document = apply_patch(msgspec.json.decode(msgspec.json.encode(self.pool)), operations)
        pool = msgspec.convert(document, NodePool)
        return replace(self, pool=pool, texts=(*self.texts, text), operations=(*self.operations, *operations))


def find_pool_fixes(source: LoadedInput, pod: str, found: Provisioning) -> tuple[Fix, ...]:
    """The fixes for a pod, the smallest first. `found` has what Karpenter decides about this pod."""
    unplaced = next((each for each in found.unplaced if each.stage == "solve"), None)
    if unplaced is None or source.autoscaler is None:
        return ()
    search = _Search(source, source.autoscaler, pod)
    fixes = [fix for name, code in unplaced.codes.items() if (fix := search.for_pool(name, code)) is not None]
    return tuple(sorted(fixes, key=lambda each: each.cost))


class _Search:
    def __init__(self, source: LoadedInput, autoscaler: Karpenter, pod: str) -> None:
        self._source, self._autoscaler, self._name = source, autoscaler, pod
        self._pools: dict[str, NodePool] = {each.metadata.name: each for each in autoscaler.objects[NodePool]}
        store = Store(source.loaded)
        self._pod = next(each for each in source.loaded.of(Pod) if pod_key(each) == pod)
        self._template = PodSource(self._pod, store)
        owner = self._template.owner
        self._workload = {pod_key(each) for each in source.loaded.of(Pod) if top_owner(store, each) == owner}

    def for_pool(self, name: str, code: str) -> Fix | None:
        """The fix of this NodePool, whose reason has this code."""
        attempt = _Attempt(self._pools[name])
        for _ in range(_MOST_CHANGES):
            following = self._following(attempt, code)
            if following is None:
                return None
            attempt = following
            answer = self._answer(attempt)
            if self._pod_in(answer) is not None:
                return self._tried(attempt)
            code = self._code(answer, name)
        return None

    def _code(self, answer: Provisioning, pool: str) -> str:
        """The code of the reason of this NodePool."""
        codes = next((each.codes for each in answer.unplaced if each.pod == self._name), {})
        return codes.get(pool, "")

    def _following(self, attempt: _Attempt, code: str) -> _Attempt | None:
        """One change more, for the reason that this code stands for."""
        if code == "taint":
            return self._tolerating(attempt)
        if code == "limit":
            return self._with_higher_limit(attempt)
        if code in ("label", "requirement"):
            return self._with_values_of_pod(attempt)
        if code == "min-values":
            return _without_min_values(attempt)
        if code in ("no-type", "no-room", "no-offering", "no-combination"):
            return self._widened(attempt)
        return None

    def _tolerating(self, attempt: _Attempt) -> _Attempt | None:
        if self._template.why_fixed:
            return None
        kind, _, name = self._template.owner
        taints = tuple(untolerated(attempt.pool.spec.template.spec.taints, self._pod.spec.tolerations))
        text = f"tolerate its taint {' and '.join(map(str, taints))} in {kind} {name}"
        return replace(attempt, texts=(*attempt.texts, text), tolerated=taints)

    def _with_higher_limit(self, attempt: _Attempt) -> _Attempt | None:
        """Limits that the nodes need which Karpenter adds without limits: of their cheapest types if that is enough,
        since Karpenter counts each new node as the largest of its types."""
        spec, name = attempt.pool.spec, attempt.pool.metadata.name
        free = replace(attempt, pool=replace(attempt.pool, spec=replace(spec, limits=None)))
        answer = self._answer(free)
        if self._pod_in(answer) is None:
            # The limit hides another reason, which is solved first.
            code = self._code(answer, name)
            return None if code in ("", "limit") else self._following(attempt, code)
        nodes = [each for each in answer.new_nodes if each.node_pool == name]
        sizes = {each.name: each.capacity for each in self._autoscaler.types}
        limits = dict(spec.limits or {})
        for of_all in (False, True):
            operations, texts = [], []
            for resource, limit in limits.items():
                need = self._used(name, resource)
                for node in nodes:
                    types = node.instance_types if of_all else [node.cheapest.instance_type]
                    amounts = (parse_quantity(sizes[each].get(resource, "0")) for each in types)
                    need += 1 if resource == "nodes" else max(amounts)
                if need > parse_quantity(limit):
                    shown = f"{-(-need // _GIB)}Gi" if resource == "memory" else str(-(-need // 1))
                    operations.append(put(shown, "spec", "limits", resource))
                    texts.append(f"{resource} from {limit} to {shown}")
            if operations:
                raised = attempt.patched(f"raise its limit of {', '.join(texts)}", *operations)
                if of_all or self._pod_in(self._answer(raised)) is not None:
                    return raised
        return None

    def _used(self, pool: str, resource: str) -> Any:
        """What the nodes of the NodePool have of the resource."""
        nodes = [each for each in self._source.loaded.of(Node) if each.metadata.labels.get(NODEPOOL) == pool]
        amounts = (parse_quantity(each.status.capacity.get(resource, "0")) for each in nodes)
        return len(nodes) if resource == "nodes" else sum(amounts)

    def _with_values_of_pod(self, attempt: _Attempt) -> _Attempt | None:
        """Requirements that the NodePool lacks, or that leave out what the pod requires."""
        own = attempt.pool.spec.template.spec.requirements
        for key, wanted in Wishes.of(self._pod.spec).requirements().items():
            if wanted.operator != "In" or key in attempt.pool.spec.template.metadata.labels:
                continue
            values = sorted(wanted.values)
            at = [number for number, each in enumerate(own) if each.key == key]
            if not at:
                if self._autoscaler.is_well_known(key):
                    continue
                requirement = {"key": key, "operator": "In", "values": values}
                text = f"add the requirement {key} In {' '.join(values)}"
                attempt = attempt.patched(text, add(requirement, "spec", "template", "spec", "requirements", "-"))
            elif not LabelRequirement.of(key, own[at[0]].operator, own[at[0]].values).has_intersection(wanted):
                attempt = _with_value(attempt, at[0], values[0])
        return attempt if attempt.operations else None

    def _widened(self, attempt: _Attempt) -> _Attempt | None:
        """As few requirements as possible allow a type that would do."""
        dropped = set(range(len(attempt.pool.spec.template.spec.requirements)))
        node = self._new_node_without(attempt, dropped)
        if node is None:
            return None
        for at in sorted(dropped):
            smaller = self._new_node_without(attempt, dropped - {at})
            if smaller is not None:
                dropped, node = dropped - {at}, smaller
        # From the last to the first: a requirement that goes leaves the numbers of those before it.
        for at in sorted(dropped, reverse=True):
            key = attempt.pool.spec.template.spec.requirements[at].key
            attempt = _with_value(attempt, at, self._value(node, key))
        return attempt if dropped else None

    def _new_node_without(self, attempt: _Attempt, dropped: set[int]) -> NewNode | None:
        """The node that the pod gets without these requirements and without limits."""
        spec = attempt.pool.spec
        own = spec.template.spec
        kept = tuple(each for at, each in enumerate(own.requirements) if at not in dropped)
        template = replace(spec.template, spec=replace(own, requirements=kept))
        pool = replace(attempt.pool, spec=replace(spec, template=template, limits=None))
        node = self._pod_in(self._answer(replace(attempt, pool=pool)))
        return node if isinstance(node, NewNode) else None

    def _value(self, node: NewNode, key: str) -> str:
        """The value that the label has on the new node."""
        if key in (ZONE, CAPACITY_TYPE):
            return node.launch.zone if key == ZONE else node.launch.capacity_type
        types = (each for each in self._autoscaler.types if each.name == node.cheapest.instance_type)
        values = next(types).requirements.get(key, ())
        return values[0] if len(values) == 1 else ""

    def _answer(self, attempt: _Attempt) -> Provisioning:
        """What Karpenter decides then, with the waiting pods of the workload."""
        source, autoscaler = self._changed(attempt)
        return autoscaler.answer(source.loaded, self._workload, self._workload)

    def _changed(self, attempt: _Attempt) -> tuple[LoadedInput, Karpenter]:
        loaded = self._source.loaded
        pools = list((self._pools | {attempt.pool.metadata.name: attempt.pool}).values())
        objects = dict(self._autoscaler.objects) | {NodePool: pools}
        pods = loaded.of(Pod)
        if attempt.tolerated:
            pods = [self._tolerant(each, attempt) if pod_key(each) in self._workload else each for each in pods]
        changed = replace(loaded, karpenter=objects, objects=dict(loaded.objects) | {Pod: pods}, _places={})
        autoscaler = replace(self._autoscaler, objects=objects)
        return replace(self._source, loaded=changed).with_autoscaler(autoscaler), autoscaler

    def _tolerant(self, pod: Pod, attempt: _Attempt) -> Pod:
        return patch_pod(pod, _tolerations(attempt.tolerated, pod))

    def _pod_in(self, answer: Provisioning) -> NewNode | str | None:
        """The new node of the pod, or the node that takes it."""
        new = next((each for each in answer.new_nodes if self._name in each.pods), None)
        return new or next((node for node, pods in answer.existing.items() if self._name in pods), None)

    def _tried(self, attempt: _Attempt) -> Fix | None:
        """The fix, if more pods of the workload have a node after a run until nothing moves."""
        source, _ = self._changed(replace(attempt, tolerated=()))
        run = Run(source)
        template = PodSource(self._pod, run.world.plane.store)
        pods = OwnPods(self._pod, run.world, template)
        placed_before = sum(bool(each.spec.node_name) for each in pods.now())
        changes, commands = list[AdvisedChange](), list[str]()
        if attempt.operations:
            changes.append(AdvisedChange("patch", "NodePool", "", attempt.pool.metadata.name, attempt.operations))
            commands.append(patch_command(changes[0]))
        if attempt.tolerated:
            operations = template.operations(_tolerations(attempt.tolerated, template.template_pod))
            changes += template.changes(operations)
            commands += template.commands(operations)
            change_workload(run.world, template, operations)
        run.until_rest()
        own = tuple(map(run.world.recorder.final_of, pods.now()))
        promise = Promise(sum(bool(each.node) for each in own), max(len(own), template.wanted))
        if promise.pods <= placed_before:
            return None
        return Fix(
            text=f"NodePool {attempt.pool.metadata.name}: {' and '.join(attempt.texts)}",
            cost=float(len(attempt.texts)),
            commands=tuple(commands),
            changes=tuple(each.document() for each in changes),
            promise=promise,
            note=template.note if attempt.tolerated else "",
            node=node_of(own, self._name),
        )


def _with_value(attempt: _Attempt, at: int, value: str) -> _Attempt:
    """The requirement of this number allows the value too."""
    each = attempt.pool.spec.template.spec.requirements[at]
    path = ("spec", "template", "spec", "requirements", at)
    if each.operator == "In" and value:
        text = f"allow {value} in the requirement {each.key}"
        return attempt.patched(text, add(value, *path, "values", "-"))
    if each.operator in ("Gt", "Lt", "Gte", "Lte") and value.isdecimal():
        bound = str(int(value) + {"Gt": -1, "Lt": 1}.get(each.operator, 0))
        text = f"change the requirement {_shown(each)} to {each.operator} {bound}"
        return attempt.patched(text, put([bound], *path, "values"))
    if each.operator == "NotIn" and len(each.values) > 1 and value in each.values:
        text = f"allow {value} in the requirement {_shown(each)}"
        return attempt.patched(text, drop(*path, "values", each.values.index(value)))
    return attempt.patched(f"drop the requirement {_shown(each)}", drop(*path))


def _without_min_values(attempt: _Attempt) -> _Attempt | None:
    own = attempt.pool.spec.template.spec.requirements
    at = [number for number, each in enumerate(own) if each.min_values is not None]
    keys = ", ".join(own[each].key for each in at)
    operations = (drop("spec", "template", "spec", "requirements", each, "minValues") for each in at)
    return attempt.patched(f"leave out minValues of {keys}", *operations) if at else None


def _tolerations(taints: Sequence[Taint], pod: Pod) -> list[Operation]:
    made = [
        {"key": each.key, **({"operator": "Equal", "value": each.value} if each.value else {"operator": "Exists"})}
        | {"effect": each.effect}
        for each in taints
    ]
    if not pod.spec.tolerations:
        return [add(made, "spec", "tolerations")]
    return [add(each, "spec", "tolerations", "-") for each in made]


def _shown(each: NodeSelectorRequirementWithMinValues) -> str:
    return f"{each.key} {each.operator} {' '.join(each.values)}".rstrip()
