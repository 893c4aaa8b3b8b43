"""The rules between two versions: which of them make a difference, and releases that lack one of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.plan.reasons.rule_path import RulePath, find_rule_path
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.minors import RELEASES
from ksched_cli.wiring import INPUT_MAKER
from tests.builders import make_pod
from tests.cli.transcripts import DEMO
from tests.plan.test_group_causes import changes, compared, nodes
from tests.plugins.lib.devices.resources import DRIVER, device, everything, exactly, selectors

GATED = make_pod("p").requests(cpu="1").priority(10).gate("x").nominated("n1")


def path_between(before: str, after: str) -> RulePath:
    maker = INPUT_MAKER
    first, second = (RunOptions(sources=[DEMO], kube_version=each) for each in (before, after))
    return find_rule_path(maker, first, second, maker.scheduler_spec(first), maker.scheduler_spec(second))


@pytest.mark.parametrize(
    ("needed", "expected"),
    [
        pytest.param((3,), (3,), id="one"),
        pytest.param((1, 4), (1, 4), id="two that only help together"),
        pytest.param((0, 2, 5), (0, 2, 5), id="the first and the last of three"),
        pytest.param((), (), id="none makes the difference"),
    ],
)
@pytest.mark.parametrize(("before", "after"), [("1.36", "1.37"), ("1.37", "1.36")])
def test_the_fewest_rules_are_found(
    before: str, after: str, needed: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """The result is whether the older release has got these rules of 1.37."""
    rule_path = path_between(before, after)
    rules = [each for each in rule_path.rules if not each.gate and "filter" in each.aspects]
    switches = {rules[at].switch for at in needed}

    def result(rule_set: int) -> bool:
        release = rule_path.rule_sets[rule_set].release
        return release.at_least("1.37") and switches.isdisjoint(release.lacks)

    assert [rule.switch for rule in rule_path.needed(result).rules] == [rules[at].switch for at in expected]


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [("1.36", "1.37"), ("1.37", "1.36")])
def test_a_rule_of_kube_scheduler_is_named_where_a_plugin_rejects(tmp_path: Path, before: str, after: str) -> None:
    """The room of a gated pod is kept since 1.37. NodeResourcesFit rejects, and its own rule of 1.37 has no part."""
    items = [*nodes(1), GATED, make_pod("q").requests(cpu="1").priority(1)]
    found = changes(compared(tmp_path / "c.json", items, (before, ""), (after, "")))
    places = ("n1", "") if before == "1.36" else ("", "n1")
    assert found == {"q": (*places, "rule gated_pods_keep_nominations")}


def in_api(kind: str, name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec, **more}


def claim(name: str, request: dict[str, Any], **more: Any) -> dict[str, Any]:
    constraints = more.pop("constraints", [])
    return in_api("ResourceClaim", name, {"devices": {"requests": [request], "constraints": constraints}}, **more)


def with_devices(*made: dict[str, Any]) -> list[Any]:
    """A node with these devices, and a pod that wants the claim c."""
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    slice_ = in_api("ResourceSlice", "s", {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": list(made)})
    pod = make_pod("p").requests(cpu="1").spec(resourceClaims=[{"name": "c", "resourceClaimName": "c"}])
    return [*nodes(2), in_api("DeviceClass", "gpu", {}), slice_, pod]


def colored(name: str, color: str) -> dict[str, Any]:
    return device(name, attributes={"color": color})


def shared(name: str) -> dict[str, Any]:
    return device(name, capacity={"m": "1"}, allowMultipleAllocations=True)


LISTED = {"name": "d1", "attributes": {"color": {"strings": ["red", "blue"]}}}
IS_LISTED = selectors(f'device.attributes["{DRIVER}"].color == ["red", "blue"]')
FULL = {
    "allocation": {
        "devices": {
            "results": [
                {
                    "request": "r",
                    "driver": DRIVER,
                    "pool": "pool",
                    "device": "d1",
                    "shareID": "s",
                    "consumedCapacity": {"m": "1"},
                }
            ]
        }
    }
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "expected"),
    [
        pytest.param(
            [*with_devices(colored("d1", "red"), colored("d2", "blue"), colored("d3", "red")),
             claim("c", exactly(count=3), constraints=[{"distinctAttribute": f"{DRIVER}/color"}])],
            ("n1", "", "rule every_device_is_distinct"), id="distinct from each device",
        ),
        pytest.param(
            [*with_devices(LISTED), claim("c", exactly(selectors=IS_LISTED))],
            ("", "n1", "rule selectors_see_lists"), id="selectors see lists",
        ),
        pytest.param(
            [*with_devices(shared("d1"), shared("d2")), claim("c", everything(capacity={"requests": {"m": "1"}})),
             claim("held", exactly(), status=FULL)],
            ("n1", "", "rule all_includes_full_devices"), id="all devices: a full one counts",
        ),
        pytest.param(
            [*with_devices(shared("d1")), claim("c", exactly(capacity={"requests": {"m": "-1"}}))],
            ("n1", "", "rule capacity_is_counted_exactly"), id="a negative capacity",
        ),
    ],
)  # fmt: skip
def test_one_of_the_rules_of_a_plugin_is_named(
    tmp_path: Path, items: list[Any], expected: tuple[str, str, str]
) -> None:
    """1.37 changed nine rules of DynamicResources that filter."""
    assert changes(compared(tmp_path / "c.json", items, ("1.36", ""), ("1.37", ""))) == {"p": expected}


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [pytest.param(*pair, id=pair[1]) for pair in pairwise(RELEASES)])
def test_releases_that_lack_a_rule_schedule(before: str, after: str) -> None:
    """Each rule of a minor is taken out of it by itself. No mixture of two releases ends a cycle with an error that
    neither release has."""
    rule_path = path_between(before, after)
    loaded: Any = INPUT_MAKER.read_sources(RunOptions(sources=[DEMO]))

    def errors(rule_set: int) -> set[str]:
        scheduler = rule_path.rule_sets[rule_set].make(loaded.copied())
        return {each.message for each in scheduler.run(scheduler.enqueue()) if each.result == "error"}

    known = errors(0) | errors(rule_path.last)
    for rule in rule_path.rules:
        first = next(each.first for each in rule_path.steps(rule.plugins, rule.aspects) if rule in each.rules)
        others = frozenset(each.switch for each in rule_path.rules if each != rule)
        assert errors(rule_path._mixture(first, others)) <= known, rule.text
