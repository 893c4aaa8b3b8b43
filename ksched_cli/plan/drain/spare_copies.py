"""Copies of a pod without a node, left out of the trials of many drains: one of them stands for all."""

from __future__ import annotations

from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.engine.queueing.queued_pod import QueuedPod
from ksched_cli.world.world import World

# So many copies of each template stay in the queue.
KEPT_COPIES = 50


class SpareCopies:
    """Pods of one template that wait for a node are interchangeable, and a cycle that fails changes nothing. So the
    copies that are set aside find no node as long as one that stayed in the queue finds none either. `were_needed`: in
    some run since they were set aside, no such copy was left, and the run has to be repeated with all of them. `count`:
    how many are set aside."""

    def __init__(self, world: World) -> None:
        self._world = world
        # By template, the pods that stayed in the queue. Only of templates with copies that did not.
        self._kept: dict[bytes, list[QueuedPod]] = {}
        self.were_needed = False
        self.count = 0
        # Where they were set aside.
        self._mark = 0

    def set_aside(self) -> None:
        """Take all but the first copies of each template out of the queue, until `use` or a roll back."""
        self._mark = self._world.mark()
        queue, copies = self._world.loop.queue, dict[bytes, list[QueuedPod]]()
        for pod in queue:
            if self._has_failed(pod):
                copies.setdefault(pod.info.template, []).append(pod)
        self.put_back()
        for template, pods in copies.items():
            if len(pods) > KEPT_COPIES:
                pods.sort(key=lambda pod: pod.turn)
                self._kept[template] = pods[:KEPT_COPIES]
                self.count += len(pods) - KEPT_COPIES
                for pod in pods[KEPT_COPIES:]:
                    queue.delete(pod.row)

    def use(self) -> None:
        """Roll back to where they were set aside."""
        self._world.undo.roll_back(self._mark)
        self.put_back()

    def put_back(self) -> None:
        """A roll back has returned all of them to the queue."""
        self._kept, self.were_needed, self.count = {}, False, 0

    def notice(self) -> None:
        """Look at the run that has just ended."""
        preempting = {each.by for each in self._world.recorder.preempted}
        if not all(any(self._has_waited(each, preempting) for each in pods) for pods in self._kept.values()):
            self.were_needed = True

    def _has_failed(self, pod: QueuedPod) -> bool:
        """Whether the pod found no node, and nothing else came of its cycle."""
        is_alone = group_of(pod.info) is None and not self._world.scheduler.nominator.node_of(pod.row)
        return is_alone and not pod.gated and bool(pod.attempts) and bool(pod.unschedulable_plugins)

    def _has_waited(self, pod: QueuedPod, preempting: set[str]) -> bool:
        """Whether the pod found no node in the whole run, and made room on none."""
        world, life = self._world, self._world.recorder.lives.get(pod.info.uid)
        if pod.row in world.cluster.pods.gone or (life is not None and life.bound is not None):
            return False
        return pod.info.key not in preempting and not world.scheduler.nominator.node_of(pod.row)
