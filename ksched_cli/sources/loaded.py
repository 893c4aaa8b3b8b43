"""The objects that were read, before they become a cluster: the value that every source returns.

With it are the codes of problems of the input, the labels of objects that stand for a custom resource, and what scales:
the bounds of workloads (HorizontalPodAutoscalers, KEDA ScaledObjects) and the groups of nodes of Cluster API, which
cluster-autoscaler enlarges. Metrics are not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.conversion import type_name
from ksched_cli.api.core import Node, Pod, Taint, controller_of
from ksched_cli.api.decode import UnknownKind, document_of, plain_document
from ksched_cli.api.object_facts import waits_for_node
from ksched_cli.api.validation.fields import object_at
from ksched_cli.api.workloads import Deployment
from ksched_cli.errors import Problem
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.releases.served_versions import ServerRules

if TYPE_CHECKING:
    from ksched_cli.sources.events import FailedScheduling, PreemptionEvent, ScheduledPod


class Autoscaler(Struct, frozen=True):
    """The bounds of the workload that it scales. KEDA scales idle workloads to zero. `target_version` is the apiVersion
    of the target, and `described` are those of the objects of metrics."""

    name: str
    namespace: str
    target_kind: str
    target_name: str
    least: int
    most: int
    is_keda: bool = False
    target_version: str = ""
    described: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        kind = "ScaledObject" if self.is_keda else "HorizontalPodAutoscaler"
        return f"{kind} {self.namespace}/{self.name}"

    def within(self, replicas: int) -> int:
        """The number of replicas within the bounds. The autoscaler is disabled at 0 replicas."""
        if not replicas:
            return replicas
        return min(max(replicas, self.least), self.most)


def autoscaler_of(unknown: UnknownKind, namespace: str) -> Autoscaler | None:
    """The autoscaler in the object, or None. `namespace` is for objects that name none."""
    group = unknown.api_version.partition("/")[0]
    if (unknown.kind, group) not in (("HorizontalPodAutoscaler", "autoscaling"), ("ScaledObject", "keda.sh")):
        return None
    document = document_of(unknown)
    metadata, spec = object_at(document, "metadata"), object_at(document, "spec")
    target = object_at(spec, "scaleTargetRef")
    where = str(metadata.get("namespace") or namespace)
    names = (str(metadata.get("name") or ""), where, str(target.get("kind") or "Deployment"), str(target.get("name")))
    is_keda = unknown.kind == "ScaledObject"
    least, most = (_number(spec, name, default) for name, default in _BOUNDS[is_keda])
    objects = [object_at(each, "object", "describedObject") for each in _list(spec, "metrics")]
    described = tuple(str(each.get("apiVersion") or "") for each in objects if each)
    return Autoscaler(*names, least, most, is_keda, str(target.get("apiVersion") or ""), described)


def wrong_bounds(unknown: UnknownKind, autoscaler: Autoscaler) -> Iterator[tuple[str, str]]:
    """The paths of bounds that the API server or KEDA refuses, each with the mistake
    (validateHorizontalPodAutoscalerSpec)."""
    spec = object_at(document_of(unknown), "spec")
    (least, _), (most, _) = _BOUNDS[autoscaler.is_keda]
    wrong = [name for name in (least, most) if not _is_number(spec.get(name))]
    yield from ((f"spec.{name}", f"expected a whole number, got {type_name(spec[name])}") for name in wrong)
    if wrong:
        return
    if autoscaler.least < 0:
        yield f"spec.{least}", f"Invalid value: {autoscaler.least}: must be greater than or equal to 0"
    if autoscaler.most < 1:
        yield f"spec.{most}", f"Invalid value: {autoscaler.most}: must be greater than 0"
    elif autoscaler.most < autoscaler.least:
        yield f"spec.{most}", f"Invalid value: {autoscaler.most}: must be greater than or equal to `{least}`"


# The fields of the bounds with their defaults, without KEDA and with it. maxReplicas has no default.
_BOUNDS = (("minReplicas", 1), ("maxReplicas", 0)), (("minReplicaCount", 0), ("maxReplicaCount", 100))


def _number(spec: Mapping[str, Any], name: str, default: int) -> int:
    value = spec.get(name)
    return value if value is not None and _is_number(value) else default


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
_MOST = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
# The annotations of scale from zero, and the resources that they name.
_RESOURCES = {"cpu": "cpu", "memory": "memory", "ephemeral-disk": "ephemeral-storage", "maxPods": "pods"}
_ZONE = "topology.kubernetes.io/zone"
_TYPE = "node.kubernetes.io/instance-type"


class NodeGroup(Struct, frozen=True):
    """A group of nodes that an autoscaler enlarges. `types` are the instance types that it allows; without `resources`
    a catalog must have their sizes. `most` is the number of nodes that it may add."""

    name: str
    types: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    resources: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    most: int | None = None
    spot: bool = False


# Karpenter's flags that decide (pkg/operator/options). An environment variable sets a flag that is not given.
_FLAGS = ("preference-policy", "min-values-policy", "feature-gates", "ignore-dra-requests")


def is_karpenter(item: Deployment) -> bool:
    """Whether the Deployment runs Karpenter, as its Helm chart labels it."""
    return item.metadata.labels.get("app.kubernetes.io/name", item.metadata.name) == "karpenter"


# Flags of kube-apiserver that decide which addresses and ports services may have.
NODE_PORT_FLAG, ADDRESS_FLAG = "service-node-port-range", "service-cluster-ip-range"
_DEFAULTS = {NODE_PORT_FLAG: "30000-32767"}


def is_api_server(item: Pod) -> bool:
    """Whether the pod is a kube-apiserver, as kubeadm labels its static pods."""
    return item.metadata.namespace == "kube-system" and item.metadata.labels.get("component") == "kube-apiserver"


def flags_of_api_server(document: Any) -> dict[str, str]:
    """The flags that decide about services in the command of a pod; a command without them has the defaults."""
    words = [word for each in _list(object_at(plain_document(document), "spec"), "containers") for word in _words(each)]
    is_shown = any(word.startswith("--") for word in words)
    return {**_DEFAULTS, **_flags(words, (NODE_PORT_FLAG, ADDRESS_FLAG))} if is_shown else {}


def flags_of_karpenter(document: Any) -> dict[str, str]:
    """The flags in the arguments and the environment of the containers of a Deployment. Values that come from other
    objects are not known."""
    spec = object_at(plain_document(document), "spec", "template", "spec")
    by_environment = {
        str(each.get("name")).lower().replace("_", "-"): each["value"]
        for container in _list(spec, "containers")
        for each in _list(container, "env")
        if isinstance(each.get("value"), str)
    }
    words = [word for each in _list(spec, "containers") for word in (*_words(each), "")]
    return {flag: each for flag, each in by_environment.items() if flag in _FLAGS} | _flags(words, _FLAGS)


def _words(container: Mapping[str, Any]) -> list[str]:
    """The words of a container's command."""
    lists = (container.get(key) for key in ("command", "args"))
    return [word for each in lists if isinstance(each, list) for word in each if isinstance(word, str)]


