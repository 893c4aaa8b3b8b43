"""Tries proposed fixes of a pod, the smallest first, and keeps those that work.

A proposal is tried in a trial of the world: its edits, its patch of the workload (`PodSource`), then a run of the whole
cluster until nothing moves. Only a fix with which more pods of the workload have a node is kept, with their number.
`CertainPods` are pending pods that find a node in any case: a trial needs no cycles for them. `PodManifest` turns a
JSON patch of the pod into lines of the manifest that it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.dynamic_resources import ResourceSlice
from ksched_cli.api.json_patch import Operation, add, pointer_steps
from ksched_cli.api.object_facts import is_terminal, pod_key, uid_of_pod
from ksched_cli.api.storage import CSINode, PersistentVolumeClaim
from ksched_cli.api.workloads import Deployment, PodTemplate, ReplicaSet, ReplicationController, wanted_replicas
from ksched_cli.cluster.catalog import mounted_claims
from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.controlplane.api_server import Refusal
from ksched_cli.controlplane.controllers.nodelifecycle import no_execute
from ksched_cli.controlplane.controllers.replicaset import selector_of
from ksched_cli.controlplane.store import Identity, Store, identity_of, owner_identity, owners, top_owner
from ksched_cli.engine.cycle.runtime import CycleState, Runtime, is_fixed
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.registry import Profile
from ksched_cli.errors import KschedError, joined
from ksched_cli.framework.depends import ANYWHERE
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plan.explain.pods import Subject
from ksched_cli.plan.reasons.fixes.limits import OS, is_of_a_controller, is_of_another_system, system_of
from ksched_cli.plan.reasons.fixes.propose import LAST_RESORT, FixSituation, propose
from ksched_cli.plan.reasons.fixes.values import (
    AdvisedChange,
    Fix,
    FixChange,
    Fixes,
    ManifestChange,
    Promise,
    Proposal,
    TrialResult,
    patched,
    without_empty,
)
from ksched_cli.plan.reasons.fixes.workload import PodSource
from ksched_cli.plan.run.each import WORTH_ANSWERS, Copy, copies_at_once
from ksched_cli.plan.run.run import Run
from ksched_cli.plugins.in_tree import IN_TREE
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.places import Path, Places
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.node_fields import LabelNode
from ksched_cli.whatif.edits.nodes import CloneNode
from ksched_cli.world.results import Ending, FinalPod, Limits, WorldResult
from ksched_cli.world.world import World

_PRIORITY, _POLICY = "/spec/priority", "/spec/preemptionPolicy"


class PodManifest(Struct, frozen=True):
    """The object of the manifests that the pod comes from."""

    places: Places
    item: Any

    def changes(self, operations: Sequence[Operation]) -> tuple[ManifestChange, ...]:
        """A priority class sets the priority and the policy of its pods: a manifest names the class only."""
        return tuple(self._change(each) for each in operations if each["path"] not in (_PRIORITY, _POLICY))

    def _change(self, operation: Operation) -> ManifestChange:
        # Positions in lists are numbers.
        steps: Path = tuple(int(each) if each.isdigit() else each for each in pointer_steps(operation["path"]))
        appends = operation["op"] == "add" and steps[-1] == "-"
        place = self.places.of_pod_field(self.item, steps[:-1] if appends else steps)
        action: Any = "delete" if operation["op"] == "remove" else "append" if appends else "set"
        value = operation.get("value")
        return ManifestChange(file=place.source, line=place.line, field=place.path, action=action, value=value)


def manifest_of_pod(pod: Pod, store: Store, manifests: Sequence[Loaded]) -> PodManifest | None:
    """None if the pod comes from no manifest. The last manifest wins, as the last one that is applied does."""
    wanted = {identity_of(pod), top_owner(store, pod), *owners(store, pod)}
    for loaded in reversed(manifests):
        for items in loaded.objects.values():
            for item in items:
                if identity_of(item) in wanted or _is_of_template(pod, item):
                    return PodManifest(Places(loaded), item)
    return None


def _is_of_template(pod: Pod, item: Any) -> bool:
    """No controller owns the pod that is made of a PodTemplate."""
    return (
        isinstance(item, PodTemplate)
        and not pod.metadata.owner_references
        and item.metadata.namespace == pod.metadata.namespace
        and pod.metadata.name.startswith(f"{item.metadata.name}-")
    )


class CertainPods:
    """The pending pods of a world that is about to run, with the number of nodes that each fits on.

    `are_independent`: the node of one of these pods decides nothing about another pod but by the room that is left on
    it. Then a cycle changes the verdict of one node at most, and a pod that fits on more nodes than change before its
    turn finds a node, wherever the pods before it go. A pod that has found none finds none later either: more pods on
    a node never help. No controller does more than write statuses when these pods get their nodes.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._store, self._controllers = world.plane.store, world.plane.controllers
        self._nodes = {id(node): node for node in world.cluster.nodes.objects}
        self._quiet_owners: dict[Identity, bool] = {}
        self._fits_on: dict[int, tuple[PodInfo, int]] = {}
        scheduler = world.scheduler
        self.are_independent = (
            scheduler.extenders is None
            and world.cluster.reuse
            and all(map(_is_known, (each.profile for each in scheduler.runtimes.values())))
            and not any(map(no_execute, self._nodes.values()))
            and all(self._take(pod.info, pod.row, is_gated=pod.gated) for pod in world.loop.queue)
        )

    def _take(self, info: PodInfo, row: int, *, is_gated: bool) -> bool:
        """Count the nodes that the pod fits on. Returns whether it is independent of the other pods."""
        runtime = self._world.scheduler.runtimes[info.pod.spec.scheduler_name]
        if group_of(info) is not None or not self._is_quiet(info.pod):
            return False
        if is_gated:
            return runtime.lets_copies_in(info)
        try:
            feasible = _feasible_nodes(runtime, info)
        except CycleError:
            return False
        self._fits_on[row] = info, feasible or 0
        return feasible is not None

    def all_find_nodes(self, cycles: int) -> bool:
        """Whether each pod that is still to be tried finds a node after so many cycles, and nothing else happens."""
        world = self._world
        nodes = world.cluster.nodes.objects
        changed = [node for node in nodes if id(node) not in self._nodes]
        untried = list(world.loop.queue.active)
        bound = sum(life.bound is not None for life in world.recorder.lives.values())
        if len(nodes) < len(self._nodes) or any(map(no_execute, changed)) or len(world.loop.queue.backoff):
            return False
        # The kubelets of the bound pods wait, and no one else.
        if world.scheduler.nominator.nodes() or world.plane.queue.timers != bound:
            return False
        needed = cycles + len(changed) + len(untried)
        return all(not pod.attempts and self._fits(pod.row, pod.info, needed) for pod in untried)

    def _fits(self, row: int, info: PodInfo, needed: int) -> bool:
        known, feasible = self._fits_on.get(row, (None, 0))
        return known is info and feasible >= needed

    def _is_quiet(self, pod: Pod) -> bool:
        """Whether no controller does more than write statuses when the pod gets a node and starts."""
        owner = owner_identity(pod)
        if owner is None:
            every = self._controllers
            adopting = (
                *every.replica_sets.keys_to_reconcile(pod, pod),
                *every.stateful_sets.keys_to_reconcile(pod, pod),
            )
            return not any(map(self._store.find, adopting)) and not every.daemon_sets.adopters(pod)
        if owner not in self._quiet_owners:
            self._quiet_owners[owner] = self._is_at_rest(self._store.find(owner))
        return self._quiet_owners[owner]

    def _is_at_rest(self, item: Any) -> bool:
        """Whether the set has the pods that it wants, and is the only set of its Deployment that wants pods. The input
        may lack the owner of a pod."""
        if item is None:
            return True
        if not isinstance(item, ReplicaSet | ReplicationController):
            return False
        if self._store.count_active(item, selector_of(item))[0] != wanted_replicas(item):
            return False
        owner = owner_identity(item)
        above = self._store.find(owner) if owner is not None else None
        if above is None:
            return True
        if not isinstance(above, Deployment) or above.spec.template is None:
            return False
        sets = self._controllers.deployments.replica_sets(above)
        wanted = [wanted_replicas(above) if each is item else 0 for each in sets]
        newest = self._controllers.deployments.new_replica_set(above, sets)
        return newest is item and list(map(wanted_replicas, sets)) == wanted


