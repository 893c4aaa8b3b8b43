"""What of PodTopologySpread changed between minors."""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import EVEN_PODS_SPREAD, INTER_POD_AFFINITY, SELECTOR_SPREAD

_FIELDS = {
    EVEN_PODS_SPREAD: "topologySpreadConstraints of pods count; without the gate, they do not.",
    "MatchLabelKeysInPodTopologySpread": "matchLabelKeys of constraints count; without the gate, they do not.",
    "MinDomainsInPodTopologySpread": "minDomains of constraints counts; without the gate, it does not.",
    "NodeInclusionPolicyInPodTopologySpread": (
        "nodeAffinityPolicy and nodeTaintsPolicy of constraints count; without the gate, they do not."
    ),
}


class PodTopologySpreadRules(ReleaseRules, plugins="PodTopologySpread"):
    empty_selector_counts_no_pods = Rule(
        "1.27",
        "filter score",
        "A constraint with an empty selector counts no pods; before, it counted all of the namespace.",
    )
    counts_eligible_nodes_only = Rule(
        "1.24",
        "filter",
        "Of a domain only pods on nodes that the pod itself may go to count, and only such nodes make up domains; "
        "before, the other nodes of such a domain counted too.",
    )
    skips_without_constraints = Rule(
        "1.28",
        "score",
        "Does not score where nothing is to be spread or preferred; before, all nodes got the same.",
        plugins=f"PodTopologySpread {INTER_POD_AFFINITY}",
    )
    spreads_over_nodes_without_zone = Rule(
        "1.20",
        "score",
        "Nodes without a zone are spread over by host where a pod has no constraints; before, such nodes scored 0.",
        plugins=f"PodTopologySpread {SELECTOR_SPREAD}",
    )
    rounds_scores = Rule("1.24", "score", "The sum over the constraints is rounded; before, it was cut off.")
    notes = (
        Rule(
            "1.18",
            "filter score",
            "Pods that are leaving count no more, and scores count the pod's own namespace; before, all pods counted, "
            "and scores those of every namespace.",
        ),
        Rule(
            "1.19",
            "filter score preemption",
            "A node that lacks a label has a reason of its own, and preemption is no help there; scores weigh each "
            "topology by its size, and are 100 where nothing is to be spread; before, the reason was that of a skew, "
            "and scores were plain sums, or 0.",
        ),
        Rule(
            "DefaultPodTopologySpread",
            "filter score",
            "Pods without constraints are spread by PodTopologySpread's defaults; without the gate, by "
            f"{SELECTOR_SPREAD}.",
            plugins=f"PodTopologySpread {SELECTOR_SPREAD}",
        ),
        *(Rule(gate, "fields", sentence) for gate, sentence in _FIELDS.items()),
    )
