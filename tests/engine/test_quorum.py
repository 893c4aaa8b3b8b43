"""Pod groups up to 1.36, and from 1.37 on, side by side: when the cycle ends, what the pods and the group are told, and
where they are nominated.

The values of 1.37 are those of schedule_one_podgroup.go and gangscheduling.go.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.config.model import KubeSchedulerProfile, SchedulerConfiguration
from ksched_cli.engine.loop import SchedulingLoop
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import FilterPlugin, PermitPlugin
from ksched_cli.framework.status import SUCCESS, Code, Status, as_reasons, error, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.pod_groups import GangScheduling
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.engine.test_cycle import with_plugins
from tests.harness import decide, make_bench, make_scheduler
from tests.pod_groups import GATES_OF_MINOR, group, member, nodes_with

BELOW = "waiting for minCount pods from a gang to be scheduled, one or more plugins asked to wait and no plugin rejected pod"


def pod_group(min_count: int | None, priority: int | None = None) -> Any:
    made = group(min_count=min_count)
    made.spec.priority = priority
    return made


def run(minor: str, cpus: tuple[int, ...], pods: list[Any], made: Any) -> tuple[Any, list[Any], Any]:
    """The scheduler, the decisions in the order of the pods, and that of the group."""
    current = RELEASES[minor]
    scheduler = make_scheduler(nodes_with(*cpus), pods, objects=[made], gates=GATES_OF_MINOR[minor], current=current)
    decisions = decide(scheduler)
    pending = [pod for pod in pods if not pod.spec.node_name]
    found = [decisions[f"default/{pod.metadata.name}"] for pod in pending]
    return scheduler, found, scheduler.group_decisions[GroupKey("default", "g")]


def members(*cpus: str, **fields: Any) -> list[Any]:
    return [member(f"p{index}", cpu=cpu).priority(fields.get("priority", 0)).obj() for index, cpu in enumerate(cpus, 1)]


def short(text: str) -> str:
    return text.replace("pod group is unschedulable", "PGU").replace("pod group preemption", "PGP")


NO_VICTIMS = "No preemption victims found for incoming preemptor"


@pytest.mark.parametrize(
    ("wanted", "min_count", "old", "new"),
    [
        pytest.param(("1", "1"), 2, ("scheduled", ""), ("scheduled", ""), id="all fit"),
        pytest.param(("1", "1", "1"), 2, ("scheduled", ""), ("scheduled", ""), id="the quorum fits"),
        pytest.param(("1", "1", "1"), 3, ("unschedulable", f"PGU, {NO_VICTIMS}"), ("unschedulable", f"minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, PGP: {NO_VICTIMS}"), id="the last does not fit"),
        pytest.param(("9", "9", "9"), 2, ("unschedulable", f"PGU, {NO_VICTIMS}"), ("unschedulable", f"minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, PGP: {NO_VICTIMS}"), id="none fits"),
        pytest.param(("9", "9"), None, ("unschedulable", f"PGU, {NO_VICTIMS}"), ("unschedulable", f"PGU, PGP: {NO_VICTIMS}"), id="none of a basic group fits"),
        pytest.param(("9", "1"), None, ("scheduled", ""), ("scheduled", ""), id="some of a basic group fit"),
    ],
)  # fmt: skip
def test_what_the_group_is_told(wanted: tuple[str, ...], min_count: int | None, old: Any, new: Any) -> None:
    """PlacementFeasible (#138643), and preemption with a prefix (#139218). What a plugin returns after a pod is the status
    of the group as it is (podGroupSchedulingDefaultAlgorithm)."""
    for minor, expected in (("1.36", old), ("1.37", new)):
        _, _, decided = run(minor, (2,), members(*wanted), pod_group(min_count))
        assert (decided.result, short(decided.message)) == expected, minor


@pytest.mark.parametrize(
    ("minor", "own", "tried", "untried"),
    [
        pytest.param(
            "1.36",
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
            "preemption: not eligible due to workload aware preemption enabled",
            f"PGU, {BELOW}",
            f"PGU, {BELOW}",
        ),
        pytest.param(
            "1.37",
            "0/1 nodes are available: 1 Insufficient cpu.",
            f"PGU, minCount (4) cannot be satisfied: 1 scheduled, 2 remaining, PGP: {NO_VICTIMS}",
            "minCount (4) cannot be satisfied: 1 scheduled, 2 remaining",
        ),
    ],
)
def test_what_its_pods_are_told(minor: str, own: str, tried: str, untried: str) -> None:
    """Pods of a group run no PostFilter (#140412). Pods that were not tried have the group's first status."""
    _, decisions, _ = run(minor, (3,), members("1", "9", "1", "1"), pod_group(4))
    assert [short(each.message) for each in decisions] == [tried, own, untried, untried]
    assert {each.result for each in decisions} == {"unschedulable"}
    assert [each.diagnosis is None for each in decisions] == [False, False, *([minor == "1.37"] * 2)]


# The cycle by its plugins


class Judge(FilterPlugin[None], PermitPlugin[None]):
    """Answers as it is set: s(uccess), u(nschedulable), w(ait), e(rror), at Filter and at Permit for p1, p2, p3, at
    PlacementFeasible call by call."""

    name = "Judge"
    filters, feasible, permits = "sss", "", "sss"
    tried: ClassVar[list[str]] = []

    def filter(self, state: None, pod: Any, nodes: Any) -> Verdict:
        self.tried.append(pod.name)
        return Verdict.of_all(len(nodes), _ANSWERS[self.filters[int(pod.name[1]) - 1]])

    def placement_feasible(self, key: GroupKey, scheduled: int, remaining: int) -> Status:
        answer, Judge.feasible = Judge.feasible[:1] or "s", Judge.feasible[1:]
        return _ANSWERS[answer]

    def permit(self, state: None, pod: Any, row: int) -> tuple[Status, float]:
        return _ANSWERS[self.permits[int(pod.name[1]) - 1]], 0


_ANSWERS = {"s": SUCCESS, "u": unschedulable("no"), "w": Status(Code.WAIT, as_reasons(["wait"])), "e": error("broken")}


@pytest.mark.parametrize(
    ("filters", "feasible", "permits", "old", "new"),
    [
        pytest.param("sss", "", "sss", "scheduled p1 p2 p3, of 3", "scheduled p1 p2 p3, of 3", id="all are feasible"),
        pytest.param("sss", "ssss", "sss", "scheduled p1 p2 p3, of 3", "scheduled p1 p2 p3, of 3", id="enough before the first pod"),
        pytest.param("sss", "wwws", "sss", "scheduled p1 p2 p3, of 3", "scheduled p1 p2 p3, of 3", id="enough with the last pod"),
        pytest.param("sss", "wwww", "sss", "scheduled p1 p2 p3, of 3", "unschedulable, of 3", id="never enough"),
        pytest.param("sss", "wu", "sss", "scheduled p1 p2 p3, of 3", "unschedulable, of 1", id="out of reach after one pod"),
        pytest.param("sss", "wwu", "sss", "scheduled p1 p2 p3, of 3", "unschedulable, of 2", id="out of reach after two"),
        pytest.param("uss", "wwws", "sss", "scheduled p2 p3, of 3", "scheduled p2 p3, of 3", id="enough without one"),
        pytest.param("uuu", "wsss", "sss", "unschedulable, of 3", "unschedulable, of 3", id="enough, but no pod is feasible"),
        pytest.param("ses", "", "sss", "error, of 2", "error, of 2", id="an error of a filter"),
        pytest.param("sss", "wse", "sss", "scheduled p1 p2 p3, of 3", "error, of 2", id="an error after two pods"),
        pytest.param("sss", "u", "sss", "scheduled p1 p2 p3, of 3", "unschedulable, of 0", id="out of reach from the beginning"),
        pytest.param("sss", "e", "sss", "scheduled p1 p2 p3, of 3", "error, of 0", id="an error from the beginning"),
        pytest.param("sss", "", "sus", "scheduled p1 p3, of 3", "scheduled p1 p3, of 3", id="refused at Permit"),
        pytest.param("sss", "", "ses", "error, of 2", "scheduled p1 p3, of 3", id="an error of Permit"),
    ],
)  # fmt: skip
def test_when_the_cycle_ends(filters: str, feasible: str, permits: str, old: str, new: str) -> None:
    """Who gets a node, and how many were tried, as in TestPodGroupSchedulingAlgorithm (algorithm_podgroup_test.go, and
    schedule_one_podgroup_test.go in 1.36). The errors of Permit are those of submitPodGroupAlgorithmResult: since 1.37
    only pods of a group that is scheduled come there."""
    found = {}
    for minor in ("1.36", "1.37"):
        Judge.filters, Judge.feasible, Judge.permits, Judge.tried = filters, feasible, permits, []
        scheduler = make_scheduler(
            nodes_with(9),
            members("1", "1", "1"),
            objects=[pod_group(None)],
            gates=GATES_OF_MINOR[minor].replace(",WorkloadAwarePreemption=true", ""),
            plugins=[Judge],
            configuration=with_plugins("Judge"),
            current=RELEASES[minor],
        )
        placed = [key.removeprefix("default/") for key, each in decide(scheduler).items() if each.row is not None]
        result = scheduler.group_decisions[GroupKey("default", "g")].result
        tried = list(dict.fromkeys(Judge.tried))
        found[minor] = f"{' '.join([result, *sorted(placed)])}, of {len(tried)}"
    assert found == {"1.36": old, "1.37": new}


def test_running_members_count_and_one_new_pod_has_to_come() -> None:
    running = member("r").on("n1").obj()
    for minor, message in (("1.36", f"PGU, {NO_VICTIMS}"), ("1.37", f"PGU, PGP: {NO_VICTIMS}")):
        scheduler, _, decided = run(minor, (2,), [running, *members("1", "1")], pod_group(2))
        assert decided.result == "scheduled"
        assert scheduler.cluster.usage.pod_count.sum() == 2
        _, _, decided = run(minor, (2,), [running, *members("9", "9")], pod_group(1))
        assert (decided.result, short(decided.message)) == ("unschedulable", message)


# Validation

PRIORITIES = "all pods in a single pod group should have the same priority as the pod group's priority, got"
POLICIES = "all pods in a single pod group should have the same preemption policy, got"
SCHEDULERS = "all pods in a single pod group should have the same .spec.schedulerName set, got:"
NEVER = {"preemptionPolicy": "Never"}


@pytest.mark.parametrize(
    ("pods", "priority", "old", "new"),
    [
        pytest.param([member("p1"), member("p2")], None, "", "", id="alike"),
        pytest.param([member("p1"), member("p2").scheduler("other")], None, f'{SCHEDULERS} "other" and "default-scheduler"', f'{SCHEDULERS} "other" and "default-scheduler"', id="two schedulers"),
        pytest.param([member("p1"), member("r").scheduler("other").on("n1")], None, "", f'{SCHEDULERS} "other" and "default-scheduler"', id="a pod that runs has another scheduler"),
        pytest.param([member("p1").priority(10), member("p2").priority(10)], 10, "", "", id="the priority of the group"),
        pytest.param([member("p1").priority(9), member("p2").priority(10)], 10, "", f"{PRIORITIES} 9 and 10", id="two priorities"),
        pytest.param([member("p1").priority(10), member("p2").priority(10)], 9, "", f"{PRIORITIES} 10 and 9", id="not the priority of the group"),
        pytest.param([member("p1").priority(5), member("p2").priority(5)], None, "", f"{PRIORITIES} 5 and 0", id="a group without a priority"),
        pytest.param([member("p1").priority(10), member("r").priority(10).on("n1")], 10, "", "", id="a pod that runs is alike"),
        pytest.param([member("p1").priority(10), member("r").priority(9).on("n1")], 10, "", f"{PRIORITIES} 9 and 10", id="a pod that runs has another priority"),
        pytest.param([member("p1").spec(**NEVER), member("p2").spec(**NEVER)], None, "", "", id="one policy"),
        pytest.param([member("p1").spec(preemptionPolicy="PreemptLowerPriority"), member("p2")], None, "", "", id="the default policy by name"),
        pytest.param([member("p1"), member("p2").spec(**NEVER)], None, "", f"{POLICIES} Never and PreemptLowerPriority", id="two policies"),
    ],
)  # fmt: skip
def test_the_pods_of_a_group_agree(pods: list[Any], priority: int | None, old: str, new: str) -> None:
    """#139920: the cases are those of TestValidatePodGroup (schedule_one_podgroup_test.go), up to 1.36 those of
    TestFrameworkForPodGroup. The first pod is compared with the pods after it."""
    profiles = (KubeSchedulerProfile(), KubeSchedulerProfile(scheduler_name="other"))
    for minor, text in (("1.36", old), ("1.37", new)):
        scheduler = make_scheduler(
            nodes_with(9),
            [pod.obj() for pod in pods],
            objects=[pod_group(1, priority)],
            gates=GATES_OF_MINOR[minor],
            configuration=SchedulerConfiguration(profiles=profiles),
            current=RELEASES[minor],
        )
        found = {(each.result, each.message) for each in decide(scheduler).values()}
        assert found == {("error", text) if text else ("scheduled", "")}, minor
        decided = scheduler.group_decisions[GroupKey("default", "g")]
        assert (decided.result, decided.message) == ("error" if text else "scheduled", text)


# Preemption


def running(name: str, node: str, priority: int = 0) -> Any:
    return make_pod(name).requests(cpu="1").priority(priority).on(node).started("2026-01-01T00:00:01Z").obj()


@pytest.mark.parametrize(
    ("minor", "leaving", "nominated", "message"),
    [
        ("1.36", ["other", "weak"], ["", ""], "PGU"),
        ("1.37", ["strong", "weak"], ["n1", "n2"], "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, PGP: found a placement for podgroup, preempting 2 victims"),
    ],
)  # fmt: skip
def test_a_group_keeps_the_places_of_its_one_search(
    minor: str, leaving: list[str], nominated: list[str], message: str
) -> None:
    """#139980, #138967 and #140311: up to 1.36 the stronger pod stayed, because the group may go elsewhere."""
    pods = [running("strong", "n1", 5), running("weak", "n2"), running("other", "n3"), *members("1", "1", priority=10)]
    scheduler, decisions, decided = run(minor, (1, 1, 1), pods, pod_group(2, 10))
    assert sorted(scheduler.cluster.pods.infos[row].name for row in decided.victims) == leaving
    assert all(scheduler.cluster.pods.terminating[row] for row in decided.victims)
    assert (decided.result, short(decided.message)) == ("waiting", message)
    assert [each.nominated_node for each in decisions] == nominated
    assert [scheduler.nominator.node_of(each.pod_row) for each in decisions] == nominated


@pytest.mark.parametrize("minor", ["1.36", "1.37"])
def test_a_pod_with_a_free_node_waits_for_the_victims_of_the_others(minor: str) -> None:
    pods = [running("weak", "n1"), *members("1", "1", priority=10)]
    _, decisions, decided = run(minor, (1, 1), pods, pod_group(2, 10))
    assert decided.result == "waiting"
    assert [each.result for each in decisions] == ["unschedulable", "unschedulable"]
    assert decided.message in {each.message for each in decisions}


@pytest.mark.parametrize(
    ("minor", "leaving", "message"),
    [
        ("1.36", ["victim"], "PGU"),
        ("1.37", [], "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining, PGP: ongoing preemption on nominated nodes"),
    ],
)  # fmt: skip
def test_nobody_leaves_while_victims_leave(minor: str, leaving: list[str], message: str) -> None:
    """#138710 and #140641: the nominations stay as they are."""
    victim = make_pod("victim").requests(cpu="1").on("n1").terminating()
    victim = victim.status(
        conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    )
    pods = [victim.obj(), running("weak", "n2"), member("p1").priority(10).nominated("n1").obj()]
    scheduler, decisions, decided = run(minor, (1, 1), pods, pod_group(1, 10))
    assert [scheduler.cluster.pods.infos[row].name for row in decided.victims] == leaving
    assert (decided.result, short(decided.message)) == ("waiting", message)
    assert decisions[0].nominated_node == ("n1" if minor == "1.37" else "")


def test_a_nomination_to_a_free_node_stays_while_victims_leave() -> None:
    """Since 1.37: pod p2 waits for the victim on node n1, and p1 has been nominated to node n2."""
    victim = make_pod("victim").requests(cpu="1").on("n1").terminating()
    victim = victim.status(
        conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    )
    waiting = [member(f"p{index}").priority(10).nominated(f"n{3 - index}").obj() for index in (1, 2)]
    scheduler, decisions, decided = run("1.37", (1, 1), [victim.obj(), *waiting], pod_group(2, 10))
    assert decided.result == "waiting"
    assert [each.nominated_node for each in decisions] == ["n2", "n1"]
    assert sorted(scheduler.nominator.known().values()) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("minor", "result", "leaving", "message"),
    [
        ("1.36", "unschedulable", [], "0/2 placements are available, first placement status: PGU, workload aware preemption is not supported for pod groups with scheduling constraints"),
        ("1.37", "waiting", ["w1", "w2"], "0/2 placements are available, first placement status: minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, PGP: found a placement for podgroup, preempting 2 victims"),
    ],
)  # fmt: skip
def test_groups_with_constraints_preempt(minor: str, result: str, leaving: list[str], message: str) -> None:
    """#140683: the two nodes of one zone are cleared, and not that of the other."""
    made = group(min_count=2, topology="zone")
    made.spec.priority = 10
    zoned = [
        make_node(name).allocatable(cpu=1, pods=10).label("zone", zone).obj()
        for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"))
    ]
    pods = [running(f"w{index}", f"n{index}") for index in (1, 2, 3)] + members("1", "1", priority=10)
    gates = f"{GATES_OF_MINOR[minor]},TopologyAwareWorkloadScheduling=true"
    scheduler = make_scheduler(zoned, pods, objects=[made], gates=gates, current=RELEASES[minor])
    decide(scheduler)
    decided = scheduler.group_decisions[GroupKey("default", "g")]
    assert (decided.result, short(decided.message)) == (result, message)
    assert [scheduler.cluster.pods.infos[row].name for row in decided.victims] == leaving


@pytest.mark.parametrize(
    ("pods", "min_count", "result", "kept"),
    [
        pytest.param(
            [member("p1").nominated("n1"), member("p2", cpu="9").nominated("n2")], 2, "unschedulable", {}, id="failed"
        ),
        pytest.param(
            [member("p1"), member("p2", cpu="9").nominated("n2")], 1, "scheduled", {}, id="scheduled without one"
        ),
        pytest.param(
            [member("p1", cpu="2").priority(10), member("p2", cpu="9").priority(10).nominated("n2")],
            1,
            "waiting",
            {"p1": "n1"},
            id="waits for victims, and has no place for one",
        ),
    ],
)
def test_which_nominations_are_left_after_the_cycle_of_a_group(
    pods: list[Any], min_count: int, result: str, kept: dict[str, str]
) -> None:
    """Since 1.37: on node n1, of two cpus, a weak pod has one."""
    made = [running("weak", "n1"), *(pod.obj() for pod in pods)]
    scheduler, _, decided = run("1.37", (2, 1), made, pod_group(min_count, pods[0].data["spec"].get("priority", 0)))
    infos = scheduler.cluster.pods.infos
    assert decided.result == result
    assert {infos[row].name: node for row, node in scheduler.nominator.known().items()} == kept


@pytest.mark.parametrize("minor", ["1.36", "1.37"])
def test_pods_after_a_group_preempt_as_before(minor: str) -> None:
    pods = [running("weak", "n1"), member("p1", cpu="9").priority(10).obj()]
    later = make_pod("z").requests(cpu="1").priority(5).obj()
    scheduler, (first, last), decided = run(minor, (1,), [*pods, later], pod_group(1, 10))
    assert (decided.result, first.nominated_node, last.nominated_node) == ("unschedulable", "", "n1")
    assert last.preemption is not None
    assert [scheduler.cluster.pods.infos[row].name for row in last.preemption.victims] == ["weak"]


class FailsOnEmptyNodes(FilterPlugin[None]):
    """Rejects nodes with pods, and fails on others: in the dry run of preemption."""

    name = "FailsOnEmptyNodes"

    def filter(self, state: None, pod: Any, nodes: Any) -> Verdict:
        cluster = self.handle.cluster
        return Verdict.from_statuses(
            [unschedulable("taken") if cluster.pods_on(row) else error("broken") for row in nodes.rows.tolist()]
        )


@pytest.mark.parametrize("minor", ["1.36", "1.37"])
def test_an_error_while_a_group_looks_for_victims(minor: str) -> None:
    pods = [running("weak", "n1"), *members("1", "1", priority=10)]
    plugins: dict[str, Any] = {"plugins": [FailsOnEmptyNodes], "configuration": with_plugins("FailsOnEmptyNodes")}
    options: dict[str, Any] = {"gates": GATES_OF_MINOR[minor], "current": RELEASES[minor], **plugins}
    scheduler = make_scheduler(nodes_with(1), pods, objects=[pod_group(2, 10)], **options)
    assert {each.result for each in decide(scheduler).values()} == {"error"}
    decided = scheduler.group_decisions[GroupKey("default", "g")]
    assert decided.result == "error"
    assert "broken" in decided.message
    assert decided.victims == ()
    assert scheduler.cluster.usage.pod_count.tolist() == [1]


# The queue


@pytest.mark.parametrize(("minor", "where"), [("1.36", "backoff"), ("1.37", "active")])
def test_the_rest_of_a_group_is_tried_at_once(minor: str, where: str) -> None:
    """#139613. In its next cycle it preempts, or waits like others."""
    current = RELEASES[minor]
    pods = [running("weak", "n2"), *members("1", "1", priority=10)]
    made = pod_group(1, 10)
    scheduler = make_scheduler(nodes_with(1, 1), pods, objects=[made], gates=GATES_OF_MINOR[minor], current=current)
    loop = SchedulingLoop(scheduler)
    step = loop.step()
    assert step is not None
    placed, left = sorted(step.decisions, key=lambda each: each.row is None)
    assert (placed.row, left.row) == (0, None)
    found = loop.queue.find(left.pod_row)
    assert found is not None
    assert found[0] == where
    assert not loop.queue.in_flight
    # What is tried at once has no backoff to wait for.
    assert (found[1].backoff_count == 0) is (minor == "1.37")
    if minor == "1.37":
        again = loop.step()
        assert again is not None
        assert [each.nominated_node for each in again.decisions] == ["n2"]
        assert loop.queue.find(left.pod_row) is not None
        assert loop.queue.active.get(left.pod_row) is None


@pytest.mark.parametrize(
    ("cpus", "wanted", "min_count", "before", "now"),
    [
        pytest.param((2,), ("1", "1"), 2, "--", "--", id="all find a place"),
        pytest.param((1,), ("1", "1"), 1, "-b", "-a", id="one finds none"),
        pytest.param((1,), ("1", "1", "1"), 1, "-bb", "-aa", id="two find none"),
        pytest.param((1,), ("1", "1"), None, "-b", "-a", id="one of a basic group finds none"),
        pytest.param((2,), ("9", "1", "1"), 2, "b--", "a--", id="the first finds none"),
        pytest.param((1,), ("1", "1"), 2, "bb", "bb", id="the quorum finds none"),
        pytest.param((1,), ("9", "9"), None, "bb", "bb", id="none of a basic group finds one"),
        pytest.param((), ("1", "1"), 1, "bb", "bb", id="no node"),
    ],
)
def test_where_the_rest_of_a_group_goes(
    cpus: tuple[int, ...], wanted: tuple[str, ...], min_count: int | None, before: str, now: str
) -> None:
    """TestSubmitPodGroupAlgorithmResult: to the active queue if the group found its places. A letter for each pod: in
    the active queue, in backoff, or placed."""
    found = {}
    for minor, gates in GATES_OF_MINOR.items():
        current, objects = RELEASES[minor], [pod_group(min_count)]
        scheduler = make_scheduler(nodes_with(*cpus), members(*wanted), objects=objects, gates=gates, current=current)
        loop = SchedulingLoop(scheduler)
        assert loop.step() is not None
        places = (loop.queue.find(row) for row in range(len(wanted)))
        found[minor] = "".join("-" if place is None else place[0][0] for place in places)
    assert found == {"1.36": before, "1.37": now}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pods", "min_count", "before", "now"),
    [
        pytest.param("a1 b2 c3", None, "abc", "abc", id="a basic group"),
        pytest.param("a3 b2 c1", None, "cba", "cba", id="the oldest is first"),
        pytest.param("c1 a1 b1", None, "abc", "abc", id="of one age, by name"),
        pytest.param("b1 c1 a2", None, "bca", "bca", id="by age, and then by name"),
        pytest.param("a1 b2 c3", 1, "abc", "abc", id="the first makes the quorum"),
        pytest.param("a1 b2 c3", 2, "bac", "abc", id="the second makes the quorum"),
        pytest.param("a1 b2 c3", 3, "cab", "abc", id="the last makes the quorum"),
        pytest.param("c1 b1 a2", 2, "cba", "bca", id="the second by name makes the quorum"),
        pytest.param("r0 a1 b2 c3", 2, "abc", "abc", id="one runs, and the first makes the quorum"),
        pytest.param("r0 a1 b2 c3", 3, "bac", "abc", id="one runs, and the second makes the quorum"),
        pytest.param("r0 s0 a1 b2", 2, "ab", "ab", id="the quorum runs"),
    ],
)
@pytest.mark.parametrize("settles", [False, True])
def test_in_which_order_pods_are_tried(pods: str, min_count: int | None, before: str, now: str, settles: bool) -> None:
    """#140421 and the tests of PodGroupMemberPodsOrderingFunc in framework/types_test.go: by attempts, by the time of
    coming to the queue and by name. A pod has the second of its creation; r and s run."""
    found = {}
    for minor, gates in GATES_OF_MINOR.items():
        made = []
        for name, second in pods.split():
            pod = member(name).created(f"2026-01-01T00:00:0{second}Z")
            made.append((pod.on("n1") if name in "rs" else pod).obj())
        objects = [group(min_count=min_count)]
        scheduler = make_scheduler(nodes_with(9), made, objects=objects, gates=gates, current=RELEASES[minor])
        if settles:
            step = SchedulingLoop(scheduler).step()
            assert step is not None
            tried = [each.pod.name for each in step.decisions]
        else:
            tried = [key.removeprefix("default/") for key in decide(scheduler)]
        found[minor] = "".join(tried)
    assert found == {"1.36": before, "1.37": now}


