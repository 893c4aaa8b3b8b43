"""What is in the way of each workload, read from the world in which its manifests came to rest.

`check_workloads` makes the result of each workload: its findings, its steps (which pods were created, got a node or
were removed, and when), and how far it came."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

import msgspec
import numpy as np

from ksched_cli.api.core import Namespace, Node, Pod
from ksched_cli.api.object_facts import is_active, is_ready, pod_key, uid_of_pod
from ksched_cli.api.workloads import CronJob, Job
from ksched_cli.controlplane.api_server import PodRefusal
from ksched_cli.controlplane.kubelet import kubelet_refusal
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.engine.decision import Decision
from ksched_cli.errors import counted, named
from ksched_cli.framework.reasons import FieldPath, ReasonCode
from ksched_cli.plan.check.results import Finding, Losses, RolloutStep, WorkloadCheck, is_of
from ksched_cli.plan.check.workloads import (
    CheckRun,
    WorkloadState,
    finishes_without_old,
    is_held_back,
    manner_of,
    pod_problems,
    rollout_notes,
    strategy_path,
)
from ksched_cli.plan.reasons.codes import (
    EVICTED,
    JOB_WAVES,
    NO_PODS,
    NO_SUCH_NODE,
    NOT_ROLLED_OUT,
    OTHER_OS,
    OTHER_SCHEDULER,
    PREEMPTS,
    REFUSED_BY_KUBELET,
    ROLLOUT_DEADLOCK,
    ROLLOUT_QUOTA,
    ROLLOUT_WAITS,
    UNSETTLED,
    WAITS_FOR_JOBS,
    all_codes,
    code_of_admission,
    plugins_of_code,
)
from ksched_cli.plan.reasons.pod_affinity import unmatched_terms
from ksched_cli.plan.reasons.rules import (
    RejectionCause,
    cause_of,
    cause_of_status,
    field_of,
    nodes_without,
    refused_field,
)
from ksched_cli.plan.reasons.typos import as_sentence, selector_typos
from ksched_cli.plan.reasons.volume_places import volume_places
from ksched_cli.plan.run.coverage import MissingKinds
from ksched_cli.sources.loaded import workload_label
from ksched_cli.sources.places import Places, template_of
from ksched_cli.world.recorder import PodLife

# The codes of pods whose volume is elsewhere.
_ABOUT_VOLUMES = ("KS124", "KS128")


class LivesByOwner:
    """The lives of pods by the identity of the controller, and by that of the pod."""

    def __init__(self, lives: Iterable[PodLife]) -> None:
        self._found: defaultdict[Identity, list[tuple[int, PodLife]]] = defaultdict(list)
        for number, life in enumerate(lives):
            for identity in filter(None, (owner_identity(life.pod), identity_of(life.pod))):
                self._found[identity].append((number, life))

    def of(self, owners: Set[Identity]) -> list[PodLife]:
        """The lives for which `is_of` holds, in their order."""
        numbered = dict(pair for owner in owners for pair in self._found.get(owner, ()))
        return [numbered[number] for number in sorted(numbered)]


def rollout_steps(lives: Iterable[PodLife]) -> tuple[RolloutStep, ...]:
    """What happened to a workload's pods, one step for each moment."""
    moments: dict[float, tuple[list[str], dict[str, str], list[str]]] = {}
    for life in lives:
        name = life.pod.metadata.name
        for moment, kind in ((life.created, 0), (life.bound, 1), (life.removed, 2)):
            if moment is None:
                continue
            made, placed, removed = moments.setdefault(round(moment, 6), ([], {}, []))
            if kind == 1:
                placed[name] = life.pod.spec.node_name
            else:
                (made, removed)[kind == 2].append(name)
    return tuple(
        RolloutStep(at, tuple(made), placed, tuple(gone)) for at, (made, placed, gone) in sorted(moments.items())
    )


