"""DaemonSets in the situations that the tests of kube-controller-manager's daemon set controller name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.rollouts.daemon_sets import OLD, DaemonSetRollout
from ksched_cli.sources.rollouts.rollout import Changes, members_of
from tests.builders import make_node
from tests.plan import rollouts as docs


def typed(kind: Any, doc: dict[str, Any]) -> Any:
    item = msgspec.convert(doc, kind)
    item.metadata.namespace = "default"
    return item


def rollout(nodes: int, strategy: dict[str, Any], ready: int, tainted: Sequence[int] = ()) -> DaemonSetRollout:
    """An old pod on every node; the first so many are ready."""
    names = [f"n{at:02}" for at in range(nodes)]
    _, *pods = docs.running_daemons(names, docs.template(docs.OLD))
    for pod in pods[ready:]:
        pod["status"]["conditions"][0]["status"] = "False"
    owned = [typed(Pod, pod) for pod in pods]
    built = [make_node(name).taint("new") if at in tainted else make_node(name) for at, name in enumerate(names)]
    manifest = docs.workload("DaemonSet", docs.template(), updateStrategy=strategy)
    existing = Existing(owned, [], [typed(Node, each.doc()) for each in built])
    return DaemonSetRollout(typed(DaemonSet, manifest), members_of(owned, OLD), existing)


def sync(of: DaemonSetRollout) -> tuple[int, int]:
    """Pods made and deleted; what is deleted is gone at once."""
    changes: Changes = of.sync()
    for birth in changes.born:
        of.join(birth)
    for member in changes.leaving:
        of.part(member)
    return len(changes.born), len(changes.leaving)


READY = "ready"
SITUATIONS = [
    pytest.param(
        5, docs.rolling(None, 2), 5,
        [(0, 2), (2, 0), READY, (0, 2), (2, 0), READY, (0, 1), (1, 0), READY, (0, 0)], id="updates pods",
    ),
    pytest.param(
        5, docs.rolling(2, 0), 5,
        [(2, 0), (0, 0), READY, (2, 2), (0, 0), READY, (1, 2), (0, 0), READY, (0, 1), (0, 0)], id="with a surge",
    ),
    pytest.param(5, docs.rolling(None, 3), 5, [(0, 3), (3, 0), (0, 0)], id="the new pods are not ready"),
    pytest.param(20, docs.rolling(None, 10), 10, [(0, 10), (10, 0), (0, 0)], id="healthy old pods are left alone"),
    pytest.param(20, docs.rolling(None, 3), 10, [(0, 10), (10, 0), (0, 0)], id="unhealthy ones go whatever the limit"),
    pytest.param(20, docs.rolling(None, 11), 10, [(0, 11), (11, 0), (0, 0)], id="and one that is healthy"),
    pytest.param(5, docs.rolling(None, 3), 0, [(0, 5), (5, 0)], id="no old pod is ready"),
    pytest.param(5, docs.rolling(3, 0), 0, [(5, 0), (0, 5)], id="no old pod is ready, with a surge"),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "strategy", "ready", "course"), SITUATIONS)
def test_course(nodes: int, strategy: dict[str, Any], ready: int, course: list[Any]) -> None:
    made = rollout(nodes, strategy, ready)
    went: list[Any] = []
    for step in course:
        if step == READY:
            for member in made.members:
                member.available = True
            went.append(READY)
        else:
            went.append(sync(made))
    assert went == course


def test_with_a_surge_a_node_that_is_not_wanted_any_more_keeps_its_pod_until_the_others_have_theirs() -> None:
    made = rollout(5, docs.rolling(1, 0), 5, tainted=[0])
    course = []
    for _ in range(6):
        course.append(sync(made))
        for member in made.members:
            member.available = True
    assert course[0] == (1, 1), "there is one pod more than nodes to serve"
    assert made.finished
    assert len(made.members) == 4
