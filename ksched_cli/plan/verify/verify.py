"""`verify`: the modelled scheduler compared with the scheduler of the cluster.

Pods that have a node are scheduled again (`search.py`). The verdicts about pending pods are compared with the decisions
now. kube-scheduler writes the same text into an event and into the pod's PodScheduled condition. The condition has the
newest text and the time of the first failure. An event has the time of its text, is cut off if it is too long, and is
deleted after an hour."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, ObjectMeta, Pod
from ksched_cli.api.object_facts import is_terminal, parse_time, pod_key
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.config.model import PluginRef, PluginSet, SchedulerConfiguration
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.results.outcomes import GatedPod, PodOutcome
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.run import Run
from ksched_cli.plan.simulate import PlacementRun
from ksched_cli.plan.verify.history import Evidence, History, condition_of, first_nodes, gather_evidence, read_history
from ksched_cli.plan.verify.results import Agreement, Checked, Verification, VerifySettings
from ksched_cli.plan.verify.search import replay
from ksched_cli.sources.events import FailedScheduling
from ksched_cli.sources.loaded import Loaded

UNSCHEDULABLE, GATED, FAILED = "Unschedulable", "SchedulingGated", "SchedulerError"
CONDITION, EVENT, BOTH = "condition", "event", "condition and event"
# validation.NoteLengthLimit and what truncateMessage puts at the end.
_MAX_NOTE, _CUT = 1024, " ..."
_COUNT = re.compile(r"\d+")


class Statement(Struct, frozen=True):
    """`reason` is the condition's, and Unschedulable for an event, which has none; `where` it was found."""

    text: str
    reason: str
    when: str
    where: str


def statement_of(pod: Pod, event: FailedScheduling | None) -> Statement | None:
    """The newer of the two texts. An event that is later than the condition may still have an older text, because a
    scheduler that fails again changes the condition only."""
    condition = condition_of(pod)
    noted = from_event = None
    if event is not None:
        from_event = Statement(event.text, UNSCHEDULABLE, event.stamp, EVENT)
    if condition is not None and condition.status == "False":
        noted = Statement(condition.message.strip(), condition.reason, condition.last_transition_time or "", CONDITION)
    if event is None or from_event is None or noted is None:
        return noted or from_event
    if _is_text_of(event.text.strip(), noted.text):
        return replace(noted, when=max(noted.when, from_event.when, key=_seconds), where=BOTH)
    return from_event if not event.again and _seconds(from_event.when) > _seconds(noted.when) else noted


def _seconds(stamp: str) -> float:
    return parse_time(stamp) if stamp else 0.0


def _is_cut(text: str) -> bool:
    return text.endswith(_CUT) and len(text.encode()) == _MAX_NOTE


def _is_text_of(statement: str, text: str) -> bool:
    """Whether an event's text is this one, or the beginning of it if the event is cut off."""
    return statement == text or (_is_cut(statement) and text.startswith(statement.removesuffix(_CUT)))


def newest_events(
    events: Iterable[FailedScheduling], pods: Iterable[Pod], wanted: Callable[[Pod], bool]
) -> tuple[dict[str, FailedScheduling], int]:
    """The newest event of each pod's scheduler, and the number of pods of which only events are left."""
    known = {pod_key(pod): pod for pod in pods}
    newest: dict[str, FailedScheduling] = {}
    gone = set()
    for event in sorted(events, key=lambda each: _seconds(each.stamp)):
        key = f"{event.namespace}/{event.pod}"
        pod = known.get(key)
        if pod is None or (event.uid and pod.metadata.uid and event.uid != pod.metadata.uid):
            if wanted(Pod(metadata=ObjectMeta(event.pod, event.namespace))):
                gone.add((key, event.uid))
        elif event.scheduler in ("", pod.spec.scheduler_name):
            newest[key] = event
    return newest, len(gone)


class PresentCluster:
    """What becomes of the pending pods. Their cycles run when they are needed first: those of a pod and of the pods
    before it in the queue."""

    def __init__(self, run: PlacementRun) -> None:
        self._outcomes = run.outcomes
        self._seen: dict[str, PodOutcome] = {}
        self.gated = {each.pod: each for each in run.gated}

    def outcome_of(self, pod: str) -> PodOutcome | None:
        """The outcome of a pod's cycle; None for a pod without one."""
        while pod not in self._seen:
            outcome = next(self._outcomes, None)
            if outcome is None:
                return None
            self._seen[outcome.pod] = outcome
        return self._seen[pod]

    def run_to_the_end(self) -> None:
        for _ in self._outcomes:
            pass


def pending_pods(
    pods: Iterable[Pod],
    events: Mapping[str, FailedScheduling],
    schedulers: Collection[str],
    present: PresentCluster,
    evidence: Evidence,
) -> tuple[list[Checked], Counter[str]]:
    """The pods with a verdict of their scheduler, compared; and the number of other pending pods by reason."""
    found: list[Checked] = []
    left_out: Counter[str] = Counter()
    for pod in pods:
        if pod.spec.node_name or is_terminal(pod):
            continue
        key = pod_key(pod)
        statement = statement_of(pod, events.get(key))
        why = _not_compared(pod, statement, schedulers)
        if why:
            left_out[why] += 1
        elif statement is not None and statement.reason == GATED:
            found.append(_compare_gated(key, statement, present.gated, evidence))
        elif statement is not None and key in present.gated:
            answer = f"{present.gated[key].plugin} holds it back"
            found.append(_checked(key, Agreement.OTHER_REASONS, statement, answer, evidence.since(statement.when)))
        elif statement is not None and (outcome := present.outcome_of(key)) is not None:
            found.append(_compare_messages(outcome, statement, evidence))
    return found, left_out


