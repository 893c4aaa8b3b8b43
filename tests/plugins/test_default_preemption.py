"""Who may preempt at all, what is said otherwise, and what a preemption leaves behind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import LabelSelector, Node, Pod, PodCondition
from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet, SchedulerConfiguration
from ksched_cli.config.plugin_args import DefaultPreemptionArgs
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.interfaces import FilterPlugin
from ksched_cli.framework.status import SUCCESS, Status, error, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.minors import NEWEST
from tests.builders import make_node, make_pod
from tests.harness import decide, make_scheduler
from tests.lanes import examples

NEW_YEAR = "2026-01-01T00:00:00Z"
NO_CLAIMS = "no new claims to deallocate, "
FULL = f"0/1 nodes are available: 1 Insufficient cpu. {NO_CLAIMS}preemption: "


def filler(name: str, node: str, priority: int = 0, cpu: str = "4") -> Any:
    return make_pod(name).requests(cpu=cpu).priority(priority).on(node).started(NEW_YEAR)


def wanted(name: str = "new", priority: int = 100, cpu: str = "2") -> Any:
    return make_pod(name).requests(cpu=cpu).priority(priority)


def leaving(name: str, node: str, *conditions: tuple[str, str, str]) -> Pod:
    pod: Pod = filler(name, node).terminating().obj()
    pod.status.conditions = tuple(
        msgspec.convert({"type": type_, "status": status, "reason": reason}, PodCondition)
        for type_, status, reason in conditions
    )
    return pod


def only(scheduler: Scheduler) -> Decision:
    (decision,) = decide(scheduler).values()
    return decision


# Messages


@pytest.mark.parametrize(
    ("running", "pod", "message"),
    [
        pytest.param(
            filler("a", "n", 100),
            wanted(),
            f"{FULL}0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="equal priority stays",
        ),
        pytest.param(
            filler("a", "n", 200),
            wanted(),
            f"{FULL}0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="higher priority stays",
        ),
        pytest.param(
            filler("a", "n"),
            wanted(cpu="9"),
            f"{FULL}0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="no eviction can help",
        ),
        pytest.param(
            filler("a", "n"),
            wanted().spec(preemptionPolicy="Never"),
            f"{FULL}not eligible due to preemptionPolicy=Never.",
            id="preemptionPolicy Never",
        ),
    ],
)
def test_message(running: Any, pod: Any, message: str) -> None:
    decision = only(make_scheduler([make_node("n").obj()], [running.obj(), pod.obj()]))
    assert (decision.preemption, decision.message) == (None, message)


def test_each_node_has_its_own_reason() -> None:
    made = [make_node(name).obj() for name in ("a", "b", "c")] + [make_node("d").cordoned().obj()]
    low, high = filler("low", "b", 1, "1"), filler("high", "b", 200, "3")
    running = [filler("x", "a", 200).obj(), low.obj(), high.obj(), filler("y", "c", 200).obj()]
    decision = only(make_scheduler(made, [*running, wanted().obj()]))
    assert decision.message.endswith(
        "preemption: 0/4 nodes are available: 1 Insufficient cpu, 1 Preemption is not helpful for scheduling, "
        "2 No preemption victims found for incoming pod."
    )


def test_preempting_says_nothing() -> None:
    decision = only(make_scheduler([make_node("n").obj()], [filler("a", "n").obj(), wanted().obj()]))
    assert decision.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert decision.nominated_node == "n"


# Eligibility of a pod that preempted before

BY_SCHEDULER = ("DisruptionTarget", "True", "PreemptionByScheduler")


@pytest.mark.parametrize(
    ("victim", "waits"),
    [
        pytest.param(leaving("a", "n", BY_SCHEDULER), True, id="evicted by a scheduler"),
        pytest.param(leaving("a", "n", ("Ready", "False", ""), BY_SCHEDULER), True, id="among other conditions"),
        pytest.param(leaving("a", "n"), False, id="deleted by someone"),
        pytest.param(leaving("a", "n", ("DisruptionTarget", "True", "EvictionByEvictionAPI")), False, id="by the API"),
        pytest.param(
            leaving("a", "n", ("DisruptionTarget", "False", "PreemptionByScheduler")), False, id="not any longer"
        ),
        pytest.param(leaving("a", "m", BY_SCHEDULER), False, id="on another node"),
    ],
)
def test_a_pod_waits_for_its_victims(victim: Pod, waits: bool) -> None:
    made = [make_node("m").obj(), make_node("n").obj()]
    rest = filler("rest", "m" if victim.spec.node_name == "n" else "n").obj()
    scheduler = make_scheduler(made, [victim, rest, wanted().nominated("n").obj()])
    decision = only(scheduler)
    row = scheduler.cluster.pods.row_of["default/new"]
    if waits:
        assert decision.preemption is None
        assert decision.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")
        assert scheduler.nominator.node_of(row) == "n"
    else:
        assert decision.preemption is not None


def test_pods_that_may_not_be_evicted_are_not_waited_for() -> None:
    strong = leaving("strong", "n", BY_SCHEDULER)
    strong.spec.priority = 200
    made = [make_node("m").obj(), make_node("n").obj()]
    decision = only(make_scheduler(made, [strong, filler("a", "m").obj(), wanted().nominated("n").obj()]))
    assert decision.nominated_node == "m"


@pytest.mark.parametrize(
    "nominated",
    [pytest.param(make_node("n").cordoned().obj(), id="is hopeless by now"), pytest.param(None, id="is gone")],
)
def test_another_node_is_looked_for_when_the_nominated_one(nominated: Node | None) -> None:
    made = [make_node("m").obj(), *([nominated] if nominated else [])]
    running = [leaving("a", "n", BY_SCHEDULER), filler("b", "m").obj()]
    assert only(make_scheduler(made, [*running, wanted().nominated("n").obj()])).nominated_node == "m"


def test_a_nomination_is_dropped_when_nothing_helps() -> None:
    scheduler = make_scheduler([make_node("n").obj()], [filler("a", "n", 200).obj(), wanted().nominated("n").obj()])
    only(scheduler)
    assert scheduler.nominator.node_of(scheduler.cluster.pods.row_of["default/new"]) == ""


# What is left behind


def test_victims_are_leaving_and_weaker_nominations_are_dropped() -> None:
    weak = make_pod("weak").requests(cpu="1").priority(1).nominated("n").gate("held").obj()
    equal = make_pod("equal").requests(cpu="1").priority(9).nominated("n").gate("held").obj()
    strong = wanted("strong", 9, "3").obj()
    # Up to 1.36 a gated pod has no nomination.
    scheduler = make_scheduler([make_node("n").obj()], [filler("a", "n").obj(), weak, equal, strong], current=NEWEST)
    decide(scheduler)
    rows = scheduler.cluster.pods.row_of
    assert scheduler.cluster.pods.terminating[rows["default/a"]]
    assert {name: scheduler.nominator.node_of(rows[f"default/{name}"]) for name in ("weak", "equal", "strong")} == {
        "weak": "",
        "equal": "n",
        "strong": "n",
    }


def test_a_victim_that_is_leaving_already_is_not_evicted_again() -> None:
    scheduler = make_scheduler([make_node("n").obj()], [leaving("a", "n"), wanted().obj()])
    decision = only(scheduler)
    assert decision.preemption is not None
    assert scheduler.cluster.preempted == set()


def test_a_nominated_pod_holds_its_place_against_equals_only() -> None:
    running = [filler("a", "n", 0, "2").obj(), filler("b", "n", 0, "2").obj()]
    first, equal, stronger = wanted("1st", 50), wanted("2nd", 50, "3"), wanted("0th", 60, "3")
    scheduler = make_scheduler([make_node("n").obj()], [*running, first.obj(), equal.obj()])
    decisions = decide(scheduler)
    assert decisions["default/1st"].nominated_node == "n"
    assert decisions["default/2nd"].message.endswith("0/1 nodes are available: 1 Insufficient cpu.")
    late = scheduler.cluster.add_pod(stronger.obj())
    assert scheduler.schedule(late).nominated_node == "n"


def test_a_nominated_pod_that_is_tried_on_its_node_does_not_free_the_port_of_its_victim() -> None:
    victim = make_pod("victim").host_port(80).on("n").obj()
    pending = [make_pod(name).host_port(80).priority(priority) for name, priority in (("a", 9), ("b", 5))]
    scheduler = make_scheduler([make_node("n").obj()], [victim, *(each.obj() for each in pending)])
    assert [each.nominated_node for each in decide(scheduler).values()] == ["n", ""]
    late = scheduler.cluster.add_pod(make_pod("late").host_port(80).priority(10).obj())
    decision = scheduler.schedule(late)
    assert (decision.result, decision.nominated_node) == ("unschedulable", "n")


# Sampling


@pytest.mark.parametrize(
    ("args", "budgets", "expected"),
    [
        pytest.param((50, 1), [], "n4", id="half of the nodes that could be helped"),
        pytest.param((10, 3), [], "n2", id="at least so many"),
        pytest.param((10, 0), [], "n0", id="at least one"),
        pytest.param((10, 100), [], "n9", id="at most all"),
        pytest.param((10, 1), ["n0", "n1", "n2"], "n3", id="until one violates no budget"),
    ],
)
def test_sampling_stops_at_enough_candidates(args: tuple[int, int], budgets: list[str], expected: str) -> None:
    """Later nodes have victims of lower priority: the last one that is looked at is the best."""
    names = [f"n{index}" for index in range(10)]
    running = [filler(f"on-{name}", name, 20 - index).label(app=name).obj() for index, name in enumerate(names)]
    objects = [budget(name, 0) for name in budgets]
    made = [make_node(name).obj() for name in names]
    scheduler = make_scheduler(made, [*running, wanted().obj()], objects=objects, sampling=True)
    (runtime,) = scheduler.runtimes.values()
    (plugin,) = (each for each in runtime.profile.post_filter if each.name == "DefaultPreemption")
    plugin.args = DefaultPreemptionArgs(min_candidate_nodes_percentage=args[0], min_candidate_nodes_absolute=args[1])
    assert only(scheduler).nominated_node == expected


def test_the_share_is_of_the_nodes_that_could_be_helped_and_not_of_the_candidates() -> None:
    names = [f"n{index}" for index in range(8)]
    running = [filler(f"on-{name}", name, 200 if index < 4 else 20 - index).obj() for index, name in enumerate(names)]
    scheduler = make_scheduler([make_node(name).obj() for name in names], [*running, wanted().obj()], sampling=True)
    (runtime,) = scheduler.runtimes.values()
    (plugin,) = (each for each in runtime.profile.post_filter if each.name == "DefaultPreemption")
    plugin.args = DefaultPreemptionArgs(min_candidate_nodes_percentage=50, min_candidate_nodes_absolute=0)
    assert only(scheduler).nominated_node == "n7"


def test_a_node_whose_pods_matter_to_other_nodes_is_tried_alone() -> None:
    """A pod on either node keeps the new one out of the whole zone: the eviction of one of them helps on no node."""
    rule = {"labelSelector": {"matchLabels": {"app": "new"}}, "topologyKey": ZONE}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    made = [make_node(name).zone("x").obj() for name in "ab"]
    running = [filler(f"on-{name}", name, cpu="1").spec(affinity=apart).obj() for name in "ab"]
    decision = only(make_scheduler(made, [*running, wanted().label(app="new").obj()]))
    assert decision.preemption is None
    reason = "node(s) didn't satisfy existing pods anti-affinity rules."
    assert decision.message.endswith(f"preemption: 0/2 nodes are available: 2 {reason}")


def keeping_away(*apps: str) -> dict[str, Any]:
    rules = [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST} for app in apps]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": rules}}


@pytest.mark.parametrize(
    ("of_old", "of_new"),
    [
        pytest.param(("none", "new"), (), id="the victim keeps the pod away"),
        pytest.param((), ("none", "old"), id="the pod keeps away from the victim"),
    ],
)
def test_one_of_two_terms_of_anti_affinity_is_gone_with_the_victim(
    of_old: tuple[str, ...], of_new: tuple[str, ...]
) -> None:
    old = filler("old", "n", cpu="1").label(app="old").spec(affinity=keeping_away(*of_old))
    new = wanted().label(app="new").spec(affinity=keeping_away(*of_new))
    assert only(make_scheduler([make_node("n").obj()], [old.obj(), new.obj()])).nominated_node == "n"


def test_a_budget_with_a_broken_selector_protects_nobody_and_hides_no_other_budget() -> None:
    broken = budget("a", 0)
    broken.spec.selector = msgspec.convert({"matchExpressions": [{"key": "a", "operator": "?"}]}, LabelSelector)
    running = [filler("on-a", "a").label(app="b").obj(), filler("on-b", "b", 1).obj()]
    made = [make_node(name).obj() for name in "ab"]
    decision = only(make_scheduler(made, [*running, wanted().obj()], objects=[broken, budget("b", 0)]))
    assert decision.nominated_node == "b", "that the pod on a is less important counts after the budgets"


# Plugins that misbehave in the dry run


class Moody(FilterPlugin[None]):
    """Rejects a node with pods on it, and cannot tell about an empty one unless that is called calm."""

    name = "Moody"

    def filter(self, state: None, pod: Any, nodes: Any) -> Verdict:
        return Verdict.from_statuses([self._judge(nodes.cluster, row) for row in nodes.rows.tolist()])

    def _judge(self, cluster: Any, row: int) -> Status:
        if cluster.pods_on(row):
            return unschedulable("busy")
        return SUCCESS if cluster.nodes.names[row] == "calm" else error("cannot tell")


class Forgetful(FilterPlugin[None]):
    """Rejects a node once, and never again."""

    name = "Forgetful"
    asked = 0

    def filter(self, state: None, pod: Any, nodes: Any) -> Verdict:
        self.asked += 1
        return Verdict.from_statuses([unschedulable("not now") if self.asked == 1 else SUCCESS] * len(nodes))


def dry_run_with(plugin: type[FilterPlugin[None]], names: list[str]) -> Decision:
    only_this = (plugin.name, "PrioritySort", "DefaultPreemption", "DefaultBinder")
    everything_off = PluginSet(tuple(PluginRef(name) for name in only_this), (PluginRef("*"),))
    configuration = SchedulerConfiguration(
        profiles=(KubeSchedulerProfile(plugins=Plugins(multi_point=everything_off)),)
    )
    running = [filler(f"on-{name}", name).obj() for name in names]
    made = [make_node(name).obj() for name in names]
    return only(make_scheduler(made, [*running, wanted().obj()], configuration=configuration, plugins=[plugin]))


def test_a_filter_that_fails_in_the_dry_run_spoils_its_node_only() -> None:
    assert dry_run_with(Moody, ["anxious", "calm"]).nominated_node == "calm"


def test_where_the_dry_run_fails_on_all_nodes_that_is_the_message() -> None:
    decision = dry_run_with(Moody, ["anxious"])
    assert decision.result == "unschedulable"
    assert decision.message == (
        '0/1 nodes are available: 1 busy. preemption: running "Moody" filter plugin: cannot tell'
    )


def test_a_node_that_needs_no_victims_after_all_is_an_error() -> None:
    message = dry_run_with(Forgetful, ["a", "b"]).message
    assert message == (
        "0/2 nodes are available: 2 not now. preemption: "
        '[expected at least one victim pod on node "a", expected at least one victim pod on node "b"]'
    )


# Against the plain reading of SelectVictimsOnNode: every what-if is a cluster of its own


ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[Node], list[Pod], Pod, list[PodDisruptionBudget]]:
    """Full nodes, a pod above most of what runs there, and budgets for some of that."""
    made = []
    for name in [f"n{index}" for index in range(draw(st.integers(1, 3)))]:
        most = str(draw(st.integers(3, 6)))
        made.append(
            make_node(name).allocatable(cpu="3", memory="8Gi", pods=most).zone(draw(st.sampled_from("xy"))).obj()
        )
    running = [draw(runners(f"run-{index}", index, len(made))) for index in range(draw(st.integers(2, 9)))]
    builder = wanted("new", draw(st.integers(1, 3)), draw(st.sampled_from(("500m", "1", "2")))).label(app="a")
    if draw(st.integers(0, 2)) == 0:
        builder.host_port(80)
    if draw(st.integers(0, 2)) == 0:
        rule = {"labelSelector": {"matchLabels": {"app": "b"}}, "topologyKey": draw(st.sampled_from((ZONE, HOST)))}
        builder.spec(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}})
    if draw(st.integers(0, 2)) == 0:
        constraint = {"maxSkew": 1, "topologyKey": draw(st.sampled_from((ZONE, HOST)))}
        constraint |= {"whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}}
        builder.spec(topologySpreadConstraints=[constraint])
    budgets = [budget(app, draw(st.integers(0, 2))) for app in draw(st.sampled_from(("", "a", "ab")))]
    return made, running, builder.obj(), budgets


@st.composite
def runners(draw: st.DrawFn, name: str, index: int, nodes: int) -> Pod:
    """The first of each node may hold a port; two that share one free it for good when either leaves, as in Go."""
    cpu = draw(st.sampled_from(("250m", "500m", "1")))
    row = index if index < nodes else draw(st.integers(0, nodes - 1))
    builder = filler(name, f"n{row}", draw(st.integers(-1, 2)), cpu)
    builder.label(app=draw(st.sampled_from("ab"))).started(draw(st.sampled_from((NEW_YEAR, "2026-02-01T00:00:00Z"))))
    if draw(st.integers(0, 5)) == 0:
        rule = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": draw(st.sampled_from((ZONE, HOST)))}
        builder.spec(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}})
    if index < nodes and draw(st.booleans()):
        builder.host_port(80, address=draw(st.sampled_from(("", "10.0.0.1"))))
    pod: Pod = builder.obj()
    return pod


def budget(app: str, allowed: int) -> PodDisruptionBudget:
    document = {
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.convert(document, PodDisruptionBudget)


def verdicts(made: list[Node], running: list[Pod], pod: Pod) -> dict[str, str]:
    """Node to "fits" or the code that it is rejected with."""
    scheduler = make_scheduler(made, [*running, pod])
    decision = only(scheduler)
    assert decision.diagnosis is not None
    feasible = set(decision.feasible.tolist())
    return {
        name: "fits" if row in feasible else decision.diagnosis.nodes.status(row).code.go_name
        for row, name in enumerate(scheduler.cluster.nodes.names)
    }


def plainly(made: list[Node], running: list[Pod], pod: Pod, budgets: list[PodDisruptionBudget]) -> Any:
    """The best of (violations, victims, node), or None."""
    found = []
    for node, code in verdicts(made, running, pod).items():
        lower = [each for each in running if each.spec.node_name == node and priority(each) < priority(pod)]
        staying = [each for each in running if each not in lower]
        if code == "Unschedulable" and lower and verdicts(made, staying, pod)[node] == "fits":
            found.append((node, *plain_victims(made, staying, lower, pod, budgets)))
    return min(found, key=plain_rank) if found else None


def plain_victims(
    made: list[Node], staying: list[Pod], lower: list[Pod], pod: Pod, budgets: list[PodDisruptionBudget]
) -> tuple[list[Pod], int]:
    lower = sorted(lower, key=importance)
    hurt = plainly_violating(lower, budgets)
    victims, violations = [], 0
    for each in [*hurt, *(other for other in lower if other not in hurt)]:
        if verdicts(made, [*staying, each], pod)[str(each.spec.node_name)] == "fits":
            staying = [*staying, each]
        else:
            victims.append(each)
            violations += each in hurt
    return sorted(victims, key=importance), violations


def plainly_violating(lower: list[Pod], budgets: list[PodDisruptionBudget]) -> list[Pod]:
    left = {each.metadata.name: each.status.disruptions_allowed for each in budgets}
    hurt = []
    for each in lower:
        app = each.metadata.labels["app"]
        if app in left:
            left[app] -= 1
            if left[app] < 0:
                hurt.append(each)
    return hurt


def priority(pod: Pod) -> int:
    return pod.spec.priority or 0


def importance(pod: Pod) -> tuple[int, str]:
    return -priority(pod), str(pod.status.start_time)


def plain_rank(found: tuple[str, list[Pod], int]) -> Any:
    node, victims, violations = found
    top = priority(victims[0])
    # Times of the same form compare as their texts do; the later one is the better one.
    started = min(str(each.status.start_time) for each in victims if priority(each) == top)
    age = tuple(-ord(letter) for letter in started)
    return violations, top, sum(priority(each) + 2**31 for each in victims), len(victims), age, node


@pytest.mark.slow
@given(crowds())
@settings(max_examples=examples(120), deadline=None)
def test_the_dry_run_equals_a_plain_reading(drawn: Any) -> None:
    made, running, pod, budgets = drawn
    scheduler = make_scheduler(made, [*running, pod], objects=budgets)
    decision = only(scheduler)
    expected = None if decision.result == "scheduled" else plainly(made, running, pod, budgets)
    if expected is None:
        assert decision.preemption is None
        return
    assert decision.preemption is not None
    names = [scheduler.cluster.pods.infos[row].name for row in decision.preemption.victims]
    node, victims, violations = expected
    assert decision.preemption.nominated_node == node
    assert sorted(names) == sorted(each.metadata.name for each in victims)
    assert decision.preemption.pdb_violations == violations
