"""The API server's side of a rollout: it lets pods in or refuses them, and counts what is used of quotas."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import parse_time
from ksched_cli.api.resource import ResourceClaimTemplate
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.sources.admission.chain import Chain
from ksched_cli.sources.admission.gaps import admission_gaps
from ksched_cli.sources.arrivals import add_claim
from ksched_cli.sources.controllers.claims import ephemeral_claims, templated_claims
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.rollouts.rollout import Birth, Member


class ApiServer:
    """`cluster` is what was read, with the manifests laid over it. New claims are kept there too."""

    def __init__(self, cluster: Loaded, namespaces: Iterable[str]) -> None:
        self._cluster = cluster
        self._chain = Chain(cluster)
        self._templates = {
            (each.metadata.namespace, each.metadata.name): each for each in cluster.of(ResourceClaimTemplate)
        }
        stamps = (pod.metadata.creation_timestamp for pod in cluster.of(Pod))
        newest = max((parse_time(stamp) for stamp in stamps if stamp), default=0.0)
        self._clock = datetime.fromtimestamp(int(newest), UTC)
        self._uids = {pod.metadata.uid for pod in cluster.of(Pod)}
        cluster.gaps += admission_gaps(cluster, set(namespaces))

    def refusal(self, birth: Birth) -> tuple[str, str]:
        """Which admission refuses the pod and why; two empty strings where it is let in, filled in and dated."""
        plugin, message = self._chain.first_refusal(birth.pod)
        if not message:
            self._date(birth.pod)
        return plugin, message

    def objects(self, birth: Birth) -> list[Any]:
        """What comes with a pod that was let in: claims that are there already stay as they are."""
        others: list[Any] = [each for each in birth.objects if not isinstance(each, PersistentVolumeClaim)]
        claims = [each for each in birth.objects if isinstance(each, PersistentVolumeClaim)]
        for claim in (*claims, *ephemeral_claims(birth.pod)):
            if not self._cluster.has(claim):
                add_claim(self._cluster, claim)
                others.append(claim)
        return [*others, *templated_claims(birth.pod, self._templates)]

    def _date(self, pod: Pod) -> None:
        """Each pod is a second younger than the one before it. One that comes back is not the one that it was."""
        self._clock += timedelta(seconds=1)
        metadata = pod.metadata
        metadata.creation_timestamp = self._clock.strftime("%Y-%m-%dT%H:%M:%SZ")
        again = 0
        while metadata.uid in self._uids:
            again += 1
            metadata.uid = uid_of("Pod", metadata.namespace, f"{metadata.name}#{again}")
        self._uids.add(metadata.uid)

    def gone(self, pod: Pod) -> None:
        self._chain.release(pod)

    def would_admit(self, pod: Pod, without: Iterable[Member]) -> bool:
        """Whether the pod would be let in if these others were not there."""
        others = [member.pod for member in without]
        for other in others:
            self._chain.release(other)
        twin = copied(pod)
        fits = not self._chain.first_refusal(twin)[1]
        if fits:
            self._chain.release(twin)
        for other in others:
            self._chain.quota_refusal(other)
        return fits
