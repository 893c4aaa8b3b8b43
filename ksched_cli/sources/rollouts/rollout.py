"""A workload on its way from what runs to what its manifest asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import is_terminal


@dataclass(eq=False, slots=True)
class Member:
    """A pod of a workload. `revision` tells which of the workload's templates it was made of; `fresh`: made in this
    rollout. A pod that is placed is taken to become available."""

    pod: Pod
    revision: str = ""
    node: str = ""
    available: bool = False
    leaving: bool = False
    fresh: bool = False

    @property
    def name(self) -> str:
        return self.pod.metadata.name


@dataclass(eq=False)
class Birth:
    """A pod that is to be made, and what comes with it."""

    pod: Pod
    revision: str = ""
    objects: list[Any] = field(default_factory=list)


@dataclass
class Changes:
    """What a controller does at one look: pods to make, and members that have been told to go."""

    born: list[Birth] = field(default_factory=list)
    leaving: list[Member] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)


class Cradle:
    """Pods that were made and that nobody has let in yet: they are what is tried again, not new ones."""

    def __init__(self, make: Callable[[], Birth]) -> None:
        self._make = make
        self._waiting: list[Birth] = []

    def take(self, count: int) -> list[Birth]:
        while len(self._waiting) < count:
            self._waiting.append(self._make())
        return self._waiting[: max(count, 0)]

    def leave(self, birth: Birth) -> None:
        self._waiting.remove(birth)


class Rollout(ABC):
    """A controller and its pods. `strategy` is the path of the field that says how pods are replaced."""

    strategy: Sequence[str] = ()

    def __init__(self, item: Any, members: Iterable[Member] = ()) -> None:
        self.item = item
        # As it is written: `item` may have been completed from what the cluster has.
        self.manifest = item
        self.members = list(members)
        # What there is to say: of the workload, of what keeps pods from being made, and of the input.
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.doubts: list[str] = []

    @abstractmethod
    def sync(self) -> Changes:
        """One look of the controller at the cluster as it is now."""

    @property
    @abstractmethod
    def wanted(self) -> int:
        """How many pods there are to be in the end."""

    @abstractmethod
    def outdated(self) -> list[Member]:
        """Pods that have yet to be replaced or removed."""

    def join(self, birth: Birth) -> Member:
        """The API server has let the pod in."""
        member = Member(birth.pod, birth.revision, fresh=True)
        self.members.append(member)
        return member

    def part(self, member: Member) -> None:
        """The pod is gone."""
        self.members.remove(member)

    @property
    def manner(self) -> str:
        """How pods are replaced, with shares in numbers: `maxSurge 1, maxUnavailable 0`."""
        return ""

    @property
    def kind(self) -> str:
        return type(self.item).__name__

    @property
    def label(self) -> str:
        """`Deployment shop/web`."""
        return f"{self.kind} {self.item.metadata.namespace}/{self.item.metadata.name}"

    def staying(self) -> list[Member]:
        return [member for member in self.members if not member.leaving]

    def missing(self) -> int:
        """Pods that are to be and have not been made."""
        return max(self.wanted - len(self.staying()), 0)

    @property
    def finished(self) -> bool:
        """Everything is as the manifest says, and available."""
        return not self.outdated() and not self.missing() and all(member.available for member in self.members)


def members_of(pods: Iterable[Pod], revision: str = "") -> list[Member]:
    """Pods of the cluster, those that have finished left out."""
    return [
        Member(
            pod,
            revision,
            pod.spec.node_name,
            available=is_available(pod),
            leaving=pod.metadata.deletion_timestamp is not None,
        )
        for pod in pods
        if not is_terminal(pod)
    ]


def is_available(pod: Pod) -> bool:
    """IsPodAvailable, with no regard to minReadySeconds. A dump without conditions says nothing against a pod that
    has a node."""
    if not pod.spec.node_name or pod.status.phase == "Pending":
        return False
    ready = [each.status for each in pod.status.conditions if each.type == "Ready"]
    return not ready or ready[0] == "True"
