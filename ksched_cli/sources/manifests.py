"""Manifests (`-f`) laid over a cluster: what `kubectl apply` and the controllers after it would bring about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, BinaryIO

from msgspec import Struct

from ksched_cli.api.core import Namespace, Node, Pod
from ksched_cli.api.kinds import CLUSTER_SCOPED
from ksched_cli.api.meta import metadata_of
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.admission.chain import Refused
from ksched_cli.sources.admission.gaps import admission_gaps
from ksched_cli.sources.arrivals import add_claim, date, let_in, unpack
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.controllers.expand import WORKLOADS, expand
from ksched_cli.sources.controllers.naming import generated, uid_of
from ksched_cli.sources.controllers.problems import workload_complaints
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.validate import Complaint

# There in every cluster, whether the input names them or not.
_BUILT_IN_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class _New:
    """Objects that no API server has seen yet."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._names: set[str] = set()

    def complete(self, item: Struct) -> None:
        """rest.FillObjectMetaSystemFields: a name where only its beginning is given. And kubectl's namespace."""
        metadata = metadata_of(item)
        if type(item) not in CLUSTER_SCOPED:
            metadata.namespace = metadata.namespace or self._namespace
        if not metadata.name and metadata.generate_name:
            attempts = (
                generated(metadata.generate_name, metadata.namespace, attempt) for attempt in count(len(self._names))
            )
            metadata.name = next(name for name in attempts if name not in self._names)
            self._names.add(metadata.name)

    def complaints(self, item: Struct) -> Iterator[Complaint]:
        if not metadata_of(item).name and not isinstance(item, Pod):
            yield "metadata.name", f"a {type(item).__name__} needs a name"
        yield from workload_complaints(item)


def load_manifests(
    paths: Sequence[str], stdin: BinaryIO | None = None, namespace: str = "", objects: Sequence[Any] = ()
) -> Loaded:
    """Files, directories and `-`, with where each object was read; `namespace` is for those that name none. URLs are
    refused: a manifest does not come from a network."""
    urls = [path for path in paths if "://" in path]
    if urls:
        raise InputError(Problem("URLs are not read", url, hint="download it and give the file") for url in urls)
    return load_dump(paths, stdin, _New(namespace), objects=objects)


def apply(cluster: Loaded, manifests: Loaded) -> list[Refused]:
    """Put the manifests into the cluster, with the pods that their controllers make. Pods that admission refuses are
    left out and returned."""
    put_objects(cluster, manifests)
    pods = _new_pods(cluster, manifests)
    cluster.gaps += admission_gaps(cluster, {pod.metadata.namespace for pod in pods})
    return let_in(cluster, pods)


def put_objects(cluster: Loaded, manifests: Loaded) -> None:
    """Put everything but pods into the cluster; workloads as they are written, with no pods made of them."""
    _check_namespaces(cluster, manifests)
    for item in in_order(manifests):
        if not isinstance(item, Pod | PersistentVolumeClaim):
            cluster.put(item)
    cluster.unknown.update(manifests.unknown)
    cluster.warnings += manifests.warnings
    for claim in manifests.of(PersistentVolumeClaim):
        add_claim(cluster, claim)


def in_order(manifests: Loaded) -> list[Any]:
    """Everything in the order of the files."""
    order = {identity: number for number, identity in enumerate(manifests.origins)}
    items = (item for items in manifests.objects.values() for item in items)
    return sorted(items, key=lambda item: order[id(item)])


def _check_namespaces(cluster: Loaded, manifests: Loaded) -> None:
    """NamespaceLifecycle. An input without namespaces does not know which there are."""
    if not cluster.of(Namespace):
        return
    known = {each.metadata.name for each in (*cluster.of(Namespace), *manifests.of(Namespace))}
    known.update(_BUILT_IN_NAMESPACES)
    problems = []
    for item in in_order(manifests):
        namespace = item.metadata.namespace
        if type(item) not in CLUSTER_SCOPED and namespace not in known:
            origin = manifests.origins[id(item)]
            problems.append(
                Problem(
                    f'there is no namespace "{namespace}"',
                    origin.source,
                    origin.line,
                    f"{type(item).__name__} {namespace}/{item.metadata.name}: metadata.namespace",
                    "add a Namespace to the manifests",
                )
            )
    if problems:
        raise InputError(problems)


def _new_pods(cluster: Loaded, manifests: Loaded) -> list[Pod]:
    """Pods of the manifests and of their workloads, in the order of their making."""
    existing = Existing((*cluster.of(Pod), *manifests.of(Pod)), cluster.of(ReplicaSet), cluster.of(Node))
    running = {_key(pod): pod.spec.node_name for pod in cluster.of(Pod) if pod.spec.node_name}
    pods: list[Pod] = []
    for item in in_order(manifests):
        if isinstance(item, WORKLOADS):
            pods += unpack(cluster, expand(item, existing))
        elif isinstance(item, Pod) and (node := running.get(_key(item))) is not None:
            text = f"pod {item.metadata.namespace}/{item.metadata.name} is on node {node} already: it stays there"
            cluster.warnings.append(text)
        elif isinstance(item, Pod):
            item.metadata.uid = item.metadata.uid or uid_of("Pod", item.metadata.namespace, item.metadata.name)
            pods.append(item)
    date(pods, cluster.of(Pod))
    return pods


def _key(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name
