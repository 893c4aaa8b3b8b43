"""`check`: the manifests applied to a world, and what is in the way when it comes to rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ksched_cli.api.pod_facts import uid_of_pod
from ksched_cli.plan.check.findings import Findings, WorkloadCases
from ksched_cli.plan.check.orders import in_all_orders
from ksched_cli.plan.check.results import WorkloadCheck
from ksched_cli.plan.check.run import CheckRun
from ksched_cli.plan.check.steps import rollout_steps
from ksched_cli.plan.check.trial import finishes_without_old
from ksched_cli.plan.evicted import Losses, WorkloadLoss, is_of
from ksched_cli.plan.missing_kinds import MissingKinds
from ksched_cli.sources.places import Places
from ksched_cli.world.results import WorldResult

# Makes a run in a fresh world. The choices are for decisions that Kubernetes leaves to chance.
MakeRun = Callable[[Sequence[int]], CheckRun]


@dataclass(frozen=True)
class Outcome:
    """`warnings` are those of the API server and of a world that does not come to rest, `gaps` the admission that is
    not modelled."""

    workloads: tuple[WorkloadCheck, ...]
    losses: tuple[WorkloadLoss, ...]
    world: WorldResult
    warnings: tuple[str, ...]
    gaps: tuple[str, ...]


class Checker:
    """Checks the manifests in as many worlds as it takes."""

    def __init__(self, make: MakeRun, places: Places, missing: Sequence[str] = ()) -> None:
        self._make, self._places, self._missing = make, places, missing

    def check(self, told: Callable[[Any], bool] = lambda item: True) -> Outcome:
        """Run the manifests to where they stop, and report what each workload that is asked for was left with. Where
        chance has decided something that matters, other orders are tried too."""
        run = self._make(())
        losses, warnings, gaps = Losses(run.world).caused_by(), run.warnings(), run.gaps()
        items, result = run.items, run.result
        workloads: Sequence[WorkloadCheck] = self._workloads(run)
        if result.draws and (run.is_tight or any(each.result == "fails" for each in workloads)):
            workloads = in_all_orders(workloads, result.draws, lambda choices: self._workloads(self._make(choices)))
        shown = tuple(each for item, each in zip(items, workloads, strict=True) if told(item))
        return Outcome(shown, tuple(losses), result, tuple(warnings), tuple(gaps))

    def _workloads(self, run: CheckRun) -> list[WorkloadCheck]:
        losses = Losses(run.world)
        cases = [WorkloadCases(run, losses, item) for item in run.items]
        made = [self._summary(run, losses, each) for each in cases]
        return [complete() for complete in self._tried(run, cases, made)]

    def _tried(
        self, run: CheckRun, cases: Sequence[WorkloadCases], made: Sequence[Callable[[], WorkloadCheck]]
    ) -> Sequence[Callable[[], WorkloadCheck]]:
        """Try without the old pods each rollout that they may hold up. After one that does not finish either, the next
        is tried in a fresh world."""
        suspects = [each for each in cases if each.is_suspect]
        trial: CheckRun | None = None
        for each in suspects:
            trial = trial or self._make(run.choices)
            guilty = finishes_without_old(trial, each.item)
            each.convict(guilty=guilty)
            trial = trial if guilty else None
        return made

    def _summary(self, run: CheckRun, losses: Losses, cases: WorkloadCases) -> Callable[[], WorkloadCheck]:
        state, steps = cases.state, rollout_steps(run.world.recorder.lives.values(), cases.state.owners)
        findings = Findings(run, losses, cases, self._places, len(steps))
        return lambda: WorkloadCheck(
            cases.label,
            self._places.of(cases.item, ()),
            state.wanted,
            state.running,
            len(state.old),
            cases.replaces,
            steps,
            tuple(findings.all()),
            self._unread(run, cases),
        )

    def _unread(self, run: CheckRun, cases: WorkloadCases) -> tuple[str, ...]:
        """Kinds that could not be read and that matter for the pods that the run has created."""
        if not self._missing:
            return ()
        lives = run.world.recorder.lives
        fresh = [pod for pod in cases.state.pods if uid_of_pod(pod) in lives or not pod.spec.node_name]
        preempts = any(is_of(each.pod.pod, cases.state.owners) for each in run.preempting.values())
        missing_kinds = MissingKinds(self._missing, run.pods)
        pods = [*fresh, *(refusal.pod for refusal in cases.refusals())]
        return tuple(sorted({kind for pod in pods for kind in missing_kinds.about_pod(pod, preempts=preempts)}))
