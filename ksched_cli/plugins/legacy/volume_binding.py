"""The binding of volumes as it was up to 1.18, when it only filtered: each node looked for claims that no controller
will bind, and the first such claim ended the cycle with an error."""

from __future__ import annotations

from typing import ClassVar

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.cluster.claims import find_claim, mounted_claims
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import PreFilterResult
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, Status, error
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.legacy.successors import VolumeBindingPlugin
from ksched_cli.plugins.lib.volumes.claims import is_fully_bound, waits_for_consumer
from ksched_cli.plugins.volume_binding.placement import PodClaims
from ksched_cli.plugins.volume_binding.plugin import Volumes
from ksched_cli.plugins.volume_binding.reasons import VolumeBindingReasons


class VolumeBindingOnEachNode(VolumeBindingPlugin):
    since = "1.17"
    until = "1.18"
    only_at: ClassVar[tuple[str, ...]] = ("filter",)
    # The scheduler held and bound the volumes that the filter had found.
    unlisted_at = ("preFilter", "reserve", "preBind")

    def pre_filter(self, pod: PodInfo) -> PreFilterResult[Volumes] | Status:
        found = self._claims(pod.pod)
        if not found:
            return SKIP
        return PreFilterResult(self._volumes(found))

    def _volumes(self, found: list[PersistentVolumeClaim]) -> Volumes:
        bound = tuple(each for each in found if is_fully_bound(each))
        delayed = tuple(each for each in found if self._waits(each))
        return Volumes(self.handle.cluster, PodClaims(bound, delayed), self.handle.gates)

    def _claims(self, pod: Pod) -> list[PersistentVolumeClaim]:
        claims = (find_claim(self.handle.cluster.catalog, pod, name) for name in mounted_claims(pod))
        return [claim for claim in claims if claim is not None]

    def _waits(self, claim: PersistentVolumeClaim) -> bool:
        unbound = not is_fully_bound(claim) and not claim.spec.volume_name
        return unbound and waits_for_consumer(claim, self.handle.cluster.catalog)

    def filter(self, state: Volumes | None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        found = self._claims(pod.pod)
        if any(not is_fully_bound(each) and not self._waits(each) for each in found):
            problem = error(VolumeBindingReasons.immediate())
            return Verdict.of_all(len(nodes), problem)
        # A profile may leave out PreFilter. Then there is no state.
        return super().filter(state or self._volumes(found), pod, nodes)
