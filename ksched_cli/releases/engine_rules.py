"""What changed between minors outside the plugins: the cycle, the queue and preemption; the gates that decide how they
run; and the fields, sums, ports and zones of pods and nodes as the scheduler reads them.

It mirrors pkg/scheduler without framework/plugins. The rules of a plugin are in its room.
"""

from __future__ import annotations

from ksched_cli.releases.changes import API_SERVER, CONTROLLERS, ReleaseRules, Rule
from ksched_cli.releases.minors import (
    EXTENDERS_REJECT,
    FIRST_REJECTION_DECIDES,
    INIT_CONTAINERS_COUNT,
    LEFT_OUT_NODES_ARE_SKIPPED,
    LEFT_OUT_NODES_HAVE_NO_STATUS,
    REJECTION_REACHES_NODES,
    SETS_REPLACE_ONE_POD,
    SIDECAR_PORTS_COUNT,
)
from ksched_cli.releases.plugin_names import (
    DEFAULT_PREEMPTION,
    INTER_POD_AFFINITY,
    NODE_PORTS,
    NODE_RESOURCES_BALANCED_ALLOCATION,
    NODE_RESOURCES_FIT,
    POD_TOPOLOGY_SPREAD,
    SCHEDULING_GATES,
    SELECTOR_SPREAD,
    VOLUME_BINDING,
)

_FILTER_WITH_POD = 'running "{plugin}" filter plugin for pod "{pod}": {text}'
_PRE_FILTER_FAILED = 'prefilter plugin "{plugin}" failed for pod "{pod}": {text}'
_PRE_SCORE_WITH_POD = 'error while running "{plugin}" prescore plugin for pod "{pod}": {text}'