def _is_known(profile: Profile) -> bool:
    """Whether all plugins of the profile are those that kube-scheduler brings along."""
    return not profile.checks_all_filters and all(type(plugin) in IN_TREE for plugin in profile.plugins)


def _feasible_nodes(runtime: Runtime, info: PodInfo) -> int | None:
    """How many nodes pass all filters. None where more than a node itself decides about it, or where binding the pod
    changes more than the room of its node."""
    state, profile = CycleState(), runtime.profile
    outcome = runtime.run_pre_filter(state, info)
    if outcome.status is not None:
        return None
    searching: tuple[Plugin, ...] = (*profile.pre_enqueue, *profile.pre_filter, *profile.filter)
    for plugin in searching:
        depends = plugin.depends(info)
        is_known = depends is not None and depends.on != ANYWHERE and depends.signature is not None
        if plugin.name not in state.skip_filter and not is_known:
            return None
    if not all(is_fixed(plugin.depends(info)) for plugin in profile.after_scoring):
        return None
    if outcome.node_names is not None:
        return 0
    return len(runtime.run_filter(runtime.in_force(state), state, info, NodeRows(runtime.cluster), None))


class ProposedChanges:
    """Applies a proposal in the world, and gives it as changes of objects and as commands. `source` is the object that
    makes the pod."""

    def __init__(self, subject: Subject, world: World, arguments: Sequence[str] = ()) -> None:
        self._subject, self._world, self._store = subject, world, world.plane.store
        self._arguments = arguments
        self.source = PodSource(subject.pod, self._store)

    def make(self, proposal: Proposal) -> tuple[bool, tuple[AdvisedChange, ...]]:
        """Make the changes in the world. Returns whether the workload rolls out another template, and the objects of
        new nodes."""
        operations = self.source.operations(proposal.operations) if proposal.operations else ()
        before = self._node_objects()
        self._world.apply(Changes(edits=proposal.edits, namespace=self._subject.pod.metadata.namespace))
        if operations:
            change_workload(self._world, self.source, operations)
        new = [item for identity, item in self._node_objects().items() if identity not in before]
        created = tuple(map(_creation, new))
        return bool(operations) and not self.source.is_bare, created

    def _node_objects(self) -> dict[Identity, Any]:
        items = (item for kind in (Node, CSINode, ResourceSlice) for item in self._store.of(kind))
        return {identity_of(item): item for item in items}

    def changes(self, proposal: Proposal, created: Sequence[AdvisedChange]) -> tuple[AdvisedChange, ...]:
        operations = self.source.operations(proposal.operations) if proposal.operations else ()
        own = self.source.changes(operations) if operations else []
        return (*created, *(change for each in proposal.changes for change in each.changes), *own)

    def commands(self, proposal: Proposal, *, of_manifest: bool) -> tuple[str, ...]:
        """Those for other objects come first, for a pod that is created again. A manifest is changed in its file."""
        changes_pod = proposal.operations and not of_manifest
        operations = self.source.operations(proposal.operations) if changes_pod else ()
        own = self.source.commands(operations) if operations else []
        given = [command for each in proposal.changes for command in each.commands]
        nodes = [str(edit) for edit in proposal.edits if isinstance(edit, CloneNode)]
        labels = [str(edit) for each in proposal.changes if nodes for edit in each.edits if isinstance(edit, LabelNode)]
        tried = [" ".join(["ksched explain", self._subject.key, *self._arguments, *nodes, *labels])] if nodes else []
        return (*given, *own, *tried)