# GangScheduling: the cases are those of gangscheduling_test.go

FEWER = (group(min_count=4), group(min_count=3))


@pytest.mark.parametrize(
    ("pod", "update", "new"),
    [
        pytest.param(member("p"), FEWER, True, id="fewer are enough"),
        pytest.param(member("p"), (group(), group()), True, id="a basic group"),
        pytest.param(member("p"), (group(), group(min_count=3)), True, id="basic before"),
        pytest.param(member("p"), (group(min_count=3), group()), True, id="basic now"),
        pytest.param(member("p"), (group(min_count=3), group(min_count=4)), False, id="more are needed"),
        pytest.param(member("p"), (group(min_count=3), group(min_count=3)), False, id="as many"),
        pytest.param(member("p", of="other"), FEWER, False, id="another group"),
        pytest.param(make_pod("p", "other").spec(schedulingGroup={"podGroupName": "g"}), FEWER, False, id="another namespace"),
        pytest.param(make_pod("p"), FEWER, False, id="a pod of no group"),
    ],
)  # fmt: skip
def test_a_smaller_quorum_wakes_the_group(pod: Any, update: tuple[Any, Any], new: bool) -> None:
    """#139279. Up to 1.36 minCount cannot change, and no update of a PodGroup is registered."""
    event = ClusterEvent("PodGroup", Action.UPDATE)
    for minor, expected in (("1.36", False), ("1.37", new)):
        bench = gang_bench(minor, [], pod.obj())
        registered = event in bench.plugin.events_to_register()
        assert (registered and bench.plugin.is_schedulable_after(event, bench.pod, *update)) is expected