def waves_of(lives: Iterable[PodLife], owners: Set[Identity], finished: Sequence[float]) -> int:
    """In how many waves the pods of these owners got their nodes. `finished` are the moments at which pods of Jobs
    finished."""
    bound = [each.bound for each in lives if each.bound is not None and is_of(each.pod, owners)]
    return len({bisect_right(finished, moment) for moment in bound})


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
        cases.item.metadata.namespace,
        places.of(cases.item, ()),
        state.wanted,
        state.running - sum(len(case.pods) for case in cases.cases if case.code.code == NO_SUCH_NODE),
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


@dataclass
class Case:
    """Pods that are in the way of the same thing. `deadlock` is the code to use if the old pods turn out to be what
    keeps the new ones away; `count` is how many pods it concerns, named or not. `refusal` is the API server's message,
    and `is_sentence` is on where the message needs no number of pods; `is_old`: its pods are to be replaced."""

    code: ReasonCode
    path: FieldPath
    message: str
    of_pod: bool = True
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    pods: list[str] = field(default_factory=list)
    deadlock: str = ""
    count: int = 0
    refusal: str = ""
    is_sentence: bool = False
    is_old: bool = False


class WorkloadCases:
    """The cases of one workload, before anything is tried out."""

    def __init__(self, run: CheckRun, losses: Losses, item: Any) -> None:
        self._run, self._plane, self._losses = run, run.plane, losses
        self.item, self.label = item, workload_label(item)
        self.state: WorkloadState = run.state(item)
        self.replaces = bool(run.before[id(item)].old)
        self._old = {each.metadata.uid for each in self.state.old}
        self._undecided_cases: dict[tuple[object, ...], Case] = {}
        self.problems = pod_problems(run.plane, item)
        held_back = bool(self.problems) or is_held_back(run.plane, item)
        self.cases = [
            *_merged(self._waiting()),
            *_merged(self._refused()),
            *_merged(self._nowhere()),
            *_merged(self._refused_by_kubelets()),
        ]
        if not self.cases and not held_back and (self.state.old or self.state.missing):
            self.cases = self._stuck()
        self.cases = self.cases or list(self._endless())

    # Pods without a node

    def _waiting(self) -> Iterator[tuple[str, Case]]:
        new = [pod for pod in self.state.new if not pod.spec.node_name]
        # Old pods without a node are in the way only if the controller waits for them.
        for pod in new or (pod for pod in self.state.old if not pod.spec.node_name):
            case = self._unplaced(pod)
            case.is_old = not new
            victim = self._losses.victim_before(pod)
            if victim is not None:
                case.code, case.path, case.deadlock = all_codes()[EVICTED], ("spec", "priorityClassName"), ""
                case.message = f"{pod_key(victim)}, and the pod that replaces it has no place: {case.message}"
            yield pod.metadata.name, case

    def _unplaced(self, pod: Pod) -> Case:
        run, uid = self._run, uid_of_pod(pod)
        if pod.spec.scheduler_name not in run.world.scheduler.runtimes:
            text = f'no profile is named "{pod.spec.scheduler_name}": another scheduler places it'
            return _case(RejectionCause(all_codes()[OTHER_SCHEDULER]), pod, text)
        row = run.world.cluster.pods.row_of.get(uid)
        found = run.world.loop.queue.find(row) if row is not None else None
        if found is not None and found[1].gate is not None:
            return _case(cause_of_status(found[1].gate), pod, found[1].gating_message)
        if uid not in run.decisions:
            return _case(RejectionCause(all_codes()[UNSETTLED]), pod, "its turn has not come")
        return self._undecided(pod, uid)

    def _undecided(self, pod: Pod, uid: str) -> Case:
        """Copies that fail alike have one case, which is looked for once: a workload may have 65,535 of them."""
        decision = self._run.decisions[uid]
        failed = decision.diagnosis.nodes.failed.tobytes() if decision.diagnosis is not None else b""
        replaced = uid if pod.metadata.uid in self._old else ""
        alike = (decision.pod.template, decision.result, decision.rejection, failed, replaced)
        known = self._undecided_cases.get(alike)
        if known is None:
            known = self._undecided_cases[alike] = self._case_of(pod, decision)
        return replace(known, pods=[])

    def _case_of(self, pod: Pod, decision: Decision) -> Case:
        run = self._run
        case = _case(cause_of(run.world.scheduler, decision), pod, decision.rejection)
        store = self._plane.store
        nodes = store.of(Node)
        typos = selector_typos(pod, (node.metadata.labels for node in nodes))
        terms = unmatched_terms(pod, store.of(Pod), store.of(Namespace))
        is_about_volumes = case.code.code in _ABOUT_VOLUMES
        places = [each for each in volume_places(pod, store.get, nodes) if each.is_empty or is_about_volumes]
        if causes := [as_sentence(str(each)) for each in (*typos, *terms, *places)]:
            case.message = f"{case.message.rstrip('.')}. {' '.join(causes)}"
        rows = run.world.cluster.pods.row_of
        old = [rows[uid_of_pod(each)] for each in self.state.old if each is not pod and uid_of_pod(each) in rows]
        others = np.array(sorted(old), dtype=np.int64)
        if self.replaces and old and nodes_without(run.world.scheduler, decision.pod, others).any():
            case.deadlock = ROLLOUT_DEADLOCK
        return case

    # Pods that were not even created

    def _refused(self) -> Iterator[tuple[str, Case]]:
        for refusal in () if self.state.satisfied else self.refusals():
            code = code_of_admission(refusal.plugin)
            case = Case(
                code,
                refused_field(code, refusal.resource, refusal.pod),
                f"{refusal.plugin} refuses: {refusal.message}",
                plugin=refusal.plugin,
                refusal=refusal.message,
                reasons=(refusal.message,),
            )
            case.count = self.state.missing
            if self.replaces and self.state.old:
                case.deadlock = ROLLOUT_QUOTA
            yield refusal.pod.metadata.name, case

    def refusals(self) -> list[PodRefusal]:
        owners = {identity_of(self.item), *self.state.owners}
        found = (each for owner in owners for each in self._plane.api.refusals.get(owner, {}).values())
        return [each for each in found if each.plugin and self._plane.store.current(each.pod) is None]

    def _nowhere(self) -> Iterator[tuple[str, Case]]:
        for pod in self.state.pods:
            name = pod.spec.node_name
            if name and self._plane.store.get(Node, name) is None and uid_of_pod(pod) in self._run.world.recorder.lives:
                code = all_codes()[NO_SUCH_NODE]
                case = _case(RejectionCause(code, plugins_of_code(code)[0]), pod, f'there is no node "{name}"')
                case.is_sentence = True
                yield pod.metadata.name, case

    def _refused_by_kubelets(self) -> Iterator[tuple[str, Case]]:
        template = template_of(self.item)
        names_node = template is not None and bool(template.spec.node_name)
        for pod in self.state.new:
            uid, node = uid_of_pod(pod), self._plane.store.get(Node, pod.spec.node_name)
            if node is None or uid not in self._run.world.recorder.lives:
                continue
            others = self._pods_before(pod) if names_node else None
            message = kubelet_refusal(pod, node, others)
            if message:
                code, field = (OTHER_OS, "os") if others is None else (REFUSED_BY_KUBELET, "nodeName")
                yield pod.metadata.name, Case(all_codes()[code], ("spec", field), message, is_sentence=True)

    def _pods_before(self, pod: Pod) -> list[Pod]:
        """The pods on the node of the pod, without those that came after it."""
        on_node = [each for each in self._plane.store.pods_on(pod.spec.node_name) if is_active(each)]
        uid = uid_of_pod(pod)
        return list(takewhile(lambda each: uid_of_pod(each) != uid, on_node))

    def _stuck(self) -> list[Case]:
        """Nothing waits for the scheduler, and yet the controller goes no further."""
        live = self._plane.store.current(self.item)
        if isinstance(live, Pod) and live.status.phase == "Failed":
            return [self._failed(live)]
        lost = [pod_key(each.pod) for each in self._losses.of_workload(self.state.owners)]
        if lost and self.state.missing:
            return [Case(all_codes()[EVICTED], ("spec", "priorityClassName"), "", pods=lost)]
        strategy = strategy_path(self._plane, self.item)
        unready = [pod.metadata.name for pod in self.state.pods if not is_ready(pod)]
        if unready:
            return [Case(all_codes()[ROLLOUT_WAITS], strategy, "not ready", of_pod=False, pods=unready)]
        return [Case(all_codes()[UNSETTLED], strategy, "its controller goes no further", of_pod=False)]

    def _endless(self) -> Iterator[Case]:
        """The pods have nodes now, and lose them again and again."""
        ending = self._run.result
        if not ending.oscillating:
            return
        lives = self._run.world.recorder.lives.values()
        if any(is_of(each.pod, self.state.owners) and pod_key(each.pod) in ending.oscillating for each in lives):
            yield Case(all_codes()[UNSETTLED], ("spec",), self._run.endless_text, of_pod=False)

    def _failed(self, pod: Pod) -> Case:
        """A pod that has failed stays as it is, also if it is applied again. The kubelet may have refused it."""
        node = self._plane.store.get(Node, pod.spec.node_name)
        refusal = kubelet_refusal(pod, node, self._pods_before(pod)) if node is not None else ""
        if refusal:
            return Case(all_codes()[REFUSED_BY_KUBELET], ("spec", "nodeName"), refusal)
        text = "the pod has failed, and no controller makes another: delete it first"
        return Case(all_codes()[UNSETTLED], ("spec",), text)

    # Whether the old pods are what is in the way

    @property
    def is_suspect(self) -> bool:
        return any(case.deadlock for case in self.cases)

    def convict(self, *, guilty: bool) -> None:
        """The rollout has been tried without its old pods."""
        for case in self.cases:
            if guilty and case.deadlock:
                case.code, case.of_pod = all_codes()[case.deadlock], False
                case.path = strategy_path(self._plane, self.item)
        self.cases = list({(case.code.code, case.path): case for case in self.cases}.values())


