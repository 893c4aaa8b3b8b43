"""A pod group's one cycle: all of its pods or, below the quorum, none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.framework.interfaces import PermitPlugin, PreBindPlugin, PreFilterPlugin, ReservePlugin
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unschedulable
from ksched_cli.plan.simulate import place
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.engine.test_cycle import with_plugins
from tests.harness import decide, make_scheduler, placed
from tests.lanes import examples
from tests.pod_groups import GANG, group, member, members, nodes_with

BELOW_QUORUM = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
    "one or more plugins asked to wait and no plugin rejected pod"
)
AWAITS = "pod group is unschedulable, pod group is waiting for preemption to complete"


def outcomes(scheduler: Any) -> dict[str, tuple[str, str, int]]:
    placement = place(scheduler)
    list(placement.outcomes)
    return {each.pod_group: (each.result, each.message, each.placed) for each in placement.pod_groups()}


@pytest.mark.parametrize(
    ("cpus", "pods", "min_count", "fitting"),
    [
        pytest.param((2, 2), 3, 3, 3, id="all fit"),
        pytest.param((2,), 3, 3, 0, id="one too many, so none"),
        pytest.param((2,), 3, 2, 2, id="the quorum fits, the rest does without"),
        pytest.param((2,), 3, None, 2, id="a basic group takes what it gets"),
        pytest.param((), 2, 2, 0, id="no node at all"),
    ],
)
def test_the_whole_gang_or_none(cpus: tuple[int, ...], pods: int, min_count: int | None, fitting: int) -> None:
    scheduler = make_scheduler(nodes_with(*cpus), members(pods), objects=[group(min_count=min_count)], gates=GANG)
    assert sum(map(bool, placed(scheduler).values())) == fitting
    assert scheduler.cluster.usage.pod_count.sum() == fitting


def test_members_of_a_trial_are_none_afterwards() -> None:
    scheduler = make_scheduler(nodes_with(2), members(1), objects=[group(min_count=1)], gates=GANG)
    cluster, key = scheduler.cluster, GroupKey("default", "g")
    mark = cluster.undo.mark()
    row = cluster.register(member("of-a-trial").obj())
    assert scheduler.groups.members(key) == [0, row]
    cluster.undo.roll_back(mark)
    assert cluster.register(make_pod("of-no-group").obj()) == row
    assert scheduler.groups.members(key) == [0]
    later = cluster.register(member("later").obj())
    assert scheduler.groups.members(key) == [0, later]


def test_every_pod_of_a_group_that_fails_says_why() -> None:
    nodes = [*nodes_with(2), make_node("closed").cordoned().obj()]
    scheduler = make_scheduler(nodes, members(3), objects=[group(min_count=3)], gates=GANG)
    decisions = decide(scheduler)
    assert [each.result for each in decisions.values()] == ["unschedulable"] * 3
    assert [each.message for each in decisions.values()][:2] == [BELOW_QUORUM] * 2
    reason = decisions["default/p1"].reason
    assert reason is not None
    assert BELOW_QUORUM in reason.text
    text = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    assert decisions["default/p2"].message.startswith(text)
    first, last = decisions["default/p1"].diagnosis, decisions["default/p2"].diagnosis
    assert first is not None
    assert last is not None
    # What the closed node lacks is no reason of a pod that fits.
    assert first.unschedulable_plugins == set()
    assert last.unschedulable_plugins == {"NodeResourcesFit", "NodeUnschedulable"}


def test_the_places_of_a_group_do_not_bind_the_pods_after_it() -> None:
    nodes = [
        make_node(name).allocatable(cpu=cpu, pods=10).label("zone", name).obj() for name, cpu in (("a", 4), ("b", 1))
    ]
    pods = [member("p1").priority(10).obj(), make_pod("z").requests(cpu="3").obj()]
    made = group(min_count=1, topology="zone")
    scheduler = make_scheduler(nodes, pods, objects=[made], gates=f"{GANG},{PLACES}")
    assert placed(scheduler)["default/z"] == "a"


def test_running_members_count_towards_the_quorum() -> None:
    running = member("r").on("n1").obj()
    scheduler = make_scheduler(nodes_with(2), [running, *members(2)], objects=[group(min_count=2)], gates=GANG)
    assert placed(scheduler) == {"default/p1": "n1", "default/p2": ""}
    assert outcomes(
        make_scheduler(nodes_with(2), [running, *members(2)], objects=[group(min_count=2)], gates=GANG)
    ) == {"default/g": ("scheduled", "", 2)}


def test_a_failed_group_leaves_no_trace_for_the_pods_after_it() -> None:
    later = make_pod("z").requests(cpu="2").obj()
    scheduler = make_scheduler(nodes_with(2), [*members(3), later], objects=[group(min_count=3)], gates=GANG)
    assert placed(scheduler)["default/z"] == "n1"


def test_the_group_is_due_with_its_first_pod() -> None:
    high = member("p9").priority(10).obj()
    alone = make_pod("a").requests(cpu="1").priority(5).obj()
    scheduler = make_scheduler(nodes_with(9), [*members(1), alone, high], objects=[group(min_count=2)], gates=GANG)
    assert list(decide(scheduler)) == ["default/p9", "default/p1", "default/a"]


def test_without_the_gate_pods_of_a_group_are_pods_like_others() -> None:
    scheduler = make_scheduler(nodes_with(2), members(3), objects=[group(min_count=3)])
    assert list(placed(scheduler).values()) == ["n1", "n1", ""]
    assert outcomes(make_scheduler(nodes_with(2), members(3), objects=[group(min_count=3)])) == {}


def test_pods_being_deleted_are_not_tried() -> None:
    leaving = member("gone").terminating().obj()
    scheduler = make_scheduler(nodes_with(9), [leaving, *members(1)], objects=[group(min_count=2)], gates=GANG)
    decisions = decide(scheduler)
    assert {key: each.result for key, each in decisions.items()} == {
        "default/gone": "skipped",
        "default/p1": "unschedulable",
    }
    assert decisions["default/p1"].message == BELOW_QUORUM


def test_a_group_held_back_is_reported_with_its_reason() -> None:
    scheduler = make_scheduler(nodes_with(9), members(1), objects=[group(min_count=2)], gates=GANG)
    assert outcomes(scheduler) == {
        "default/g": ("gated", "waiting for minCount pods from a gang to appear in scheduling queue", 0)
    }


# Preemption


def test_a_group_that_needs_room_waits_as_a_whole() -> None:
    victim = make_pod("victim").requests(cpu="1").on("n1").obj()
    pods = [member(name).priority(10).obj() for name in ("p1", "p2")]
    scheduler = make_scheduler(nodes_with(2), [victim, *pods], objects=[group(min_count=2)], gates=GANG)
    first, second = decide(scheduler).values()
    assert (first.result, first.message, first.nominated_node) == ("unschedulable", AWAITS, "n1")
    assert first.preemption is None
    assert second.preemption is not None
    assert second.nominated_node == "n1"
    assert scheduler.nominator.nominated_on("n1") == {first.pod_row, second.pod_row}
    assert scheduler.cluster.pods_on(0) == [scheduler.cluster.pods.row_of["default/victim"]]
    assert scheduler.group_decisions.popitem()[1].result == "waiting"


def test_victims_of_a_group_that_fails_all_the_same_are_evicted_in_vain() -> None:
    victim = make_pod("victim").requests(cpu="1").on("n1").obj()
    pods = [member(name).priority(10).obj() for name in ("p1", "p2")]
    pods.append(member("p3", cpu="9").priority(10).obj())
    scheduler = make_scheduler(nodes_with(2), [victim, *pods], objects=[group(min_count=3)], gates=GANG)
    outcome = {each.pod: each for each in place(scheduler).outcomes}["default/p2"]
    assert outcome.message == BELOW_QUORUM
    assert outcome.unplaced
    assert outcome.nominated_node == ""
    assert outcome.preemption is not None
    assert outcome.preemption.victims == ("default/victim",)
    assert not scheduler.nominator.nodes()


def test_a_group_that_fails_gives_up_earlier_nominations() -> None:
    pods = [member("p1").nominated("n1").obj(), member("p2", cpu="9").obj()]
    scheduler = make_scheduler(nodes_with(2), pods, objects=[group(min_count=2)], gates=GANG)
    decide(scheduler)
    assert not scheduler.nominator.nodes()


# Errors and refusals


class Breaks(PreFilterPlugin[None]):
    name = "Breaks"

    def pre_filter(self, pod: Any) -> Status:
        return error("out of order") if pod.name == "p2" else SKIP


class Refuses(PermitPlugin[None]):
    name = "Refuses"

    def permit(self, state: None, pod: Any, row: int) -> tuple[Status, float]:
        return (unschedulable("not this one") if pod.name == "p1" else SUCCESS), 0


class Reserves(ReservePlugin[None]):
    name = "Reserves"
    held: set[str]

    def reserve(self, state: None, pod: Any, row: int) -> Status:
        type(self).held.add(pod.name)
        return SUCCESS

    def unreserve(self, state: None, pod: Any, row: int) -> None:
        type(self).held.discard(pod.name)


def test_an_error_of_one_is_the_error_of_all() -> None:
    pods = [member(f"p{index}").nominated("n1").obj() for index in (1, 2, 3)]
    scheduler = make_scheduler(
        nodes_with(9),
        pods,
        objects=[group(min_count=1)],
        gates=GANG,
        plugins=[Breaks],
        configuration=with_plugins("Breaks"),
    )
    decisions = decide(scheduler)
    assert {each.result for each in decisions.values()} == {"error"}
    own = decisions["default/p2"].message
    assert "out of order" in own
    others = {decisions[f"default/{name}"].message for name in ("p1", "p3")}
    assert others == {f"failed to schedule other pod from a pod group: {own}"}
    assert scheduler.cluster.usage.pod_count.sum() == 0
    assert not scheduler.nominator.nodes()


@pytest.mark.parametrize(("min_count", "fitting"), [(1, 1), (2, 0)])
def test_a_pod_that_permit_refuses_is_one_less(min_count: int, fitting: int) -> None:
    scheduler = make_scheduler(
        nodes_with(9),
        members(2),
        objects=[group(min_count=min_count)],
        gates=GANG,
        plugins=[Refuses],
        configuration=with_plugins("Refuses"),
    )
    decisions = decide(scheduler)
    assert decisions["default/p1"].message == "0/1 nodes are available: 1 not this one."
    assert sum(each.row is not None for each in decisions.values()) == fitting


class Stops(ReservePlugin[None], PermitPlugin[None], PreBindPlugin[None]):
    """Stops pod p1 at one point: in its first call there, or in a later one."""

    name = "Stops"
    point, answer, call = "", "", 1

    def _at(self, point: str, pod: Any) -> Status:
        if (point, "p1") != (self.point, pod.name):
            return SUCCESS
        Stops.call -= 1
        if Stops.call:
            return SUCCESS
        if self.answer == "breaks":
            raise RuntimeError("broken")
        return error("broken") if self.answer == "fails" else unschedulable("not this one")

    def reserve(self, state: None, pod: Any, row: int) -> Status:
        return self._at("reserve", pod)

    def unreserve(self, state: None, pod: Any, row: int) -> None:
        return

    def permit(self, state: None, pod: Any, row: int) -> tuple[Status, float]:
        return self._at("permit", pod), 0

    def pre_bind(self, state: None, pod: Any, row: int) -> Status:
        return self._at("preBind", pod)


PLACES = "TopologyAwareWorkloadScheduling=true"
OLD, OLD_PLACES = ("1.36", GANG), ("1.36", f"{GANG},{PLACES}")
NEW, NEW_PLACES = ("1.37", "GenericWorkload=true"), ("1.37", f"GenericWorkload=true,{PLACES}")


@pytest.mark.parametrize(
    ("point", "answers", "cases", "call", "results"),
    [
        pytest.param(
            *("reserve", ["refuses"], [OLD, OLD_PLACES, NEW, NEW_PLACES], 1, "unschedulable scheduled"), id="reserve"
        ),
        pytest.param(
            *("reserve", ["fails", "breaks"], [OLD, OLD_PLACES, NEW, NEW_PLACES], 1, "error error"), id="reserve fails"
        ),
        pytest.param("reserve", ["refuses"], [OLD_PLACES], 2, "unschedulable scheduled", id="reserve in its place"),
        pytest.param(
            "reserve", ["fails", "breaks"], [OLD_PLACES], 2, "error scheduled", id="reserve fails in its place"
        ),
        pytest.param(
            *("permit", ["refuses"], [OLD, OLD_PLACES, NEW, NEW_PLACES], 1, "unschedulable scheduled"), id="permit"
        ),
        pytest.param(
            "permit", ["fails", "breaks"], [OLD, OLD_PLACES], 1, "error error", id="permit fails in the trial"
        ),
        pytest.param("permit", ["fails", "breaks"], [NEW, NEW_PLACES], 1, "error scheduled", id="permit fails"),
        pytest.param(
            *("preBind", ["refuses"], [OLD, OLD_PLACES, NEW, NEW_PLACES], 1, "unschedulable scheduled"), id="bind"
        ),
        pytest.param(
            *("preBind", ["fails", "breaks"], [OLD, OLD_PLACES, NEW, NEW_PLACES], 1, "error scheduled"), id="bind fails"
        ),
    ],
)
def test_a_pod_that_is_stopped_leaves_its_node(
    point: str, answers: list[str], cases: list[tuple[str, str]], call: int, results: str
) -> None:
    """An error while the group is tried is the error of all of its pods; afterwards it is that of one pod."""
    for answer in answers:
        for minor, gates in cases:
            Stops.point, Stops.answer, Stops.call = point, answer, call
            options: dict[str, Any] = {"plugins": [Stops], "configuration": with_plugins("Stops")}
            objects, current = [group(min_count=1)], RELEASES[minor]
            scheduler = make_scheduler(
                nodes_with(9), members(2), objects=objects, gates=gates, current=current, **options
            )
            decisions = decide(scheduler).values()
            assert " ".join(each.result for each in decisions) == results, (answer, minor, gates)
            assert scheduler.cluster.usage.pod_count.sum() == results.count("scheduled")
            own = next(iter(decisions)).message
            assert ("not this one" if answer == "refuses" else "broken") in own


def test_a_pod_that_is_refused_keeps_no_nomination() -> None:
    victim = make_pod("victim").requests(cpu="1").on("n1").obj()
    pods = [victim, member("p1").priority(10).obj()]
    plugins: dict[str, Any] = {"plugins": [Refuses], "configuration": with_plugins("Refuses")}
    scheduler = make_scheduler(nodes_with(1), pods, objects=[group(min_count=1)], gates=GANG, **plugins)
    decision = decide(scheduler)["default/p1"]
    assert (decision.result, decision.nominated_node) == ("unschedulable", "")
    assert not scheduler.nominator.nodes()


def test_what_was_reserved_for_a_group_that_fails_is_given_back() -> None:
    Reserves.held = set()
    scheduler = make_scheduler(
        nodes_with(2),
        members(3),
        objects=[group(min_count=3)],
        gates=GANG,
        plugins=[Reserves],
        configuration=with_plugins("Reserves"),
    )
    decide(scheduler)
    assert Reserves.held == set()


def test_the_pods_of_a_group_share_one_scheduler() -> None:
    from ksched_cli.config.model import KubeSchedulerProfile, SchedulerConfiguration

    profiles = (KubeSchedulerProfile(), KubeSchedulerProfile(scheduler_name="second"))
    pods = [member("p1").obj(), member("p2").scheduler("second").obj()]
    scheduler = make_scheduler(
        nodes_with(9),
        pods,
        objects=[group(min_count=2)],
        gates=GANG,
        configuration=SchedulerConfiguration(profiles=profiles),
    )
    text = 'all pods in a single pod group should have the same .spec.schedulerName set, got: "default-scheduler" and "second"'
    assert {(each.result, each.message) for each in decide(scheduler).values()} == {("error", text)}


# Whole runs


@st.composite
def gangs(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[Any]]:
    """Nodes, pods and groups: gangs of any quorum, some with running members, among pods by themselves."""
    made = nodes_with(*draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    groups = [group(f"g{index}", min_count=draw(st.integers(1, 5))) for index in range(draw(st.integers(1, 3)))]
    pods = []
    for index in range(draw(st.integers(1, 12))):
        of = draw(st.integers(-1, len(groups) - 1))
        name, cpu = f"p{index:02}", str(draw(st.integers(1, 2)))
        pod = make_pod(name).requests(cpu=cpu) if of < 0 else member(name, f"g{of}", cpu=cpu)
        pod = pod.priority(draw(st.integers(0, 2)))
        pods.append(pod.on(f"n{draw(st.integers(1, len(made)))}").obj() if draw(st.integers(0, 5)) == 0 else pod.obj())
    return made, pods, groups


MINORS = pytest.mark.parametrize(("minor", "gates"), [("1.36", GANG), ("1.37", "GenericWorkload=true")])


@pytest.mark.slow
@MINORS
@given(gangs())
@settings(max_examples=examples(150), deadline=None)
def test_no_gang_is_ever_partly_placed_below_its_quorum(minor: str, gates: str, drawn: Any) -> None:
    made, pods, groups = drawn
    scheduler = make_scheduler(made, pods, objects=groups, gates=gates, current=RELEASES[minor])
    decisions = decide(scheduler)
    for each in groups:
        mine = [
            pod
            for pod in pods
            if pod.spec.scheduling_group and pod.spec.scheduling_group.pod_group_name == each.metadata.name
        ]
        new = [
            pod
            for pod in mine
            if not pod.spec.node_name
            and (key := f"default/{pod.metadata.name}") in decisions
            and decisions[key].row is not None
        ]
        running = [pod for pod in mine if pod.spec.node_name]
        assert not new or len(new) + len(running) >= each.spec.scheduling_policy.gang.min_count
    usage, limit = scheduler.cluster.usage, scheduler.cluster.nodes
    for decision in decisions.values():
        if decision.row is not None:
            wanted = [resource for resource, _ in decision.pod.requests]
            assert (usage.requested[wanted, decision.row] <= limit.allocatable[wanted, decision.row]).all()


@pytest.mark.slow
@MINORS
@given(gangs(), st.randoms(use_true_random=False))
@settings(max_examples=examples(60), deadline=None)
def test_neither_reuse_nor_the_order_of_the_input_changes_the_answer(
    minor: str, gates: str, drawn: Any, random: Any
) -> None:
    made, pods, groups = drawn
    options: dict[str, Any] = {"objects": groups, "gates": gates, "current": RELEASES[minor]}
    plain = placed(make_scheduler(made, pods, **options))
    afresh = placed(make_scheduler(made, pods, reuse=False, **options))
    shuffled = random.sample(pods, len(pods))
    assert plain == afresh == placed(make_scheduler(made, shuffled, **options))
