"""What a room declares about the rejections of its plugin: texts of `explain`, and changes that may end a rejection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.api.json_patch import Operation, PodPatch
from ksched_cli.framework.reasons import Reason

# What FilterPlugin.explain returned for one node.
Figures = Mapping[str, Any]

# A change of the pod or of the cluster. Rooms hand changes on and never look into them.
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)


class RejectedPod(Protocol[C_co]):
    """The pod, the node that rejects it, and the changes that can be made to both."""

    @property
    def pod(self) -> Pod: ...

    @property
    def node(self) -> Node: ...

    @property
    def cordoned(self) -> bool: ...

    def patch(self, text: str, kind: str, cost: float, *operations: Operation) -> C_co:
        """A change of the pod. Changes of one `kind` differ only by the node that they are for."""

    def uncordon(self) -> C_co: ...

    def untaint(self, taint: Taint) -> C_co: ...

    def tolerate(self, taint: Taint) -> C_co: ...

    def label(self, key: str, value: str) -> C_co: ...

    def remove(self, pods: set[str]) -> Sequence[C_co]:
        """One change that makes the only pod leave; none for several pods, which are no small change."""

    def make_room(self, short: Mapping[str, int]) -> Sequence[C_co]:
        """Changes each of which frees so much of each resource on the node."""


class RejectionGuide:
    """What `explain`, `check` and the search for fixes read about a rejection of one node. `easily_mended` is on where
    a small change may end the rejection, `cordons` and `closes_node` where the node takes no such pods for now, and
    `ends_without_pods` where no empty node rejects the pod."""

    easily_mended = cordons = closes_node = ends_without_pods = False

    def describe(self, figures: Figures) -> str:
        """One line with the numbers; an empty string where the reasons themselves are best."""
        return ""

    def describe_briefly(self, figures: Figures) -> str:
        """The same without the names of other pods."""
        return ""

    def describe_nodes(self, figures: Sequence[Figures]) -> str:
        """One line for several nodes with the same problems; an empty string where the problems themselves are best."""
        texts = set(map(self.describe_briefly, figures))
        return texts.pop() if len(texts) == 1 else ""

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        """Predicates for a count of nodes: `lack cpu`."""
        return (reason.problem for reason in reasons)

    def shortage(self, figures: Figures) -> float:
        """How far the node is from taking the pod, beside other nodes with such a rejection."""
        return 1.0

    def is_other_kind_of_node(self, reasons: Sequence[Reason], *, unresolvable: bool) -> bool:
        """Whether the pod wants nodes of another kind."""
        return False

    def describe_limits(self, figures: Figures) -> str:
        """What the pod requests and the node does not have even if it is empty, as a sentence; empty without such."""
        return ""

    def ends_on_empty_node(self, figures: Figures) -> bool:
        """Whether a new empty node with the same labels and size would not reject the pod."""
        return self.ends_without_pods

    def let_in(self, pod: Pod) -> PodPatch | None:
        """The change with which PreEnqueue no longer holds the pod back."""
        return None

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        """Changes that together may end the rejection, one way after the other; each is tried before it is shown."""
        return iter(())
