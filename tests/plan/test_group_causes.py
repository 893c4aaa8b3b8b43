"""Which rule moved the pods of a pod group: 1.36 and 1.37 in one row, with what each makes of the pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.plan.diff import Cause, DiffResult, OnNode, Tally
from ksched_cli.plan.reasons.causes import GroupOutcome
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.changes import ReleaseRules, RuleChange
from tests.builders import make_node, make_object, make_pod, write_list
from tests.pod_groups import GANG, member
from tests.running import compare

ALL = f"{GANG},WorkloadAwarePreemption=true"
TOPOLOGY = "TopologyAwareWorkloadScheduling=true"
MIB = 1 << 20


def pod_group(min_count: int | None, priority: int = 0, name: str = "g", **spec: Any) -> dict[str, Any]:
    policy: dict[str, Any] = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    return make_object(
        "PodGroup", name, {"schedulingPolicy": policy, "priority": priority, **spec}, namespace="default"
    )


def nodes(*cpus: int) -> list[Any]:
    return [make_node(f"n{at}").allocatable(cpu=str(cpu), memory="16Gi", pods="9") for at, cpu in enumerate(cpus, 1)]


def running(name: str, node: str, priority: int = 0, cpu: str = "1") -> Any:
    return make_pod(name).requests(cpu=cpu).priority(priority).on(node).started("2026-01-01T00:00:01Z")


def name_of(rule: RuleChange | Tally) -> str:
    """The attribute that declares the rule, or its gate."""
    if rule.gate:
        return rule.gate
    for declared in ReleaseRules.declared:
        for name, each in declared.rules():
            if any(step.change.text == rule.text for step in each.steps):
                return name
    return rule.text


def said(cause: Cause | None) -> str:
    """`rule groups_keep_places`."""
    assert cause is not None
    preemptor = f" for {cause.preemptor}" if cause.preemptor else ""
    rules = (name_of(rule) for each in cause.deciders for rule in each.rules)
    return " ".join((f"{cause.kind}{preemptor}", *rules))


def changes(found: DiffResult) -> dict[str, tuple[str, str, str]]:
    """By pod: its node before, its node after, and why."""
    return {
        each.pods[0].partition("/")[2]: (
            each.before.node if each.before else "gone",
            each.after.node if each.after else "gone",
            said(each.cause),
        )
        for each in found.diff.changes
    }


def compared(
    path: Path, items: list[Any], before: tuple[str, str], after: tuple[str, str] = ("1.37", "GenericWorkload=true")
) -> DiffResult:
    first = RunOptions(sources=[write_list(path, *items)], kube_version=before[0], feature_gates=before[1])
    return compare(first, replace(first, kube_version=after[0], feature_gates=after[1]))


def in_group(name: str, priority: int = 10) -> Any:
    return member(name).priority(priority)


def whole(name: str, node: str) -> Any:
    """A pod of a group that can only be evicted as a whole."""
    return member(name, "h").on(node).started("2026-01-01T00:00:01Z")


LEAVING = make_pod("leaving").requests(cpu="1").on("n1").priority(5).terminating()
LEAVING = LEAVING.status(conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}])
ZONED = [
    make_node(name).allocatable(cpu="1", memory="16Gi", pods="9").label("zone", zone)
    for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"))
]
IN_ONE_ZONE = {"topology": [{"key": "zone"}]}
WITH_DATA = make_node("n2").allocatable(cpu="4", memory="8Gi", pods="9").image(1000 * MIB, "data:v1")
READS_DATA = (
    member("p").image("app:v1").spec(volumes=[{"name": "v", "image": {"reference": "data:v1"}}]).requests(cpu="1")
)


@pytest.mark.parametrize(
    ("items", "gates", "expected"),
    [
        pytest.param(
            [*nodes(1, 1, 1), pod_group(2, 10), running("strong", "n1", 5), running("weak", "n2"),
             running("other", "n3"), in_group("p1"), in_group("p2")],
            ALL,
            {
                "p1": ("n3", "n1", "rule groups_keep_places"),
                "strong": ("n1", "gone", "preemption for pod group default/g groups_keep_places"),
                "other": ("gone", "n3", "preemption for pod group default/g groups_keep_places"),
            },
            id="victims leave the places of the one search",
        ),
        pytest.param(
            [*nodes(1, 1), pod_group(2, 10), *(running(f"w{at}", f"n{at}").spec(terminationGracePeriodSeconds=0) for at in (1, 2)),
             in_group("p1"), in_group("p2"), make_pod("q").requests(cpu="1").priority(1)],
            ALL,
            {"q": ("gone", "", "preemption for pod group default/g groups_are_nominated")},
            id="all pods are nominated, so that no weaker pod comes first",
        ),
        pytest.param(
            [*nodes(1, 1), pod_group(2, 10), running("fast", "n1").spec(terminationGracePeriodSeconds=5),
             running("slow", "n2").spec(terminationGracePeriodSeconds=60), in_group("p1"), in_group("p2")],
            ALL,
            {
                "p1": ("n2", "n1", "rule completing_pod_is_first groups_are_nominated"),
                "p2": ("n1", "n2", "rule completing_pod_is_first groups_are_nominated"),
            },
            id="all pods are nominated, in another order",
        ),
        pytest.param(
            [*nodes(1, 1), pod_group(1, 10), LEAVING, running("weak", "n2"), in_group("p1").nominated("n1")],
            ALL,
            {"weak": ("gone", "n2", "preemption for pod group default/g groups_preempt_once")},
            id="no second preemption while victims leave",
        ),
        pytest.param(
            [*ZONED, pod_group(2, 10, schedulingConstraints=IN_ONE_ZONE), *(running(f"w{at}", f"n{at}") for at in (1, 2, 3)),
             in_group("p1"), in_group("p2")],
            f"{ALL},{TOPOLOGY}",
            {
                "p1": ("", "n1", "rule constrained_groups_preempt"),
                "p2": ("", "n2", "rule constrained_groups_preempt"),
                "w1": ("n1", "gone", "preemption for pod group default/g constrained_groups_preempt"),
                "w2": ("n2", "gone", "preemption for pod group default/g constrained_groups_preempt"),
            },
            id="groups with constraints preempt",
        ),
        pytest.param(
            [*nodes(2), pod_group(2), in_group("p1", 5), in_group("p2", 5)],
            ALL,
            {"p1": ("n1", "", "rule group_pods_agree"), "p2": ("n1", "", "rule group_pods_agree")},
            id="pods have the priority of the group",
        ),
        pytest.param(
            [make_node("n1").allocatable(cpu="4", memory="8Gi", pods="9"), WITH_DATA, pod_group(1), READS_DATA,
             make_pod("busy").requests(cpu="2").on("n2")],
            ALL,
            {"p": ("n2", "n1", "rule counts_volumes_in_ceiling")},
            id="a rule that is not about groups",
        ),
        pytest.param(
            [*nodes(1, 1), pod_group(3, 10), running("w1", "n1"), running("w2", "n2"), *map(in_group, ("p1", "p2", "p3"))],
            GANG,
            {
                "w1": ("gone", "n1", "preemption for default/p3 WorkloadAwarePreemption"),
                "w2": ("gone", "n2", "preemption for default/p1 WorkloadAwarePreemption"),
            },
            id="pods preempted by themselves, in vain",
        ),
        pytest.param(
            [*nodes(1, 1, 1), pod_group(1, 10), pod_group(2, name="h", disruptionMode={"all": {}}),
             whole("h1", "n1"), whole("h2", "n2"), running("z", "n3", 20), in_group("p1")],
            GANG,
            {"h2": ("n2", "gone", "preemption for pod group default/g WorkloadAwarePreemption")},
            id="a gate that was merged into another",
        ),
        pytest.param(
            [*nodes(2), pod_group(3), *(in_group(name, 0) for name in ("p1", "p2", "p3"))],
            "",
            {"p1": ("n1", "", "rule GenericWorkload"), "p2": ("n1", "", "rule GenericWorkload")},
            id="the gate of groups is on after",
        ),
        pytest.param(
            [*nodes(1, 1, 1), pod_group(2, 10), running("strong", "n1", 5), running("weak", "n2"),
             running("other", "n3"), in_group("p1"), in_group("p2")],
            "",
            {
                "p1": ("n2", "n1", "rule GenericWorkload"),
                "p2": ("n3", "n2", "rule GenericWorkload"),
                "strong": ("n1", "gone", "preemption for pod group default/g"),
                "other": ("gone", "n3", "preemption for default/p2 GenericWorkload"),
            },
            id="the pods preempt as a group after",
        ),
        pytest.param(
            [*nodes(2), pod_group(3), in_group("p1", 0), in_group("p2", 0)],
            "",
            {"p1": ("n1", "", "rule GenericWorkload"), "p2": ("n1", "", "rule GenericWorkload")},
            id="the gate holds pods of a group back that is not whole",
        ),
    ],
)  # fmt: skip
def test_the_rule_that_moved_a_group(
    tmp_path: Path, items: list[Any], gates: str, expected: dict[str, tuple[str, str, str]]
) -> None:
    """The other way round it is the same rule."""
    after = f"GenericWorkload=true{f',{TOPOLOGY}' if TOPOLOGY in gates else ''}"
    old, new = ("1.36", gates), ("1.37", after)
    assert changes(compared(tmp_path / "c.json", items, old, new)) == expected
    back = {pod: (now, was, why) for pod, (was, now, why) in expected.items()}
    assert changes(compared(tmp_path / "c.json", items, new, old)) == back


@pytest.mark.parametrize(
    ("before", "after"),
    [(("1.36", ALL), ("1.37", "")), (("1.37", "GenericWorkload=true"), ("1.37", ""))],
    ids=["with the minor", "alone"],
)
def test_the_gate_of_groups_is_off_after(tmp_path: Path, before: tuple[str, str], after: tuple[str, str]) -> None:
    items = [*nodes(2), pod_group(3), *(in_group(name, 0) for name in ("p1", "p2", "p3"))]
    found = changes(compared(tmp_path / "c.json", items, before, after))
    assert found == dict.fromkeys(("p1", "p2"), ("", "n1", "rule GenericWorkload"))


@pytest.mark.parametrize(
    ("result", "nodes", "node", "said"),
    [
        pytest.param("scheduled", {1: "a"}, "a", "placed", id="there"),
        pytest.param("waiting", {1: "a"}, "a", "nominated", id="it waits for it"),
        pytest.param("scheduled", {1: "a"}, "b", "not chosen", id="elsewhere"),
        pytest.param("scheduled", {2: "a"}, "a", "not placed", id="another pod is there"),
        pytest.param("unschedulable", {}, "a", "group is unschedulable", id="the group has no place"),
        pytest.param("waiting", {}, "a", "group waits for victims", id="the group waits"),
    ],
)
def test_what_becomes_of_a_pod_of_a_group_on_a_node(result: str, nodes: dict[int, str], node: str, said: str) -> None:
    assert GroupOutcome(result, {}, nodes).at(1, node) == said


def test_rules_of_messages_and_of_the_end_of_a_cycle_move_no_pod(tmp_path: Path) -> None:
    """The texts of 1.36 and 1.37 differ by PlacementFeasible and by the words of preemption, and no pod moves."""
    items = [*nodes(2), pod_group(3, 10), *map(in_group, ("p1", "p2", "p3"))]
    found = compared(tmp_path / "c.json", items, ("1.36", ALL))
    assert changes(found) == {}
    assert found.diff.rules is not None
    idle = {name_of(each) for each in found.diff.rules if not each.pods}
    assert {"quorum_ends_cycle", "reports_preemption_of_groups", "groups_keep_places"} <= idle


def test_a_victim_is_shown_with_what_evicts_it(tmp_path: Path) -> None:
    items = [*nodes(1, 1), pod_group(1, 10), LEAVING, running("weak", "n2"), in_group("p1").nominated("n1")]
    (change,) = compared(tmp_path / "c.json", items, ("1.36", ALL)).diff.changes
    assert change.cause is not None
    assert [(each.plugin, each.aspect, each.nodes) for each in change.cause.deciders] == [
        ("DefaultPreemption", "preemption", (OnNode("n2", "evicts default/weak", None),))
    ]