def change_workload(world: World, source: PodSource, operations: Sequence[Operation]) -> None:
    """Patch the object that makes the pod, in a world. Its controller reacts when the world runs."""
    if source.is_bare and not source.recreates(operations):
        world.requeue(source.bare_pod(operations))
    else:
        world.apply(lambda plane: source.apply(plane, operations))


# The API groups of the objects of a node.
_VERSIONS = {"Node": "v1", "CSINode": "storage.k8s.io/v1", "ResourceSlice": "resource.k8s.io/v1"}


def _creation(item: Any) -> AdvisedChange:
    kind, namespace, name = identity_of(item)
    content = {"apiVersion": _VERSIONS[kind], "kind": kind, **without_empty(msgspec.to_builtins(item))}
    return AdvisedChange("create", kind, namespace, name, content=content)


class OwnPods:
    """The pods of the workload of a pod, as the world is now."""

    def __init__(self, pod: Pod, world: World, source: PodSource) -> None:
        self._pod, self._world, self._source = pod, world, source
        self._store = store = world.plane.store
        owners = {owner_identity(each) for each in store.of(Pod) if top_owner(store, each) == source.owner}
        self._owners = [each for each in owners if each is not None]

    def now(self) -> list[Pod]:
        """The pods of the workload, and of what the workload owns by now."""
        if owner_identity(self._pod) is None:
            found = [self._store.current(self._pod)]
            return [pod for pod in found if pod is not None and not is_terminal(pod)]
        controller = self._source.controller
        dependents = self._store.dependents(controller) if controller is not None else []
        owners = dict.fromkeys([self._source.owner, *self._owners, *map(identity_of, dependents)])
        pods = [pod for owner in owners for pod in self._store.pods_of_identity(owner) if not is_terminal(pod)]
        return sorted(pods, key=pod_key)

    def leading_cycles(self) -> int:
        """In how many cycles all of them are tried; 0 where other pods are few or something else waits."""
        active, row_of = self._world.loop.queue.active, self._world.cluster.pods.row_of
        if self._world.plane.queue.timers:
            return 0
        cycles = active.turns_of({row_of.get(uid_of_pod(pod)) for pod in self.now()})
        return cycles if 2 * cycles <= len(active) else 0


