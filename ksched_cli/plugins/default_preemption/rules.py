"""What of DefaultPreemption changed between minors."""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import LEFT_OUT_NODES_ARE_SKIPPED, MIXED_VICTIMS_ARE_SORTED


class DefaultPreemptionRules(ReleaseRules, plugins="DefaultPreemption"):
    skips_nodes_left_out = Rule(
        LEFT_OUT_NODES_ARE_SKIPPED,
        "preemption",
        "Nodes that PreFilter left out are not tried; before, evicting pods there was tried too.",
    )
    budgets_have_a_gate = Rule(
        "1.17",
        before=False,
        now=True,
        about="preemption",
        sentence="The gate PodDisruptionBudget can switch disruption budgets off; before, they always counted.",
    ).then(
        "1.21",
        now=False,
        about="preemption",
        sentence="Disruption budgets always count; before, the gate PodDisruptionBudget could switch them off.",
    )
    failed_pods_lose_nomination = Rule(
        "1.23",
        "preemption",
        "A pod whose cycle fails is no longer nominated; before, it lost its node only where no eviction could help.",
    )
    explains_failure = Rule("1.19", before=False, now=True, described_by="DefaultPreemption")
    hopeless_node_ends_waiting = Rule(
        "1.19",
        "preemption",
        "A pod may preempt on another node once evictions on its nominated node cannot help, and a node where no pod "
        "would be evicted is no candidate; before, the pod waited for that node, and such a node was the best.",
    )
    search_ends_early = Rule(
        "1.20",
        "preemption",
        "The search ends at as many candidates as the arguments say, and there is preemption under a Policy; before, "
        "all nodes were tried, and there was none.",
    )
    needs_victims = Rule("1.19", before=False, now=True, described_by="DefaultPreemption")
    sorts_mixed_victims = Rule(
        MIXED_VICTIMS_ARE_SORTED,
        "preemption",
        "Where only some victims violate a budget, they are sorted by importance once more, so that a node is ranked "
        "by its most important victim; before, by the first that violates.",
    )
    counting_of_evictions = Rule(
        "1.18",
        before="allow any",
        now="up to the first",
        about="preemption",
        sentence=("The status of a budget limits the evictions; before, a budget that allowed one allowed all."),
    ).then(
        "1.19",
        now="all",
        about="preemption",
        sentence=(
            "A victim counts for each budget that covers it, but not for those that know of its eviction; before, "
            "it counted up to the first budget that it violates, known or not."
        ),
    )
    reports_its_node = Rule(
        "1.37",
        "message",
        "The message of a pod that preempts names its node and the number of victims; before, it did not.",
    )
    notes = (
        Rule(
            "1.37",
            "configuration preemption",
            "Preemption of pod groups is an extension point (podGroupPostFilter), at which a profile can disable it; "
            "before, it was a part of the cycle.",
        ),
        Rule("1.32", "queue", "Holds a pod back while its victims are being evicted; before, it waited in the queue."),
        Rule(
            "NonPreemptingPriority",
            "fields",
            "preemptionPolicy Never counts; without the gate, such pods preempt, too.",
        ),
        Rule(
            "PodDisruptionConditions",
            "preemption",
            "A pod waits on its nominated node for victims of preemption alone; without the gate, for every weaker "
            "pod there that is being deleted.",
        ),
        Rule("PodDisruptionBudget", "preemption", "Disruption budgets count; without the gate, there are none."),
        Rule(
            "WorkloadAwarePreemption",
            "preemption",
            "Victims are chosen for a pod group as a whole, and a group may be one victim; without the gate, each pod "
            "of a group preempts by itself.",
        ),
        Rule(
            "SchedulerAsyncPreemption",
            "queue",
            "Victims are evicted in the background; without the gate, in the cycle.",
        ),
    )