@pytest.mark.parametrize(
    ("min_count", "running", "pods", "tried", "codes"),
    [
        pytest.param(2, 0, 2, "ss", "ws", id="enough with the last"),
        pytest.param(3, 0, 3, "u", "u", id="the first fails, and all are needed"),
        pytest.param(2, 0, 2, "su", "wu", id="the second fails, and all are needed"),
        pytest.param(None, 0, 1, "u", "s", id="a basic group"),
        pytest.param(2, 0, 3, "sss", "wss", id="more than needed"),
        pytest.param(2, 0, 3, "uss", "wws", id="more than needed, the first fails"),
        pytest.param(2, 0, 3, "uus", "wuu", id="more than needed, two fail"),
        pytest.param(3, 1, 2, "ss", "ws", id="one runs"),
        pytest.param(2, 2, 1, "u", "s", id="enough run"),
        pytest.param(3, 1, 2, "u", "u", id="one runs, the first fails"),
        pytest.param(4, 1, 2, "s", "u", id="too few exist"),
    ],
)
def test_whether_the_quorum_is_in_reach(min_count: int | None, running: int, pods: int, tried: str, codes: str) -> None:
    """PlacementFeasible after each pod, which came with 1.37 (#138643)."""
    bench = gang_bench("1.37", [group(min_count=min_count)], member("p").obj())
    scheduled, found = running, ""
    for at, result in enumerate(tried, 1):
        scheduled += result == "s"
        status = bench.plugin.placement_feasible(GroupKey("default", "g"), scheduled, pods - at)
        found += {Code.SUCCESS: "s", Code.WAIT: "w", Code.UNSCHEDULABLE: "u"}[status.code]
    assert found == codes


def gang_bench(minor: str, objects: list[Any], pod: Any) -> Any:
    return make_bench(
        GangScheduling, nodes_with(1), pod, [], gates=GATES_OF_MINOR[minor], objects=objects, current=RELEASES[minor]
    )
