"""What brought a pod back in the minors before queueing hints, and where their gate is off."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import Namespace, ObjectMeta
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.hints import QueuedPod
from ksched_cli.framework.events import ASSIGNED_POD, ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, Action, ClusterEvent
from ksched_cli.framework.interfaces import PreBindPlugin
from ksched_cli.framework.status import SUCCESS, Status, error
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.engine.queueing.line import line_of
from tests.engine.test_cycle import with_plugins
from tests.engine.test_handlers import loop_over, run, where

CONDITION, LABEL = (ClusterEvent("Node", each) for each in (Action.UPDATE_NODE_CONDITION, Action.UPDATE_NODE_LABEL))
CLAIM, BUDGET = (ClusterEvent(each, Action.ADD) for each in ("PersistentVolumeClaim", "PodDisruptionBudget"))
NODE_GONE = ClusterEvent("Node", Action.DELETE)
RELABELLED = ClusterEvent(ASSIGNED_POD, Action.UPDATE_POD_LABEL)
SHRUNK = ClusterEvent(ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN)
NO_HINTS = "SchedulerQueueingHints=false"
FIT, TAINTS, SPREAD, AFFINITY = "NodeResourcesFit", "TaintToleration", "PodTopologySpread", "InterPodAffinity"


@pytest.mark.parametrize(
    ("minor", "rejected", "event", "moved"),
    [
        pytest.param("1.20", [FIT], CONDITION, True, id="1.20, anything"),
        pytest.param("1.20", [FIT], NODE_GONE, False, id="1.20, a node that goes is no news"),
        pytest.param("1.20", [FIT], BUDGET, False, id="1.20, nor is an object that nobody watches"),
        pytest.param("1.21", [FIT], CONDITION, False, id="1.21, what NodeResourcesFit asks for"),
        pytest.param("1.21", [FIT], ASSIGNED_POD_DELETE, True, id="1.21, it asks for pods that go"),
        pytest.param("1.21", [TAINTS], CONDITION, True, id="1.21, others hear everything"),
        pytest.param("1.21", [TAINTS], CLAIM, True, id="1.21, even of claims"),
        pytest.param("1.21", [FIT, TAINTS], CLAIM, True, id="1.21, one of two"),
        pytest.param("1.21", [TAINTS], BUDGET, False, id="1.21, but not what nobody watches"),
        pytest.param("1.22", [TAINTS], CLAIM, False, id="1.22, what plugins ask for"),
        pytest.param("1.22", [SPREAD], LABEL, True, id="1.22, labels of nodes"),
    ],
)
def test_which_events_bring_a_pod_back(minor: str, rejected: list[str], event: ClusterEvent, moved: bool) -> None:
    line = line_of(RELEASES[minor], make_pod("p").obj())
    line.fail(*rejected)
    line.queue.move_all(event, None, make_node("n").obj())
    assert (line.where()["p"] != "unschedulable") is moved


def near(**term: Any) -> Any:
    """It wants to be near two kinds of pods."""
    terms = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}, **term} for app in ("a", "b")]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return make_pod("p").spec(affinity=affinity).obj()


PLAIN = make_pod("p").obj()


@pytest.mark.parametrize(
    ("minor", "gates", "pod", "rejected", "event", "moved"),
    [
        pytest.param("1.20", "", PLAIN, FIT, ASSIGNED_POD_ADD, False, id="1.20 plain"),
        pytest.param("1.20", "", near(), FIT, ASSIGNED_POD_ADD, True, id="1.20 one of its terms will do"),
        pytest.param("1.20", "", near(namespaces=["x"]), FIT, ASSIGNED_POD_ADD, False, id="1.20 another namespace"),
        pytest.param("1.22", "", near(), AFFINITY, ASSIGNED_POD_ADD, True, id="1.22 near"),
        pytest.param("1.22", "", near(), AFFINITY, RELABELLED, True, id="1.22 relabelled"),
        pytest.param("1.22", "", near(), FIT, ASSIGNED_POD_ADD, False, id="1.22 rejected by another"),
        pytest.param("1.30", "", PLAIN, SPREAD, ASSIGNED_POD_ADD, False, id="1.30 spread"),
        pytest.param("1.30", "", PLAIN, SPREAD, ASSIGNED_POD_DELETE, True, id="1.30 spread, a pod goes"),
        pytest.param("1.31", "", PLAIN, SPREAD, ASSIGNED_POD_ADD, True, id="1.31 spread"),
        pytest.param("1.32", NO_HINTS, PLAIN, AFFINITY, ASSIGNED_POD_ADD, False, id="1.32 without hints"),
        pytest.param("1.32", NO_HINTS, near(), AFFINITY, ASSIGNED_POD_ADD, True, id="1.32 without hints, near"),
        pytest.param("1.26", "", PLAIN, FIT, SHRUNK, False, id="1.26 resize"),
        pytest.param("1.32", f"{NO_HINTS},InPlacePodVerticalScaling=true", PLAIN, FIT, SHRUNK, True, id="1.32 resize"),
    ],
)
def test_whom_a_pod_on_a_node_matters_to(
    minor: str, gates: str, pod: Any, rejected: str, event: ClusterEvent, moved: bool
) -> None:
    line = line_of(RELEASES[minor], pod, gates=gates)
    line.fail(rejected)
    other = make_pod("other").label("app", "b").on("n").obj()
    line.queue.move_all(event, None if event.action is Action.ADD else other, other)
    assert (line.where()["p"] != "unschedulable") is moved


def test_namespaces_by_their_labels() -> None:
    line = line_of(RELEASES["1.24"], near(namespaceSelector={"matchLabels": {"team": "x"}}))
    line.scheduler.cluster.catalog.put(Namespace(ObjectMeta(name="far", labels={"team": "x"})))
    line.fail(AFFINITY)
    for namespace, place in (("other", "unschedulable"), ("far", "backoff")):
        other = make_pod("other", namespace=namespace).label("app", "a").on("n").obj()
        line.queue.move_all(ASSIGNED_POD_ADD, None, other)
        assert line.where()["p"] == place


@pytest.mark.parametrize(
    ("minor", "rejected", "event", "place"),
    [
        pytest.param("1.27", [TAINTS], BUDGET, "unschedulable", id="1.27 nobody is interested"),
        pytest.param("1.27", [TAINTS], ASSIGNED_POD_DELETE, "backoff", id="1.27 of no use, but it happened"),
        pytest.param("1.27", [TAINTS], None, "unschedulable", id="1.27 nothing"),
        pytest.param("1.32", [TAINTS], ASSIGNED_POD_DELETE, "unschedulable", id="1.32 of no use"),
        pytest.param("1.28", [], None, "unschedulable", id="1.28 an error"),
        pytest.param("1.28", [], ASSIGNED_POD_DELETE, "backoff", id="1.28 an error, and something happens"),
        pytest.param("1.29", [], None, "backoff", id="1.29 an error"),
    ],
)
def test_what_happens_during_a_cycle(minor: str, rejected: list[str], event: ClusterEvent | None, place: str) -> None:
    line = line_of(RELEASES[minor], make_pod("p").obj())
    pod = line.queue.pop()
    assert pod is not None
    if event:
        line.queue.move_all(event, make_pod("gone").on("n").obj(), None)
    line.put_back(pod, *rejected)
    assert line.where()["p"] == place


@pytest.mark.parametrize(("minor", "place"), [("1.20", "active"), ("1.21", "backoff"), ("1.32", "unschedulable")])
def test_a_change_of_a_pod_that_was_rejected(minor: str, place: str) -> None:
    """Before hints any change was worth a try; before 1.21, at once."""
    line = line_of(RELEASES[minor], make_pod("p").obj())
    line.fail(TAINTS)
    line.update("p", make_pod("p").label("app", "x").obj())
    assert line.where()["p"] == place


def test_news_of_its_status_are_no_change() -> None:
    line = line_of(RELEASES["1.25"], make_pod("p").obj())
    line.fail(TAINTS)
    line.update("p", make_pod("p").nominated("n").obj())
    assert line.where()["p"] == "unschedulable"


@pytest.mark.parametrize(("minor", "place"), [("1.20", "active"), ("1.21", "backoff")])
def test_an_update_ended_the_wait(minor: str, place: str) -> None:
    line = line_of(RELEASES[minor], make_pod("p").obj())
    failed: QueuedPod = line.fail(TAINTS)
    line.queue.move_all(CONDITION, None, make_node("n").obj())
    assert (failed.info.name, line.where()["p"]) == ("p", "backoff")
    line.update("p", make_pod("p").label("app", "x").obj())
    assert line.where()["p"] == place


@pytest.mark.parametrize(("minor", "stays"), [("1.23", 90), ("1.24", 330)])
def test_how_long_a_pod_waits_without_an_event(minor: str, stays: int) -> None:
    line = line_of(RELEASES[minor], make_pod("p").obj())
    line.fail(TAINTS)
    line.pass_time(stays - 1)
    assert line.where()["p"] == "unschedulable"
    line.pass_time(1)
    assert line.where()["p"] == "active"


class Breaks(PreBindPlugin[Any]):
    """Cannot bind one pod."""

    name = "Breaks"

    def pre_bind(self, state: Any, info: PodInfo, row: int) -> Status:
        return error("broken") if info.name == "broken" else SUCCESS


@pytest.mark.parametrize(
    ("minor", "broken", "other"),
    [
        pytest.param("1.22", "unschedulable", "unschedulable", id="1.22"),
        pytest.param("1.23", "backoff", "backoff", id="1.23"),
    ],
)
def test_the_room_that_a_failed_binding_gives_back(minor: str, broken: str, other: str) -> None:
    waits = make_pod("other").uid("o").priority(9).requests(cpu="4").spec(preemptionPolicy="Never")
    node = make_node("n").allocatable(cpu="2", memory="4Gi", pods=10)
    options: dict[str, Any] = {"plugins": [Breaks], "configuration": with_plugins("Breaks")}
    loop = loop_over(node, waits, make_pod("broken").uid("b"), current=RELEASES[minor], **options)
    loop.step()
    loop.step()
    assert (where(loop, "broken"), where(loop, "other")) == (broken, other)


@pytest.mark.parametrize(("minor", "place"), [("1.32", "unschedulable"), ("1.33", "active")])
def test_a_nomination_that_ends(minor: str, place: str) -> None:
    nominated = make_pod("strong").uid("strong").requests(cpu="1").priority(7).nominated("n").gate("hold")
    weak = make_pod("weak").requests(cpu="4").spec(preemptionPolicy="Never")
    node = make_node("n").allocatable(cpu="2", memory="4Gi", pods=10)
    loop = loop_over(node, nominated, weak, current=RELEASES[minor])
    run(loop)
    loop.advance_to(30)
    assert where(loop, "weak") == "unschedulable"
    loop.handlers.delete(nominated.obj())
    assert where(loop, "weak") == place


@pytest.mark.parametrize(
    ("minor", "told"),
    [
        pytest.param("1.29", ["NodeUpdateNodeLabel"], id="1.29"),
        pytest.param("1.30", ["NodeUpdateNodeLabel", "NodeUpdateNodeTaint", "NodeUpdateNodeAnnotation"], id="1.30"),
    ],
)
def test_what_is_told_of_a_node_that_changes(minor: str, told: list[str]) -> None:
    loop = loop_over(make_node("n"), current=RELEASES[minor])
    changed = make_node("n").label("a", "b").taint("c", "d").obj()
    changed = replace(changed, metadata=replace(changed.metadata, annotations={"e": "f"}))
    loop.handlers.put(changed)
    assert [label for label, _ in loop.told] == told


def test_an_annotation_was_no_news() -> None:
    loop = loop_over(make_node("n"), current=RELEASES["1.29"])
    plain = make_node("n").obj()
    loop.handlers.put(replace(plain, metadata=replace(plain.metadata, annotations={"e": "f"})))
    assert loop.told == []


@pytest.mark.parametrize(("minor", "seconds"), [("1.33", 4), ("1.34", 2)])
def test_what_backoff_is_reckoned_by(minor: str, seconds: int) -> None:
    """Rejected, an error, rejected."""
    line = line_of(RELEASES[minor], make_pod("p").obj())
    for plugins in ([TAINTS], [], [TAINTS]):
        pod = line.queue.pop() or line.queue.pop_specific(line.row("p"))
        assert pod is not None
        line.put_back(pod, *plugins)
    assert line.queue.backoff.expiration(line.pod("p")) == line.clock.now + seconds