class FixTrials:
    """One world for all trials, each of which begins with the cluster as it was read. `node` is the only node that the
    pod is to fit on."""

    def __init__(self, situation: FixSituation, run: Run) -> None:
        self._subject, self._node = situation.subject, situation.node
        self._accepted: list[Decision] = []
        self._world = run.world
        run.observe(self._decided)
        self.store = self._world.plane.store
        self.changes = ProposedChanges(self._subject, self._world, situation.arguments)
        self._workload = "/".join(self.changes.source.owner)
        self._own = OwnPods(self._subject.pod, self._world, self.changes.source)
        self._certain = CertainPods(self._world) if self._own.leading_cycles() else None
        self.manifest: PodManifest | None = manifest_of_pod(self._subject.pod, self.store, situation.manifests)
        # The run without any change, beside the trials.
        self._copy: Copy[TrialResult] | None = None
        self._unchanged: TrialResult | None = None
        self._begin()

    def unchanged(self) -> TrialResult:
        """What the world comes to without any change. It is run once."""
        if self._unchanged is None:
            self._unchanged = self._run_unchanged() if self._copy is None else self._copy.result()
        return self._unchanged

    def _run_unchanged(self) -> TrialResult:
        with self._world.trial():
            return self._run_world(rolls_out=False)

    def _begin(self) -> None:
        """Begin the run without any change on another core, if it takes long. `end` comes after the trials."""
        answers = sum(1 for _ in self._world.loop.queue) * len(self._world.cluster.nodes)
        is_brief = self._certain is not None and self._certain.are_independent
        if answers >= WORTH_ANSWERS and not is_brief and copies_at_once():
            self._world.plane.prepare()
            self._copy = Copy(self._run_unchanged)

    def end(self) -> None:
        if self._copy is not None:
            self._copy.stop()

    def run(self, proposal: Proposal) -> TrialResult | None:
        """None if the proposal cannot be carried out."""
        with self._world.trial():
            try:
                rolls_out, created = self.changes.make(proposal)
                return replace(self._run_world(rolls_out=rolls_out), created=created)
            except (KschedError, LookupError, msgspec.ValidationError, Refusal):
                return None

    def _run_world(self, *, rolls_out: bool) -> TrialResult:
        """The result of a run until nothing moves, without the cycles of pods that find a node in any case."""
        cycles = self._own.leading_cycles()
        if self._certain is not None and self._certain.are_independent and cycles and not rolls_out:
            self._accepted = []
            with self._world.trial():
                ending = self._world.run(Limits(max_cycles=self._world.cycles + cycles))
                if ending == "max-cycles" and self._certain.all_find_nodes(cycles):
                    found = self._result("settled", rolls_out=False)
                    final = found.world.final.only(lambda pod: pod.state != "pending")
                    return replace(found, world=replace(found.world, final=final))
        self._accepted = []
        return self._result(self._world.run(), rolls_out=rolls_out)

    def _result(self, ending: Ending, *, rolls_out: bool) -> TrialResult:
        result = self._world.result(ending, moved_only=True)
        own = tuple(map(self._world.recorder.final_of, self._own.now()))
        ours = {pod.pod for pod in (*own, *result.final) if pod.workload == self._workload}
        preempted = tuple(pod.pod for pod in result.final if pod.state == "gone" and pod.preempted_by in ours)
        survives = any(self._subject.key in (pod.pod, pod.replaces) or rolls_out for pod in own)
        return TrialResult(result, own, survives, preempted, bool(self._accepted))

    def _decided(self, decision: Decision) -> None:
        """Keep the decision if it is of a pod of the workload and would do with the wanted node."""
        row = self._world.cluster.nodes.row_of.get(self._node)
        owner = owner_identity(decision.pod.pod)
        mine = decision.pod.key == self._subject.key or (owner and owner == owner_identity(self._subject.pod))
        if mine and decision.row is not None and (decision.row == row or row in decision.feasible):
            self._accepted.append(decision)

    def try_out(self, proposal: Proposal) -> Fix | None:
        """None where no more pods of the workload have a node in the end than without the change, or the pod cannot go
        to the wanted node."""
        found = self.run(proposal)
        if found is not None and self._lands_elsewhere(found):
            if self.changes.source.why_fixed:
                return None
            proposal = Proposal((*proposal.changes, self._own_system()))
            found = self.run(proposal)
        if found is None or self._lands_elsewhere(found):
            return None
        if self._evicts_own(found) and found.placed <= self.unchanged().placed:
            return None
        if self._node:
            return self._fix(proposal, found) if found.accepts_node else None
        if not found.fits and not (proposal.kinds == ("node",) and self._helps(found)):
            return None
        return self._fix(proposal, found)

    def with_fewest_nodes(self, proposal: Proposal, fix: Fix) -> Fix:
        """The fix with as few new nodes as a run proves to be enough for as many pods. One node fewer is tried first,
        which mostly fails, then the numbers are bisected. Fewer nodes for which pods of others are left out or lost are
        not promised: the order in which all pods are tried decides whether they are enough."""
        if proposal.new_nodes is None:
            return fix
        low, high = proposal.new_nodes.fewer, proposal.new_nodes.count
        middle = high - 1
        while low < middle:
            fewer = self.try_out(proposal.with_new_nodes(middle))
            if fewer is None or fewer.promise.pods < fix.promise.pods or fewer.left_out or fewer.lost:
                low = middle
            else:
                high, fix = middle, fewer
            middle = (low + high) // 2
        return fix

    def _helps(self, found: TrialResult) -> bool:
        """Whether this pod and more pods of the workload than without the change have a node."""
        own = {pod.pod for pod in found.own if pod.node}
        return found.world.settled and self._subject.key in own and found.placed > self.unchanged().placed

    def _evicts_own(self, found: TrialResult) -> bool:
        """Whether pods of the workload take the place of others of the workload."""
        return any(pod.workload == self._workload for pod in found.world.final if pod.pod in found.preempted)

    def _lands_elsewhere(self, found: TrialResult) -> bool:
        """Whether a pod lands on a node of another operating system than that of its image."""
        names = {pod.node for pod in found.own if pod.state == "scheduled" and pod.node}
        nodes = [self.store.get(Node, name) for name in names]
        return any(node is not None and is_of_another_system(node, self.changes.source.template_pod) for node in nodes)

    def _own_system(self) -> FixChange:
        """The kubelet of another operating system refuses the pod that the scheduler sends there."""
        system = system_of(self.changes.source.template_pod)
        text = f"select nodes with {OS}={system} (else it may go to a node of another system, which cannot run it)"
        return patched(text, "system", 0.1, add(system, "spec", "nodeSelector", OS))

    def _fix(self, proposal: Proposal, found: TrialResult) -> Fix:
        unplaced = {pod.pod for pod in found.world.unplaced} - {pod.pod for pod in self.unchanged().world.unplaced}
        named = {*found.preempted, *unplaced}
        workloads = {pod.pod: pod.workload for pod in found.world.final}
        # A rollout replaces the workload's own pods.
        lost = {pod for pod in _lost(found.world) - _lost(self.unchanged().world) if workloads[pod] != self._workload}
        source = self.changes.source
        return Fix(
            text=" and ".join(each.text for each in proposal.changes),
            cost=round(proposal.cost, 3),
            flags=tuple(filter(None, map(str, proposal.edits))),
            patch=proposal.operations,
            commands=self.changes.commands(proposal, of_manifest=self.manifest is not None),
            changes=tuple(each.document() for each in self.changes.changes(proposal, found.created)),
            promise=Promise(
                found.placed, source.wanted if not found.fits and source.wanted else max(len(found.own), source.wanted)
            ),
            note=source.note if proposal.operations else "",
            node=node_of(found.own, self._subject.key),
            victims=found.preempted,
            left_out=tuple(sorted(unplaced)),
            lost=tuple(sorted(lost)),
            manifest=self.manifest.changes(proposal.operations) if self.manifest is not None else (),
            workloads={pod: workload for pod, workload in workloads.items() if pod in named},
        )


