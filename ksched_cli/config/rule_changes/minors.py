"""Rules that came with a minor, whatever the gates say. The oldest first."""

from __future__ import annotations

from ksched_cli.config.rule_changes.oldest import OLDEST_RULES
from ksched_cli.config.rule_changes.rule import SCHEDULER, RuleChange, rule

_FIT = "NodeResourcesFit"
_BALANCED = "NodeResourcesBalancedAllocation"
_OLD_FIT = "NodeResourcesLeastAllocated NodeResourcesMostAllocated RequestedToCapacityRatio"
_CLOUD_LIMITS = "EBSLimits GCEPDLimits AzureDiskLimits CinderLimits"
_ALL_LIMITS = f"NodeVolumeLimits {_CLOUD_LIMITS}"


def _everywhere(since: str, disks: str) -> RuleChange:
    text = f"{disks} disks count for their CSI driver on every node that has a CSINode; before, on those that say so."
    return rule(since, "NodeVolumeLimits", "filter", text)


MINOR_RULES: tuple[RuleChange, ...] = (
    *OLDEST_RULES,
    # 1.22
    rule(
        "1.22",
        f"{_FIT} {_OLD_FIT}",
        "score",
        "NodeResourcesFit scores nodes by its scoringStrategy, over the resources that a node has; before, "
        "NodeResourcesLeastAllocated and two other plugins did, where a resource that a node lacks counted as 0.",
    ),
    rule(
        "1.22",
        _BALANCED,
        "score",
        "100 less the standard deviation of the shares in use of each resource; before, 100 less the difference "
        "between the shares of cpu and memory, and 0 where one of them was used up.",
    ),
    rule(
        "1.22",
        "NodePreferAvoidPods",
        "score",
        "No default plugin any more; before, nodes could ask in an annotation to be spared the pods of a controller.",
    ),
    rule(
        "1.22",
        "VolumeRestrictions",
        "filter",
        "Claims of the access mode ReadWriteOncePod are looked at where the gate of that name is on; before, never.",
    ),
    rule(
        "1.22",
        "InterPodAffinity",
        "message",
        "A node's reason is the one rule that it breaks; before, a second reason came first that was about any.",
    ),
    rule(
        "1.22",
        "PodTopologySpread SelectorSpread",
        "filter score",
        "Pods without constraints are spread with those that their own controller selects; before, with those of every "
        "controller whose selector they match.",
    ),
    rule(
        "1.22",
        SCHEDULER,
        "queue",
        "Every plugin says which events may help a pod that it rejected; before, NodeResourcesFit alone did, and every "
        "event woke the pods of the others.",
    ),
    # 1.23
    rule("1.23", "TaintToleration", "weight", "Its score weighs 3; before, 1."),
    rule("1.23", "NodeAffinity", "weight", "Its score weighs 2; before, 1."),
    rule("1.23", "InterPodAffinity", "weight", "Its score weighs 2; before, 1."),
    rule(
        "1.23",
        "VolumeBinding",
        "filter",
        "A lost claim rejects the pod; before, it was its volume that did not exist.",
    ),
    rule(
        "1.23",
        "VolumeBinding",
        "score",
        "By default it scores, 0 for every node while its gate is off; before, only where that was on.",
    ),
    rule(
        "1.23",
        _ALL_LIMITS,
        "filter",
        "Claims of ephemeral volumes count, and a claim that does not exist rejects the pod; before, both were passed "
        "over.",
    ),
    rule(
        "1.23",
        "DefaultPreemption",
        "preemption",
        "A pod whose cycle fails is no longer nominated; before, it lost its node only where no eviction could help.",
    ),
    rule(
        "1.23",
        f"NodePreferAvoidPods NodeLabel ServiceAffinity {_OLD_FIT}",
        "filter score",
        "The plugin is gone; before, a configuration could enable it.",
    ),
    rule(
        "1.23",
        SCHEDULER,
        "message",
        "Plugins run in one order at all points (multiPoint), so that another PreFilter may be the first to reject a "
        "pod; before, each point had an order of its own.",
    ),
    rule(
        "1.23",
        SCHEDULER,
        "queue",
        "The room that a pod leaves whose binding failed wakes others; before, nobody was told of it.",
    ),
    # 1.24
    rule(
        "1.24",
        "PodTopologySpread",
        "filter",
        "Of a domain only pods on nodes that the pod itself may go to count, and only such nodes make up domains; "
        "before, the other nodes of such a domain counted too.",
    ),
    rule("1.24", "PodTopologySpread", "score", "The sum over the constraints is rounded; before, it was cut off."),
    rule(
        "1.24",
        "NodeAffinity",
        "filter",
        "A pod that names its nodes (metadata.name) is tried on those alone; before, on all, to the same end.",
    ),
    rule(
        "1.24", "TaintToleration", "message", "The reason says untolerated taint; before, that the pod didn't tolerate."
    ),
    rule(
        "1.24",
        "SelectorSpread",
        "score",
        "No default plugin any more; before, it was one where the gate DefaultPodTopologySpread was off.",
    ),
    _everywhere("1.24", "Cinder"),
    rule("1.24", SCHEDULER, "message", "The message ends with what came of preemption; before, it said nothing of it."),
    rule(
        "1.24",
        SCHEDULER,
        "queue",
        "A pod that no event wakes is tried again after five minutes; before, after one.",
    ),
    # 1.25
    rule(
        "1.25",
        "NodeVolumeLimits",
        "filter",
        "Migrated in-tree disks that the pod names itself count for the CSI driver; before, only those of claims.",
    ),
    # 1.26
    rule(
        "1.26",
        SCHEDULER,
        "message",
        "What PreFilter said is told as such; before, it was counted as the reason of every node.",
    ),
    rule(
        "1.26",
        "DynamicResources SchedulingGates",
        "filter queue",
        "There is such a plugin, which is enabled where its gate is on; before, there was none.",
    ),
    # 1.27
    rule(
        "1.27",
        f"{_FIT} {_BALANCED}",
        "score",
        "The cpu of a pod's overhead counts as it is, and what the pod asks for is added up in PreScore; before, the "
        "overhead's cpu was rounded up to whole cores.",
    ),
    rule(
        "1.27",
        "PodTopologySpread",
        "filter score",
        "A constraint with an empty selector counts no pods; before, it counted all of the namespace.",
    ),
    rule(
        "1.27",
        "VolumeZone",
        "filter",
        "Volumes are looked up in PreFilter, so that one that does not exist rejects the pod everywhere; before, nodes "
        "without zone labels were passed unseen.",
    ),
    _everywhere("1.27", "AWS EBS and Azure"),
    rule(
        "1.27",
        "VolumeBinding",
        "filter preemption",
        "A pod with local volumes is tried on their nodes alone (up to 1.31); before, on all.",
    ),
    # 1.28
    rule(
        "1.28",
        _FIT,
        "filter",
        "Only resources that the pod asks for can lack; before, a node with more cpu, memory or storage requested than "
        "it has took no pod that asks for anything.",
    ),
    rule(
        "1.28",
        "DefaultPreemption",
        "preemption",
        "Nodes that PreFilter left out are not tried; before, evicting pods there was tried too.",
    ),
    rule(
        "1.28",
        "PodTopologySpread InterPodAffinity",
        "score",
        "Does not score where nothing is to be spread or preferred; before, all nodes got the same.",
    ),
    rule(
        "1.28",
        _ALL_LIMITS,
        "filter",
        "Skipped for pods without volumes that could be limited; before, asked for nothing.",
    ),
    _everywhere("1.28", "GCE PD"),
    rule(
        "1.28",
        f"{_FIT} {_BALANCED}",
        "fields",
        "restartPolicy of init containers is known, so that there are sidecars, which need the gate SidecarContainers; "
        "before, they counted as init containers that end.",
    ),
    rule(
        "1.28",
        SCHEDULER,
        "message",
        "Where PreFilter rejected the pod, that is all that is told; before, nodes were counted as well.",
    ),
    # 1.29
    rule(
        "1.29",
        "ImageLocality",
        "score",
        "An image counts by how many nodes hold it now; before, by how many did when the node was added.",
    ),
    rule(
        "1.29",
        "VolumeZone",
        "filter",
        "A volume with a beta zone or region label takes nodes that have only the label that took its place; before, "
        "it did not.",
    ),
    rule("1.29", "SelectorSpread", "score", "The plugin is gone; before, a configuration could enable it."),
    rule("1.29", SCHEDULER, "message", "The message ends with one full stop after preemption; before, with two."),
    rule(
        "1.29",
        SCHEDULER,
        "queue",
        "A pod whose cycle met an error is tried again when its wait is over; before, it needed an event.",
    ),
    # 1.30
    rule("1.30", "NodeAffinity", "score", "Does not score where nothing is preferred; before, all nodes got 0."),
    rule("1.30", "VolumeBinding", "score", "Does not score where its gate is off; before, all nodes got 0."),
    rule(
        "1.30",
        "ImageLocality",
        "score",
        "Images of init containers count, too; before, only those of containers, and scores rose with these alone.",
    ),
    rule(
        "1.30",
        SCHEDULER,
        "search",
        "In a profile without score plugins the search ends at the first node that fits; before, all were looked at, "
        "and the lowest name was taken.",
    ),
    rule(
        "1.30",
        SCHEDULER,
        "filter preemption",
        "A plain rejection by a PreFilter plugin lets the others still speak, and where they leave no node in common, "
        "preemption is of no use; before, the first rejection ended the search, and preemption was tried on no node.",
    ),
    rule("1.30", SCHEDULER, "message", "Nodes that PreFilter left out have a reason; before, nothing was said."),
    rule(
        "1.30",
        SCHEDULER,
        "queue",
        "An extender that left out nodes is noted as one that rejected the pod, so that the pod is tried again as with "
        "plugins; before, it was not.",
    ),
    rule(
        "1.30",
        _CLOUD_LIMITS,
        "filter",
        "A claim that does not exist rejects the pod; before, the cycle ended in an error.",
    ),
    rule(
        "1.30",
        SCHEDULER,
        "queue",
        "All that an update changes of a node wakes pods; before, one thing did: the first of unschedulable, "
        "allocatable, labels, taints and conditions.",
    ),
    # 1.31
    rule(
        "1.31",
        _CLOUD_LIMITS,
        "filter",
        "The plugin is gone, and its disks count for their CSI driver; before, each cloud's had a limit of its own.",
    ),
    rule(
        "1.31",
        SCHEDULER,
        "queue",
        "Plugins that narrowed the nodes down in PreFilter are noted as ones that rejected the pod, for when it is "
        "tried again; before, they were not.",
    ),
    rule("1.31", SCHEDULER, "message", "Nothing is said of nodes that PreFilter left out; before, they had a reason."),
    rule(
        "1.31",
        "VolumeBinding",
        "filter",
        "A claim gets volumes of its VolumeAttributesClass only, where the gate of that name is on; before, of any.",
    ),
    rule(
        "1.31",
        SCHEDULER,
        "queue",
        "A pod that comes to a node is news, too, for those that PodTopologySpread rejected, and with queueing hints "
        "for all whose plugins asked; before, for those alone that have to be near it.",
    ),
    # 1.32
    rule(
        "1.32",
        f"{_FIT} {_BALANCED}",
        "score",
        "Sidecars of pods that run count as beside their containers, with defaults for what each does not ask for; "
        "before, as init containers.",
    ),
    rule(
        "1.32",
        "NodeVolumeLimits",
        "filter",
        "Volumes that VolumeAttachments say are on the node count, and limits are those of the CSINode alone; before, "
        "only the volumes of pods counted, and the node could announce limits itself.",
    ),
    rule(
        "1.32",
        "DefaultPreemption",
        "preemption",
        "Where only some victims violate a budget, they are sorted by importance once more, so that a node is ranked "
        "by its most important victim; before, by the first that violates.",
    ),
    rule(
        "1.32",
        "DefaultPreemption",
        "queue",
        "Holds a pod back while its victims are being evicted; before, it waited in the queue.",
    ),
    rule(
        "1.32",
        "VolumeBinding",
        "filter preemption",
        "PreFilter no longer narrows the nodes of local volumes down; before, the others were not looked at.",
    ),
    rule(
        "1.32",
        SCHEDULER,
        "message",
        "Nodes that PreFilter left out have a reason that names the plugin; before, they had none.",
    ),
    # 1.33
    rule(
        "1.33",
        _BALANCED,
        "score",
        "Does not score pods that ask for nothing; before, all of them went to the most even node.",
    ),
    rule("1.33", "NodePorts", "filter", "Host ports of sidecars count; before, only those of containers."),
    rule(
        "1.33",
        "VolumeBinding",
        "message",
        "The reason says that the volume's node affinity did not match; before, that there was a conflict.",
    ),
    rule(
        "1.33",
        SCHEDULER,
        "score",
        "Nodes that an extender sent back whole are scored as it sent them; before, as the cache knows them.",
    ),
    rule(
        "1.33",
        SCHEDULER,
        "queue",
        "A nomination that ends wakes weaker pods; before, it did not.",
    ),
    # 1.34
    rule(
        "1.34",
        _FIT,
        "filter preemption",
        "A node that is too small for the pod even if it was empty is beyond help, and no preemption is tried there; "
        "before, it was.",
    ),
    rule("1.34", "TaintToleration", "message", "The reason does not name the taint; before, it did."),
    rule(
        "1.34",
        "VolumeRestrictions",
        "message",
        "A ReadWriteOncePod claim is in use by another pod, says the reason; before, a pod has it.",
    ),
    rule(
        "1.34",
        SCHEDULER,
        "queue",
        "How long a pod waits grows with its rejections, and apart with errors in a row; before, with all attempts.",
    ),
    # 1.35
    rule(
        "1.35",
        "DynamicResources",
        "score weight",
        "Scores, with weight 2, how early in its list (firstAvailable) the alternative stands that a node has devices "
        "for; before, it did not score.",
    ),
    rule(
        "1.35",
        "NodeDeclaredFeatures GangScheduling",
        "filter queue",
        "There is such a plugin, which is enabled where the gate of its name is on; before, there was none.",
    ),
    # 1.36
    rule(
        "1.36",
        _BALANCED,
        "score",
        "How much more even the pod makes the use of the node: 75 is as it was, more is better; before, how even the "
        "use is with the pod.",
    ),
    _everywhere("1.36", "Portworx"),
    rule(
        "1.36",
        "NodeVolumeLimits",
        "filter",
        "With the gate VolumeLimitScaling only drivers that ask for it keep pods away from nodes without them; before, "
        "all did.",
    ),
    rule("1.36", "ImageLocality", "score", "Images that the pod mounts as volumes count, too; before, they did not."),
    rule(
        "1.36",
        SCHEDULER,
        "search",
        "With the gate GenericWorkload the pods of a group share one cycle; before, each had its own.",
    ),
    rule(
        "1.36",
        f"{_FIT} TopologyPlacementGenerator PodGroupPodsCount",
        "search",
        "Placements for whole pod groups are made and scored where the gate TopologyAwareWorkloadScheduling is on; "
        "before, there were none.",
    ),
)
