"""Licences: some pods run only where there is a licence for them."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.api.core import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.per_node import PerNodeFilter
from ksched_cli.framework.status import SUCCESS, Status, unresolvable


@dataclass
class LicencesArgs:
    """The label by which a pod says what it needs; the node's label of the same name says what there is."""

    label: str = "licence"

    def __post_init__(self) -> None:
        if not self.label:
            raise ValueError("label must not be empty")


class Licences(PerNodeFilter):
    name = "Licences"
    summary = "Rejects nodes without the licence that the pod needs."
    args_model = LicencesArgs
    args: LicencesArgs

    def filter_one(self, info: PodInfo, node: Node) -> Status:
        wanted = info.labels.get(self.args.label)
        if wanted is None or node.metadata.labels.get(self.args.label) == wanted:
            return SUCCESS
        return unresolvable(f"node(s) had no licence for {wanted}")