class EngineRules(ReleaseRules):
    """What minors changed in the engine: the search, the queue, the cycle and preemption, beside the plugins."""

    failed_pods_lose_nomination = Rule("1.23", described_by=DEFAULT_PREEMPTION)
    narrowing_plugins_are_blamed = Rule(
        "1.31",
        "queue",
        "Plugins that narrowed the nodes down in PreFilter are noted as ones that rejected the pod, for when "
        "it is tried again; before, they were not.",
    )
    nodes_left_out = (
        Rule(
            LEFT_OUT_NODES_ARE_SKIPPED,
            "message",
            "Nodes that PreFilter left out have a reason; before, they had none.",
            before="none",
            now="filtered out",
        )
        .then(
            LEFT_OUT_NODES_HAVE_NO_STATUS,
            "message",
            "Nodes that PreFilter left out have no reason; before, they had one.",
            now="none",
        )
        .then(
            "1.32",
            "message",
            "Nodes that PreFilter left out have a reason that names the plugin; before, they had none.",
            now="plugin is named",
        )
    )
    unknown_nodes_end_the_cycle = Rule.until(
        LEFT_OUT_NODES_ARE_SKIPPED,
        "filter",
        "PreFilter may name nodes that do not exist; before, such a name ended the cycle with an error.",
    )
    rejection_reaches_nodes = Rule.until(
        "1.26",
        "message preemption",
        "A rejection by PreFilter is the status of no node; before, it was the status of every node.",
        DEFAULT_PREEMPTION,
    ).then(
        REJECTION_REACHES_NODES,
        "message preemption",
        "A rejection by PreFilter is the status of every node, and no preemption is tried; before, it was the "
        "status of no node, and preemption was tried on all.",
        now=True,
        plugins=DEFAULT_PREEMPTION,
    )
    all_filters_run = Rule(
        "1.24",
        "message preemption",
        "Up to 1.24.9, 1.25.5 and 1.26.0 every filter runs on a node, and the node has the reasons and the gravest "
        "code of all; before, the first filter that rejects it decided.",
    ).then(
        FIRST_REJECTION_DECIDES,
        "message preemption",
        "The first filter that rejects a node decides; before, the node had the reasons of all filters.",
        now=False,
    )
    first_fit_ends_search_without_scores = Rule(
        "1.30",
        "search",
        "In a profile without score plugins the search ends at the first node that fits; before, all were "
        "looked at, and the lowest name was taken.",
    )
    all_assigned_pods_are_news = Rule(
        "1.31",
        "queue",
        f"A pod that comes to a node moves pods that {POD_TOPOLOGY_SPREAD} rejected, too, and with queueing hints "
        "all whose plugins registered the event; before, it moved only pods that have to be near it.",
    )
    events_reach_some_plugins = Rule(
        "1.21",
        "message queue",
        "Events wake pods that lack resources where they can help with that, and an update leaves a pod to "
        "its wait; before, every event woke all pods, and an update ended the wait.",
    )
    every_plugin_names_events = Rule(
        "1.22",
        "queue",
        f"Every plugin states which events may help a pod that it rejected; before, {NODE_RESOURCES_FIT} alone "
        "did, and every event woke the pods of the others.",
    )
    errors_back_off = Rule(
        "1.29",
        "queue",
        "A pod whose cycle met an error is tried again when its wait is over; before, it needed an event.",
    )
    all_pre_filters_are_run = Rule(
        "1.30",
        "filter preemption",
        "After a plain rejection by a PreFilter plugin the other PreFilter plugins still run, and where they leave no "
        "node in common, preemption is of no use; before, the first rejection ended the search, and preemption "
        "was tried on no node.",
    )
    errors_are_counted = Rule.until(
        "1.17",
        "message",
        "An error on one node ends the cycle, and a node has one reason; before, errors and reasons of all "
        "nodes were reported together. Nodes are listed zone by zone by their labels without beta, too.",
    )
    claims_are_checked_first = Rule.until("1.20", described_by=VOLUME_BINDING)
    failed_binding_wakes_pods = Rule(
        "1.23", "queue", "The room that a pod leaves whose binding failed wakes others; before, it woke none."
    )
    all_node_changes_wake_pods = Rule(
        "1.30",
        "queue",
        "All that an update changes of a node wakes pods; before, one thing did: the first of unschedulable, "
        "allocatable, labels, taints and conditions.",
    )
    taints_checked_before_waking = Rule(
        "1.22",
        "queue",
        "A node event moves pods to the active queue that have room there, may go there and tolerate its taints; "
        "before, it moved all pods that waited for such events.",
        before=frozenset[str](),
        now=frozenset({"NoSchedule", "NoExecute"}),
    ).then(
        "1.24",
        "queue",
        "A node event moves pods that do not tolerate its NoExecute taints, too; before, it did not.",
        now=frozenset({"NoSchedule"}),
    )
    hints_replace_node_check = Rule(
        "1.32",
        "queue",
        "With queueing hints, a node event moves pods that have no room there as well, if a hint returns Queue; "
        "before, such pods were passed over first.",
    )
    overcommitted_node_has_no_room = Rule.until("1.28", described_by=NODE_RESOURCES_FIT)
    ended_nomination_wakes_pods = Rule("1.33", "queue", "A nomination that ends wakes weaker pods; before, it did not.")
    extender_nodes_are_scored_as_sent = Rule(
        "1.33",
        "score",
        "Nodes that an extender sent back whole are scored as it sent them; before, as the cache has them.",
    )
    extenders_are_blamed = Rule(
        EXTENDERS_REJECT,
        "queue",
        "An extender that left out nodes is noted as one that rejected the pod, so that the pod is tried "
        "again as with plugins; before, it was not.",
    )
    preemption_needs_victims = Rule("1.19", described_by=DEFAULT_PREEMPTION)
    extender_failures_are_lower_case = Rule("1.20", described_by="kube-scheduler")
    extenders_may_add_nodes = Rule.until("1.18", described_by="kube-scheduler")
    extenders_name_unresolvable_nodes = Rule("1.21", described_by="kube-scheduler")
    nodes_have_one_reason = Rule("1.17", described_by="kube-scheduler").then(
        "1.18", "message", "A node has all reasons of the filter that rejects it; before, the first of them.", now=False
    )
    rejection_by_pre_filter_is_an_error = Rule("1.17", described_by="kube-scheduler").then(
        "1.19",
        "message preemption",
        "A rejection by PreFilter leads to preemption like that of a filter, and errors are worded otherwise; "
        "before, it ended the cycle with an error.",
        now=False,
    )
    seconds_in_unschedulable = Rule(
        "1.24",
        "queue",
        "A pod that no event wakes is tried again after five minutes; before, after one.",
        before=60.0,
        now=300.0,
    )
    updates_end_backoff = Rule.until("1.21", described_by="kube-scheduler")
    backoff_counts_attempts = Rule.until(
        "1.34",
        "queue",
        "How long a pod waits grows with its rejections, and apart with errors in a row; before, with all attempts.",
    )
    gated_pods_keep_nominations = Rule(
        "1.37",
        "filter queue",
        "The room of a nominated pod is kept while the pod is gated; before, weaker pods could take it.",
    )
    gated_pods_are_flushed = Rule(
        "1.37",
        "queue",
        "PreEnqueue is asked again about pods that were held back for five minutes; before, at events alone that the "
        "plugin waits for.",
    )
    pod_events_have_subtypes = Rule(
        "1.37",
        "message queue",
        "Events are about a pod with a node (AssignedPod), another pod without one (UnscheduledPod) or the pod that "
        "waits itself (TargetPod), and plugins register for each of them; before, for those of all pods, their hints "
        "passed over the others, and a pod without a node was an UnschedulablePod.",
    )
    groups_share_a_cycle = Rule(
        "1.36", "search", "With the gate GenericWorkload the pods of a group share one cycle; before, each had its own."
    )
    group_pods_agree = Rule(
        "1.37",
        "search",
        "With the gate GenericWorkload, the pods of a group, those with a node too, need its priority and one "
        "preemptionPolicy, else its cycle is an error; before, those that wait needed one schedulerName alone.",
    )
    rest_of_group_is_tried_at_once = Rule(
        "1.37",
        "queue",
        "With the gate GenericWorkload, pods that found no place when their group did are tried again at once, and may "
        "preempt; before, they waited like other pods.",
    )
    completing_pod_is_first = Rule.until(
        "1.37",
        "search",
        "With the gate GenericWorkload, the pods of a group are tried in the order in which they came to the queue; "
        "before, the pod that completes the quorum was tried first.",
    )
    gated_pods_hold_back_groups = Rule(
        "1.37",
        "queue",
        "With the gate GenericWorkload, one pod that is held back holds back its pod group; before, the others were "
        "tried.",
        SCHEDULING_GATES,
    )
    quorum_ends_cycle = Rule(
        "1.37",
        "search message",
        "With the gate GenericWorkload, the cycle of a pod group ends once its quorum is out of reach, and Permit runs "
        "when all of its pods have been tried, and no PostFilter for each; before, all were tried, with both for each.",
    )
    notes = (
        Rule(
            "1.20",
            "message",
            "Taints are looked at early and resources late; before, filters had the order of predicates, so that "
            "nodes that fail several are reported with another of them.",
        ),
        Rule(
            "1.23",
            "message",
            "Plugins run in one order at all points (multiPoint), so that another PreFilter may be the first to "
            "reject a pod; before, each point had an order of its own.",
        ),
        Rule(
            "1.37",
            "fields",
            "PodGroups and Workloads are scheduling.k8s.io/v1beta1 and v1alpha3, with an object as disruptionMode, and "
            "DeviceTaintRules are resource.k8s.io/v1, too; before, groups were v1alpha2, which is no longer served.",
        ),
        Rule("CSINodeInfo", "queue", "A change of a CSINode wakes pods; without the gate, it does not."),
        Rule(
            "GenericWorkload",
            "queue search",
            "The pods of a pod group share one cycle (from 1.36 on); without the gate, each has its own.",
        ),
        Rule(
            "PreferNominatedNode",
            "search",
            "The node that preemption made room on is tried first, and alone; without the gate, it is one of all.",
        ),
        Rule(
            "SchedulerPopFromBackoffQ",
            "queue",
            "Where no pod is due, those that back off are tried early; without the gate, they wait.",
        ),
        Rule(
            "SchedulerQueueingHints",
            "queue",
            "Plugins say of each event whether it may help a pod that waits; without the gate, its kind alone decides.",
        ),
    )


