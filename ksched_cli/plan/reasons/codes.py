"""Stable codes for the reasons why a pod has no place, a pod is refused or a rollout stops.

KS0xx part of the input is not checked, KS1xx no node takes the pod (KS121 to KS133 volumes, KS14x devices, KS15x pod
groups), KS2xx the pod is not tried or goes at another's cost, KS3xx the API server refuses it, KS4xx the rollout does
not come to its end. A code is never taken back or given to another reason; new ones are added to their hundred. Codes
of a plugin's reasons stand in its room; all others stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ksched_cli.engine.faults import EngineReasons
from ksched_cli.framework.reasons import ReasonCode, ReasonTable
from ksched_cli.plugins.in_tree import all_specs
from ksched_cli.releases import NEWEST_VERSION
from ksched_cli.sources.loaded import (
    APPLY_CONFLICT,
    DUPLICATE,
    IMMUTABLE,
    INVALID,
    NOT_RENDERED,
    NOT_RUN,
    NOTHING_CHECKED,
    REFUSED,
    REMOVED_VERSION,
    SKIPPED,
    STALE_BASELINE,
    UNKNOWN_FIELD,
    UNKNOWN_KIND,
    UNKNOWN_NAMESPACE,
    UNKNOWN_WORKLOAD,
    UNREADABLE,
)

POD_CODES = [
    ReasonCode(
        "KS190",
        "other-plugin",
        "a plugin that is not kube-scheduler's rejects the pod",
        "The plugin's own reason is in the message.",
        ("ask the author of the plugin",),
    ),
    ReasonCode(
        "KS191",
        "cycle-error",
        "the scheduling cycle ends in an error",
        "A plugin cannot judge the pod at all. kube-scheduler would try again and again.",
        ("the message says what is wrong",),
    ),
    ReasonCode(
        "KS202",
        "other-scheduler",
        "the pod names another scheduler",
        "spec.schedulerName is no profile of the configuration, so that nothing is known of where the pod goes.",
        ("give the configuration with --config", "correct schedulerName"),
        level="note",
    ),
    ReasonCode(
        "KS203",
        "preempts",
        "other pods are evicted to make room",
        "No node has room, and pods of lower priority leave one. Their controllers recreate them; the message has how "
        "many of the new ones find no node.",
        ("nothing, if that is meant", "preemptionPolicy: Never in the PriorityClass", "make room"),
        level="warning",
    ),
    ReasonCode(
        "KS204",
        "evicted",
        "a pod of higher priority takes its place",
        "The pod had a node and was evicted for another pod of the manifests or the cluster. No controller recreates "
        "it, or the pod that replaces it finds no node.",
        ("give it a higher priority", "make room for both", "preemptionPolicy: Never for the other one"),
    ),
    ReasonCode(
        "KS205",
        "refused-by-kubelet",
        "the kubelet of the node refuses the pod",
        "The pod names its node in spec.nodeName, so that kube-scheduler does not look at it. The kubelet checks "
        "resources, node affinity and the operating system, and the pod fails.",
        ("leave spec.nodeName out", "lower the requests", "correct nodeSelector, affinity or spec.os"),
    ),
    ReasonCode(
        "KS206",
        "other-os",
        "the pod is made for another operating system than its node has",
        "kube-scheduler does not look at spec.os, and the kubelet of a node with another label kubernetes.io/os fails "
        "the pod.",
        ("write nodeSelector: {kubernetes.io/os: ...}", "correct spec.os"),
        level="warning",
    ),
    ReasonCode(
        "KS301",
        "quota-exceeded",
        "a ResourceQuota refuses the pod",
        "The namespace would use more than its quota, or the quota wants requests and limits that the pod lacks.",
        ("lower the requests or the number of replicas", "raise the quota", "write requests and limits"),
    ),
    ReasonCode(
        "KS302",
        "out-of-limit-range",
        "a LimitRange refuses the pod",
        "A request or limit of a container or of the pod is below the minimum or above the maximum of the namespace.",
        ("ask within the bounds", "change the LimitRange"),
    ),
    ReasonCode(
        "KS303",
        "priority-class",
        "the pod's priority class is not there, or contradicts the pod",
        "priorityClassName has to be an existing PriorityClass, and priority must not be written by hand.",
        ("add the PriorityClass, before a pod that names it", "leave priority out"),
    ),
    ReasonCode(
        "KS304",
        "runtime-class",
        "the pod's runtime class is not there, or contradicts the pod",
        "runtimeClassName has to be an existing RuntimeClass; its overhead and selector must agree with the pod's.",
        ("add the RuntimeClass, before a pod that names it", "leave overhead out"),
    ),
    ReasonCode(
        "KS305",
        "namespace-selector",
        "the pod's nodeSelector contradicts that of its namespace",
        "PodNodeSelector adds the labels of the namespace's annotation to every pod.",
        ("leave the label out of nodeSelector",),
    ),
    ReasonCode(
        "KS306",
        "refused",
        "the API server refuses the pod",
        "An admission that has no code of its own.",
        ("the message says what is wrong",),
    ),
    ReasonCode(
        "KS307",
        "service-account",
        "the pod's service account is not there, or does not allow a secret",
        "serviceAccountName, or the account default, has to exist in the namespace. An account with the annotation "
        "kubernetes.io/enforce-mountable-secrets allows only the secrets that it names.",
        ("create the service account", "correct serviceAccountName"),
    ),
    ReasonCode(
        "KS308",
        "pod-security",
        "the PodSecurity level of the namespace forbids the pod",
        "The namespace enforces the level baseline or restricted. The API server accepts the workload and refuses its "
        "pods.",
        ("change the fields that the message names", "use a namespace with another level"),
    ),
]

# The codes of what an admission refuses.
ADMISSIONS = {
    "ResourceQuota": "KS301",
    "LimitRanger": "KS302",
    "Priority": "KS303",
    "RuntimeClass": "KS304",
    "PodNodeSelector": "KS305",
    "ServiceAccount": "KS307",
    "PodSecurity": "KS308",
    "Validation": "KS002",
}


INPUT_CODES = [
    ReasonCode(
        UNREADABLE,
        "unreadable-file",
        "a file cannot be read",
        "The file does not exist, or its content is neither JSON nor YAML. ksched checks the other files and exits "
        "with code 2.",
        ("correct the file", "leave it out with --exclude"),
    ),
    ReasonCode(
        INVALID,
        "invalid-object",
        "an object is not valid",
        "A field has the wrong type, or a value that the API server refuses. ksched does not check the object, checks "
        "the others and exits with code 2.",
        ("correct the field",),
    ),
    ReasonCode(
        DUPLICATE,
        "duplicate-object",
        "two manifests have the same object",
        "Two objects of one kind, namespace and name cannot exist in one cluster. Variants of an application, such as "
        "overlays beside each other, are checked one at a time.",
        ("check each variant by itself", "leave one of the files out with --exclude"),
    ),
    ReasonCode(
        UNKNOWN_KIND,
        "unknown-kind",
        "the API server knows no such kind",
        "Kubernetes has no kind of this name in this API group and version. ksched does not check the object and "
        "exits with code 2.",
        ("correct kind or apiVersion",),
    ),
    ReasonCode(
        REMOVED_VERSION,
        "removed-version",
        "the API server does not serve this version",
        "Kubernetes has removed this apiVersion, or has it only since a later minor than that of the cluster. ksched "
        "does not check the object and exits with code 2.",
        ("write the apiVersion that the message names", "kubectl convert -f FILE"),
    ),
    ReasonCode(
        UNKNOWN_WORKLOAD,
        "unknown-workload",
        "the pods of a custom resource are not placed",
        "The kind is of a custom resource that looks like a workload. ksched does not place its pods.",
        ("--pod-template KIND.GROUP=PATH[,replicas=PATH]", "check the manifests that its operator makes"),
        level="warning",
    ),
    ReasonCode(
        SKIPPED,
        "skipped-file",
        "files are not read",
        "A folder holds files that are not Kubernetes manifests, or manifests in folders below that only -R reads.",
        ("nothing, if that is meant", "-R reads the folders below", "--exclude leaves files out"),
        level="note",
    ),
    ReasonCode(
        NOT_RENDERED,
        "not-rendered",
        "another tool has to make manifests of it first",
        "The file is input of Helm, Kustomize or Jsonnet. The manifests that such a tool makes are what ksched checks.",
        ("run the command that the message names", "ksched check -k DIRECTORY", "ksched check --helm CHART"),
    ),
    ReasonCode(
        UNKNOWN_NAMESPACE,
        "unknown-namespace",
        "the input has no such namespace",
        "Neither the cluster's input nor an earlier manifest has the namespace. That is an error if the input has "
        "Namespace objects. Else ksched warns, and assumes that it exists and has no quotas or limits.",
        (
            "add the Namespace to the manifests",
            "--create-namespace, if the deployment creates it",
            "--assume-namespace NAME, if it exists",
        ),
        level="warning",
    ),
    ReasonCode(
        NOTHING_CHECKED,
        "nothing-checked",
        "nothing was checked",
        "No pod or workload was left to place. A check that looked at nothing never succeeds.",
        ("correct the file names, -n or -l", "--allow-empty, if an empty input is meant"),
    ),
    ReasonCode(
        NOT_RUN,
        "not-run",
        "the check could not run",
        "The command line is wrong, or ksched could not read the cluster or its configuration. See the message.",
        ("correct what the message names",),
    ),
    ReasonCode(
        UNKNOWN_FIELD,
        "unknown-field",
        "the kind has no such field",
        f"Kubernetes {NEWEST_VERSION} has no field of this name at this place. kubectl and the API server refuse "
        "it: it is misspelt, or belongs elsewhere in the manifest.",
        ("correct the name", "move the field", "--no-strict ignores it"),
    ),
    ReasonCode(
        IMMUTABLE,
        "immutable-field",
        "a field of a live object cannot be changed",
        "The API server takes the field at creation only. ksched does not apply the object, checks the others and "
        "exits with code 2.",
        ("leave the field as it is in the cluster", "delete the live object and create it again"),
    ),
    ReasonCode(
        STALE_BASELINE,
        "stale-baseline",
        "the baseline accepts findings that are gone",
        "No finding of this check matches the entry of the baseline file. The finding is mended, or its object has "
        "another name or is not among the manifests.",
        ("write the baseline again with --write-baseline",),
        level="note",
    ),
    ReasonCode(
        APPLY_CONFLICT,
        "apply-conflict",
        "another manager owns a field of the manifest",
        "With --server-side the API server refuses to change a field that belongs to another manager, such as a "
        "controller or `kubectl scale`. ksched does not apply the object, checks the others and exits with code 2.",
        ("leave the field out of the manifest", "--force-conflicts takes the field over"),
    ),
    ReasonCode(
        REFUSED,
        "refused-object",
        "admission refuses the object",
        "A quota, a LimitRange or the end of its namespace keeps the API server from creating the object. ksched does "
        "not apply the object, checks the others and exits with code 2.",
        ("the message says what is wrong",),
    ),
]


ROLLOUT_CODES = [
    ReasonCode(
        "KS401",
        "rollout-deadlock",
        "the rollout waits for its own old pods",
        "The new pods would fit if the old ones were gone, and the strategy keeps those until new ones are available.",
        (
            "allow old pods to go first: maxUnavailable of 1 or more, or type: Recreate",
            "make room for the surge",
            "delete the old pods by hand: a StatefulSet replaces them one at a time whatever its strategy",
        ),
    ),
    ReasonCode(
        "KS402",
        "rollout-waits",
        "the rollout waits for a pod that is not ready",
        "A pod of the workload that was there before is not available, and its controller goes no further until it is.",
        ("mend or delete the pod", "podManagementPolicy: Parallel"),
    ),
    ReasonCode(
        "KS403",
        "rollout-quota",
        "the quota has no room for old and new pods at once",
        "The new pods would be let in if the old ones were gone, and the strategy keeps those until new ones are "
        "available.",
        ("raise the quota by the surge", "maxSurge: 0 with maxUnavailable: 1"),
    ),
    ReasonCode(
        "KS404",
        "no-pods",
        "the workload makes no pods",
        "A DaemonSet that no node is right for, or names that other pods hold.",
        ("correct nodeSelector, affinity or tolerations",),
        level="warning",
    ),
    ReasonCode(
        "KS405",
        "not-rolled-out",
        "the change is not rolled out",
        "The Deployment is paused, the strategy is OnDelete, the job is suspended, or it is a pod that runs already.",
        ("nothing, if that is meant", "kubectl rollout resume, or delete the pods"),
        level="note",
    ),
    ReasonCode(
        "KS406",
        "job-waves",
        "the pods of the Job run one after the other",
        "The cluster has no room for as many pods as parallelism allows. Some start only when others have finished.",
        ("nothing, if the time does not matter", "make room for all pods at once, or lower parallelism"),
        level="note",
    ),
    ReasonCode(
        "KS407",
        "waits-for-jobs",
        "the workload waits until Jobs have finished",
        "Its pods get room or quota only when pods of the Jobs in the same manifests have finished.",
        ("make room for both", "apply the Jobs later"),
        level="warning",
    ),
    ReasonCode(
        "KS408",
        "unfinished",
        "the workload is not finished when the simulation ends",
        "No pod is rejected, and yet the workload is not as its manifest says: the cluster does not come to rest, or "
        "the controller waits for something that is not modelled.",
        ("the warnings of the run say why it ended", "ksched simulate --settle shows every event"),
    ),
    ReasonCode(
        "KS409",
        "autoscaler-bound",
        "the workload does not fit at a bound of its autoscaler",
        "The pods fit now. A HorizontalPodAutoscaler or a ScaledObject may ask for more of them than the nodes take.",
        ("nothing, if an autoscaler adds nodes", "lower the bound", "make room for the pods"),
        level="warning",
    ),
]


NO_SUCH_NODE, OTHER_PLUGIN, CYCLE_ERROR = "KS109", "KS190", "KS191"
OTHER_SCHEDULER, PREEMPTS, EVICTED = "KS202", "KS203", "KS204"
REFUSED_BY_KUBELET, OTHER_OS, OTHER_ADMISSION = "KS205", "KS206", "KS306"
ROLLOUT_DEADLOCK, ROLLOUT_WAITS, ROLLOUT_QUOTA = "KS401", "KS402", "KS403"
NO_PODS, NOT_ROLLED_OUT = "KS404", "KS405"
JOB_WAVES, WAITS_FOR_JOBS, UNSETTLED, AUTOSCALER_BOUND = "KS406", "KS407", "KS408", "KS409"


@cache
def all_codes() -> Mapping[str, ReasonCode]:
    """Every code, in order: those of the rooms' reasons and the scheduler's own, then those of commands."""
    tables: list[type[ReasonTable]] = [EngineReasons, *(table for spec in all_specs() for table in spec.reasons)]
    kinds = (kind for table in tables for kind in table.kinds())
    of_reasons = (code for kind in kinds for code in (kind.code, kind.unresolvable_code) if code is not None)
    codes = (*INPUT_CODES, *of_reasons, *POD_CODES, *ROLLOUT_CODES)
    return {each.code: each for each in sorted(codes, key=lambda each: each.code)}


def plugins_of_code(code: ReasonCode) -> tuple[str, ...]:
    """The plugins and admissions that reject pods with the code."""
    found = [
        plugin.name
        for spec in all_specs()
        if any(code in (kind.code, kind.unresolvable_code) for table in spec.reasons for kind in table.kinds())
        for plugin in spec.plugins
    ]
    return (*dict.fromkeys(found), *(plugin for plugin, each in ADMISSIONS.items() if each == code.code))


def code_of_admission(plugin: str) -> ReasonCode:
    """The code of a pod that this admission refuses."""
    return all_codes()[ADMISSIONS.get(plugin, OTHER_ADMISSION)]


def find_code(text: str) -> ReasonCode | None:
    """By its code or its name, in any case."""
    known = all_codes()
    by_name = {each.name: each for each in known.values()}
    return known.get(text.upper()) or by_name.get(text.lower())
