"""What the end of a run means for each workload of the manifests."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import uid_of_pod
from ksched_cli.plan.check.findings import Findings, WorkloadCases
from ksched_cli.plan.check.results import WorkloadCheck
from ksched_cli.plan.check.run import CheckRun
from ksched_cli.plan.check.steps import LivesByOwner, rollout_steps
from ksched_cli.plan.check.trial import finishes_without_old
from ksched_cli.plan.evicted import Losses, is_of
from ksched_cli.plan.missing_kinds import MissingKinds
from ksched_cli.sources.places import Places


def check_workloads(run: CheckRun, places: Places, missing: Sequence[str]) -> list[WorkloadCheck]:
    """One result for each workload, in the order of the manifests. `missing` are kinds that could not be read."""
    losses, lives = Losses(run.world), LivesByOwner(run.world.recorder.lives.values())
    return [_check(run, losses, lives, WorkloadCases(run, losses, item), places, missing) for item in run.items]


def _check(
    run: CheckRun,
    losses: Losses,
    lives: LivesByOwner,
    cases: WorkloadCases,
    places: Places,
    missing: Sequence[str],
) -> WorkloadCheck:
    if cases.is_suspect:
        cases.convict(guilty=finishes_without_old(run, cases.item))
    state, steps = cases.state, rollout_steps(lives.of(cases.state.owners))
    return WorkloadCheck(
        cases.label,
        places.of(cases.item, ()),
        state.wanted,
        state.running,
        len(state.old),
        cases.replaces,
        steps,
        tuple(Findings(run, losses, cases, places, len(steps)).all()),
        _unread(run, cases, missing),
    )


def _unread(run: CheckRun, cases: WorkloadCases, missing: Sequence[str]) -> tuple[str, ...]:
    """Kinds that could not be read and that matter for the pods that the run has created."""
    if not missing:
        return ()
    lives = run.world.recorder.lives
    fresh = [pod for pod in cases.state.pods if uid_of_pod(pod) in lives or not pod.spec.node_name]
    preempts = any(is_of(each.pod.pod, cases.state.owners) for each in run.preempting.values())
    missing_kinds = MissingKinds(missing, run.plane.store.of(Pod))
    pods = [*fresh, *(refusal.pod for refusal in cases.refusals())]
    return tuple(sorted({kind for pod in pods for kind in missing_kinds.about_pod(pod, preempts=preempts)}))
