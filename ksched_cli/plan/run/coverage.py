"""The input and the rules that a result ignores: its `coverage`.

`MissingKinds` are the kinds that could not be read from a live cluster, and the pods whose results they could change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ksched_cli.api.core import Node, Pod, controller_of
from ksched_cli.api.object_facts import pod_key
from ksched_cli.api.workloads import CronJob, Job, PodGroup
from ksched_cli.config.model import extender_name, not_called
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import named
from ksched_cli.plan.run.loaded_input import SchedulerSpec
from ksched_cli.sources.loaded import Loaded

if TYPE_CHECKING:
    from ksched_cli.autoscale.autoscaler import Karpenter


_CLAIMS_GATE = "DynamicResourceAllocation"


def coverage_of(
    scheduler: Scheduler, loaded: Loaded, spec: SchedulerSpec, autoscaler: Karpenter | None = None
) -> dict[str, Any]:
    """The coverage before the run."""
    coverage: dict[str, Any] = {"kubeVersion": spec.release.version}
    if not spec.modelled:
        coverage["kubeVersionNotModelled"] = spec.requested
    if not spec.release.recorded:
        coverage["kubeVersionReadFromSource"] = spec.release.version
    unknown = {kind: count for kind, count in loaded.unknown.items() if autoscaler is None or not _is_read(kind)}
    if unknown:
        coverage["notRead"] = dict(sorted(unknown.items()))
    if autoscaler is not None and autoscaler.coverage:
        coverage["autoscalerAssumed"] = list(autoscaler.coverage)
    if loaded.missing:
        coverage["missing"] = dict(sorted(loaded.missing.items()))
    if loaded.gaps:
        coverage["admissionNotModelled"] = list(loaded.gaps)
    if unmeasured := autoscaler_gaps(loaded):
        coverage["autoscalersNotModelled"] = unmeasured
    if silent := _silent_nodes(loaded):
        coverage["nodesNotModelled"] = [
            f"{named(silent)}: no kubelet reports (Ready is Unknown), so that deleted pods stay Terminating; in a run "
            "the kubelet does not come back, and nothing deletes the node"
        ]
    jobs = job_gaps(loaded)
    if jobs:
        coverage["jobsNotModelled"] = jobs
    if scheduler.schedules_groups and (gangs := gang_gaps(loaded)):
        coverage["podGroupsNotModelled"] = gangs
    if scheduler.not_modelled:
        coverage["pluginsNotModelled"] = list(scheduler.not_modelled)
    if scheduler.gates_not_modelled:
        coverage["featureGatesNotModelled"] = list(scheduler.gates_not_modelled)
    if (claiming := _with_claims(loaded)) and not scheduler.handle.gates.enabled(_CLAIMS_GATE):
        version = spec.release.version
        coverage["claimsNotRead"] = [f"resourceClaims of {named(claiming)} (gate {_CLAIMS_GATE} is off in {version})"]
    if scheduler.extenders_skipped:
        coverage["extendersNotCalled"] = [extender_name(each) for each in scheduler.extenders_skipped]
        coverage["extendersCouldChange"] = [not_called(each) for each in scheduler.extenders_skipped]
    return coverage


def _silent_nodes(loaded: Loaded) -> list[str]:
    """The nodes with pods, of DaemonSets aside, whose kubelets have stopped to report. They stay so in a run."""
    silent = {
        node.metadata.name
        for node in loaded.of(Node)
        for each in node.status.conditions
        if each.status == "Unknown" and each.type == "Ready"
    }
    there = [pod for pod in loaded.of(Pod) if pod.spec.node_name in silent] if silent else []
    owners = ((pod, controller_of(pod.metadata)) for pod in there)
    found = {pod.spec.node_name for pod, owner in owners if owner is None or owner.kind != "DaemonSet"}
    return [f"node {name}" for name in sorted(found)]


def _with_claims(loaded: Loaded) -> list[str]:
    """Pods with ResourceClaims that have no node yet."""
    return [pod_key(each) for each in loaded.of(Pod) if each.spec.resource_claims and not each.spec.node_name]


def _is_read(kind: str) -> bool:
    """Whether Karpenter reads the kind, which is written as in `notRead`."""
    if "karpenter" not in kind:
        return False
    from ksched_cli.api.karpenter import karpenter_kind

    return karpenter_kind(*kind.rsplit("/", 1)) is not None


def gang_gaps(loaded: Loaded) -> list[str]:
    """What no run takes into account where there is a gang: kube-scheduler may give a pod that found no node a second
    cycle when another pod of its gang is permitted."""
    has_gang = any(each.spec.scheduling_policy.gang is not None for each in loaded.of(PodGroup))
    return ["second cycles of pods in a gang"] if has_gang else []


def job_gaps(*inputs: Loaded) -> list[str]:
    """What Jobs have that no run takes into account: pods of a run do not finish by themselves and have no exit
    codes."""
    found: dict[str, str] = {}
    for loaded in inputs:
        specs = [("Job", each.metadata, each.spec) for each in loaded.of(Job)]
        specs += [("CronJob", each.metadata, each.spec.job_template.spec) for each in loaded.of(CronJob)]
        for kind, metadata, spec in specs:
            parts = ["activeDeadlineSeconds"] if spec.active_deadline_seconds is not None else []
            rules = spec.pod_failure_policy.rules if spec.pod_failure_policy is not None else ()
            parts += ["podFailurePolicy.onExitCodes"] if any(each.on_exit_codes is not None for each in rules) else []
            if parts:
                name = f"{kind} {metadata.namespace}/{metadata.name}"
                found[name] = f"{name}: {', '.join(parts)}"
    return list(found.values())


def autoscaler_gaps(*inputs: Loaded) -> list[str]:
    """That no input has the metrics of autoscalers, in one sentence."""
    found = sorted(each.label for loaded in inputs for each in loaded.autoscalers if each.least < each.most)
    return [f"{named(found, 1)}: no input has metrics, so that replicas between the bounds stay"] if found else []


def with_manifest_gaps(coverage: Mapping[str, Any], *manifests: Loaded, gaps: Iterable[str]) -> dict[str, Any]:
    """The coverage with the gaps of the manifests too, with their kinds of which only the fields are checked, and with
    the `gaps` of admission."""
    more = [*coverage.get("jobsNotModelled", []), *job_gaps(*manifests)]
    found = {**coverage, **({"jobsNotModelled": list(dict.fromkeys(more))} if more else {})}
    if unmeasured := [*coverage.get("autoscalersNotModelled", []), *autoscaler_gaps(*manifests)]:
        found["autoscalersNotModelled"] = list(dict.fromkeys(unmeasured))
    if unchecked := sum((each.unknown for each in manifests), Counter[str]()):
        found["manifestsNotChecked"] = dict(sorted(unchecked.items()))
    if every := list(dict.fromkeys([*coverage.get("admissionNotModelled", []), *gaps])):
        found["admissionNotModelled"] = every
    return found


Concern = Callable[[Pod], bool]


def _has_claims(pod: Pod) -> bool:
    return any(volume.persistent_volume_claim or volume.ephemeral for volume in pod.spec.volumes)


def _has_volumes(pod: Pod) -> bool:
    """Whether the pod has volumes. Disks that the pod itself names are attached through a driver, too."""
    return bool(pod.spec.volumes)


def _has_devices(pod: Pod) -> bool:
    """Whether claims need the kind, or extended resources that a device class may provide."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    extended = any("/" in name for each in containers for name in (*each.resources.requests, *each.resources.limits))
    return bool(pod.spec.resource_claims) or extended


