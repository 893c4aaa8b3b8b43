# Generated from the files of whatif/edits by UPDATE_GOLDEN=1 pytest tests/whatif/test_edit_specs.py
import collections.abc
import os
import typing
from typing import Self

import ksched_cli.api.core

class EditMethods:
    def add_node(
        self,
        template: str | os.PathLike[str] | collections.abc.Mapping[str, typing.Any] | ksched_cli.api.core.Node,
        count: int = 1,
    ) -> Self:
        """Add so many nodes like the template: a file, a document, a Node, or words such as
        `cpu=4,memory=16Gi,zone=a`."""
    def clone_node(self, node: str, count: int = 1) -> Self:
        """Add so many new and empty nodes of the same make as a node of the cluster."""
    def remove_node(self, *nodes: str) -> Self:
        """Remove a node. Controllers create new pods for its pods; pods without a controller are deleted for good."""
    def uncordon(self, *nodes: str) -> Self:
        """Mark a node schedulable."""
    def cordon(self, *nodes: str) -> Self:
        """Mark a node unschedulable."""
    def label(self, node: str, key: str, value: str | None) -> Self:
        """Set the label to this value; None removes it."""
    def taint(self, node: str, taint: str) -> Self:
        """`KEY[=VALUE]:EFFECT` sets a taint, `KEY[:EFFECT]-` removes it."""
    def drain(self, *nodes: str) -> Self:
        """Cordon a node and evict its pods, as kubectl drain --ignore-daemonsets --force --delete-emptydir-data
        does: pods of DaemonSets and mirror pods stay. A PodDisruptionBudget can refuse an eviction."""
    def delete(self, *objects: str) -> Self:
        """Delete these objects, `KIND/NAME` or `KIND/NAMESPACE/NAME`, with the objects that belong to them."""
    def hpa(self, bound: str) -> Self:
        """Put every workload with a HorizontalPodAutoscaler or a KEDA ScaledObject at its bound, `min` or `max`."""
    def scale(self, workload: str, replicas: int) -> Self:
        """Set the number of replicas of a workload, `KIND/NAME` or `KIND/NAMESPACE/NAME`."""
