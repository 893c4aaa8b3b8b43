"""KS19x to KS3xx: plugins of others, pods that are not tried, pods that the API server refuses."""

from __future__ import annotations

from ksched_cli.framework.reasons import ReasonCode

CODES = [
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
        ("add the PriorityClass", "leave priority out"),
    ),
    ReasonCode(
        "KS304",
        "runtime-class",
        "the pod's runtime class is not there, or contradicts the pod",
        "runtimeClassName has to be an existing RuntimeClass; its overhead and selector must agree with the pod's.",
        ("add the RuntimeClass", "leave overhead out"),
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
]

# The codes of what an admission refuses.
ADMISSIONS = {
    "ResourceQuota": "KS301",
    "LimitRanger": "KS302",
    "Priority": "KS303",
    "RuntimeClass": "KS304",
    "PodNodeSelector": "KS305",
}
