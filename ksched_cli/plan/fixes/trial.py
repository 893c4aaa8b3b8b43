"""A proposal tried in a world with controllers until nothing moves."""

from __future__ import annotations

from functools import cached_property

import msgspec
from msgspec.structs import replace

from ksched_cli.controlplane.store import owner_identity
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import KschedError
from ksched_cli.forks import WORTH_ANSWERS, Fork, forks_at_once
from ksched_cli.plan.explain.subject import Subject
from ksched_cli.plan.fixes.certain_pods import CertainPods
from ksched_cli.plan.fixes.own_pods import OwnPods
from ksched_cli.plan.fixes.proposed_changes import ProposedChanges
from ksched_cli.plan.fixes.values import Proposal, TrialResult
from ksched_cli.world.results import Ending, Limits
from ksched_cli.world.world import World


class FixTrials:
    """One world for all trials, each of which begins with the cluster as it was read. `node` is the only node that the
    pod is to fit on."""

    def __init__(self, subject: Subject, node: str, scheduler: Scheduler) -> None:
        self._subject, self._node, self._scheduler = subject, node, scheduler
        self._accepted: list[Decision] = []
        self._world = World(scheduler, subject.loaded, keeps_timeline=False, decided=self._decided)
        self.store = self._world.plane.store
        self.changes = ProposedChanges(subject, self._world)
        self._workload = "/".join(self.changes.owner)
        self._own = OwnPods(subject.pod, self._world, self.changes)
        self._certain = CertainPods(self._world) if self._own.leading_cycles() else None
        # The run without any change, beside the trials.
        self._fork: Fork[TrialResult] | None = None

    @cached_property
    def unchanged(self) -> TrialResult:
        """What the world comes to without any change."""
        return self._run_unchanged() if self._fork is None else self._fork.result()

    def _run_unchanged(self) -> TrialResult:
        with self._world.trial():
            return self._run_world(rolls_out=False)

    def begin(self) -> None:
        """Begin the run without any change on another core, if it takes long. `end` comes after the trials."""
        answers = sum(1 for _ in self._world.loop.queue) * len(self._world.cluster.nodes)
        is_brief = self._certain is not None and self._certain.are_independent
        if answers >= WORTH_ANSWERS and not is_brief and forks_at_once():
            self._world.plane.prepare()
            self._fork = Fork(self._run_unchanged)

    def end(self) -> None:
        if self._fork is not None:
            self._fork.stop()

    def run(self, proposal: Proposal) -> TrialResult | None:
        """None if the proposal cannot be carried out."""
        with self._world.trial():
            try:
                return self._run_world(rolls_out=self.changes.make(proposal))
            except (KschedError, LookupError, msgspec.ValidationError):
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
        ours = {f"preempted by {pod.pod}" for pod in (*own, *result.final) if pod.workload == self._workload}
        preempted = tuple(pod.pod for pod in result.final if pod.state == "gone" and pod.why in ours)
        survives = any(self._subject.key in (pod.pod, pod.replaces) or rolls_out for pod in own)
        return TrialResult(result, own, survives, preempted, bool(self._accepted))

    def _decided(self, decision: Decision) -> None:
        """Keep the decision if it is of a pod of the workload and would do with the wanted node."""
        row = self._scheduler.cluster.nodes.row_of.get(self._node)
        owner = owner_identity(decision.pod.pod)
        mine = decision.pod.uid == self._subject.uid or (owner and owner == owner_identity(self._subject.pod))
        if mine and decision.row is not None and (decision.row == row or row in decision.feasible):
            self._accepted.append(decision)