def node_of(own: Sequence[FinalPod], key: str) -> str:
    """The node of the pod with this key, or of a pod of its workload that has come in its place."""
    same = [pod.node for pod in own if pod.pod == key] or [pod.node for pod in own if pod.replaces == key]
    came = [pod.node for pod in own if pod.state == "scheduled"]
    return next((node for node in (*same, *came, *(pod.node for pod in own)) if node), "")


MOST = 6
_TRIES = 40
# Proposals of one kind differ by the node only: where a few of them fail, so will the others. More nodes differ more.
_FAILURES = 3
_NODE_FAILURES = 9
_NONE_NEEDED = "none is needed, the pod has a node once nothing moves any more (simulate --settle shows how)"


def find_fixes(situation: FixSituation, run: Run) -> Fixes:
    """At most one of each kind: the smallest. Where one kind of change does, that and another is not looked at."""
    source = PodSource(situation.subject.pod, run.world.plane.store)
    waiting = source.waiting()
    if len(waiting) > 1:
        # Those that were tried before the pod, and found a node, need none.
        placed = {key for pods in situation.on.values() for key, _ in pods}
        waiting = [pod for pod in waiting if pod_key(pod) not in placed]
    proposals = propose(situation, source.template_pod, len(waiting))
    if source.why_fixed:
        proposals = [each for each in proposals if not each.operations]
    if not proposals and run.source.autoscaler is None:
        return Fixes(why_none=source.why_fixed or _why_none(situation), on=situation.node)
    trials = FixTrials(situation, run)
    try:
        if not proposals:
            why = _NONE_NEEDED if trials.unchanged().fits else source.why_fixed or _why_none(situation)
            return Fixes(why_none=why, on=situation.node)
        return _first_of_each_kind(situation, proposals, trials)
    finally:
        trials.end()


