"""Nodes are drained and deleted one after the other in one world, each step kept only if it is safe."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import partial

from msgspec import Struct

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.consolidate.conditions import Conditions
from ksched_cli.plan.consolidate.failures import NodeFailure
from ksched_cli.plan.consolidate.results import ConsolidationStep, PodMove
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.drain.run import DrainWorld
from ksched_cli.plan.size.shapes import NodeShape
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.add_node import AddNode
from ksched_cli.whatif.edits.cordon import Cordon
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.whatif.edits.lib.editor import Editor
from ksched_cli.whatif.edits.remove_node import RemoveNode
from ksched_cli.whatif.edits.uncordon import Uncordon


class Removal(Struct, frozen=True):
    """A node to remove, the node to add before it, if any, and what that saves."""

    node: str
    saving: Decimal
    shape: NodeShape | None = None
    new_node: str = ""


class ConsolidationWorld:
    """A cluster from which nodes are removed, step by step. The pending pods get their nodes first."""

    def __init__(self, scheduler: Scheduler, loaded: Loaded, flags: Flags, conditions: Conditions) -> None:
        self._drains = DrainWorld(scheduler, loaded, flags, moved_only=True)
        self.cluster = scheduler.cluster
        self._flags, self._conditions = flags, conditions
        self._drains.place_pending()
        self.tried = 0
        # The marks of the steps, as long as they may be taken back.
        self._steps: list[int] = []

    def cordon(self, nodes: Sequence[str]) -> None:
        for node in nodes:
            self._edit(Cordon(node))

    def uncordon(self, node: str) -> None:
        self._edit(Uncordon(node))

    def _edit(self, edit: Edit) -> None:
        self._drains.world.apply(partial(_apply, edit))

    def step(self, removal: Removal) -> ConsolidationStep | str:
        """Add the new node, drain the old one and delete it. Returns why it cannot be done, and rolls it back then."""
        self.tried += 1
        mark = self._drains.world.mark()
        found = self._carry_out(removal)
        if isinstance(found, str):
            self._drains.world.undo.roll_back(mark)
        elif self._conditions.failing is not None:
            self._steps.append(mark)
        else:
            # No step is taken back later: how to undo it would only take memory.
            self._drains.world.undo.commit(mark)
        return found

    def take_back(self) -> None:
        """Undo the last step, and everything that came after it."""
        self._drains.world.undo.roll_back(self._steps.pop())

    def _carry_out(self, removal: Removal) -> ConsolidationStep | str:
        waiting = set(self._drains.waiting())
        if removal.shape is not None:
            template = removal.shape.template()
            template.metadata.name = removal.new_node
            self._edit(AddNode(template))
            self._drains.rest()
        result = self._drains.drain([removal.node])
        if why := _why_unsafe(result):
            return why
        self._edit(RemoveNode(removal.node))
        self._drains.rest()
        lost = [pod for pod in self._drains.waiting() if pod not in waiting]
        if lost:
            return f"{lost[0]} has no other node"
        if not self._conditions.leaves_headroom(self.cluster):
            return "too little headroom would be left"
        self._drains.world.begin_record()
        return _step_of(removal, result, self._flags)

    def failure_without_place(self, failures: Iterable[NodeFailure]) -> tuple[NodeFailure | None, str]:
        """The first failure after which a pod has no node, and that pod."""
        before = set(self._drains.waiting())
        for failure in failures:
            with self._drains.world.trial():
                for node in failure.nodes:
                    self._edit(RemoveNode(node))
                self._drains.rest()
                after = [pod for pod in self._drains.waiting() if pod not in before]
            if after:
                return failure, after[0]
        return None, ""


def _apply(edit: Edit, plane: ControlPlane) -> None:
    edit.apply(Editor(plane))


def _why_unsafe(result: DrainResult) -> str:
    """Why the drain is no step; empty if it is one."""
    if result.safe:
        return ""
    for fate in (fate for node in result.nodes for fate in node.pods):
        if fate.fate in ("stuck", "refused", "unplaced") or fate.lost:
            what = {"unplaced": "has no other node", "stuck": "is held", "refused": "is refused"}.get(
                fate.fate, "is lost"
            )
            return f"{fate.pod} {what}: {fate.why}"
    if result.preempted:
        return f"{result.preempted[0].pod} would be preempted"
    return f"the drain ends as {result.outcome}"


def _step_of(removal: Removal, result: DrainResult, flags: Flags) -> ConsolidationStep:
    (node,) = result.nodes
    moves = tuple(PodMove(fate.pod, fate.successor, fate.to) for fate in node.of("moves"))
    extra = " --delete-emptydir-data" if flags.delete_emptydir_data else ""
    extra += " --force" if flags.force else ""
    commands = (f"kubectl drain {removal.node} --ignore-daemonsets{extra}", f"kubectl delete node {removal.node}")
    shape = removal.shape.title if removal.shape else ""
    return ConsolidationStep(removal.node, removal.saving, moves, commands, shape, removal.new_node, node.rounds)


class Deadline:
    """A deadline."""

    def __init__(self, seconds: float) -> None:
        self.started = time.perf_counter()
        self._end = self.started + seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def has_time(self) -> bool:
        return time.perf_counter() < self._end
