"""The result of `check`: workloads with their findings, findings about the input, and the workloads that lose pods.

`Losses` finds whose running pods were preempted, and how many of those are Pending afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_active, pod_key, uid_of_pod
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity, top_owner
from ksched_cli.errors import Level, Problem, named
from ksched_cli.framework.reasons import ReasonCode
from ksched_cli.plan.reasons.codes import all_codes
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.results.outcomes import Displayed, Stats
from ksched_cli.sources.loaded import NOT_RUN, NOTHING_CHECKED, Loaded
from ksched_cli.sources.places import SourcePlace
from ksched_cli.world.recorder import PreemptedPod
from ksched_cli.world.results import Orders, WorldResult
from ksched_cli.world.world import World

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning


class WorkloadLoss(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A workload that lost running pods. `pending`: how many of the pods that replace them have no node in the end.
    `recreated` is False for pods without a controller: they are deleted for good. `budgets`: the PodDisruptionBudgets
    that did not allow it."""

    workload: str
    evicted: tuple[str, ...]
    pending: int
    recreated: bool = True
    budgets: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        name = " ".join(self.workload.split("/", 1))
        noun = "PodDisruptionBudget" if len(self.budgets) == 1 else "PodDisruptionBudgets"
        against = f" against {noun} {', '.join(self.budgets)}" if self.budgets else ""
        if not self.recreated:
            return f"{name} is deleted for good{against}: no controller recreates it"
        pods = f"{len(self.evicted)} evicted{against}"
        end = f"{self.pending} Pending in the end" if self.pending else "all of them run again"
        return f"{name}: {pods}, {end}"


class Losses:
    """The evictions of a world that has come to rest. `caused_by` and `same_elsewhere` stay valid when the world is
    rolled back."""

    def __init__(self, world: World) -> None:
        self._store, self._replaced = world.plane.store, world.plane.api.successors.replaced
        self.evictions: list[PreemptedPod] = list(world.recorder.preempted)
        self._victims = {uid_of_pod(each.pod): each.pod for each in self.evictions}
        self._invented = world.plane.api.draws.invented_uids & set(self._victims)
        self._owners = {uid: top_owner(self._store, pod) for uid, pod in self._victims.items()}
        self._pending = self._pending_pods() if self.evictions else {}

    def of_workload(self, owners: Set[Identity]) -> list[PreemptedPod]:
        return [each for each in self.evictions if is_of(each.pod, owners)]

    def victim_before(self, pod: Pod) -> Pod | None:
        """The evicted pod whose place this pod takes, directly or through others."""
        while (before := self._replaced.get(pod.metadata.uid)) is not None and before is not pod:
            if uid_of_pod(before) in self._victims:
                return before
            pod = before
        return None

    def same_elsewhere(self, other: Losses, own: Collection[str]) -> list[PreemptedPod]:
        """The evictions that another world of the same cluster has too. Evictions by `own` preemptors are not among
        them. Pods that a run has created are compared by workload."""
        others = Counter(other._name_of(each) for each in other.evictions)
        found = []
        for each in self.evictions:
            name = self._name_of(each)
            if each.by not in own and others[name]:
                others[name] -= 1
                found.append(each)
        return found

    def _name_of(self, eviction: PreemptedPod) -> Identity | str:
        uid = uid_of_pod(eviction.pod)
        return self._owners[uid] if uid in self._invented else uid

    def caused_by(
        self, preemptors: Collection[str] | None = None, without: Collection[PreemptedPod] = ()
    ) -> list[WorkloadLoss]:
        """The losses of each workload by these preemptors, or by all."""
        left_out = {id(each) for each in without}
        found: dict[Identity, list[Pod]] = {}
        budgets: dict[Identity, set[str]] = {}
        for each in self.evictions:
            if id(each) not in left_out and (preemptors is None or each.by in preemptors):
                owner = self._owners[uid_of_pod(each.pod)]
                found.setdefault(owner, []).append(each.pod)
                budgets.setdefault(owner, set()).update(each.budgets)
        return [
            WorkloadLoss(
                "/".join(workload),
                tuple(map(pod_key, pods)),
                self._pending.get(workload, 0),
                owner_identity(pods[0]) is not None,
                tuple(sorted(budgets[workload])),
            )
            for workload, pods in sorted(found.items())
        ]

    def _pending_pods(self) -> Counter[Identity]:
        """By workload, the pods without a node in the place of an evicted pod."""
        waiting = (pod for pod in self._store.of(Pod) if not pod.spec.node_name and is_active(pod))
        return Counter(top_owner(self._store, pod) for pod in waiting if self.victim_before(pod) is not None)


def is_of(pod: Pod, owners: Set[Identity]) -> bool:
    """Whether one of these controls the pod, or is the pod."""
    return owner_identity(pod) in owners or identity_of(pod) in owners


MOST_NAMED = 5
NO_STATS = Stats(0, 0, 0.0, 0.0, 0.0, 0.0)


def input_findings(problems: Iterable[Problem]) -> tuple[Finding, ...]:
    """A finding for each problem of the files and objects."""
    return tuple(map(_finding, problems))