class Wording(ReleaseRules):
    """The parts of a message about an unschedulable pod: PreFilter's text, the counts, the result of preemption."""

    pre_filter = Rule(
        "1.26", "message", "PreFilter's text stands by itself; before, it was counted as the reason of every node."
    )
    post_filter = Rule("1.24", "message", "The message ends with the result of preemption; before, it did not.")
    post_filter_end = Rule("1.26", before="", now=".", described_by="kube-scheduler").then(
        "1.29", "message", "The message ends with one full stop after preemption; before, with two.", now=""
    )


class ErrorTexts(ReleaseRules):
    """How the error of a plugin is framed, by extension point (framework/runtime/framework.go): format strings with the
    plugin, the pod and the text of the plugin. The errors of predicates and priorities (1.16) are only counted."""

    pre_filter = (
        Rule(
            "1.17",
            before=_PRE_FILTER_FAILED,
            now='error while running "{plugin}" prefilter plugin for pod "{pod}": {text}',
            described_by="kube-scheduler",
        )
        .then("1.19", now=_PRE_FILTER_FAILED, described_by="kube-scheduler")
        .then("1.20", now='running PreFilter plugin "{plugin}": {text}', described_by="kube-scheduler")
    )
    filter = (
        Rule(
            "1.17",
            before=_FILTER_WITH_POD,
            now='error while running "{plugin}" filter plugin for pod "{pod}": {text}',
            described_by="kube-scheduler",
        )
        .then("1.18", now=_FILTER_WITH_POD, described_by="kube-scheduler")
        .then("1.21", now='running "{plugin}" filter plugin: {text}', described_by="kube-scheduler")
    )
    pre_score = (
        Rule(
            "1.17",
            before=_PRE_SCORE_WITH_POD,
            now='error while running "{plugin}" postfilter plugin for pod "{pod}": {text}',
            described_by="kube-scheduler",
        )
        .then("1.18", now=_PRE_SCORE_WITH_POD, described_by="kube-scheduler")
        .then("1.20", now='running PreScore plugin "{plugin}": {text}', described_by="kube-scheduler")
    )
    score = Rule(
        "1.20",
        before='error while running score plugin for pod "{pod}": {text}',
        now='running Score plugins: plugin "{plugin}" failed with: {text}',
        described_by="kube-scheduler",
    )
    score_range = Rule(
        "1.20",
        before='error while applying score defaultWeights for pod "{pod}": score plugin "{plugin}" {text}',
        now='applying score defaultWeights on Score plugins: plugin "{plugin}" {text}',
        described_by="kube-scheduler",
    )


