"""Rollouts side by side, in rounds: every controller has a look, what waits is scheduled, what was told to go goes.

A pod takes a round to come up and a round to go down, so that a new pod finds the old one still in its place, as it
does in a cluster. A pod that is placed is taken to become available. The rounds end when one of them changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from ksched_cli.engine.decision import Decision
from ksched_cli.engine.queue import pending
from ksched_cli.engine.removal import remove_pod
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.status import Status
from ksched_cli.sources.rollouts.api_server import ApiServer
from ksched_cli.sources.rollouts.rollout import Birth, Member, Rollout

# No rollout takes more: each pod is made once and goes once.
MAX_ROUNDS = 100_000


@dataclass
class Step:
    """What one round did to one workload: names of pods."""

    number: int
    made: list[str] = field(default_factory=list)
    placed: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


@dataclass
class Refusal:
    birth: Birth
    plugin: str
    message: str


@dataclass
class Course:
    """How one rollout went: its steps, and what it was left with in the last round."""

    rollout: Rollout
    replaces: bool
    steps: list[Step] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    preempted: dict[str, Decision] = field(default_factory=dict)
    evicted: list[str] = field(default_factory=list)

    def step(self, number: int) -> Step:
        if not self.steps or self.steps[-1].number != number:
            self.steps.append(Step(number))
        return self.steps[-1]


@dataclass
class _Waiting:
    """A pod without a node: its row, and whether it belongs to a workload that is rolled out."""

    row: int
    course: Course | None = None
    member: Member | None = None


class Rounds:
    """`decisions`, `gated` and `ignored` say, by row, how the last attempt at each pod ended."""

    def __init__(self, scheduler: Scheduler, rollouts: Sequence[Rollout], server: ApiServer) -> None:
        self._scheduler = scheduler
        self._server = server
        self.courses = [Course(rollout, bool(rollout.outdated())) for rollout in rollouts]
        self.decisions: dict[int, Decision] = {}
        self.gated: dict[int, Status] = {}
        self.ignored: set[int] = set()
        self.victims: list[str] = []
        self._rows: dict[Member, int] = {}
        self._waiting: dict[int, _Waiting] = {}
        self._homes: dict[int, tuple[Course, Member]] = {}
        self._settle_in()

    def _settle_in(self) -> None:
        """Know the cluster's pods by their rows."""
        infos = self._scheduler.cluster.pods.infos
        row_of = {id(info.pod): row for row, info in enumerate(infos)}
        for course in self.courses:
            # One that a manifest has taken the place of is in no table.
            for member in [each for each in course.rollout.members if id(each.pod) not in row_of]:
                course.rollout.part(member)
            for member in course.rollout.members:
                row = row_of[id(member.pod)]
                self._rows[member] = row
                self._homes[row] = course, member
        for row in pending(self._scheduler.cluster):
            home = self._homes.get(row)
            self._waiting[row] = _Waiting(row, *home) if home else _Waiting(row)

    def row(self, member: Member) -> int:
        return self._rows[member]

    def run(self) -> None:
        left, placed = True, False
        for number in count(1):
            born = self._controllers(number)
            due = [row for row in self._waiting if left or row in born or (placed and self._minds_company(row))]
            placed = self._schedule(number, due)
            left = self._let_go(number)
            if not (born or placed or left) or number >= MAX_ROUNDS:
                return

    # A round

    def _controllers(self, number: int) -> set[int]:
        """Rows of the pods that were made."""
        born: set[int] = set()
        for course in self.courses:
            changes = course.rollout.sync()
            for each in changes.objects:
                self._scheduler.cluster.catalog.put(each)
            course.refusals = []
            for birth in changes.born:
                plugin, message = self._server.refusal(birth)
                if message:
                    course.refusals.append(Refusal(birth, plugin, message))
                else:
                    born.add(self._welcome(course, birth, number))
            for member in changes.leaving:
                self._scheduler.cluster.terminate(self._rows[member])
        return born

    def _welcome(self, course: Course, birth: Birth, number: int) -> int:
        for each in self._server.objects(birth):
            self._scheduler.cluster.catalog.put(each)
        member = course.rollout.join(birth)
        row = self._scheduler.cluster.add_pod(birth.pod)
        self._rows[member] = row
        self._homes[row] = course, member
        course.step(number).made.append(member.name)
        if birth.pod.spec.node_name:
            # No scheduler has a say: the kubelet of that node takes it.
            member.node = birth.pod.spec.node_name
            member.available = self._scheduler.cluster.pods.node_row[row] >= 0
        else:
            self._waiting[row] = _Waiting(row, course, member)
        return row

    def _minds_company(self, row: int) -> bool:
        """Whether another pod's coming may be what the pod waits for."""
        spec = self._scheduler.cluster.pods.infos[row].pod.spec
        wanted = spec.affinity is not None and spec.affinity.pod_affinity is not None
        return wanted or bool(spec.topology_spread_constraints)

    def _schedule(self, number: int, rows: Sequence[int]) -> bool:
        """One cycle for each of these pods that wait."""
        queue = self._scheduler.enqueue(rows)
        self.gated = {**{row: each for row, each in self.gated.items() if row not in set(rows)}, **queue.gated}
        self.ignored = (self.ignored - set(rows)) | set(queue.ignored)
        placed = []
        for decision in self._scheduler.run(queue):
            self.decisions[decision.pod_row] = decision
            if decision.preemption and decision.preemption.victims:
                self._note_preemption(decision)
            if decision.result == "scheduled":
                placed.append(decision)
        for decision in placed:
            self._place(decision, number)
        return bool(placed)

    def _note_preemption(self, decision: Decision) -> None:
        home = self._homes.get(decision.pod_row)
        if home is not None:
            home[0].preempted[home[1].name] = decision

    def _place(self, decision: Decision, number: int) -> None:
        waiting = self._waiting.pop(decision.pod_row)
        if waiting.course is None or waiting.member is None:
            return
        assert decision.row is not None
        member = waiting.member
        member.node, member.available = self._scheduler.cluster.nodes.names[decision.row], True
        waiting.course.step(number).placed[member.name] = member.node

    def _let_go(self, number: int) -> bool:
        """Pods that were told to go are gone, and so are victims of preemption."""
        cluster = self._scheduler.cluster
        gone = [(course, member) for course in self.courses for member in course.rollout.members if member.leaving]
        for course, member in gone:
            self._remove(self._rows[member])
            course.rollout.part(member)
            course.step(number).left.append(member.name)
        victims = [row for row in sorted(cluster.preempted) if cluster.pods.node_row[row] >= 0]
        for row in victims:
            self.victims.append(cluster.pods.infos[row].key)
            home = self._homes.get(row)
            if home is not None and home[1] in home[0].rollout.members:
                home[0].rollout.part(home[1])
                home[0].step(number).left.append(home[1].name)
                home[0].evicted.append(home[1].name)
            self._remove(row)
        return bool(gone or victims)

    def _remove(self, row: int) -> None:
        self._server.gone(self._scheduler.cluster.pods.infos[row].pod)
        remove_pod(self._scheduler, row)
        self._waiting.pop(row, None)
        self.decisions.pop(row, None)
