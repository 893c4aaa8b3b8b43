"""Try proposals, the smallest first, and keep those that work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import KschedError
from ksched_cli.plan.explain.subject import Subject
from ksched_cli.plan.explain.trial import decide
from ksched_cli.plan.fixes.json_patch import patch_pod
from ksched_cli.plan.fixes.occupants import controller_of
from ksched_cli.plan.fixes.propose import Situation, propose
from ksched_cli.plan.fixes.values import Fix, Fixes, Operation, Proposal, kubectl
from ksched_cli.sources.edits.apply import apply
from ksched_cli.sources.loaded import Loaded

Make = Callable[[Loaded], Scheduler]

MOST = 6
_TRIES = 30
# Proposals of one kind differ by the node only: where a few of them fail, so will the others.
_FAILURES = 3


def find_fixes(situation: Situation, make: Make) -> Fixes:
    """At most one of each kind: the smallest. Where one kind of change does, that and another is not looked at."""
    proposals = propose(situation)
    if not proposals:
        return Fixes(why_none=_why_none(situation), on=situation.node)
    working: list[tuple[Proposal, Fix]] = []
    failures: Counter[tuple[str, ...]] = Counter()
    bench, tried = _Bench(situation, make), 0
    for proposal in proposals:
        if any(set(each.kinds) <= set(proposal.kinds) for each, _ in working):
            continue
        if failures[proposal.kinds] == _FAILURES:
            continue
        fix = bench.try_out(proposal)
        tried += 1
        if fix is None:
            failures[proposal.kinds] += 1
        else:
            working.append((proposal, fix))
        if len(working) == MOST or tried == _TRIES:
            break
    return Fixes(tuple(fix for _, fix in working), tried, note=_note(situation.subject), on=situation.node)


class _Bench:
    """Where proposals are tried, each in a cluster of its own."""

    def __init__(self, situation: Situation, make: Make) -> None:
        self._subject = situation.subject
        self._node = situation.node
        self._make = make

    def try_out(self, proposal: Proposal) -> Fix | None:
        """The whole run in a cluster with the changes; None where the pod still finds no place."""
        try:
            changed = changed_subject(self._subject, proposal)
            for each in self._siblings:
                patch_pod(each, proposal.operations)
        except (KschedError, LookupError):
            return None
        scheduler = self._make(changed.loaded)
        trial = decide(scheduler, changed)
        fix = None
        if trial is not None and self._helps(trial.decision, scheduler) and self._works_in_the_template(proposal):
            left_out = trial.unplaced(scheduler) - self._unplaced_before - {self._subject.key}
            fix = _fix(proposal, trial.decision, scheduler, self._subject, tuple(sorted(left_out)))
        scheduler.close()
        return fix

    def _works_in_the_template(self, proposal: Proposal) -> bool:
        """A pod of a controller is changed in its template: the other replicas that wait change with it."""
        if not proposal.operations or not self._siblings:
            return True
        changed = changed_subject(self._subject, proposal)
        for each in self._siblings:
            # One of them may be gone, by an edit.
            if changed.loaded.has(each):
                changed.loaded.put(patch_pod(each, proposal.operations))
        scheduler = self._make(changed.loaded)
        trial = decide(scheduler, changed)
        scheduler.close()
        return trial is not None and self._helps(trial.decision, scheduler)

    @cached_property
    def _siblings(self) -> list[Pod]:
        """Pending pods of the same controller."""
        pod = self._subject.pod
        owner = controller_of(pod.metadata.owner_references)
        if owner is None:
            return []
        return [
            each
            for each in self._subject.loaded.of(Pod)
            if each is not pod
            and not each.spec.node_name
            and each.metadata.namespace == pod.metadata.namespace
            and not is_terminal(each)
            and controller_of(each.metadata.owner_references) == owner
        ]

    def _helps(self, decision: Decision, scheduler: Scheduler) -> bool:
        if not self._node:
            return decision.row is not None or bool(decision.nominated_node)
        row = scheduler.cluster.nodes.row_of[self._node]
        return decision.row == row or (decision.row is not None and row in decision.feasible)

    @cached_property
    def _unplaced_before(self) -> set[str]:
        """Without any change."""
        scheduler = self._make(self._subject.loaded)
        trial = decide(scheduler, self._subject)
        if trial is None:
            decisions = scheduler.run(scheduler.enqueue())
            return {each.pod.key for each in decisions if each.row is None and not each.nominated_node}
        unplaced = trial.unplaced(scheduler)
        scheduler.close()
        return unplaced


def changed_subject(subject: Subject, proposal: Proposal) -> Subject:
    """The pod and the cluster with the changes made; what was there stays as it was."""
    loaded, pod = subject.loaded.copied(), subject.pod
    if proposal.operations:
        pod = patch_pod(pod, proposal.operations)
        loaded.put(pod)
    if proposal.edits:
        loaded = apply(loaded, proposal.edits, namespace=pod.metadata.namespace).loaded
    return Subject(loaded, pod, subject.runs_on)


def _fix(
    proposal: Proposal, decision: Decision, scheduler: Scheduler, subject: Subject, left_out: tuple[str, ...]
) -> Fix:
    names, infos = scheduler.cluster.nodes.names, scheduler.cluster.pods.infos
    victims = decision.preemption.victims if decision.preemption else ()
    commands = [each.command for each in proposal.changes if each.command]
    return Fix(
        " and ".join(each.text for each in proposal.changes),
        round(proposal.cost, 3),
        tuple(str(edit) for edit in proposal.edits),
        proposal.operations,
        (*commands, *_patch_command(subject, proposal.operations)),
        names[decision.row] if decision.row is not None else decision.nominated_node,
        tuple(infos[victim].key for victim in victims),
        left_out,
    )


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
    owner = controller_of(subject.pod.metadata.owner_references)
    if owner is None:
        return "Patches are JSON patches of the pod, for its manifest: most of a pod cannot be changed once it is made."
    replicas = subject.loaded.named(ReplicaSet, owner.name, subject.pod.metadata.namespace)
    if owner.kind == "ReplicaSet" and replicas is not None:
        owner = controller_of(replicas.metadata.owner_references) or owner
    whose = f"{owner.kind} {owner.name}"
    return f"Patches are JSON patches of the pod; in the template of {whose} their paths begin with /spec/template."


def _why_none(situation: Situation) -> str:
    found = situation.found
    if situation.subject.pod.metadata.deletion_timestamp is not None:
        return "none, it is being deleted"
    rejecting = [each.plugin for each in (*found.pre_enqueue, *found.pre_filter) if each.rejects]
    if rejecting:
        return f"no change of the pod or of nodes is known that satisfies {', '.join(dict.fromkeys(rejecting))}"
    return "no change of the pod or of nodes is known that would help"