class Findings:
    """The cases of one workload in words, with the places in the manifests."""

    def __init__(self, run: CheckRun, losses: Losses, cases: WorkloadCases, places: Places, steps: int) -> None:
        self._run, self._losses, self._cases, self._places = run, losses, cases, places
        self._item, self._state = cases.item, cases.state
        self._step = steps if cases.replaces else 0

    def all(self) -> Iterator[Finding]:
        yield from map(self._finding, self._cases.cases)
        yield from self._preemptions()
        yield from self._jobs()
        for text in self._cases.problems:
            yield self._finding_of(all_codes()[NO_PODS], text, ("spec",))
        before = self._run.before[id(self._item)]
        if isinstance(self._item, Pod):
            came = self._run.world.recorder.lives
            before = msgspec.structs.replace(before, pods=tuple(p for p in before.pods if uid_of_pod(p) not in came))
        for text in rollout_notes(self._run.plane, self._item, before):
            yield self._finding_of(all_codes()[NOT_ROLLED_OUT], text)

    def _finding(self, case: Case) -> Finding:
        of = self._places.of_pod_field if case.of_pod else self._places.of
        return Finding.of(
            case.code,
            self._cases.label,
            self._message(case),
            of(self._item, case.path),
            pods=tuple(case.pods),
            plugin=case.plugin,
            reasons=case.reasons,
            step=self._step,
        )

    def _message(self, case: Case) -> str:
        if case.code.level == "note":
            return case.message
        what = self._what(case)
        if not self._cases.replaces:
            return what
        state, wanted = self._state, self._state.wanted
        old = len(state.old)
        kept = f", {counted(old, 'old pod')} {'is' if old == 1 else 'are'} kept" if old else ""
        stuck = case.code.code in (ROLLOUT_DEADLOCK, ROLLOUT_QUOTA)
        manner = f" ({manner_of(self._run.plane, self._item)})" if stuck else ""
        progress = f"{state.running} of {wanted} new pods running{kept}"
        hopeless = "; it would not finish without the old pods either" if case.deadlock and not stuck else ""
        return f"the rollout{manner} stops at step {self._step} with {progress}: {what}{hopeless}"

    def _what(self, case: Case) -> str:
        count = case.count or len(case.pods)
        share = counted(count, "old pod") if case.is_old else _of(count, self._state.wanted)
        if case.code.code == ROLLOUT_WAITS:
            verb = "is" if count == 1 else "are"
            return f"{named(case.pods)} {verb} not ready, and the controller waits for that"
        if case.code.code == EVICTED:
            return f"{share} evicted: {case.message or named(case.pods)}"
        if case.code.code == ROLLOUT_QUOTA:
            return f"a new pod is refused while the old ones are there: {case.message}"
        if case.code.code == OTHER_OS:
            return f"{share}: {case.message}"
        if case.is_sentence or not case.pods:
            return case.message
        if case.refusal:
            return f"{share} refused: {case.refusal}"
        return f"{share} without a place: {case.message}"

    # Warnings and notes

    def _preemptions(self) -> Iterator[Finding]:
        """Who pays for the room that the workload takes."""
        own = self._state.owners
        found = {uid: each for uid, each in self._run.preempting.items() if is_of(each.pod.pod, own)}
        preemptors = self._run.preemptors(own)
        victims = sorted({pod_key(each.pod) for each in self._losses.evictions if each.by in preemptors})
        if not victims:
            return
        broken = sum(each.preemption.pdb_violations for each in found.values() if each.preemption)
        against = f", {broken} of them against a PodDisruptionBudget" if broken else ""
        text = f"{counted(len(victims), 'pod')} evicted to make room: {named(victims)}{against}"
        paid = "".join(f"; {each.sentence}" for each in self._losses.caused_by(preemptors) if each.recreated)
        pods = tuple(each.pod.pod.metadata.name for each in found.values())
        yield self._finding_of(all_codes()[PREEMPTS], f"{text}{paid}", ("spec", "priorityClassName"), pods)

    def _jobs(self) -> Iterator[Finding]:
        """Pods that got a node only when Job pods had finished."""
        if id(self._item) not in self._run.short or not self._state.satisfied:
            return
        waves = waves_of(self._run.world.recorder.lives.values(), self._state.owners, self._run.waves)
        if not isinstance(self._item, Job | CronJob):
            text = "it comes to its end only when pods of the manifests' Jobs have finished"
            yield self._finding_of(all_codes()[WAITS_FOR_JOBS], text)
        elif waves > 1:
            yield self._finding_of(
                all_codes()[JOB_WAVES], f"its pods run in {waves} waves: there is no room for all at once"
            )
        else:
            text = "it finishes with fewer pods at a time than parallelism allows: there is no room for all at once"
            yield self._finding_of(all_codes()[JOB_WAVES], text)

    def _finding_of(
        self, code: ReasonCode, text: str, path: FieldPath | None = None, pods: tuple[str, ...] = ()
    ) -> Finding:
        places, item = self._places, self._item
        place = places.of(item, ()) if path is None else places.of_pod_field(item, path)
        return Finding.of(code, self._cases.label, text, place, pods=pods)


def _case(cause: RejectionCause, pod: Pod, message: str) -> Case:
    texts = tuple(reason.text for reason in cause.reasons)
    text = f"{message} {cause.limits}" if cause.limits else message
    return Case(cause.code, field_of(cause, pod), text, plugin=cause.plugin, reasons=texts)


def _merged(cases: Iterable[tuple[str, Case]]) -> list[Case]:
    """Pods for which the same field decides are reported once, in the words for the last of them."""
    merged: dict[tuple[str, FieldPath], Case] = {}
    for pod, case in cases:
        known = merged.get((case.code.code, case.path), case)
        case.pods, case.deadlock = known.pods, known.deadlock or case.deadlock
        case.pods.append(pod)
        merged[case.code.code, case.path] = case
    return list(merged.values())


def _of(count: int, wanted: int) -> str:
    """`2 of 3 pods`. Pods that are recreated and evicted again are more than the wanted ones."""
    return counted(count, "pod") if count > wanted or count == wanted == 1 else f"{count} of {counted(wanted, 'pod')}"