class FieldRules(ReleaseRules, plugins=f"{NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}"):
    has_sidecars = Rule(
        "1.28",
        "fields",
        "restartPolicy of init containers is known, so that there are sidecars, which need the gate "
        "SidecarContainers; before, they counted as init containers that end.",
    )
    storage_gate_covers = Rule(
        "1.19",
        "fields",
        "Ephemeral storage counts where the gate LocalStorageCapacityIsolation is on, that of init containers "
        "always; before, it counted whatever the gate was.",
        before=frozenset[str](),
        now=frozenset({"containers"}),
    ).then(
        "1.20",
        "fields",
        "Ephemeral storage of init containers counts where the gate LocalStorageCapacityIsolation is on; before, "
        "it always counted.",
        now=frozenset({"containers", "init_containers"}),
    )
    reads_namespace_selectors = Rule(
        "1.21",
        "fields",
        "A term with a namespaceSelector, while the gate PodAffinityNamespaceSelector is off, is about the "
        "namespaces that it names and no other; before, the field was unknown and such a term was about the "
        "pod's own.",
        INTER_POD_AFFINITY,
    )


class PodInfoRules(ReleaseRules, plugins=f"{NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}"):
    sidecars_run_beside_containers = Rule(
        "1.32",
        "score",
        "Sidecars of pods that run count as beside their containers, with defaults for what each does not ask "
        "for; before, as init containers.",
    )
    resized_pods_count_by_sums = Rule(
        "1.37",
        "filter score",
        "A pod that is resized in place counts with the largest of what its containers request, are allocated and "
        "have together; before, with the largest of each container, which may be more than the pod ever needs.",
    )
    init_containers_count = Rule(
        INIT_CONTAINERS_COUNT,
        "filter score",
        "The requests of init containers count in the sums of a node and in scores; before, only those of "
        "containers, and the pending pod alone counted with its init containers.",
    )
    sidecar_ports_count = Rule(
        SIDECAR_PORTS_COUNT, "filter", "Host ports of sidecars count; before, only those of containers.", NODE_PORTS
    )


