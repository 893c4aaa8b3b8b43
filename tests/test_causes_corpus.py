"""What is told of moved pods over clusters of the corpus: a rule that differs between the two versions, or pods that
moved before."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as replace_struct

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import pod_key
from ksched_cli.plan.diff import Diff
from ksched_cli.plan.reference.versions import Rules, rules_that_differ
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.simulate import place
from ksched_cli.releases.minors import RELEASES
from tests.lanes import sampled
from tests.running import compare, load, make_scheduler
from tests.test_conformance import CORPUS


def setup_of(case: str, minor: str) -> RunOptions:
    config = CORPUS / case / "config.yaml"
    cluster = str(CORPUS / case / "cluster.json")
    return RunOptions(sources=[cluster], config=str(config) if config.exists() else None, kube_version=minor)


def differ(case: str, before: str, after: str) -> Diff:
    return compare(setup_of(case, before), setup_of(case, after)).diff


def check(found: Diff, before: str, after: str) -> set[tuple[str, str]]:
    """What holds of every answer; the plugins that decided, with the minors of their rules."""
    known = rules_that_differ(
        *(Rules(RELEASES[each], RELEASES[each].gates(), RELEASES[each]) for each in (before, after))
    )
    there = {side.pod for change in found.changes for side in (change.before, change.after) if side is not None}
    deciding = set()
    for change in found.changes:
        cause = change.cause
        assert cause is not None
        assert (cause.kind == "rule") <= bool(cause.deciders)
        assert (cause.kind == "preemption") == bool(cause.preemptor)
        assert set(cause.pods) <= there
        assert (cause.kind == "others") <= bool(cause.pods)
        assert cause.alone is None or not cause.pods
        for decider in cause.deciders:
            assert decider.rules
            assert set(decider.rules) <= set(known)
            assert all(node.before != node.after for node in decider.nodes if decider.aspect not in ("score", "weight"))
            deciding |= {(decider.plugin, rule.since) for rule in decider.rules}
    if found.changes:
        # Something has to have begun it.
        assert any(change.cause is not None and change.cause.kind != "others" for change in found.changes)
    assert found.rules is not None
    return deciding


def with_the_others_bound(case: str, before: str, after: str) -> dict[str, str]:
    """Where each pod goes after, in clusters of their own in which those that were tried ahead of it before are bound
    to the nodes that they had there; an empty string where it stays."""
    setups = [setup_of(case, minor) for minor in (before, after)]
    gathered = [load(setup) for setup in setups]
    outcomes = list(place(make_scheduler(setups[0], gathered[0].loaded, gathered[0].spec)).outcomes)
    assert not any(outcome.preemption for outcome in outcomes)
    found = {}
    for index, outcome in enumerate(outcomes):
        ahead = {each.pod: each.node for each in outcomes[:index]}
        loaded = gathered[1].loaded.copied()
        # Whoever had no node then is nobody's neighbour.
        pods = [pod for pod in loaded.of(Pod) if ahead.get(pod_key(pod), "-")]
        loaded.set_all(Pod, [bound(pod, ahead[pod_key(pod)]) if pod_key(pod) in ahead else pod for pod in pods])
        scheduler = make_scheduler(setups[1], loaded, gathered[1].spec)
        row = next(row for row, info in enumerate(scheduler.cluster.pods.infos) if info.key == outcome.pod)
        decision = scheduler.schedule(row)
        node = "" if decision.row is None else scheduler.cluster.nodes.names[decision.row]
        found[outcome.pod] = "" if node == outcome.node else node
    return found


def bound(pod: Pod, node: str) -> Pod:
    return replace_struct(pod, spec=replace_struct(pod.spec, node_name=node))


ALONE = (
    *((case, "1.35", "1.36") for case in ("scoring-05", "defaultspread-03", "images-01")),
    *((case, "1.28", "1.33") for case in ("images-01", "defaultspread-00")),
    *((case, "1.16", "1.36") for case in ("nodeaffinity-07", "images-04")),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "before", "after"),
    sampled((pytest.param(*each, id="-".join(each)) for each in ALONE), len(ALONE)),
)
def test_pods_moved_by_rules_move_while_the_others_stay(case: str, before: str, after: str) -> None:
    alone = with_the_others_bound(case, before, after)
    # The ReplicaSets of the corpus adopt pods that match their selector, and delete what is too many.
    found = [change for change in differ(case, before, after).changes if change.kind != "removed"]
    changes = {change.before.pod: change for change in found if change.before is not None}
    moved = {pod for pod, node in alone.items() if node}
    for pod, change in changes.items():
        assert change.cause is not None
        assert change.after is not None
        assert (pod in moved) == (change.cause.kind == "rule" and not change.cause.pods)
        if pod in moved:
            assert alone[pod] == (change.after.node if change.cause.alone is None else change.cause.alone)
    assert changes


@pytest.mark.slow
def test_some_take_a_rule_and_others_that_moved() -> None:
    """They would have stayed without the one as without the other."""
    changes = {
        change.before.pod: change.cause for change in differ("ports-03", "1.28", "1.33").changes if change.before
    }
    cause = changes["default/new-4"]
    assert cause is not None
    assert (cause.kind, [each.plugin for each in cause.deciders], cause.alone) == ("rule", ["NodePorts"], None)
    assert cause.pods
    assert with_the_others_bound("ports-03", "1.28", "1.33")["default/new-4"] == ""


CASES = sorted(path.name for path in CORPUS.glob("*-05"))


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 6))
def test_between_1_35_and_1_36_one_formula_differs(case: str) -> None:
    deciding = check(differ(case, "1.35", "1.36"), "1.35", "1.36")
    assert deciding <= {("NodeResourcesBalancedAllocation", "1.36")}


@pytest.mark.parametrize("case", sampled(CASES, 10))
def test_between_1_33_and_1_34_devices_and_requests_of_whole_pods_differ(case: str) -> None:
    found = differ(case, "1.33", "1.34")
    deciding = check(found, "1.33", "1.34")
    gates = {"DynamicResourceAllocation", "DRAPrioritizedList", "DRAAdminAccess", "PodLevelResources"}
    assert {each.gate for each in found.rules or () if each.pods} <= gates | {""}
    assert {plugin for plugin, _ in deciding} <= {
        "DynamicResources",
        "NodeResourcesFit",
        "NodeResourcesBalancedAllocation",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "before", "after"),
    [
        pytest.param(case, *ends, id=f"{case} {'-'.join(ends)}")
        for ends in (("1.16", "1.21"), ("1.21", "1.28"), ("1.36", "1.28"))
        for case in ("nominated-05", "spread-05", "mixed-00", "preemption-05")
    ],
)
def test_over_many_minors(case: str, before: str, after: str) -> None:
    check(differ(case, before, after), before, after)