def _flags(words: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """The values of these flags."""
    found: dict[str, str] = {}
    for word, after in pairwise((*words, "")):
        flag, sign, value = word.lstrip("-").partition("=")
        if word.startswith("-") and flag in known:
            found[flag] = value if sign else after
    return found


def node_group_of(unknown: UnknownKind) -> NodeGroup | None:
    """The node group of Cluster API in the object, or None. Those of Karpenter are typed (`api.karpenter`)."""
    kind, group = unknown.kind, unknown.api_version.partition("/")[0]
    if group != "cluster.x-k8s.io" or kind not in ("MachineDeployment", "MachineSet", "MachinePool"):
        return None
    document = document_of(unknown)
    metadata, spec = object_at(document, "metadata"), object_at(document, "spec")
    notes = _texts(object_at(metadata, "annotations"))
    resources = {name: notes[_CAPACITY + key] for key, name in _RESOURCES.items() if _CAPACITY + key in notes}
    if "cpu" not in resources or "memory" not in resources:
        return None
    gpu = notes.get(f"{_CAPACITY}gpu-type")
    if gpu and f"{_CAPACITY}gpu-count" in notes:
        resources[gpu] = notes[f"{_CAPACITY}gpu-count"]
    labels = dict(_pairs(notes.get(f"{_CAPACITY}labels", "")))
    zone = labels.pop(_ZONE, "")
    current = spec.get("replicas")
    most = int(notes[_MOST]) if re.fullmatch("[0-9]{1,9}", notes.get(_MOST, "")) else None
    if most is not None and isinstance(current, int):
        most = max(most - current, 0)
    taints = tuple(_taint(each) for each in notes.get(f"{_CAPACITY}taints", "").split(",") if each.strip())
    name, kind_of_node = str(metadata.get("name") or ""), labels.pop(_TYPE, "")
    types, zones = ((kind_of_node,) if kind_of_node else ()), ((zone,) if zone else ())
    return NodeGroup(name, types, zones, resources, labels, taints, most)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for each in text.split(","):
        key, found, value = each.strip().partition("=")
        if key and found:
            yield key, value


def _taint(text: str) -> Taint:
    """The taint of `key=value:Effect`."""
    pair, _, effect = text.strip().rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key, value, effect)


