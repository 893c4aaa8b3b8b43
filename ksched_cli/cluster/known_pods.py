"""What is known of pods, for clusters that are alike: most of the pods of one are the very same in the next."""

from __future__ import annotations

from ksched_cli.api.core import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import ResourceIndex
from ksched_cli.releases.minors import DEFAULT, Release


class KnownPods:
    """Sums are worked out once for every pod object, however many clusters it is in. They share the resource rows."""

    def __init__(self, release: Release = DEFAULT) -> None:
        self.resources = ResourceIndex()
        self.release = release
        # Each entry holds its pod, so that no other object comes to have its id.
        self._infos: dict[int, PodInfo] = {}

    def info(self, pod: Pod, like: PodInfo | None = None) -> PodInfo:
        """`like` is a pod that this pod may be a copy of."""
        found = self._infos.get(id(pod))
        if found is None:
            found = self._infos[id(pod)] = PodInfo(pod, self.resources, self.release, like)
        return found
