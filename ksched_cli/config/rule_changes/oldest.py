"""Rules that came with the minors up to 1.21. The oldest first."""

from __future__ import annotations

from ksched_cli.config.rule_changes.rule import SCHEDULER, RuleChange, rule

_FIT = "NodeResourcesFit"
_CLOUD_LIMITS = "EBSLimits GCEPDLimits AzureDiskLimits CinderLimits"
_RANKING = f"{_FIT} NodeResourcesBalancedAllocation NodeLabel NodePreferAvoidPods ServiceAffinity TaintToleration"
_TO_100 = "Nodes score 0 to 100"

OLDEST_RULES: tuple[RuleChange, ...] = (
    # 1.19: what came since 1.16, for the minors between are not modelled. One entry for all that a score is made of.
    rule("1.19", _RANKING, "score", f"{_TO_100}; before, 0 to 10, and small differences were lost."),
    rule(
        "1.19",
        "PodTopologySpread SelectorSpread",
        "score",
        f"{_TO_100}, and their zone is that of topology.kubernetes.io/zone, too; before, 0 to 10, by the zone's beta "
        "label alone.",
    ),
    rule(
        "1.19",
        "ImageLocality",
        "score",
        f"{_TO_100}, and how large images have to be for the best score grows with the number of containers; before, 0 "
        "to 10, as for one container.",
    ),
    rule("1.19", "InterPodAffinity", "score", f"{_TO_100}; before, 0 to 10, and small differences were lost."),
    rule("1.19", "NodeAffinity", "score", f"{_TO_100}; before, 0 to 10, and small differences were lost."),
    rule(
        "1.19",
        "PodTopologySpread",
        "fields",
        "topologySpreadConstraints of pods count; before, the gate EvenPodsSpread was off and they did not.",
    ),
    rule(
        "1.19",
        "InterPodAffinity",
        "filter",
        "The first pod of a group needs nodes with the topology's label, and pods that are nominated count; before, it "
        "could go anywhere, and they did not.",
    ),
    rule(
        "1.19",
        "DefaultPreemption",
        "preemption",
        "A budget allows as many evictions as it says, and nodes where nobody would have to leave are no candidates; "
        "before, one that allowed any allowed all, such a node was the best, and a pod waited for the node that it was "
        "nominated to even if that had become hopeless.",
    ),
    rule(
        "1.19",
        "VolumeBinding",
        "filter",
        "A claim that nobody will bind, or whose volume does not exist, rejects the pod; before, the cycle ended in an "
        "error.",
    ),
    rule(
        "1.19",
        "VolumeZone",
        "filter",
        "The labels topology.kubernetes.io/zone and region count, too; before, beta labels alone counted.",
    ),
    rule(
        "1.19",
        _CLOUD_LIMITS,
        "filter",
        "The type of an instance is that of its label without beta, too; before, of the beta label alone.",
    ),
    rule(
        "1.19",
        f"{_FIT} NodeAffinity NodeName NodePorts InterPodAffinity TaintToleration NodeUnschedulable VolumeRestrictions "
        "NodeVolumeLimits ServiceAffinity NodeLabel",
        "message",
        "Filters are plugins with words of their own; before, there were predicates, one of which, GeneralPredicates, "
        "told all that was wrong with resources, ports, host name and node selector.",
    ),
    rule(
        "1.19",
        SCHEDULER,
        "message",
        "An error on one node ends the cycle; before, errors of all nodes were told together. Nodes are listed zone by "
        "zone by their labels without beta, too.",
    ),
    # 1.20
    rule(
        "1.20",
        "VolumeBinding",
        "filter",
        "A claim that does not exist rejects the pod; before, the cycle ended in an error.",
    ),
    rule(
        "1.20",
        "VolumeZone",
        "filter",
        "A claim that cannot be followed rejects the pod; before, the cycle ended in an error.",
    ),
    rule("1.20", "NodeAffinity", "score", "Preferences can be about fields; before, labels alone counted."),
    rule(
        "1.20",
        "NodeAffinity",
        "message",
        "Node selectors are told as node affinity; before, node affinity was told as a node selector.",
    ),
    rule(
        "1.20",
        "PodTopologySpread SelectorSpread",
        "score",
        "Nodes without a zone are spread over by host where a pod has no constraints; before, such nodes scored 0.",
    ),
    rule(
        "1.20",
        "NodeResourcesMostAllocated",
        "score",
        "A resource that is asked for beyond what there is counts as used up; before, it scored 0.",
    ),
    rule(
        "1.20",
        "DefaultPreemption",
        "preemption",
        "The search ends at as many candidates as the arguments say, and there is preemption under a Policy; before, "
        "all nodes were tried, and there was none.",
    ),
    rule(
        "1.20",
        SCHEDULER,
        "message",
        "Taints are looked at early and resources late; before, filters had the order of predicates, so that nodes "
        "that fail several are told with another of them.",
    ),
    # 1.21
    rule(
        "1.21",
        "InterPodAffinity",
        "score",
        "The lowest sum of preferences scores 0 and the highest 100; before, having no preference was one of the ends.",
    ),
    rule(
        "1.21",
        "NodeAffinity NodeName InterPodAffinity",
        "message",
        "Node selectors are spoken of beside node affinity, and node names as such; before, node affinity alone, and "
        "host names.",
    ),
    rule("1.21", "VolumeBinding", "score", "It can score nodes by the room in their volumes; before, it never scored."),
    rule(
        "1.21",
        "VolumeBinding NodeVolumeLimits",
        "filter",
        "Disks that a driver took over are where their labels without beta say, too, and drivers may tell the largest "
        "volume that a pool makes; before, beta labels alone counted, and all of a pool could be one volume.",
    ),
    rule(
        "1.21",
        "DefaultPreemption",
        "preemption",
        "Disruption budgets always count; before, the gate PodDisruptionBudget could switch them off.",
    ),
    rule(
        "1.21",
        SCHEDULER,
        "queue message",
        "Events wake pods that lack resources where they can help with that, and an update leaves a pod to its wait; "
        "before, every event woke all pods, and an update ended the wait.",
    ),
    rule(
        "1.21",
        "InterPodAffinity",
        "fields",
        "A term with a namespaceSelector, while the gate PodAffinityNamespaceSelector is off, is about the namespaces "
        "that it names and no other; before, the field was unknown and such a term was about the pod's own.",
    ),
)
