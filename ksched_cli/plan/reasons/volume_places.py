"""Where the volumes of a pod's claims are, by the labels and the node affinity of each volume: in zones, or on nodes.

kube-scheduler only reports that nodes do not reach a volume. A place that no node of the cluster is in needs a node, or
the data elsewhere: no change of the pod helps. An affinity to other labels has no words here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.cluster.catalog import mounted_claims

_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_HOST = "kubernetes.io/hostname"
# A volume in several zones has them in one label.
_SEPARATOR = "__"


class VolumePlace(Struct, frozen=True):
    """A volume is in one of these zones, or on one of these nodes. `is_empty`: no node of the cluster is there."""

    volume: str
    claim: str
    noun: str
    names: tuple[str, ...]
    is_empty: bool

    def __str__(self) -> str:
        where = f"{'in' if self.noun == 'zone' else 'on'} {self.noun} {' or '.join(self.names)}"
        text = f"volume {self.volume} of claim {self.claim} is {where}"
        if not self.is_empty:
            return text
        if self.noun == "zone":
            return f"{text}, without nodes: add a node there, or move the data"
        return f"{text}, which the cluster does not have: bring the node back, or move the data"


def volume_places(pod: Pod, get: Callable[..., Any], nodes: Sequence[Node]) -> Iterator[VolumePlace]:
    """The places of the volumes that the claims of the pod are bound to. `get` returns the object of a kind, name and
    namespace, or None."""
    for name in dict.fromkeys(mounted_claims(pod)):
        claim = get(PersistentVolumeClaim, name, pod.metadata.namespace)
        bound = claim.spec.volume_name if claim is not None and claim.metadata.deletion_timestamp is None else ""
        volume = get(PersistentVolume, bound, "") if bound else None
        if volume is None:
            continue
        zones, hosts = _affine(volume, "zone"), _affine(volume, _HOST)
        # Nodes may have the label of the volume's driver only.
        of_nodes = {node.metadata.labels.get(key) for node in nodes for key in (*_ZONES, *zones)}
        names = set(zones_of(volume))
        if names and (not hosts or names.isdisjoint(of_nodes)):
            yield VolumePlace(bound, name, "zone", tuple(sorted(names)), names.isdisjoint(of_nodes))
        elif hosts:
            wanted = set(chain.from_iterable(hosts.values()))
            there = wanted & {node.metadata.labels.get(key, "") for node in nodes for key in hosts}
            yield VolumePlace(bound, name, "node", tuple(sorted(there or wanted)), not there)


def zones_of(volume: PersistentVolume) -> list[str]:
    """The zone of a volume by its label or by its node affinity; several if it may be in each."""
    labels = volume.metadata.labels
    by_label = next((labels[key].split(_SEPARATOR) for key in _ZONES if key in labels), [])
    return [*by_label, *chain.from_iterable(_affine(volume, "zone").values())]


def _affine(volume: PersistentVolume, part: str) -> dict[str, list[str]]:
    """The values that the node affinity of the volume wants of each label with this part in its name."""
    found: dict[str, list[str]] = {}
    required = volume.spec.node_affinity.required if volume.spec.node_affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for each in term.match_expressions:
            if each.operator == "In" and part in each.key:
                found.setdefault(each.key, []).extend(each.values)
    return found
