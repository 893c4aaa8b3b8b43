"""Claims that the pods of a group share: they are reserved for the PodGroup (gate DRAWorkloadResourceClaims)."""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli.api.core import Pod
from ksched_cli.api.dynamic_resources import (
    ResourceClaim,
    ResourceClaimConsumerReference,
    consumer_group,
    consumer_pod,
    is_controlled_by_group,
    is_reserved_for,
    unreserved,
)
from ksched_cli.api.policy import PodGroup, PodGroupResourceClaim
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.pod_groups import GroupKey, PodGroups
from ksched_cli.plugins.lib.devices.claims import ClaimError, claim_name
from ksched_cli.plugins.lib.devices.reasons import DeviceReasons


class GroupClaims:
    """The bindings of one cluster; where it is not `enabled`, every claim is reserved for the pod."""

    def __init__(self, catalog: Catalog, *, enabled: bool) -> None:
        self._catalog = catalog
        self._enabled = enabled

    def group_of(self, pod: Pod) -> str:
        """The name of the pod group whose claims the pod may use, or an empty string."""
        named = pod.spec.scheduling_group if self._enabled else None
        return (named.pod_group_name or "") if named else ""

    def check(self, pod: Pod) -> None:
        """podResourceClaimBindings: ClaimError if the group of a pod with claims does not exist."""
        if pod.spec.resource_claims:
            self._get(pod)

    def _get(self, pod: Pod) -> PodGroup | None:
        name = self.group_of(pod)
        if not name:
            return None
        group = self._catalog.get(PodGroup, name, pod.metadata.namespace)
        if group is None:
            raise ClaimError(DeviceReasons.group_missing(group=name))
        return group

    def consumer(self, pod: Pod, claim: ResourceClaim) -> ResourceClaimConsumerReference:
        """resourceclaim.BindTo: the group if it lists the claim exactly as the pod does, else the pod."""
        group = self._get(pod)
        for reference in pod.spec.resource_claims if group else ():
            same = PodGroupResourceClaim(
                reference.name, reference.resource_claim_name, reference.resource_claim_template_name
            )
            if group and same in group.spec.resource_claims and claim_name(pod, reference)[0] == claim.metadata.name:
                return consumer_group(group.metadata.name, group.metadata.uid)
        return consumer_pod(pod)

    def unreserve(self, pod: Pod, members: PodGroups) -> bool:
        """unreservePodGroupClaims: whether a claim of a group without a pod on a node was taken from the group."""
        name = self.group_of(pod)
        if not name or members.bound(GroupKey(pod.metadata.namespace, name)):
            return False
        for claim, uid in self._claims_of_group(pod):
            if claim.status.allocation is not None and is_reserved_for(claim, pod, name):
                self._catalog.put(unreserved(claim, uid))
                return True
        return False

    def _claims_of_group(self, pod: Pod) -> Iterator[tuple[ResourceClaim, str]]:
        """The claims of the pod's group that exist, each with the uid of the group."""
        group = self._get(pod)
        if group is None:
            return
        made = {each.name: each.resource_claim_name for each in group.status.resource_claim_statuses}
        for reference in group.spec.resource_claims:
            name = reference.resource_claim_name or made.get(reference.name)
            claim = self._catalog.get(ResourceClaim, name, group.metadata.namespace) if name else None
            if claim is None:
                continue
            if reference.resource_claim_name is not None or is_controlled_by_group(claim, group.metadata.name):
                yield claim, group.metadata.uid