def _list(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = value.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _texts(value: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(each) for key, each in value.items() if isinstance(each, str | int | float)}


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
        return f"{type(item).__name__} {f'{metadata.namespace}/' if metadata.namespace else ''}{metadata.name}"
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

    @property
    def document(self) -> dict[str, Any]:
        """The document as plain values."""
        return plain_document(self.written)


class Loaded(Struct):
    """Typed objects by kind, and in `unknown` the number of objects of each other kind. `gaps` are parts of
    admission that are not modelled. Manifests have `origins`, by id of the object, `texts`, by source, and
    `findings`, problems that do not end the run. `missing` are kinds that the cluster did not list, with the
    reason; `namespace` is that of the kubeconfig's context; `failures`, `bindings` and `preemptions` are events of
    schedulers. `assumed_namespaces` count as existing. `node_groups` are those of Cluster API,
    `karpenter` the objects of Karpenter by kind, `autoscaler_flags` the flags of its Deployment.
    `paths_in_resources`, by id, maps a path in a workload that stands for a custom resource to the path in that
    resource. `documents` are objects as they are written: manifests, and what `kubectl apply` may write again;
    `accounts` are the service accounts, by namespace and name, `service_ranges` the ServiceCIDRs by name,
    `api_server_flags` the flags of kube-apiserver that its pod shows.
    `server_side` and `force_conflicts` are how manifests are applied, `rules` those of the API server, `apply_gaps`
    what is not known of that."""

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
    autoscaler_flags: dict[str, str] = field(default_factory=dict)
    assumed_namespaces: set[str] = field(default_factory=set)
    paths_in_resources: dict[int, Callable[[FieldPath], FieldPath]] = field(default_factory=dict)
    documents: dict[Identity, WrittenObject] = field(default_factory=dict)
    accounts: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    service_ranges: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    api_server_flags: dict[str, str] = field(default_factory=dict)
    rules: ServerRules = ServerRules(DEFAULT.minor)
    server_side: bool = False
    force_conflicts: bool = False
    apply_gaps: list[str] = field(default_factory=list)
    _places: dict[type[Struct], dict[tuple[str, str], int]] = field(default_factory=dict)

    @property
    def account_namespaces(self) -> frozenset[str]:
        """The namespaces of the service accounts. Without any, the input does not list accounts."""
        return frozenset(namespace for namespace, _ in self.accounts)

    def add(self, item: Struct) -> None:
        self.objects.setdefault(type(item), []).append(item)

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

    def get(self, kind: type[K], name: str, namespace: str = "") -> K | None:
        """The object of this kind and name."""
        at = self._names(kind).get((namespace, name))
        return None if at is None else self.objects[kind][at]

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
        pods = [pod for pod in self.of(Pod) if not waits_for_node(pod)]
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
