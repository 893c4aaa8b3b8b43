"""Pod groups with a topology constraint: every domain is tried with the whole group, and the best is taken."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet, SchedulerConfiguration
from ksched_cli.framework.interfaces import FilterPlugin, Placement, PlacementGeneratePlugin, PlacementScorePlugin
from ksched_cli.framework.status import SUCCESS, Code, Status, as_reasons, error, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plan.simulate import place
from ksched_cli.plugins.default_preemption import NO_GROUP, PLACEMENT_BASED
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import decide, make_scheduler, placed
from tests.lanes import examples
from tests.pod_groups import GANG, GATES_OF_MINOR, group, member, members, nodes_with

TOPOLOGY = f"{GANG},TopologyAwareWorkloadScheduling=true"
RACK = "example.com/rack"


def racks(**cpus: int) -> list[Any]:
    """`a1=4` is node a1 with 4 cpus in rack a; rack x is no rack at all."""
    made = []
    for name, cpu in cpus.items():
        node = make_node(name).allocatable(cpu=cpu, pods=10)
        made.append((node if name[0] == "x" else node.label(RACK, name[0])).obj())
    return made


def run(nodes: list[Any], pods: list[Any], *, gates: str = TOPOLOGY, **policy: Any) -> Any:
    return make_scheduler(nodes, pods, objects=[group(topology=RACK, **policy)], gates=gates)


def outcome(scheduler: Any) -> Any:
    placement = place(scheduler)
    list(placement.outcomes)
    (found,) = placement.pod_groups()
    return found


@pytest.mark.parametrize(
    ("nodes", "pods", "min_count", "on"),
    [
        pytest.param(racks(a1=1, b1=1, b2=1), 2, 2, {"b1", "b2"}, id="only one rack holds all"),
        pytest.param(racks(a1=2, b1=2), 2, 2, {"a1"}, id="both do: the first by name, where Go draws"),
        pytest.param(racks(a1=2, b1=1, b2=2), 3, 2, {"b1", "b2"}, id="the rack with room for most"),
        pytest.param(racks(a1=1, b1=1), 2, 2, set(), id="no rack holds the quorum"),
        pytest.param(racks(a1=1, b1=1, x1=9), 2, 2, set(), id="nodes without a rack do not count"),
        pytest.param(racks(a1=1, b1=2), 2, None, {"b1"}, id="a basic group, where most fit"),
        pytest.param(racks(x1=9), 1, 1, set(), id="there is no rack"),
    ],
)
def test_a_group_goes_to_one_rack(nodes: list[Any], pods: int, min_count: int | None, on: set[str]) -> None:
    assert set(placed(run(nodes, members(pods), min_count=min_count)).values()) - {""} == on


def test_of_two_racks_that_hold_all_the_fuller_is_taken() -> None:
    assert set(placed(run(racks(a1=8, b1=2, c1=4), members(2), min_count=2)).values()) == {"b1"}
    filler = make_pod("filler").requests(cpu="6").on("a1").obj()
    assert set(placed(run(racks(a1=8, b1=3), [filler, *members(2)], min_count=2)).values()) - {"a1"} == set()


def test_without_the_gate_the_constraint_is_not_looked_at() -> None:
    assert set(placed(run(racks(a1=1, b1=1), members(2), gates=GANG, min_count=2)).values()) == {"a1", "b1"}


def test_without_a_constraint_the_group_may_go_anywhere() -> None:
    scheduler = make_scheduler(racks(a1=1, b1=1), members(2), objects=[group(min_count=2)], gates=TOPOLOGY)
    assert set(placed(scheduler).values()) == {"a1", "b1"}


def test_the_placement_is_reported() -> None:
    found = outcome(run(racks(a1=1, b1=2), members(2), min_count=2))
    assert (found.result, found.placed, found.placement) == ("scheduled", 2, "b")


def test_a_group_that_fits_nowhere_reports_the_first_placement() -> None:
    scheduler = run(racks(a1=1, b1=1, b2=1), members(3), min_count=3)
    decisions = decide(scheduler)
    text = "0/2 placements are available, first placement status: pod group is unschedulable"
    assert scheduler.group_decisions.popitem()[1].message == text
    # p3 completes the quorum, so p2 is the last.
    last = decisions["default/p2"].message
    assert last.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert last.endswith(f"preemption: {PLACEMENT_BASED}")
    assert decisions["default/p3"].message.startswith("pod group is unschedulable, waiting for minCount pods")
    assert scheduler.cluster.usage.pod_count.sum() == 0


def test_no_placement_at_all_is_every_pods_message() -> None:
    decisions = decide(run(racks(x1=9), members(2), min_count=2))
    assert {(each.result, each.message) for each in decisions.values()} == {
        ("unschedulable", "no feasible placements found")
    }


@pytest.mark.parametrize(
    ("on", "answer"),
    [
        pytest.param(("b1",), "b2", id="where the others are"),
        pytest.param(("a1", "b1"), "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: a, b", id="in two racks"),
        pytest.param(("x1",), "cannot determine domain for already scheduled pods: no topology domain found for pod default/r0", id="in no rack"),
        pytest.param(("gone",), 'cannot determine domain for already scheduled pods: getting node for pod default/r0: nodeinfo not found for node name "gone"', id="on an unknown node"),
    ],
)  # fmt: skip
def test_pods_that_run_decide_the_rack(on: tuple[str, ...], answer: str) -> None:
    running = [member(f"r{index}").on(node).obj() for index, node in enumerate(on)]
    scheduler = run(racks(a1=9, b1=1, b2=1, x1=9), [*running, *members(1)], min_count=1)
    decision = decide(scheduler)["default/p1"]
    got = decision.message if decision.row is None else scheduler.cluster.nodes.names[decision.row]
    assert got == answer
    assert decision.result == ("scheduled" if decision.row is not None else "error")


def test_a_group_without_its_object_is_an_error() -> None:
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    (decision,) = decide(make_scheduler(racks(a1=1), members(1), gates=gates)).values()
    assert (decision.result, decision.message) == ("error", 'podgroup.scheduling.k8s.io "g" not found')


def test_a_node_affinity_outside_the_placement_leaves_nothing() -> None:
    pods = [member("p1").selector(**{RACK: "b"}).obj()]
    scheduler = run(racks(a1=1, b1=1), pods, min_count=1)
    assert placed(scheduler) == {"default/p1": "b1"}


def test_a_nomination_outside_the_placement_is_passed_over() -> None:
    pods = [member("p1").nominated("a1").obj(), *[member(f"p{index}").obj() for index in (2, 3)]]
    scheduler = run(racks(a1=1, b1=1, b2=1, b3=1), pods, min_count=3)
    assert set(placed(scheduler).values()) == {"b1", "b2", "b3"}
    assert not scheduler.nominator.nodes()


def test_without_the_generator_there_is_one_placement() -> None:
    off = Plugins(multi_point=PluginSet(disabled=(PluginRef("TopologyPlacementGenerator"),)))
    configuration = SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=off),))
    scheduler = make_scheduler(
        racks(a1=1, b1=1),
        members(2),
        objects=[group(min_count=2, topology=RACK)],
        gates=TOPOLOGY,
        configuration=configuration,
    )
    assert set(placed(scheduler).values()) == {"a1", "b1"}


def test_preemption_needs_the_group() -> None:
    victim = make_pod("victim").requests(cpu="1").on("a1").obj()
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    off = Plugins(multi_point=PluginSet(disabled=(PluginRef("TopologyPlacementGenerator"),)))
    configuration = SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=off),))
    pods = [victim, member("p1").priority(9).obj()]
    (decision,) = decide(make_scheduler(racks(a1=1), pods, gates=gates, configuration=configuration)).values()
    assert decision.message.endswith(f"preemption: {NO_GROUP}")


# By plugins that propose and score two placements, "1" on node n1 and "2" on n2


class Proposes(PlacementGeneratePlugin, FilterPlugin[None]):
    """Filter and PlacementFeasible answer as they are set: s(uccess), u(nschedulable), w(ait), e(rror), by node and
    call by call."""

    name = "Proposes"
    placements: ClassVar[Any] = ("1", "2")
    filters, feasible = "ss", ""

    def generate_placements(self, key: GroupKey, nodes: Any) -> Any:
        if isinstance(self.placements, Status):
            return self.placements
        return [Placement(name, nodes[int(name) - 1 : int(name)]) for name in self.placements]

    def filter(self, state: None, pod: Any, nodes: Any) -> Verdict:
        return Verdict.from_statuses([_ANSWERS[self.filters[row]] for row in nodes.rows])

    def placement_feasible(self, key: GroupKey, scheduled: int, remaining: int) -> Status:
        answer, Proposes.feasible = Proposes.feasible[:1] or "s", Proposes.feasible[1:]
        return _ANSWERS[answer]


class ScoresOnce(PlacementScorePlugin):
    name = "ScoresOnce"
    scores: ClassVar[dict[str, int]] = {}

    def score_placement(self, key: GroupKey, placement: Placement, proposed: Any) -> int:
        return self.scores.get(placement.name, 0)


class ScoresTwice(ScoresOnce):
    name = "ScoresTwice"


_ANSWERS = {"s": SUCCESS, "u": unschedulable("no"), "w": Status(Code.WAIT, as_reasons(["wait"])), "e": error("broken")}
NONE_OF_TWO = "0/2 placements are available, first placement status:"


@pytest.mark.parametrize(
    ("placements", "filters", "feasible", "scores", "old", "new"),
    [
        pytest.param("12", "ss", "", ((2, 1), (0, 0)), "n1", "n1", id="the first has the higher score"),
        pytest.param("12", "ss", "", ((1, 2), (0, 0)), "n2", "n2", id="the second has the higher score"),
        pytest.param("12", "ss", "", ((50, 75), (25, 10)), "n1", "n1", id="by weights the first"),
        pytest.param("12", "ss", "", ((75, 50), (10, 25)), "n2", "n2", id="by weights the second"),
        pytest.param("", "ss", "", ((1, 2), (0, 0)), "no feasible placements found", "no feasible placements found", id="no placement"),
        pytest.param("12", "uu", "wuwu", ((1, 2), (0, 0)), f"{NONE_OF_TWO} pod group is unschedulable", f"{NONE_OF_TWO} no", id="none has a node for the pod"),
        pytest.param("12", "ss", "wuwu", ((1, 2), (0, 0)), "n2", f"{NONE_OF_TWO} no", id="none holds enough pods"),
        pytest.param("12", "su", "wswu", ((1, 0), (0, 0)), "n1", "n1", id="one has a node for the pod"),
        pytest.param("12", "ss", "wswu", ((1, 2), (0, 0)), "n2", "n1", id="one holds enough pods"),
        pytest.param(error("not now"), "ss", "", ((0, 0), (0, 0)), "not now", "not now", id="an error of the generator"),
        pytest.param("1", "es", "", ((0, 0), (0, 0)), 'failed to schedule other pod from a pod group: running "Proposes" filter plugin: broken', 'failed to schedule other pod from a pod group: running "Proposes" filter plugin: broken', id="an error in a placement"),
    ],
)  # fmt: skip
def test_which_placement_is_taken(
    placements: Any, filters: str, feasible: str, scores: Any, old: str, new: str
) -> None:
    """The cases of TestPodGroupSchedulingPlacementAlgorithm and of its scoring (algorithm_podgroup_test.go in 1.38,
    schedule_one_podgroup_test.go before), of one pod."""
    disabled = (PluginRef("*"),)
    plugins = Plugins(
        multi_point=PluginSet((PluginRef("Proposes"),), (PluginRef("TopologyPlacementGenerator"),)),
        placement_score=PluginSet((PluginRef("ScoresOnce", 1), PluginRef("ScoresTwice", 2)), disabled),
        pod_group_post_filter=PluginSet(disabled=disabled),
    )
    ScoresOnce.scores, ScoresTwice.scores = ({"1": one, "2": two} for one, two in scores)
    found = {}
    for minor in ("1.36", "1.37"):
        Proposes.placements, Proposes.filters, Proposes.feasible = placements, filters, feasible
        gates = GATES_OF_MINOR[minor].replace(",WorkloadAwarePreemption=true", "")
        scheduler = make_scheduler(
            nodes_with(1, 1),
            members(1),
            objects=[group()],
            gates=f"{gates},TopologyAwareWorkloadScheduling=true",
            plugins=[Proposes, ScoresOnce, ScoresTwice],
            configuration=SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=plugins),)),
            current=RELEASES[minor],
        )
        node = placed(scheduler)["default/p1"]
        found[minor] = node or scheduler.group_decisions[GroupKey("default", "g")].message
    assert found == {"1.36": old, "1.37": new}


@given(
    st.lists(st.sampled_from(["a", "b", "c", "x"]), min_size=1, max_size=6),
    st.lists(st.integers(1, 3), min_size=6, max_size=6),
    st.lists(st.integers(1, 2), min_size=1, max_size=6),
    st.integers(1, 6),
)
@settings(max_examples=examples(100), deadline=None)
def test_a_group_is_in_one_rack_and_not_below_its_quorum(
    where: list[str], sizes: list[int], wanted: list[int], min_count: int
) -> None:
    nodes = racks(**{f"{rack}{index}": size for index, (rack, size) in enumerate(zip(where, sizes, strict=False))})
    pods = [member(f"p{index}", cpu=str(cpu)).obj() for index, cpu in enumerate(wanted)]
    scheduler = run(nodes, pods, min_count=min_count)
    on = [node for node in placed(scheduler).values() if node]
    assert not on or len(on) >= min_count
    assert len({node[0] for node in on}) <= 1
    assert not any(node.startswith("x") for node in on)
    usage, limit = scheduler.cluster.usage.requested, scheduler.cluster.nodes.allocatable
    assert (usage[0] <= limit[0]).all()
    assert int(scheduler.cluster.usage.pod_count.sum()) == len(on)
