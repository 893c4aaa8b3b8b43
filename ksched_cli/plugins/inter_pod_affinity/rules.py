"""What of InterPodAffinity changed between minors."""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule


class InterPodAffinityRules(ReleaseRules, plugins="InterPodAffinity"):
    follows_nominated_pods = Rule(
        "1.17",
        "filter",
        "The first pod of a group needs nodes with the topology's label, and pods that are nominated count; before, "
        "it could go anywhere, and they did not.",
    )
    first_pod_needs_labels = Rule("1.17", before=False, now=True, described_by="InterPodAffinity")
    own_rules_come_first = Rule(
        "1.19",
        "message",
        "Where a node breaks several rules, those of the pod itself come first in the reason; before, the "
        "anti-affinity of other pods did.",
    )
    shown_reasons = (
        Rule("1.17", before="both", now="the gravest", described_by="kube-scheduler")
        .then("1.18", now="both", described_by="kube-scheduler")
        .then(
            "1.22",
            now="the rule",
            about="message",
            sentence=(
                "A node's reason is the one rule that it breaks; before, a second reason came first that was about any."
            ),
        )
    )
    any_anti_affinity_term_wakes = Rule(
        "1.37",
        "queue",
        "A pod that leaves, or no longer matches, wakes pods if one of their anti-affinity terms was about it; before, "
        "only if all were.",
    )
    skips_without_preferences = Rule("1.28", before=False, now=True, described_by="InterPodAffinity")
    scores_from_the_lowest = Rule(
        "1.21",
        "score",
        "The lowest sum of preferences scores 0 and the highest 100; before, having no preference was one of the ends.",
    )
    notes = (
        Rule("1.17", "score", "Nodes score 0 to 100; before, 0 to 10, and small differences were lost."),
        Rule("1.23", "weight", "Its score weighs 2; before, 1."),
        Rule(
            "PodAffinityNamespaceSelector",
            "fields",
            "namespaceSelector of terms counts; without the gate, it does not.",
        ),
    )
