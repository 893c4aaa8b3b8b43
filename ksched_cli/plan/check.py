"""`check`: the manifests rolled out over the cluster, and what is in the way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ksched_cli.api.core import Pod
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.check_results import Finding, Level, RolloutStep, WorkloadCheck
from ksched_cli.plan.codes import (
    EVICTED,
    NO_PODS,
    NOT_ROLLED_OUT,
    OTHER_ADMISSION,
    OTHER_SCHEDULER,
    PREEMPTS,
    ROLLOUT_DEADLOCK,
    ROLLOUT_QUOTA,
    ROLLOUT_WAITS,
    ReasonCode,
    all_codes,
    code_of,
)
from ksched_cli.plan.deciding import Cause, cause_of, code_of_status, would_fit_without
from ksched_cli.plan.doubts import Doubts
from ksched_cli.plan.fields import Path, field_of
from ksched_cli.plan.rounds import Course, Rounds
from ksched_cli.sources.places import Place, Places
from ksched_cli.sources.rollouts.api_server import ApiServer
from ksched_cli.sources.rollouts.rollout import Member, Rollout

_NAMED = 3


@dataclass(frozen=True)
class Outcome:
    workloads: tuple[WorkloadCheck, ...]
    evicted: tuple[str, ...]
    pods: int


def check(
    scheduler: Scheduler,
    rollouts: Sequence[Rollout],
    server: ApiServer,
    places: Places,
    told: Callable[[Any], bool] = lambda item: True,
    missing: Collection[str] = (),
) -> Outcome:
    """Run the rollouts to where they stop, and look at what each of those that are told of was left with."""
    rounds = Rounds(scheduler, rollouts, server)
    rounds.run()
    pods = [info.pod for info in scheduler.cluster.pods.infos]
    judge = _Judge(scheduler, rounds, server, places, Doubts(missing, pods))
    workloads = tuple(judge.workload(course) for course in rounds.courses if told(course.rollout.item))
    return Outcome(workloads, tuple(rounds.victims), sum(each.pods for each in workloads))


@dataclass
class _Case:
    """Pods that are in the way of the same thing."""

    code: ReasonCode
    path: Path
    message: str
    of_pod: bool = True
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    pods: list[str] = field(default_factory=list)


class _Judge:
    def __init__(self, scheduler: Scheduler, rounds: Rounds, server: ApiServer, places: Places, doubts: Doubts) -> None:
        self._scheduler, self._rounds, self._server, self._places = scheduler, rounds, server, places
        self._doubts = doubts

    def workload(self, course: Course) -> WorkloadCheck:
        rollout = course.rollout
        old = rollout.outdated()
        running = [member for member in rollout.staying() if member.node and member not in old]
        return WorkloadCheck(
            rollout.label,
            self._places.of(rollout.manifest, ()),
            rollout.wanted,
            len(running),
            len(old),
            course.replaces,
            tuple(RolloutStep(tuple(each.made), dict(each.placed), tuple(each.left)) for each in course.steps),
            tuple(self._findings(course)),
            self._missing(course),
        )

    def _missing(self, course: Course) -> tuple[str, ...]:
        """Of pods that were made here: those that run already are where they are."""
        fresh = [member for member in course.rollout.staying() if member.fresh or not member.node]
        pods = [*(member.pod for member in fresh), *(refusal.birth.pod for refusal in course.refusals)]
        found = {kind for pod in pods for kind in self._doubts.about_pod(pod, preempts=bool(course.preempted))}
        return tuple(sorted(found))

    def _findings(self, course: Course) -> Iterator[Finding]:
        cases = [*_merged(self._waiting(course)), *_merged(self._refused(course)), *_merged(self._named(course))]
        if not cases and (course.rollout.outdated() or course.rollout.missing()):
            cases += self._stuck(course)
        for case in cases:
            yield self._finding(course, case)
        yield from self._preemptions(course)
        codes = all_codes()
        for text in course.rollout.warnings:
            yield self._say(course, codes[NO_PODS], text, ("spec",))
        for text in course.rollout.notes:
            yield self._say(course, codes[NOT_ROLLED_OUT], text)

    # Pods without a node

    def _waiting(self, course: Course) -> Iterator[tuple[str, _Case]]:
        for member in course.rollout.staying():
            if member.node:
                continue
            row = self._rounds.row(member)
            if row in self._rounds.gated:
                status = self._rounds.gated[row]
                cause = Cause(code_of_status(status), status.plugin, status.reasons)
                yield member.name, _case(cause, member.pod, status.message)
            elif row in self._rounds.ignored:
                cause = Cause(all_codes()[OTHER_SCHEDULER])
                text = f'no profile is named "{member.pod.spec.scheduler_name}": another scheduler places it'
                yield member.name, _case(cause, member.pod, text)
            elif row in self._rounds.decisions:
                yield member.name, self._unplaced(course, member, row)

    def _unplaced(self, course: Course, member: Member, row: int) -> _Case:
        decision = self._rounds.decisions[row]
        tail = f" {decision.diagnosis.post_filter_message}" if decision.diagnosis else ""
        message = decision.message.removesuffix(tail) if tail.strip() else decision.message
        cause = cause_of(self._scheduler, decision)
        old = [self._rounds.row(each) for each in course.rollout.outdated() if each is not member]
        case = _case(cause, member.pod, message)
        if course.replaces and old:
            others = np.array(sorted(old), dtype=np.int64)
            if would_fit_without(self._scheduler, decision.pod, others):
                case.code, case.path, case.of_pod = all_codes()[ROLLOUT_DEADLOCK], _strategy(course), False
        return case

    # Pods that were not even made

    def _refused(self, course: Course) -> Iterator[tuple[str, _Case]]:
        for refusal in course.refusals:
            pod, reasons = refusal.birth.pod, (refusal.message,)
            code = code_of(refusal.plugin, reasons) or all_codes()[OTHER_ADMISSION]
            case = _case(Cause(code, refusal.plugin, reasons), pod, f"{refusal.plugin} refuses: {refusal.message}")
            old = course.rollout.outdated()
            if course.replaces and old and self._server.would_admit(pod, old):
                case.code, case.path, case.of_pod = all_codes()[ROLLOUT_QUOTA], _strategy(course), False
            yield pod.metadata.name, case

    def _named(self, course: Course) -> Iterator[tuple[str, _Case]]:
        for member in course.rollout.staying():
            if member.fresh and member.node and not member.available:
                cause = Cause(all_codes()["KS109"], "NodeName")
                yield member.name, _case(cause, member.pod, f'there is no node "{member.node}"')

    def _stuck(self, course: Course) -> list[_Case]:
        """Nothing waits for the scheduler, and yet the controller goes no further."""
        if course.evicted and course.rollout.missing():
            path = ("spec", "priorityClassName")
            return [_Case(all_codes()[EVICTED], path, "", pods=list(course.evicted))]
        unready = [member.name for member in course.rollout.staying() if not member.available]
        if not unready:
            return []
        return [_Case(all_codes()[ROLLOUT_WAITS], _strategy(course), "not ready", False, pods=unready)]

    # What to say

    def _finding(self, course: Course, case: _Case) -> Finding:
        place = self._place(course, case)
        step = len(course.steps) if course.replaces else 0
        return Finding(
            case.code.code,
            case.code.name,
            _level(case.code),
            case.code.title,
            course.rollout.label,
            _message(course, case, step),
            place,
            tuple(case.pods),
            case.plugin,
            case.reasons,
            step,
        )

    def _place(self, course: Course, case: _Case) -> Place:
        item = course.rollout.manifest
        return self._places.of_pod_field(item, case.path) if case.of_pod else self._places.of(item, case.path)

    def _preemptions(self, course: Course) -> Iterator[Finding]:
        if not course.preempted:
            return
        infos = self._scheduler.cluster.pods.infos
        found = [decision.preemption for decision in course.preempted.values() if decision.preemption]
        victims = sorted({infos[row].key for each in found for row in each.victims})
        broken = sum(each.pdb_violations for each in found)
        against = f", {broken} of them against a PodDisruptionBudget" if broken else ""
        text = f"{_counted(len(victims), 'pod')} evicted to make room: {_listed(victims)}{against}"
        code = all_codes()[PREEMPTS]
        yield self._say(course, code, text, ("spec", "priorityClassName"), tuple(course.preempted))

    def _say(
        self, course: Course, code: ReasonCode, text: str, path: Path | None = None, pods: tuple[str, ...] = ()
    ) -> Finding:
        item = course.rollout.manifest
        place = self._places.of(item, ()) if path is None else self._places.of_pod_field(item, path)
        return Finding(code.code, code.name, _level(code), code.title, course.rollout.label, text, place, pods)


def _case(cause: Cause, pod: Pod, message: str) -> _Case:
    return _Case(cause.code, field_of(cause, pod), message, plugin=cause.plugin, reasons=cause.reasons)


def _merged(cases: Iterable[tuple[str, _Case]]) -> list[_Case]:
    """Pods for which the same field decides are told of once, in the words for the last of them."""
    merged: dict[tuple[str, Path], _Case] = {}
    for pod, case in cases:
        known = merged.setdefault((case.code.code, case.path), case)
        known.message = case.message
        known.pods.append(pod)
    return list(merged.values())


def _message(course: Course, case: _Case, step: int) -> str:
    rollout = course.rollout
    wanted, count = rollout.wanted, len(case.pods)
    if case.code.level == "note":
        return case.message
    if case.code.code == ROLLOUT_WAITS:
        what = f"{_listed(case.pods)} {'is' if count == 1 else 'are'} not ready, and the controller waits for that"
    elif case.code.code == EVICTED:
        what = f"{_of(count, wanted)} evicted: {_listed(case.pods)}"
    elif case.code.code == ROLLOUT_QUOTA:
        what = f"a new pod is refused while the old ones are there: {case.message}"
    elif case.plugin in ("", "NodeName") and case.message.startswith("there is"):
        what = case.message
    elif case.message.partition(" refuses: ")[0] == case.plugin:
        what = f"{_of(count, wanted)} refused: {case.message.partition(' refuses: ')[2]}"
    else:
        what = f"{_of(count, wanted)} without a place: {case.message}"
    if not course.replaces:
        return what
    old = len(rollout.outdated())
    new = sum(member.fresh and bool(member.node) for member in rollout.members)
    kept = f", {_counted(old, 'old pod')} {'is' if old == 1 else 'are'} kept" if old else ""
    manner = f" ({rollout.manner})" if case.code.code in (ROLLOUT_DEADLOCK, ROLLOUT_QUOTA) else ""
    return f"the rollout{manner} stops at step {step} with {new} of {wanted} new pods running{kept}: {what}"


def _of(count: int, wanted: int) -> str:
    return "1 pod" if count == wanted == 1 else f"{count} of {_counted(wanted, 'pod')}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _strategy(course: Course) -> Path:
    return tuple(course.rollout.strategy) or ("spec",)


def _level(code: ReasonCode) -> Level:
    levels: dict[str, Level] = {"error": "error", "warning": "warning", "note": "note"}
    return levels[code.level]
