"""Pods that are new to a cluster: how old they are, what comes with them, and whether they are let in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from ksched_cli.api.core import Pod
from ksched_cli.api.defaults import default_claim
from ksched_cli.api.pod_facts import parse_time
from ksched_cli.api.resource import ResourceClaim, ResourceClaimTemplate
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.sources.admission.chain import Refused, admit
from ksched_cli.sources.admission.storage_class import admit_storage_class
from ksched_cli.sources.controllers.claims import ephemeral_claims, templated_claims
from ksched_cli.sources.controllers.made import Made
from ksched_cli.sources.loaded import Loaded


def unpack(cluster: Loaded, made: Made) -> list[Pod]:
    """With what they came with put into the cluster."""
    cluster.warnings += made.notes
    for each in made.objects:
        if isinstance(each, PersistentVolumeClaim):
            add_claim(cluster, each)
        else:
            cluster.put(each)
    return made.pods


def date(pods: Iterable[Pod], before: Iterable[Pod]) -> None:
    """New pods are younger than all that are there, and each a second younger than the one made before it, so that
    pods of equal priority are tried in the order of their making."""
    stamps = (pod.metadata.creation_timestamp for pod in before)
    newest = max((parse_time(stamp) for stamp in stamps if stamp), default=0.0)
    begin = datetime.fromtimestamp(int(newest), UTC)
    for number, pod in enumerate(pods, start=1):
        made = begin + timedelta(seconds=number)
        pod.metadata.creation_timestamp = made.strftime("%Y-%m-%dT%H:%M:%SZ")


def add_claim(cluster: Loaded, claim: PersistentVolumeClaim) -> None:
    """A claim that is there already is as it is: its volume is not let go."""
    if not cluster.has(claim):
        admit_storage_class(claim, cluster.of(StorageClass))
        default_claim(claim)
        cluster.put(claim)
        _warn_of_immediate_binding(cluster, claim)


def _warn_of_immediate_binding(cluster: Loaded, claim: PersistentVolumeClaim) -> None:
    """The volume controller would be at it before the scheduler looks; what comes of that nobody knows here."""
    name = claim.spec.storage_class_name
    modes = {each.metadata.name: each.volume_binding_mode for each in cluster.of(StorageClass)}
    text = f"claims of StorageClass {name} are provisioned as soon as they are made, which is not simulated: "
    text += "their pods wait for a volume"
    if modes.get(name or "") == "Immediate" and not claim.spec.volume_name and text not in cluster.warnings:
        cluster.warnings.append(text)


def let_in(cluster: Loaded, pods: Sequence[Pod]) -> list[Refused]:
    """Through admission; those that pass it are in the cluster, and the others are returned."""
    refused = admit(pods, cluster)
    out = {id(each.pod) for each in refused}
    put_pods(cluster, [pod for pod in pods if id(pod) not in out])
    return refused


def claims_for(pod: Pod, cluster: Loaded) -> Iterator[PersistentVolumeClaim | ResourceClaim]:
    """What controllers make for a pod of its own; the cluster is left as it is."""
    for claim in ephemeral_claims(pod):
        admit_storage_class(claim, cluster.of(StorageClass))
        default_claim(claim)
        yield claim
    templates = {(each.metadata.namespace, each.metadata.name): each for each in cluster.of(ResourceClaimTemplate)}
    yield from templated_claims(pod, templates)


def put_pods(cluster: Loaded, pods: Iterable[Pod]) -> None:
    """With the claims that are made for them."""
    templates = {(each.metadata.namespace, each.metadata.name): each for each in cluster.of(ResourceClaimTemplate)}
    for pod in pods:
        cluster.put(pod)
        for claim in ephemeral_claims(pod):
            add_claim(cluster, claim)
        for device_claim in templated_claims(pod, templates):
            cluster.put(device_claim)
