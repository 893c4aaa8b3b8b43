"""Which pods leave for a pod group in 1.36, and in 1.37, side by side.

The cases and the values of 1.37 are those of framework/preemption/podgrouppreemption_test.go, whose pods have the
priorities low, mid and high. Pods that its scheduling function puts on a certain node are bound to it by a selector.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest

from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import decide, make_scheduler
from tests.pod_groups import GATES_OF_MINOR, group, member

PRIORITY = {"low": 1, "mid": 50, "high": 100}
WHOLE, SINGLE = "PodGroup", "Pod"


class Found(NamedTuple):
    """Who leaves, and the nodes to which the pods of the group are nominated."""

    victims: str
    nominated: str


class Case(NamedTuple):
    """Nodes 1, 2, ... with so many cpus, and pods as name@node:priority[:group[:second of its start]].

    `wants` has for each pod of the group that preempts the node that it needs, or "-"; a pod whose name ends in
    "budget" is in a budget that allows nothing."""

    cpus: str
    running: str
    wants: str = "-"
    groups: tuple[tuple[str, str, str], ...] = ()
    min_count: int | None = None
    priority: str = "high"
    never: bool = False

    def found(self, minor: str) -> Found:
        nodes = [
            make_node(f"n{at}").allocatable(cpu=int(cpu), pods=10).label("host", f"n{at}").obj()
            for at, cpu in enumerate(self.cpus.split(), 1)
        ]
        preempting = _group("g", self.priority, min_count=self.min_count)
        objects = [preempting, *(_group(name, level, mode) for name, level, mode in self.groups), _BUDGET]
        pods = [*map(_running, self.running.split()), *self._members()]
        current = RELEASES[minor]
        scheduler = make_scheduler(nodes, pods, objects=objects, gates=GATES_OF_MINOR[minor], current=current)
        decisions = decide(scheduler)
        (decided,) = (each for key, each in scheduler.group_decisions.items() if key.name == "g")
        victims = (name.partition("/")[2] for name in scheduler.cluster.pods.names_of(decided.victims))
        nominated = (decisions[f"default/{pod.metadata.name}"].nominated_node[1:] or "-" for pod in self._members())
        assert decided.result == ("waiting" if decided.victims else "unschedulable")
        return Found(" ".join(sorted(victims)), " ".join(nominated))

    def _members(self) -> list[Any]:
        made = []
        for at, node in enumerate(self.wants.split(), 1):
            pod = member(f"p{at}").priority(PRIORITY[self.priority])
            pod = pod.spec(preemptionPolicy="Never") if self.never else pod
            made.append((pod if node == "-" else pod.selector(host=f"n{node}")).obj())
        return made


_BUDGET = msgspec.convert(
    {
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "foo"}}},
        "status": {"disruptionsAllowed": 0},
    },
    PodDisruptionBudget,
)


def _group(name: str, priority: str, mode: str = "", min_count: int | None = None) -> Any:
    made = group(name, min_count=min_count)
    made.spec.priority, made.spec.disruption_mode = PRIORITY[priority], mode
    return made


def _running(text: str) -> Any:
    name, _, where = text.partition("@")
    node, level, of, second = [*where.split(":"), "", ""][:4]
    made = member(name, of) if of else make_pod(name).requests(cpu="1")
    made = made.label(app="foo") if name.endswith("budget") else made
    return made.priority(PRIORITY[level]).on(f"n{node}").started(f"2026-01-01T00:00:{int(second or 0):02d}Z").obj()


W_LOW_SINGLE, W_LOW_WHOLE, W_MID_WHOLE = (("w", "low", SINGLE),), (("w", "low", WHOLE),), (("w", "mid", WHOLE),)
MINE_AND_EQUALS = "v1@1:low v2@2:low:: e1@3:high e2@4:high"
GROUP_AND_WEAKER = "v1@1:mid:w v2@2:mid:w v3@3:low"
TWO_GROUPS = "v1@1:mid:w v2@2:mid:w e1@3:high:e e2@4:high:e"
BOTH_GROUPS = (*W_MID_WHOLE, ("e", "high", WHOLE))


@pytest.mark.parametrize(
    ("case", "old", "new", "nominated"),
    [
        pytest.param(Case("1", "v@1:low"), "v", "v", "1", id="a weaker pod"),
        pytest.param(Case("2", "v@1:low w1@1:low:w", groups=W_LOW_SINGLE), "v", "v", "1", id="a pod of a group is worth more than one by itself"),
        pytest.param(Case("2", "old@1:low:w:0 young@1:low:w:1", groups=W_LOW_SINGLE), "young", "young", "1", id="the younger pod of a group"),
        pytest.param(Case("1 1", "w1@1:low:w w2@2:low:w", groups=W_LOW_WHOLE), "w1 w2", "w1 w2", "1", id="a group that leaves as a whole"),
        pytest.param(Case("1 2", "w1@1:low:w w2@2:low:w", "1", groups=W_LOW_WHOLE), "w1 w2", "w1 w2", "1", id="a group leaves as a whole where one pod is enough"),
        pytest.param(Case("3", "v@1:low w1@1:low:w w2@1:low:w", groups=W_LOW_WHOLE), "v", "v", "1", id="a pod by itself rather than a group"),
        pytest.param(Case("3", "w1@1:low:w w2@1:low:w v@1:mid", groups=W_LOW_WHOLE), "w1 w2", "w1 w2", "1", id="a weaker group rather than a pod"),
        pytest.param(Case("1 1 1", "v@1:low w1@2:low:w x1@3:low:x", groups=(*W_LOW_SINGLE, ("x", "low", SINGLE))), "v", "v", "1", id="a pod by itself rather than those of groups on other nodes"),
        pytest.param(Case("2 1 2 2 2", "w1@1:low:w:2 w2@2:low:w:1 x1@3:low:x v@4:mid e1@5:high:e", "1 2 3", groups=(*W_LOW_SINGLE, ("x", "low", SINGLE), ("e", "high", SINGLE)), min_count=3), "w2", "w2", "1 2 3", id="the one pod that is in the way"),
        pytest.param(Case("1 1 1 1 1", "w1@1:low:w:2 w2@2:low:w:1 x1@3:low:x v@4:mid e1@5:high:e", "1 2 3", groups=(*W_LOW_SINGLE, ("x", "low", SINGLE), ("e", "high", SINGLE)), min_count=3), "w1 w2 x1", "w1 w2 x1", "1 2 3", id="the three weakest"),
        pytest.param(Case("2", "v1@1:low v2@1:mid e@1:high"), "v1 v2", "v1 v2", "1", id="all weaker pods of a node that is too full"),
        pytest.param(Case("3", "a@1:low::1 b@1:low::2 c@1:low::3 d@1:low::4"), "c d", "c d", "1", id="no more than needed"),
        pytest.param(Case("2", "in-budget@1:low free@1:low"), "free", "free", "1", id="a pod without a budget"),
        pytest.param(Case("2", "in-budget@1:low free@1:mid"), "free", "free", "1", id="a pod without a budget though it is stronger"),
        pytest.param(Case("2", "in-budget@1:low:w free@1:low:w", groups=W_LOW_SINGLE), "free", "free", "1", id="the pod of a group without a budget"),
        pytest.param(Case("2", "in-budget@1:low also-budget@1:mid"), "in-budget", "in-budget", "1", id="the weaker of two with budgets"),
        pytest.param(Case("3", "in-budget@1:low:w w2@1:low:w v@1:low", groups=W_LOW_WHOLE), "v", "v", "1", id="a group has the budget of each of its pods"),
        pytest.param(Case("1", "e@1:high", priority="mid"), "", "", "-", id="a stronger pod stays"),
        pytest.param(Case("1", "e@1:mid", priority="mid"), "", "", "-", id="a pod of the same priority stays"),
        pytest.param(Case("0", "", priority="mid"), "", "", "-", id="an empty node"),
        pytest.param(Case("1 1", "w1@1:high:w w2@2:high:w", groups=W_MID_WHOLE), "w1 w2", "w1 w2", "1", id="a group that is weaker than its pods"),
        pytest.param(Case("1 1", "w1@1:low:w w2@2:low:w", groups=W_MID_WHOLE, priority="mid"), "", "", "-", id="a group that is stronger than its pods"),
        pytest.param(Case("1 1 1", "v@1:low w1@2:low:w x1@3:low:x", "- -", groups=(*W_LOW_SINGLE, ("x", "low", SINGLE)), never=True), "", "", "- -", id="a group that never preempts"),
        pytest.param(Case("1 1 1 1", MINE_AND_EQUALS, "- - -", min_count=1), "v2", "v1 v2", "1 2 -", id="gang, as many pods as possible"),
        pytest.param(Case("1 1 1", GROUP_AND_WEAKER, "- - -", groups=W_MID_WHOLE, min_count=1), "v3", "v1 v2 v3", "1 2 3", id="gang, a stronger victim does not come back"),
        pytest.param(Case("1 1 1 1", TWO_GROUPS, "- - -", groups=BOTH_GROUPS, min_count=1), "v1 v2", "v1 v2", "1 2 -", id="gang, in the places of one group"),
        pytest.param(Case("1 1 1 1", MINE_AND_EQUALS, "- - -"), "v2", "v1 v2", "1 2 -", id="basic, as many pods as possible"),
        pytest.param(Case("1 1 1", GROUP_AND_WEAKER, "- - -", groups=W_MID_WHOLE), "v3", "v1 v2 v3", "1 2 3", id="basic, a stronger victim does not come back"),
        pytest.param(Case("1 1 1 1", TWO_GROUPS, "- - -", groups=BOTH_GROUPS), "v1 v2", "v1 v2", "1 2 -", id="basic, in the places of one group"),
    ],
)  # fmt: skip
def test_who_leaves_for_a_group(case: Case, old: str, new: str, nominated: str) -> None:
    """Since #138757 as many pods of the group as possible get a place, and since #138967 they are nominated there."""
    assert case.found("1.36").victims == old
    assert case.found("1.37") == Found(new, nominated)