def _not_compared(pod: Pod, statement: Statement | None, schedulers: Collection[str]) -> str:
    if pod.spec.scheduler_name not in schedulers:
        return f"pods of the scheduler {pod.spec.scheduler_name}"
    if pod.metadata.deletion_timestamp:
        return "pods that are being deleted"
    if statement is None or not statement.reason:
        return "pods that wait without a verdict of the scheduler"
    return "pods at which the scheduler failed (SchedulerError)" if statement.reason == FAILED else ""


def _checked(pod: str, agreement: Agreement, statement: Statement, answer: str, cause: str = "") -> Checked:
    return Checked(pod, agreement, statement.text or statement.reason, answer, cause, statement.where, statement.when)


def _compare_gated(key: str, statement: Statement, gated: Mapping[str, GatedPod], evidence: Evidence) -> Checked:
    if key in gated:
        return _checked(key, Agreement.SAME, statement, GATED)
    return _checked(key, Agreement.FITS, statement, "is not held back", evidence.since(statement.when))


def _compare_messages(outcome: PodOutcome, statement: Statement, evidence: Evidence) -> Checked:
    text, answer = statement.text.strip(), outcome.message.strip()
    if not outcome.node and _is_text_of(text, answer):
        return _checked(outcome.pod, Agreement.SAME, statement, answer)
    cause = evidence.since(statement.when)
    if outcome.node:
        return _checked(outcome.pod, Agreement.FITS, statement, f"fits on {outcome.node}", cause)
    agreement = Agreement.SAME_REASONS if _same_reasons(text, answer) else Agreement.OTHER_REASONS
    return _checked(outcome.pod, agreement, statement, answer, cause)


def _same_reasons(statement: str, answer: str) -> bool:
    """Whether both have the same reasons, in any order: the numbers of nodes decide the order of reasons."""
    if _is_cut(statement):
        whole = _reasons(statement.removesuffix(_CUT))[:-1]
        return not set(whole) - set(_reasons(answer))
    return sorted(_reasons(statement)) == sorted(_reasons(answer))


def _reasons(message: str) -> list[str]:
    return [_COUNT.sub("", part).strip() for part in re.split(r"[,.:]\s", f"{message} ")]


DELETED = "pods that are gone, of which there are FailedScheduling events"


def verify_input(source: LoadedInput, settings: VerifySettings | None = None) -> Verification:
    """Schedule running pods again in a past cluster, and pending pods in the present cluster, and compare."""
    prepared, loaded = Run(source), source.loaded
    pods = [pod for pod in loaded.of(Pod) if source.wanted(pod)]
    runtimes = prepared.scheduler.runtimes
    history = _history(loaded, pods, runtimes)
    evidence = gather_evidence(loaded.of(Node), loaded.of(Pod), loaded.of(ReplicaSet), loaded.bindings, history)
    settings = settings or VerifySettings()
    checked = tuple(replay(_past(source, history), history, loaded.of(Node), evidence, settings))

    present = PresentCluster(prepared.place(detail=False, top=1))
    events, gone = newest_events(loaded.failures, loaded.of(Pod), source.wanted)
    pending, waiting = pending_pods(pods, events, runtimes, present, evidence)
    if prepared.scheduler.extenders is not None:
        # The coverage has how often each extender was called.
        present.run_to_the_end()
    left_out = history.left_out + waiting + Counter({DELETED: gone})
    return Verification.of(checked, tuple(pending), left_out, _coverage(prepared.coverage), source.warnings)


def _history(loaded: Loaded, wanted: Sequence[Pod], schedulers: Collection[str]) -> History:
    nodes = frozenset(node.metadata.name for node in loaded.of(Node))
    ids = frozenset(map(id, wanted))
    return read_history(loaded.of(Pod), ids, schedulers, nodes, loaded.bindings, loaded.preemptions)


def _past(source: LoadedInput, history: History) -> Scheduler:
    """A scheduler of the cluster as it was before the first of the placements: all pods of the history are pending."""
    loaded = source.loaded.copied()
    loaded.set_all(Pod, [_unplaced(each.pod) for each in (*history.tried, *history.others)])
    loaded.set_all(Node, first_nodes(history, loaded.of(Node)))
    spec = replace(source.spec, configuration=_without_post_filter(source.spec.configuration))
    return source.make_scheduler(loaded, spec)


def _coverage(coverage: Mapping[str, Any]) -> Mapping[str, Any]:
    """The coverage with a note that the PodScheduled conditions stand in for unread events."""
    missing = coverage.get("missing", {})
    if "Event" not in missing:
        return coverage
    reason = f"{missing['Event']}: verdicts are those of the PodScheduled conditions"
    return {**coverage, "missing": {**missing, "Event": reason}}


def _unplaced(pod: Pod) -> Pod:
    return replace(
        pod,
        metadata=replace(pod.metadata, deletion_timestamp=None),
        spec=replace(pod.spec, node_name=""),
        status=replace(pod.status, phase="Pending", nominated_node_name=""),
    )


def _without_post_filter(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    none = PluginSet(disabled=(PluginRef("*"),))
    profiles = (
        replace(profile, plugins=replace(profile.plugins, post_filter=none)) for profile in configuration.profiles
    )
    return replace(configuration, profiles=tuple(profiles))
