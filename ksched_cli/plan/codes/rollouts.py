"""KS4xx: rollouts that do not come to their end."""

from __future__ import annotations

from ksched_cli.framework.reasons import ReasonCode

CODES = [
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
