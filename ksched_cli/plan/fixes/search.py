"""Try proposals, the smallest first, and keep those that work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ksched_cli.api.json_patch import Operation
from ksched_cli.api.meta import controller_of
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.explain.subject import Subject
from ksched_cli.plan.fixes.manifest import PodManifest, manifest_of
from ksched_cli.plan.fixes.propose import FixSituation, propose
from ksched_cli.plan.fixes.trial import FixTrials
from ksched_cli.plan.fixes.values import Fix, Fixes, Proposal, TrialResult, kubectl
from ksched_cli.world.results import FinalPod, WorldResult

MOST = 6
_TRIES = 30
# Proposals of one kind differ by the node only: where a few of them fail, so will the others.
_FAILURES = 3
_NONE_NEEDED = "none is needed, the pod has a node once nothing moves any more (simulate --settle shows how)"


def find_fixes(situation: FixSituation, scheduler: Scheduler) -> Fixes:
    """At most one of each kind: the smallest. Where one kind of change does, that and another is not looked at."""
    proposals = propose(situation)
    if not proposals:
        return Fixes(why_none=_why_none(situation), on=situation.node)
    bench = _Bench(situation, scheduler)
    try:
        return _first_of_each_kind(situation, proposals, bench)
    finally:
        bench.end()


def _first_of_each_kind(situation: FixSituation, proposals: Sequence[Proposal], bench: _Bench) -> Fixes:
    working: list[tuple[Proposal, Fix]] = []
    failures: Counter[tuple[str, ...]] = Counter()
    tried = 0
    for proposal in proposals:
        if any(set(each.kinds) <= set(proposal.kinds) for each, _ in working):
            continue
        if failures[proposal.kinds] == _FAILURES:
            continue
        fix = bench.try_out(proposal)
        tried += 1
        if fix is None:
            failures[proposal.kinds] += 1
        elif bench.unchanged.fits and not situation.node:
            return Fixes(tried=tried, why_none=_NONE_NEEDED)
        else:
            working.append((proposal, fix))
        if len(working) == MOST or tried == _TRIES:
            break
    note = "" if bench.manifest is not None else _note(situation.subject)
    return Fixes(tuple(fix for _, fix in working), tried, note=note, on=situation.node)


class _Bench:
    """Where proposals are tried, each in a trial of one world."""

    def __init__(self, situation: FixSituation, scheduler: Scheduler) -> None:
        self._subject = situation.subject
        self._node = situation.node
        self._trials = FixTrials(situation.subject, situation.node, scheduler)
        self._trials.begin()
        self.manifest: PodManifest | None = manifest_of(self._subject.pod, self._trials.store, situation.manifests)

    @property
    def unchanged(self) -> TrialResult:
        """What the world comes to without any change."""
        return self._trials.unchanged

    def end(self) -> None:
        self._trials.end()

    def try_out(self, proposal: Proposal) -> Fix | None:
        """None where some pod of the workload has no node in the end, or the pod cannot go to the wanted node."""
        found = self._trials.run(proposal)
        if found is None or not (found.accepts_node if self._node else found.fits):
            return None
        return self._fix(proposal, found)

    def _fix(self, proposal: Proposal, found: TrialResult) -> Fix:
        commands = [each.command for each in proposal.changes if each.command]
        if pods := self._trials.changes.deleted_by_hand(proposal):
            names = (pod.metadata.name for pod in pods)
            commands.append(kubectl("-n", self._subject.pod.metadata.namespace, "delete", "pod", *names))
        patch_commands = [] if self.manifest is not None else _patch_command(self._subject, proposal.operations)
        unplaced = {pod.pod for pod in found.world.unplaced} - {pod.pod for pod in self.unchanged.world.unplaced}
        named = {*found.preempted, *unplaced}
        return Fix(
            " and ".join(each.text for each in proposal.changes),
            round(proposal.cost, 3),
            tuple(str(edit) for edit in proposal.edits),
            proposal.operations,
            (*commands, *patch_commands),
            self._node_of(found.own),
            found.preempted,
            tuple(sorted(unplaced)),
            tuple(sorted(_lost(found.world) - _lost(self.unchanged.world))),
            self.manifest.changes(proposal.operations) if self.manifest is not None else (),
            {pod.pod: pod.workload for pod in found.world.final if pod.pod in named},
        )

    def _node_of(self, own: Sequence[FinalPod]) -> str:
        """The node of the pod, or of a pod that has come in its place."""
        key = self._subject.key
        same = [pod.node for pod in own if pod.pod == key] or [pod.node for pod in own if pod.replaces == key]
        came = [pod.node for pod in own if pod.state == "scheduled"]
        return next((node for node in (*same, *came, *(pod.node for pod in own)) if node), "")


def _lost(world: WorldResult) -> set[str]:
    """Pods that were preempted and that no controller has recreated."""
    replaced = {pod.replaces for pod in world.final}
    preempted = {pod.pod for pod in world.final if pod.state == "gone" and pod.why.startswith("preempted")}
    return preempted - replaced


# What the API server lets be changed of a pod that is there; all else is for its manifest.
_CHANGEABLE = ("/spec/tolerations", "/spec/schedulingGates")


def _patch_command(subject: Subject, operations: tuple[Operation, ...]) -> list[str]:
    if not operations or not all(each["path"].startswith(_CHANGEABLE) for each in operations):
        return []
    import json

    metadata = subject.pod.metadata
    patch = json.dumps(list(operations))
    return [kubectl("-n", metadata.namespace, "patch", "pod", metadata.name, "--type=json", "-p", patch)]


def _note(subject: Subject) -> str:
    owner = controller_of(subject.pod.metadata)
    if owner is None:
        return "Patches are JSON patches of the pod, for its manifest: most of a pod cannot be changed once it is made."
    replicas = subject.loaded.named(ReplicaSet, owner.name, subject.pod.metadata.namespace)
    if owner.kind == "ReplicaSet" and replicas is not None:
        owner = controller_of(replicas.metadata) or owner
    whose = f"{owner.kind} {owner.name}"
    return (
        f"Patches are JSON patches of the pod; in the template of {whose} their paths begin with /spec/template. Every "
        "pod of the workload has a node then; evictions are for all of them."
    )


def _why_none(situation: FixSituation) -> str:
    found = situation.found
    if situation.subject.pod.metadata.deletion_timestamp is not None:
        return "none, it is being deleted"
    rejecting = [each.plugin for each in (*found.pre_enqueue, *found.pre_filter) if each.rejects]
    if rejecting:
        return f"no change of the pod or of nodes is known that satisfies {', '.join(dict.fromkeys(rejecting))}"
    return "no change of the pod or of nodes is known that would help"