def _first_of_each_kind(situation: FixSituation, proposals: Sequence[Proposal], trials: FixTrials) -> Fixes:
    working: list[tuple[Proposal, Fix]] = []
    partial: list[tuple[Proposal, Fix]] = []
    failures: Counter[tuple[str, ...]] = Counter()
    tried = 0
    for proposal in proposals:
        if any(set(each.kinds) <= set(proposal.kinds) for each, _ in working):
            continue
        if LAST_RESORT in proposal.kinds and working:
            break
        if failures[proposal.kinds] == (_NODE_FAILURES if proposal.kinds == ("node",) else _FAILURES):
            continue
        fix = trials.try_out(proposal)
        tried += 1
        if fix is None or fix.promise.pods < fix.promise.of:
            failures[proposal.kinds] += 1
            partial += [(proposal, fix)] if fix is not None else []
        elif trials.unchanged().fits and not situation.node:
            return Fixes(tried=tried, why_none=_NONE_NEEDED)
        else:
            working.append((proposal, trials.with_fewest_nodes(proposal, fix)))
        if len(working) == MOST or tried == _TRIES:
            break
    found = tuple(fix for _, fix in working) or _most_of_each_kind(partial, trials)
    return Fixes(found, tried, note=trials.changes.source.why_fixed, on=situation.node)