class ZoneRules(ReleaseRules, plugins=SELECTOR_SPREAD):
    labels_without_beta = Rule("1.17", described_by=SELECTOR_SPREAD)


class ControllerRules(ReleaseRules, plugins=CONTROLLERS):
    """What changed in the controllers of workloads. Up to 1.36 they are those of 1.36."""

    on_delete_completes = Rule(
        "1.37",
        "rollout",
        "A StatefulSet with OnDelete is up to date once all its pods are of the update revision and ready; before, its "
        "current revision never changed.",
    )
    broken_pods_go_first = Rule(
        "1.37",
        "rollout",
        "With the gate MaxUnavailableStatefulSet and Parallel, a StatefulSet replaces old pods that are unavailable "
        "first, whatever the limit is; before, they took up the limit.",
    )
    notes = (
        Rule(
            SETS_REPLACE_ONE_POD,
            "rollout",
            "The gate MaxUnavailableStatefulSet is off by default; before, in 1.35, it was on.",
        ),
        Rule(
            "MaxUnavailableStatefulSet",
            "rollout",
            "maxUnavailable of a StatefulSet says how many pods are replaced at once; without the gate, it is dropped, "
            "and pods are replaced one at a time.",
        ),
        Rule(
            "StatefulSetRecreateStrategy",
            "rollout",
            "A StatefulSet with Recreate deletes all pods of another revision at once, and creates new ones when those "
            "are gone; without the gate, there is no such strategy.",
        ),
    )


class ApiServerRules(ReleaseRules, plugins=API_SERVER):
    """What changed in what the API server refuses. All else is refused as an API server of 1.36 does."""

    notes = (
        Rule(
            "1.37",
            "admission",
            "PodSecurity allows the sysctls net.ipv4.tcp_slow_start_after_idle and net.ipv4.tcp_notsent_lowat where "
            "the version of the policy is latest or v1.37; before, it refused pods that set them.",
        ),
        Rule(
            "1.34",
            "admission",
            "scaleTargetRef of a HorizontalPodAutoscaler has to name an API group, unless the kind is "
            "ReplicationController; before, every apiVersion was accepted.",
        ),
        Rule(
            "HPAScaleToZero",
            "admission",
            "minReplicas of a HorizontalPodAutoscaler may be 0 beside an Object or External metric; without the gate, "
            "it has to be at least 1.",
        ),
    )