def _finding(problem: Problem) -> Finding:
    code = all_codes()[problem.code or NOT_RUN]
    message = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    message = f"{problem.path}: {message}" if problem.path else message
    place = SourcePlace(problem.source, problem.line)
    return replace(Finding.of(code, "", message, place, about=problem.path), level=problem.level)


def nothing_checked(manifests: Loaded, items: Sequence[Any], sources: Sequence[str], namespace: str) -> Problem:
    """The problem of a check without a workload: what the input has instead."""
    where = sources[0] if len(sources) == 1 else ""
    if items:
        spaces = sorted({item.metadata.namespace for item in items})
        here = f"no pod or workload in namespace {namespace}" if namespace else "no pod or workload that -l matches"
        text = f"nothing was checked: the manifests have {here}"
        hint = f"their pods and workloads are in {named(spaces, MOST_NAMED)}"
        return Problem(text, where, hint=hint, code=NOTHING_CHECKED)
    found = named([f"{count} {kind}" for kind, count in manifests.kinds().most_common()], MOST_NAMED)
    text = f"nothing was checked: the manifests have {found or 'no object'} and no pod or workload"
    return Problem(text, where, hint="--allow-empty exits with code 0", code=NOTHING_CHECKED)


def check_not_run(problems: Iterable[Problem]) -> Check:
    """The result of a check that could not begin."""
    return Check((), (), {}, NO_STATS, inputs=input_findings(problems))


class Finding(Struct, frozen=True):
    """One finding about a workload, or about the input if `workload` is empty: then `about` is the object or the field,
    if it is about one. `place` is the field that decides; `step` the one that a rollout stops at."""

    code: str
    name: str
    level: Level
    title: str
    workload: str
    message: str
    place: SourcePlace
    pods: tuple[str, ...] = ()
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    step: int = 0
    about: str = ""

    @classmethod
    def of(cls, code: ReasonCode, workload: str, message: str, place: SourcePlace, **more: Any) -> Finding:
        """The finding with this code."""
        return cls(code.code, code.name, code.level, code.title, workload, message, place, **more)


class IgnoredFinding(Struct, frozen=True):
    """An accepted finding and the reason for it."""

    finding: Finding
    by: Literal["annotation", "option", "baseline"]
    reason: str = ""


class RolloutStep(Struct, frozen=True, omit_defaults=True):
    """The changes at one moment of virtual time: the pods that were created, got a node or were removed, by name."""

    seconds: float
    made: tuple[str, ...] = ()
    placed: Mapping[str, str] = msgspec.field(default_factory=dict)
    removed: tuple[str, ...] = ()


class WorkloadCheck(Struct, frozen=True):
    """A workload of the manifests, as `Deployment shop/web`. `pods`: how many there are to be; `running`: how many of
    them have a node and are of the manifest's template; `old`: how many are left that should have gone; `missing`:
    kinds that could not be read and could make it otherwise; `is_excused`: all errors of the workload are ignored."""

    workload: str
    namespace: str
    place: SourcePlace
    pods: int
    running: int
    old: int
    rollout: bool
    steps: tuple[RolloutStep, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...] = ()
    orders: Orders | None = None
    is_excused: bool = False

    @property
    def result(self) -> str:
        levels = {finding.level for finding in self.findings}
        if "error" in levels:
            return "fails"
        if self.is_excused:
            return "ignored"
        waits = self.running < self.pods
        if any(finding.level == "note" and (finding.pods or waits) for finding in self.findings):
            return "held back"
        return "warns" if "warning" in levels else "fits"


@dataclass(frozen=True, slots=True, repr=False)
class Check(Displayed):
    """The result of `ksched check`. `evicted`: pods that make room because of the manifests, `losses`: the same by
    workload, with what became of them; `evicted_anyway`: pods that pending pods of the cluster evict with or without
    the manifests. `world`: the cluster at rest, before any pod of a Job has finished. `inputs`: what is wrong with the
    files. `ignored`: findings that are accepted; they are in none of the other fields."""

    workloads: tuple[WorkloadCheck, ...]
    evicted: tuple[str, ...]
    coverage: Mapping[str, Any]
    stats: Stats
    warnings: tuple[str, ...] = ()
    losses: tuple[WorkloadLoss, ...] = ()
    world: WorldResult | None = None
    inputs: tuple[Finding, ...] = ()
    ignored: tuple[IgnoredFinding, ...] = ()
    evicted_anyway: tuple[str, ...] = ()
    # The nodes before the manifests are applied, and at rest.
    nodes: NodeChanges | None = field(default=None, compare=False, repr=False)
    # The nodes that the autoscaler of the cluster adds until the rollout is at rest.
    autoscaling: Provisioning | None = None

    @property
    def is_input_wrong(self) -> bool:
        """Whether part of the input was not checked because it is wrong, or all of it."""
        return any(finding.level == "error" for finding in self.inputs)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, errors first, each level in the order of the manifests."""
        found = [*self.inputs, *(finding for workload in self.workloads for finding in workload.findings)]
        return tuple(sorted(found, key=lambda finding: _LEVELS.index(finding.level)))

    def count(self, level: Level) -> int:
        return sum(finding.level == level for finding in self.findings)


_LEVELS = ("error", "warning", "note")
