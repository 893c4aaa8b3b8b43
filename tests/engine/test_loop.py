"""The loop: what a cycle's end does to queue, cache and the other pods."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.loop import SchedulingLoop
from ksched_cli.framework.interfaces import PermitPlugin, PreBindPlugin, ReservePlugin
from ksched_cli.framework.status import SUCCESS, Code, Status, error, unschedulable
from tests.builders import make_node, make_pod
from tests.engine.test_cycle import _WaitingPermit, with_plugins
from tests.engine.test_handlers import loop_over, run, where
from tests.harness import TimedEvent, make_scheduler, settle
from tests.pod_groups import GANG, group, member

ZONE = "topology.kubernetes.io/zone"


def node(name: str = "n", cpu: str = "2") -> Any:
    return make_node(name).zone("z").allocatable(cpu=cpu, memory="4Gi", pods=10)


def wants(app: str) -> dict[str, Any]:
    rule = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}


def test_a_pod_that_is_bound_wakes_those_that_wait_for_it() -> None:
    follower = make_pod("follower").uid("f").priority(9).spec(affinity=wants("a"))
    loop = loop_over(node(), follower, make_pod("leader").uid("l").label(app="a"))
    run(loop)
    assert (where(loop, "leader"), where(loop, "follower")) == ("n", "n")
    assert loop.clock.now == 0


def test_a_bound_pod_is_as_the_api_server_has_it() -> None:
    loop = loop_over(node(), make_pod("p").requests(cpu="1"))
    run(loop)
    assert loop.cluster.pods.infos[0].pod.spec.node_name == "n"
    assert loop.cluster.usage.requested[0].tolist() == [1000]
    assert list(loop.queue) == []
    assert not loop.queue.in_flight


def test_nominations_are_published() -> None:
    victim = make_pod("victim").uid("v").requests(cpu="2").on("n").priority(1)
    weak = make_pod("weak").uid("w").requests(cpu="1").priority(3).nominated("n")
    loop = loop_over(node(), victim, weak, make_pod("strong").uid("s").requests(cpu="2").priority(9))
    loop.step()
    published = {info.name: info.pod.status.nominated_node_name for info in loop.cluster.pods.infos}
    assert published == {"victim": "", "weak": "", "strong": "n"}
    assert loop.scheduler.nominator.known() == {2: "n"}
    assert ("AssignedPodDelete", "default/weak") in loop.told


def test_a_pod_that_waits_no_longer_is_not_concluded() -> None:
    """One that is concluded first may end the waiting of the next."""
    pods = [make_pod(name).uid(name).obj() for name in ("a", "b", "c")]
    configuration = with_plugins(_WaitingPermit.name)
    loop = SchedulingLoop(make_scheduler([node().obj()], pods, configuration=configuration, plugins=[_WaitingPermit]))
    for _ in pods:
        loop.step()
    held = [loop.waiting.get(name) for name in ("a", "b", "c")]
    for each in held:
        assert each is not None
        each.allow(_WaitingPermit.name)
    assert held[1] is not None
    loop.waiting.remove(held[1])
    step = loop._conclude([each.pod for each in held if each is not None])
    assert [decision.pod.name for decision in step.decisions] == ["a", "c"]
    assert step.concludes
    assert list(loop.waiting) == []


class Counted(ReservePlugin[Any]):
    """Knows who has reserved something."""

    name = "Counted"
    held: list[str] = []  # noqa: RUF012  # one list for all that the test makes

    def reserve(self, state: Any, info: PodInfo, row: int) -> Status:
        self.held.append(info.name)
        return SUCCESS

    def unreserve(self, state: Any, info: PodInfo, row: int) -> None:
        self.held.remove(info.name)


class Raises(ReservePlugin[Any], PermitPlugin[Any], PreBindPlugin[Any]):
    """Breaks at one point."""

    name = "Raises"
    at = ""

    def _maybe(self, point: str) -> Status:
        if self.at == point:
            raise RuntimeError("broken")
        return SUCCESS

    def reserve(self, state: Any, info: PodInfo, row: int) -> Status:
        return self._maybe("reserve")

    def unreserve(self, state: Any, info: PodInfo, row: int) -> None:
        return

    def permit(self, state: Any, info: PodInfo, row: int) -> tuple[Status, float]:
        return self._maybe("permit"), 0

    def pre_bind(self, state: Any, info: PodInfo, row: int) -> Status:
        return self._maybe("preBind")


@pytest.mark.parametrize("point", ["reserve", "permit", "preBind"])
def test_what_was_reserved_is_given_back_when_a_plugin_breaks(point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Raises, "at", point)
    Counted.held.clear()
    configuration = with_plugins("Counted", "Raises")
    loop = loop_over(node(), make_pod("p"), plugins=[Counted, Raises], configuration=configuration)
    (decision,) = loop.step().decisions
    assert decision.result == "error"
    assert decision.message == f'plugin "Raises" failed at {point}: RuntimeError: broken'
    assert Counted.held == []
    assert loop.cluster.usage.pod_count.tolist() == [0]
    assert where(loop, "p") == "backoff"


class Refuses(PreBindPlugin[Any]):
    """Binds only small pods."""

    name = "Refuses"
    answer = unschedulable("not this one")

    def pre_bind(self, state: Any, info: PodInfo, row: int) -> Status:
        return self.answer if info.name == "refused" else SUCCESS


@pytest.mark.parametrize(
    ("answer", "queue"),
    [
        pytest.param(unschedulable("not this one"), "unschedulable", id="rejected"),
        pytest.param(error("broken"), "backoff", id="error"),
    ],
)
def test_a_pod_that_loses_its_node_wakes_others(answer: Status, queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Refuses, "answer", answer)
    other = make_pod("other").uid("o").priority(9).requests(cpu="4").spec(preemptionPolicy="Never")
    refused = make_pod("refused").uid("r").requests(cpu="1")
    loop = loop_over(node(), other, refused, plugins=[Refuses], configuration=with_plugins("Refuses"))
    loop.step()
    assert where(loop, "other") == "unschedulable"
    (decision,) = loop.step().decisions
    assert decision.let_go == "n"
    assert where(loop, "refused") == queue
    # Its hint says that a pod has gone; that it would not fit either way is for the next cycle to find out.
    assert where(loop, "other") == "backoff"


def test_a_plugin_that_waits_is_taken_to_allow_where_no_time_passes() -> None:
    class Waits(PermitPlugin[Any]):
        name = "Waits"

        def permit(self, state: Any, info: PodInfo, row: int) -> tuple[Status, float]:
            return Status(Code.WAIT), 5.0

    options: dict[str, Any] = {"plugins": [Waits], "configuration": with_plugins("Waits")}
    scheduler = make_scheduler([node().obj()], [make_pod("p").obj()], **options)
    (row,) = scheduler.enqueue().active
    assert scheduler.schedule(row).result == "scheduled"
    loop = SchedulingLoop(make_scheduler([node().obj()], [make_pod("p").obj()], **options))
    step = loop.step()
    assert step is not None
    assert [decision.result for decision in step.decisions] == ["waiting"]
    assert loop.next_moment() == 5.0
    later = SchedulingLoop(make_scheduler([node().obj()], [make_pod("p").obj()], **options))
    later.clock.now = 100.0
    later.step()
    assert later.next_moment() == 105.0, "the wait begins with the cycle"


class Short(PermitPlugin[Any]):
    name, seconds = "Short", 10.0

    def permit(self, state: Any, info: PodInfo, row: int) -> tuple[Status, float]:
        return Status(Code.WAIT), self.seconds


class Long(Short):
    name, seconds = "Long", 20.0


@pytest.mark.parametrize(
    ("allowing", "deadline", "plugin"),
    [
        pytest.param([], 10, "Short", id="the shortest wait ends first"),
        pytest.param(["Short"], 20, "Long", id="one of two allows"),
        pytest.param(["Short", "Long"], None, "", id="both allow"),
    ],
)
def test_a_pod_waits_until_all_plugins_allow_it(allowing: list[str], deadline: float | None, plugin: str) -> None:
    loop = loop_over(node(), make_pod("p"), plugins=[Long, Short], configuration=with_plugins(Long.name, Short.name))
    loop.step()
    (held,) = loop.waiting
    for each in allowing:
        held.allow(each)
    assert loop.next_moment() == deadline
    if deadline is not None:
        loop.advance_to(deadline)
    (decision,) = loop.step().decisions
    text = f"1 rejected due to timeout after waiting {deadline}s at plugin {plugin}."
    assert decision.message == (f"0/1 nodes are available: {text}" if plugin else "")
    assert where(loop, "p") == ("unschedulable" if plugin else "n")
    # The wait is over: what a plugin decides now comes too late.
    assert held.reject("Short", "too late") is False


def test_a_pod_that_is_deleted_when_its_wait_is_over_is_not_scheduled() -> None:
    options: dict[str, Any] = {"plugins": [Short, Counted], "configuration": with_plugins(Short.name, Counted.name)}
    loop = loop_over(node(), make_pod("p").requests(cpu="1"), **options)
    loop.step()
    (held,) = loop.waiting
    held.allow("Short")
    loop.handlers.delete(make_pod("p").requests(cpu="1").obj())
    (decision,) = loop.step().decisions
    assert (decision.result, decision.row) == ("error", None)
    assert decision.message.endswith('pods "p" not found')
    assert loop.cluster.usage.requested[0].tolist() == [0]
    assert Counted.held == list(loop.queue) == []


def test_each_pod_waits_for_its_own_time() -> None:
    options: dict[str, Any] = {"plugins": [Short], "configuration": with_plugins(Short.name)}
    loop = loop_over(node(), make_pod("early"), **options)
    loop.step()
    loop.advance_to(5)
    loop.handlers.put(make_pod("late").obj())
    loop.step()
    assert loop.next_moment() == 10
    loop.advance_to(10)
    (decision,) = loop.step().decisions
    assert decision.pod.name == "early"
    assert [held.pod.name for held in loop.waiting] == ["late"]
    assert loop.waiting.next_deadline() == 15


@pytest.mark.parametrize(
    ("change", "result", "message", "reason"),
    [
        pytest.param("", "unschedulable", "0/1 nodes are available: 1 no.", "node(s) were unschedulable", id="nothing"),
        pytest.param("add", "unschedulable", "0/1 nodes are available: 1 no.", "", id="a node comes"),
        pytest.param("delete", "error", 'node "n" not found', "", id="its node goes"),
    ],
)
def test_what_is_known_of_the_nodes_when_the_wait_is_over(change: str, result: str, message: str, reason: str) -> None:
    """Reasons of the nodes are about rows: they are dropped when nodes have come or gone."""
    options: dict[str, Any] = {"plugins": [Short], "configuration": with_plugins(Short.name)}
    loop = loop_over(node(), node("closed").cordoned(), make_pod("p"), **options)
    loop.step()
    (held,) = loop.waiting
    if change == "add":
        loop.handlers.put(node("other").obj())
    elif change == "delete":
        loop.handlers.delete(node().obj())
    held.reject("Short", "no")
    (decision,) = loop.step().decisions
    assert (decision.result, decision.message) == (result, message)
    closed = loop.cluster.nodes.row_of["closed"]
    assert decision.diagnosis is not None
    assert "".join(decision.diagnosis.nodes.status(closed).texts) == reason


def test_a_gang_waits_for_room_and_goes_as_one() -> None:
    pods = [member(name).uid(name).requests(cpu="2").obj() for name in ("a", "b")]
    scheduler = make_scheduler([node("n1").obj()], pods, objects=[group(min_count=2)], gates=GANG)
    found = settle(scheduler, events=[TimedEvent(100, "add", node("n2").obj())])
    assert found.settled
    assert sorted((pod.pod, pod.state, pod.node) for pod in found.moved) == [
        ("default/a", "scheduled", "n2"),
        ("default/b", "scheduled", "n1"),
    ]
    tried = [(each.time, each.decision) for each in found.timeline if each.decision]
    assert tried[:2] == [(0, "unschedulable"), (0, "unschedulable")]
    assert tried[-2:] == [(100, "scheduled"), (100, "scheduled")]


def test_a_gang_s_last_pod_lets_the_others_in() -> None:
    first, last = (member(name).uid(name).obj() for name in ("a", "b"))
    scheduler = make_scheduler([node("n1").obj()], [first], objects=[group(min_count=2)], gates=GANG)
    found = settle(scheduler, events=[TimedEvent(10, "add", last)])
    assert [(pod.pod, pod.state) for pod in found.moved] == [("default/a", "scheduled"), ("default/b", "scheduled")]
    assert {each.time for each in found.timeline if each.decision} == {10}