def _most_of_each_kind(partial: Sequence[tuple[Proposal, Fix]], trials: FixTrials) -> tuple[Fix, ...]:
    """Where nothing gives every pod a node: of each kind the fix that gives the most pods one."""
    best: dict[tuple[str, ...], tuple[Proposal, Fix]] = {}
    for proposal, fix in partial:
        if (old := best.get(proposal.kinds)) is None or fix.promise.pods > old[1].promise.pods:
            best[proposal.kinds] = proposal, fix
    kept = sorted(best.values(), key=lambda each: each[1].cost)[:_PARTIAL]
    return tuple(trials.with_fewest_nodes(*each) for each in kept)


# So many fixes for a part of the workload are shown.
_PARTIAL = 3


def _lost(world: WorldResult) -> set[str]:
    """Pods that were preempted and that no controller has recreated."""
    replaced = {pod.replaces for pod in world.final}
    preempted = {pod.pod for pod in world.final if pod.state == "gone" and pod.preempted_by}
    return preempted - replaced


def _missing_claims(subject: Subject) -> str:
    """The claims that the pod mounts and the input does not have, where none could be created for a trial."""
    get, pod = subject.loaded.get, subject.pod
    names = dict.fromkeys(mounted_claims(pod))
    missing = [name for name in names if get(PersistentVolumeClaim, name, pod.metadata.namespace) is None]
    if not missing:
        return ""
    has_claims = bool(subject.loaded.of(PersistentVolumeClaim))
    why = (
        "has no StorageClass that makes a volume" if has_claims else "has no claims at all (add pvc,pv,sc to the dump)"
    )
    return f"{joined([f'create claim {name}' for name in missing])}; not tried, because the input {why}"


def _why_none(situation: FixSituation) -> str:
    found = situation.found
    if situation.subject.pod.metadata.deletion_timestamp is not None:
        return "none, it is being deleted"
    if situation.subject.ends_with_namespace:
        return f"none, namespace {situation.subject.pod.metadata.namespace} is being deleted"
    rejecting = [each.plugin for each in (*found.pre_enqueue, *found.pre_filter) if each.rejects]
    gates = [each.name for each in situation.subject.pod.spec.scheduling_gates]
    if any(map(is_of_a_controller, gates)) and found.pre_enqueue:
        return f"the controller of scheduling gate {', '.join(gates)} takes it off when the pod may be scheduled"
    if found.standing == "ignored":
        return f"scheduler {found.scheduler} places it"
    if missing := _missing_claims(situation.subject):
        return missing
    if rejecting:
        return f"no change of the pod or of nodes is known that satisfies {', '.join(dict.fromkeys(rejecting))}"

    lacking = [
        node
        for node in found.nodes
        if any(each.guide.describe_limits(each.detail) for each in node.rejections if each.detail)
    ]
    if lacking and len(lacking) == len(found.nodes):
        return "no node of the cluster is large enough, even if it is empty: ksched size finds a node that is"
    return "no change of the pod or of nodes is known that would help"
