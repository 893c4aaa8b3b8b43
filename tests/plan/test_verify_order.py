"""In which order pods were bound, by events, by conditions, or by what explains their placements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.verify import history
from ksched_cli.plan.verify.results import Agreement, Order, Verification, VerifySettings
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod, write_list
from tests.running import verify
from tests.scheduler_events import bound_event, bound_event_of_its_group, bound_event_of_old, preempted_event

Document = dict[str, Any]
Verify = Callable[..., Verification]


@pytest.fixture
def verified(tmp_path: Path) -> Verify:
    def run(*items: Document, **settings: int) -> Verification:
        path = tmp_path / "cluster.json"
        write_list(path, *items)
        return Simulator.of(RunOptions([str(path)], events=True)).verify(VerifySettings(**settings))

    return run


def at(second: float) -> str:
    return f"2026-01-01T00:00:{second:09.6f}Z" if second % 1 else f"2026-01-01T00:00:{int(second):02}Z"


def bound(
    name: str, node: str, second: int | None = 1, *, cpu: str = "1", version: str = "", **fields: Any
) -> Document:
    """A running pod with the time of its binding; None for a pod whose status does not have it."""
    pod = make_pod(name).requests(cpu=cpu).spec(**fields).on(node).phase("Running").created(at(0))
    if second is not None:
        pod.status(conditions=[{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(second)}])
    document = pod.doc()
    document["metadata"]["resourceVersion"] = version
    return document


def node(
    name: str, cpu: str = "4", *, created: int | None = None, version: str = "", ready: int | None = None
) -> Document:
    document = make_node(name).allocatable(cpu=cpu, memory="16Gi", pods=110).doc()
    document["metadata"]["resourceVersion"] = version
    if created is not None:
        document["metadata"]["creationTimestamp"] = at(created)
    if ready is not None:
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": at(ready)}
        document["status"]["conditions"] = [condition]
    return document


def with_uid(uid: str, pod: Document) -> Document:
    return {**pod, "metadata": {**pod["metadata"], "uid": uid}}


def placements(found: Verification) -> list[tuple[str, str, str | None]]:
    return [(each.pod.removeprefix("default/"), each.agreement.value, each.order) for each in found.placements]


def spread(name: str, on: str, second: int, **fields: Any) -> Document:
    """A small pod of which every node is to have as many as any other, or one more."""
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    pod = bound(name, on, second, cpu="100m", topologySpreadConstraints=[{**constraint, **selector}], **fields)
    pod["metadata"]["labels"] = {"app": "web"}
    return pod


# A pod of 4 cpu goes to the larger node as long as it is empty, and one of 1 cpu to the emptier of the two.
LARGE, SMALL = node("large", "8"), node("small", "4")


def test_an_order_that_explains_is_searched_within_a_second(verified: Verify) -> None:
    """By name `a` would come first, and would go to the larger node."""
    found = verified(LARGE, SMALL, bound("a", "small"), bound("b", "large", cpu="4"))
    assert placements(found) == [("b", "same", Order.FOUND), ("a", "same", Order.FOUND)]
    assert found.order == {Order.KNOWN: 0, Order.FOUND: 2, Order.NOT_FOUND: 0}


def test_a_resource_version_of_too_many_digits_is_no_version(verified: Verify) -> None:
    found = verified(node("n"), bound("a", "n", version="9" * 5000))
    assert placements(found) == [("a", "same", Order.KNOWN)]


def test_times_that_differ_are_the_order(verified: Verify) -> None:
    found = verified(LARGE, SMALL, bound("a", "small", 3), bound("b", "large", 2, cpu="4"))
    assert placements(found) == [("b", "same", Order.KNOWN), ("a", "same", Order.KNOWN)]
    assert [(each.bound_at, each.bound_in) for each in found.placements] == [
        (at(2), "PodScheduled condition"),
        (at(3), "PodScheduled condition"),
    ]


def test_an_order_that_no_placements_explain_is_not_found(verified: Verify) -> None:
    """The large pod fits better on the larger node, whenever it comes."""
    found = verified(LARGE, SMALL, bound("a", "small"), bound("b", "small", cpu="3"))
    assert found.order[Order.NOT_FOUND] == 2
    assert found.agreeing < 2
    assert {each.cause for each in found.placements if not each.agreement.agrees} == {"not known"}


@pytest.mark.parametrize("form", [bound_event, bound_event_of_its_group])
def test_events_have_microseconds(form: Callable[..., Document], verified: Verify) -> None:
    events = [form("a", "small", at(1.25)), form("b", "large", at(1.125))]
    found = verified(LARGE, SMALL, bound("a", "small"), bound("b", "large", cpu="4"), *events)
    assert placements(found) == [("b", "same", Order.KNOWN), ("a", "same", Order.KNOWN)]
    assert [(each.bound_at, each.bound_in) for each in found.placements] == [
        (at(1.125), "Scheduled event"),
        (at(1.25), "Scheduled event"),
    ]


def test_events_come_after_bindings_and_not_always_in_their_order(verified: Verify) -> None:
    events = [bound_event("a", "small", at(1.125)), bound_event("b", "large", at(1.25))]
    found = verified(LARGE, SMALL, bound("a", "small"), bound("b", "large", cpu="4"), *events)
    assert placements(found) == [("b", "same", Order.FOUND), ("a", "same", Order.FOUND)]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(bound_event_of_old("a", "small", at(9)), id="cut to the second, the condition is as good"),
        pytest.param(bound_event("a", "elsewhere", at(9.5)), id="of another node"),
        pytest.param(bound_event("a", "small", at(9.5), uid="before"), id="of a pod of that name before it"),
    ],
)
def test_events_that_do_not_count(event: Document, verified: Verify) -> None:
    pod = bound("a", "small")
    pod["metadata"]["uid"] = "now"
    found = verified(LARGE, SMALL, pod, event)
    assert [each.bound_at for each in found.placements] == [at(1)]


def test_other_fields_in_place_of_the_condition(verified: Verify) -> None:
    started = bound("started", "large", None)
    started["status"]["startTime"] = at(5)
    kubelet = bound("kubelet", "large", None)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": at(9)}
    kubelet["status"]["conditions"] = [ready, {**ready, "type": "Initialized", "lastTransitionTime": at(4)}]
    early = bound("early", "large", None)
    early["status"]["startTime"] = "2025-01-01T00:00:00Z"
    nothing = bound("nothing", "large", None)
    del nothing["metadata"]["creationTimestamp"]
    found = verified(LARGE, started, kubelet, early, nothing)
    assert [(each.pod, each.bound_at, each.bound_in, each.order) for each in found.placements] == [
        ("default/nothing", "", "nothing", Order.FOUND),
        ("default/early", at(0), "creationTimestamp", Order.FOUND),
        ("default/kubelet", at(4), "status set by the kubelet", Order.KNOWN),
        ("default/started", at(5), "status set by the kubelet", Order.KNOWN),
    ]


def test_pods_may_be_scheduled_in_one_second_and_bound_in_the_next(verified: Verify) -> None:
    found = verified(LARGE, SMALL, bound("a", "small", 1), bound("b", "large", 2, cpu="4"))
    assert placements(found) == [("b", "same", Order.FOUND), ("a", "same", Order.FOUND)]
    apart = verified(LARGE, SMALL, bound("a", "small", 1), bound("b", "large", 3, cpu="4"))
    assert placements(apart)[0] == ("a", "other node", Order.KNOWN)


def test_pods_may_be_scheduled_in_one_second_and_bound_in_the_one_before(verified: Verify) -> None:
    """`a` alone would go where it is. `b` would not after it, but the two would in the other order."""
    found = verified(LARGE, SMALL, bound("a", "large", 1, cpu="4"), bound("b", "large", 2))
    assert placements(found) == [("b", "same", Order.FOUND), ("a", "same", Order.FOUND)]


def test_higher_priority_comes_first(verified: Verify) -> None:
    found = verified(LARGE, SMALL, bound("a", "small"), bound("b", "large", cpu="4", priority=9))
    assert [each.pod for each in found.placements] == ["default/b", "default/a"]


@pytest.mark.parametrize("batch", [pytest.param(100, id="one by one"), pytest.param(1, id="in one batch")])
def test_nodes_younger_than_a_placement_are_no_candidates(
    batch: int, verified: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST_ARRIVALS", batch)
    young = [node("new", "64", created=5), node("newer", "128", created=8)]
    pods = [bound(f"p{second}", "large", second) for second in (1, 2, 3)]
    later = [bound("p6", "new", 6), bound("p7", "new", 7), bound("p8", "newer", 8)]
    found = verified(LARGE, *young, *pods, *later)
    assert [each.agreement for each in found.placements] == [Agreement.SAME] * 6
    assert found.order[Order.KNOWN] == 6


def test_young_nodes_are_no_domains_to_spread_over(verified: Verify) -> None:
    """With a node that is empty, two pods on one of the others would be too many."""
    pods = [spread(f"p{number}", name, number) for number, name in enumerate(["large", "small"] * 2, 1)]
    found = verified(LARGE, SMALL, node("new", created=9), *pods)
    assert [each.agreement for each in found.placements] == [Agreement.SAME] * 4


def test_a_node_that_registered_again_was_there_before(verified: Verify) -> None:
    again = node("again", "8", created=9)
    found = verified(SMALL, again, bound("a", "again", 1), bound("b", "small", 2, cpu="3"))
    assert [(each.pod, each.agreement, each.answer) for each in found.placements] == [
        ("default/a", Agreement.SAME, "again"),
        ("default/b", Agreement.OTHER_NODE, "again"),
    ]


@pytest.mark.parametrize(
    "empty",
    [
        pytest.param(node("empty", "64", version="9"), id="written later, as by kubectl uncordon"),
        pytest.param(node("empty", "64", ready=9), id="ready later"),
        pytest.param(node("empty", "64", created=1), id="created in the same second"),
    ],
)
def test_a_node_without_pods_that_changed_later_is_left_out_and_that_is_shown(
    empty: Document, verified: Verify
) -> None:
    found = verified(SMALL, empty, bound("a", "small", version="5"))
    assert placements(found) == [("a", "same", Order.KNOWN)]
    took = "empty took no pods yet: it holds none of that time and was changed later"
    assert [each.assumed for each in found.placements] == [took]


@pytest.mark.parametrize(
    ("version", "agreement"),
    [
        pytest.param("4", Agreement.SAME, id="after the first pod was written"),
        pytest.param("3", Agreement.OTHER_NODE, id="before both were written"),
    ],
)
def test_a_node_that_changed_after_one_of_two_pods_may_have_been_late(
    version: str, agreement: Agreement, verified: Verify
) -> None:
    pods = [bound("a", "small", version="9"), bound("b", "small", version="3")]
    found = verified(SMALL, node("empty", "64", version=version), *pods)
    assert {each.agreement for each in found.placements} == {agreement}


@pytest.mark.parametrize(
    ("empty", "agreement"),
    [
        pytest.param(8, Agreement.SAME, id="as many as are assumed to be late"),
        pytest.param(9, Agreement.OTHER_NODE, id="one more"),
    ],
)
def test_a_few_nodes_are_left_out_at_most(empty: int, agreement: Agreement, verified: Verify) -> None:
    late = [node(f"empty-{number}", "64", version="9") for number in range(empty)]
    found = verified(SMALL, *late, bound("a", "small", version="5"))
    assert [each.agreement for each in found.placements] == [agreement]


def test_no_node_is_left_out_once_the_search_has_spent_its_cycles(verified: Verify) -> None:
    found = verified(SMALL, node("empty", "64", version="9"), bound("a", "small", version="5"), cycles=0, node_cycles=0)
    assert (found.placements[0].agreement, found.placements[0].assumed) == (Agreement.OTHER_NODE, "")


def test_a_node_that_is_left_out_spends_cycles_of_the_search(verified: Verify) -> None:
    """There is one cycle, and each of the two pods would need one."""
    pods = [bound("a", "small", 1, version="5"), bound("b", "small", 4, version="6")]
    found = verified(SMALL, node("empty", "64", version="9"), *pods, cycles=1, node_cycles=0)
    assert placements(found) == [("a", "same", Order.KNOWN), ("b", "other node", Order.KNOWN)]


@pytest.mark.parametrize(
    ("empty", "more"),
    [
        pytest.param(node("empty", "64", version="3"), [], id="it has not changed"),
        pytest.param(node("empty", "64"), [], id="nothing is known of it"),
        pytest.param(node("empty", "64", version="9"), [bound("b", "empty", 0, version="5")], id="it held a pod"),
    ],
)
def test_no_other_node_is_left_out(empty: Document, more: list[Document], verified: Verify) -> None:
    found = verified(SMALL, empty, bound("a", "small", version="5"), *more)
    assert (found.placements[-1].agreement, found.placements[-1].assumed) == (Agreement.OTHER_NODE, "")


def test_pods_that_are_not_tried_take_room_from_their_own_time_on(verified: Verify) -> None:
    """`mine` came after `a`; `done` was there and has finished before `b`."""
    mine = bound("mine", "large", 4, cpu="6", schedulerName="mine")
    done = bound("done", "large", 1, cpu="5")
    done["status"]["phase"] = "Succeeded"
    ended = {"type": "Ready", "status": "False", "reason": "PodCompleted", "lastTransitionTime": at(3)}
    done["status"]["conditions"].append(ended)
    pods = [done, bound("a", "small", 2), bound("b", "large", 3), mine, bound("c", "small", 5)]
    found = verified(LARGE, SMALL, *pods)
    assert placements(found) == [(name, "same", Order.KNOWN) for name in ("done", "a", "b", "c")]


def test_deleted_pods_count_for_spreading_until_they_are_told_to_leave(verified: Verify) -> None:
    """`leaving` keeps `before` away from its node, and not `after`; each would have preferred the other node."""
    leaving = spread("leaving", "large", 1, terminationGracePeriodSeconds=10)
    leaving["metadata"]["deletionTimestamp"] = at(20)
    full = bound("full", "large", 8, cpu="6")
    found = verified(LARGE, SMALL, leaving, spread("before", "small", 5), full, spread("after", "large", 15))
    assert placements(found) == [(name, "same", Order.KNOWN) for name in ("before", "full", "after")]


@pytest.mark.parametrize("how", ["event", "event without uid", "status"])
def test_a_node_that_preemption_cleared_is_tried_alone(how: str, verified: Verify) -> None:
    pod, events = bound("a", "small"), []
    if how == "status":
        pod["status"]["nominatedNodeName"] = "small"
    else:
        pod["metadata"]["uid"] = uid = "u" if how == "event" else ""
        events.append(preempted_event("victim", "a", "small", uid=uid))
    assert placements(verified(LARGE, SMALL, pod, *events)) == [("a", "same", Order.KNOWN)]
    assert placements(verified(LARGE, SMALL, bound("a", "small"))) == [("a", "other node", Order.KNOWN)]


def replica_set(name: str, created: int, replicas: int, kind: str = "Deployment") -> Document:
    deployment = name.partition("-")[0]
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": deployment, "uid": deployment, "controller": True}
    metadata = {"name": name, "namespace": "default", "creationTimestamp": at(created), "ownerReferences": [owner]}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": {"replicas": replicas}}


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        pytest.param([], "not known", id="nothing"),
        pytest.param(
            [bound_event("gone", "large", at(0.5)), bound_event("later", "large", at(8.5))],
            "pods that were bound before are gone: default/gone on large",
            id="events of pods that are gone",
        ),
        pytest.param(
            [bound_event("gone", "large", at(0.5)), bound_event("also", "small", at(0.75))],
            "pods that were bound before are gone: default/also on small and 1 more",
            id="events of several pods that are gone",
        ),
        pytest.param(
            [bound("there", "large", 0, cpu="100m"), bound_event("there", "large", at(0.5))],
            "not known",
            id="an event of a pod that is there",
        ),
        pytest.param(
            [
                with_uid("now", bound("there", "large", 0, cpu="100m")),
                bound_event("there", "large", at(0.5), uid="now"),
            ],
            "not known",
            id="an event of a pod that is there by its uid",
        ),
        pytest.param(
            [
                with_uid("now", bound("there", "large", 1, cpu="100m")),
                bound_event("there", "small", at(0.5), uid="old"),
            ],
            "pods that were bound before are gone: default/there on small",
            id="an event of a pod that had the name before",
        ),
        pytest.param(
            [replica_set(name, at, 0) for at in (0, 9) for name in (f"web-{at}", f"api-{at}")],
            "ReplicaSet default/web-0 and 1 more of that time has no pods any more",
            id="several ReplicaSets that were replaced since",
        ),
        pytest.param(
            [replica_set("web-1", 0, 0), replica_set("web-2", 9, 3)],
            "ReplicaSet default/web-1 of that time has no pods any more",
            id="a ReplicaSet that was replaced since",
        ),
        pytest.param(
            [replica_set("web-1", 0, 1), replica_set("web-2", 9, 3)], "not known", id="a ReplicaSet that has pods"
        ),
        pytest.param(
            [replica_set("web-2", 9, 3), replica_set("web-1", 0, 0)],
            "ReplicaSet default/web-1 of that time has no pods any more",
            id="a ReplicaSet that comes after the one that replaced it",
        ),
        pytest.param(
            [replica_set("web-1", 0, 0, "Rollout"), replica_set("web-2", 9, 3, "Rollout")],
            "not known",
            id="ReplicaSets of no Deployment",
        ),
        pytest.param(
            [node("flapping", "64", ready=9), bound("first", "flapping", 0)],
            "flapping became ready later, at 2026-01-01T00:00:09Z",
            id="a node that was not ready for some time",
        ),
    ],
)
def test_causes_are_known_facts(more: list[Document], cause: str, verified: Verify) -> None:
    found = verified(LARGE, SMALL, *more, bound("a", "small", 2))
    assert (found.placements[-1].agreement, found.placements[-1].cause) == (Agreement.OTHER_NODE, cause)


def test_sampling_is_a_cause_where_there_are_more_feasible_nodes_than_it_looks_for(verified: Verify) -> None:
    fleet = [node(f"n{number:03}") for number in range(120)]
    found = verified(LARGE, *fleet, bound("a", "n050"))
    assert found.placements[0].cause == "kube-scheduler looks at a part of the nodes only (percentageOfNodesToScore)"


def test_pods_that_were_not_asked_for_are_part_of_the_order(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    other, earlier = bound("b", "large", cpu="4"), bound("c", "large", 0, cpu="100m")
    for pod in (other, earlier):
        pod["metadata"]["namespace"] = "other"
    items = [LARGE, SMALL, bound("a", "small"), other, earlier]
    write_list(path, *items)
    found = verify(RunOptions([str(path)], namespace="default"))
    assert placements(found) == [("a", "same", Order.FOUND)]


def test_the_search_is_bounded(verified: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of twenty sizes that somebody put on one node: no order explains them."""
    cycles: list[int] = []
    decide_dry = Scheduler.decide_dry
    monkeypatch.setattr(Scheduler, "decide_dry", lambda self, row: cycles.append(row) or decide_dry(self, row))
    pods = [bound(f"p{number}", "small", 1 + number // 20, cpu=f"{number + 1}m") for number in range(40)]
    found = verified(LARGE, SMALL, *pods, most_cycles=50, cycles=70, node_cycles=0)
    assert found.order == {Order.KNOWN: 0, Order.FOUND: 0, Order.NOT_FOUND: 40}
    # One for each pod, 70 for the search, and one for each pod of the order that the search ended with.
    assert len(cycles) <= 40 + 70 + 20


def of_pair(name: str, on: str, second: int, cpu: str = "1", pair: str = "x") -> Document:
    return bound(name, on, second, cpu=cpu, nodeSelector={"pair": pair})


@pytest.mark.parametrize(
    ("cycles", "orders"),
    [
        pytest.param(1, [Order.KNOWN] * 4, id="none"),
        pytest.param(6, [Order.FOUND] * 2 + [Order.KNOWN] * 2, id="for the first two"),
        pytest.param(7, [Order.FOUND] * 4, id="for all"),
    ],
)
def test_seconds_that_become_one_spend_cycles_of_the_search(cycles: int, orders: list[Order], verified: Verify) -> None:
    items: list[Document] = []
    for second, pair in ((1, "x"), (5, "y")):
        for size in ("8", "4"):
            items.append(node(f"{pair}{size}", size))
            items[-1]["metadata"]["labels"] = {"pair": pair}
        items += [
            of_pair(f"a{pair}", f"{pair}4", second, pair=pair),
            of_pair(f"b{pair}", f"{pair}8", second + 1, "4", pair),
        ]
    assert [each.order for each in verified(*items, cycles=cycles, node_cycles=0).placements] == orders


ON_N1 = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}


@pytest.mark.parametrize("cycles", [*range(1, 16), 1000])
def test_each_pod_is_placed_once_wherever_the_search_ends(cycles: int, verified: Verify) -> None:
    """`c` and `d` only go to n1 before `a` and `b`, which come first by name and go nowhere else."""
    nodes = [node(name, "8") for name in ("n1", "n2")]
    for each in nodes:
        each["metadata"]["labels"] = {"kubernetes.io/hostname": each["metadata"]["name"]}
    pods = [
        bound("a", "n1", **ON_N1),
        bound("b", "n1", cpu="2", **ON_N1),
        bound("c", "n1"),
        bound("d", "n2", cpu="500m"),
    ]
    found = verified(*nodes, *pods, most_cycles=cycles)
    assert sorted(each.pod for each in found.placements) == [f"default/{name}" for name in "abcd"]
    assert (found.agreeing == 4) is (cycles == 1000)


def test_where_sampling_goes_on_nothing_is_searched(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    items = [LARGE, SMALL, bound("a", "small"), bound("b", "large", cpu="4")]
    write_list(path, *items)
    found = verify(RunOptions([str(path)], sampling=True))
    assert placements(found)[0] == ("a", "other node", Order.NOT_FOUND)


def test_where_sampling_goes_on_a_pod_counts_on_its_own_node_only(tmp_path: Path) -> None:
    """`a` would go to the larger node, which `b` needs as a whole."""
    items = [LARGE, SMALL, bound("a", "small"), bound("b", "large", 3, cpu="8")]
    found = verify(RunOptions([write_list(tmp_path / "cluster.json", *items)], sampling=True))
    assert placements(found) == [("a", "other node", Order.KNOWN), ("b", "same", Order.KNOWN)]


@pytest.mark.parametrize(
    ("item", "path"),
    [
        pytest.param({**node("n"), "metadata": {"name": "n", "creationTimestamp": "soon"}}, "creationTimestamp", id="node"),
        pytest.param(
            {**replica_set("r", 1, 1), "metadata": {"name": "r", "creationTimestamp": "soon"}},
            "creationTimestamp",
            id="ReplicaSet",
        ),
    ],
)  # fmt: skip
def test_times_that_are_none_are_refused(item: Document, path: str, verified: Verify) -> None:
    with pytest.raises(Exception, match=f"{path}: 'soon' is not a time"):
        verified(item)