def _spreads_by_default(pod: Pod) -> bool:
    """Whether the default constraints apply. Their selector comes from services and owners."""
    return not pod.spec.topology_spread_constraints and bool(pod.metadata.labels)


def _owned_by(kind: str) -> Concern:
    return lambda pod: (
        _spreads_by_default(pod)
        and any(owner.controller and owner.kind == kind for owner in pod.metadata.owner_references)
    )


def _has_terms(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and bool(affinity.pod_affinity or affinity.pod_anti_affinity)


_CLAIMED = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSIDriver", "CSIStorageCapacity")
_DEVICES = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "DeviceTaintRule")
_CONCERNS: Mapping[str, Concern] = {
    **dict.fromkeys(_CLAIMED, _has_claims),
    **dict.fromkeys(("CSINode", "VolumeAttachment"), _has_volumes),
    **dict.fromkeys(_DEVICES, _has_devices),
    **{kind: _owned_by(kind) for kind in ("ReplicationController", "ReplicaSet", "StatefulSet")},
    "Service": _spreads_by_default,
    "PriorityClass": lambda pod: bool(pod.spec.priority_class_name) and pod.spec.priority is None,
    "RuntimeClass": lambda pod: bool(pod.spec.runtime_class_name) and not pod.spec.overhead,
    "PodGroup": lambda pod: pod.spec.scheduling_group is not None,
}


class MissingKinds:
    """The kinds that were not read, by the pods whose results they could change."""

    def __init__(self, missing: Collection[str], pods: Collection[Pod]) -> None:
        self._missing = sorted(missing)
        # Terms of pods that run already keep others away, too.
        self._terms = "Namespace" in missing and any(_has_terms(pod) for pod in pods)

    def about(self, decision: Decision) -> tuple[str, ...]:
        return self.about_pod(decision.pod.pod, preempts=decision.preemption is not None)

    def about_pod(self, pod: Pod, *, preempts: bool = False) -> tuple[str, ...]:
        """The kinds of `about` for a pod that may have had no cycle."""
        others = {"Namespace": self._terms, "PodDisruptionBudget": preempts}
        return tuple(kind for kind in self._missing if others.get(kind) or (kind in _CONCERNS and _CONCERNS[kind](pod)))
