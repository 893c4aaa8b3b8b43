"""The objects that were read, before they become a cluster: the value that every source returns. With it stand the
codes of problems of the input, and the labels of objects that stand for a custom resource."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.meta import controller_of
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.errors import Problem
from ksched_cli.sources.autoscalers import Autoscaler, NodeGroup
from ksched_cli.sources.events import FailedScheduling, PreemptionEvent, ScheduledPod

UNREADABLE = "KS001"
INVALID = "KS002"
DUPLICATE = "KS003"
UNKNOWN_KIND = "KS004"
REMOVED_VERSION = "KS005"
UNKNOWN_WORKLOAD = "KS006"
SKIPPED = "KS007"
NOT_RENDERED = "KS008"
UNKNOWN_NAMESPACE = "KS009"
NOTHING_CHECKED = "KS010"
NOT_RUN = "KS011"
UNKNOWN_FIELD = "KS012"
IMMUTABLE = "KS013"
STALE_BASELINE = "KS014"
APPLY_CONFLICT = "KS015"
REFUSED = "KS016"


# The annotation of a workload that stands for pods of a custom resource; its value is the group of pods.
STANDS_FOR = "ksched.dev/stands-for"


def resource_of(item: Any) -> tuple[str, str, str] | None:
    """Kind, namespace and name of the custom resource that the workload stands for."""
    metadata = item.metadata
    owner = controller_of(metadata) if STANDS_FOR in metadata.annotations else None
    return (owner.kind, metadata.namespace, owner.name) if owner is not None else None


def workload_label(item: Any) -> str:
    """The label of a workload, `Deployment shop/web`, or of its custom resource, `RayCluster ml/train (head)`."""
    resource, metadata = resource_of(item), item.metadata
    if resource is None:
        return f"{type(item).__name__} {metadata.namespace}/{metadata.name}"
    group = metadata.annotations[STANDS_FOR]
    return f"{resource[0]} {resource[1]}/{resource[2]}{f' ({group})' if group else ''}"


FieldPath = tuple[str | int, ...]
# Kind, namespace and name.
Identity = tuple[str, str, str]
K = TypeVar("K", bound=Struct)


class Origin(Struct):
    """The place of an object: its source, the first line of its document, the path in a list. `file` is the file that
    a rendered document names as its source."""

    source: str
    line: int | None = None
    path: str = ""
    file: str = ""


class WrittenObject(Struct, frozen=True):
    """A typed object, and the document that it was read from: plain values, or JSON."""

    item: Any
    written: dict[str, Any] | bytes


class Loaded(Struct):
    """Typed objects by kind, and in `unknown` the number of objects of each other kind. `gaps` are parts of admission
    that are not modelled. Manifests have `origins`, by id of the object, `texts`, by source, and `findings`, problems
    that do not end the run. `missing` are kinds that the cluster did not list, with the reason; `namespace` is that of
    the kubeconfig's context; `failures`, `bindings` and `preemptions` are events of schedulers. `assumed_namespaces`
    count as existing. `node_groups` are the nodes that autoscalers can add, `karpenter` the objects of Karpenter by
    kind. `paths_in_resources`, by id, maps a path in a workload that stands for a custom resource to the path in that
    resource. `documents` are objects as they are written: manifests, and what `kubectl apply` may write again;
    `accounts` are the service accounts, by namespace and name. `server_side` and `force_conflicts` are how manifests
    are applied, `apply_gaps` what is not known of that."""

    objects: dict[type[Struct], list[Any]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    origins: dict[int, Origin] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    server_version: str = ""
    missing: dict[str, str] = field(default_factory=dict)
    namespace: str = ""
    failures: list[FailedScheduling] = field(default_factory=list)
    bindings: list[ScheduledPod] = field(default_factory=list)
    preemptions: list[PreemptionEvent] = field(default_factory=list)
    findings: list[Problem] = field(default_factory=list)
    autoscalers: list[Autoscaler] = field(default_factory=list)
    node_groups: list[NodeGroup] = field(default_factory=list)
    karpenter: dict[type[Struct], list[Any]] = field(default_factory=dict)
    assumed_namespaces: set[str] = field(default_factory=set)
    paths_in_resources: dict[int, Callable[[FieldPath], FieldPath]] = field(default_factory=dict)
    documents: dict[Identity, WrittenObject] = field(default_factory=dict)
    accounts: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    server_side: bool = False
    force_conflicts: bool = False
    apply_gaps: list[str] = field(default_factory=list)
    _places: dict[type[Struct], dict[tuple[str, str], int]] = field(default_factory=dict)

    def add(self, item: Struct) -> None:
        self.objects.setdefault(type(item), []).append(item)

    def put(self, item: Struct) -> None:
        """Add the object, or replace the object of its name."""
        names = self._names(type(item))
        at = names.get(_name(item))
        if at is None:
            names[_name(item)] = len(names)
            self.add(item)
        else:
            self.objects[type(item)][at] = item

    def copied(self) -> Loaded:
        """A copy with its own lists of the same objects. A change of an object replaces it by a copy."""
        objects = {kind: list(items) for kind, items in self.objects.items()}
        own = replace(self, objects=objects, unknown=Counter(self.unknown), origins=dict(self.origins), _places={})
        own.warnings, own.gaps, own.apply_gaps = list(self.warnings), list(self.gaps), list(self.apply_gaps)
        own.documents, own.accounts = dict(self.documents), dict(self.accounts)
        return own

    def discard(self, kind: type[K], out: Callable[[K], bool]) -> list[K]:
        """Remove all objects of the kind for which `out` holds, and return them."""
        items: list[K] = self.objects.get(kind, [])
        gone = [item for item in items if out(item)]
        if gone:
            dropped = set(map(id, gone))
            self.objects[kind] = [item for item in items if id(item) not in dropped]
            self._places.pop(kind, None)
        return gone

    def set_all(self, kind: type[K], items: Iterable[K]) -> None:
        """Replace all objects of the kind."""
        self.objects[kind] = list(items)
        self._places.pop(kind, None)

    def named(self, kind: type[K], name: str, namespace: str = "") -> K | None:
        """The object of this kind and name."""
        at = self._names(kind).get((namespace, name))
        return None if at is None else self.objects[kind][at]

    def has(self, item: Struct) -> bool:
        """Whether there is an object of this kind and name."""
        return _name(item) in self._names(type(item))

    def _names(self, kind: type[Struct]) -> dict[tuple[str, str], int]:
        """The index of each object of the kind, by namespace and name."""
        items = self.objects.setdefault(kind, [])
        names = self._places.get(kind)
        if names is None or len(names) != len(items):
            names = self._places[kind] = {_name(item): at for at, item in enumerate(items)}
        return names

    def of(self, kind: type[K]) -> list[K]:
        return self.objects.get(kind, [])

    def with_karpenter(self, kind: type[K]) -> list[K]:
        """The objects of a kind, also of one that only Karpenter reads."""
        return self.karpenter.get(kind) or self.of(kind)

    @property
    def has_events(self) -> bool:
        return bool(self.failures or self.bindings or self.preemptions)

    def without_pending(self) -> Loaded:
        """The input without the pods that wait for a node."""
        pods = [pod for pod in self.of(Pod) if pod.spec.node_name or is_terminal(pod)]
        return replace(self, objects={**self.objects, Pod: pods}, _places={})

    def others(self) -> Iterator[Any]:
        """All objects except nodes and pods, for which the cache has its own tables."""
        for kind, items in self.objects.items():
            if kind not in (Node, Pod):
                yield from items

    def assume_namespaces(self) -> None:
        """Let every namespace of an object count as existing."""
        names = (item.metadata.namespace for items in self.objects.values() for item in items)
        self.assumed_namespaces.update(filter(None, names))

    def kinds(self) -> Counter[str]:
        """The number of objects of each kind, also of kinds that are not read."""
        found = Counter({kind.__name__: len(items) for kind, items in self.objects.items() if items})
        for name, count in self.unknown.items():
            found[name.rpartition("/")[2]] += count
        return found

    def __len__(self) -> int:
        return sum(len(items) for items in self.objects.values())


def _name(item: Any) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name
