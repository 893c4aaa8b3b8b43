"""The rules between two versions: which of them make a difference, and releases that lack one of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.plan.reasons.rule_path import RulePath, find_rule_path
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.minors import RELEASES
from ksched_cli.wiring import Wiring
from tests.builders import make_pod
from tests.cli.transcripts import DEMO
from tests.plan.test_group_causes import changes, compared, nodes

GATED = make_pod("p").requests(cpu="1").priority(10).gate("x").nominated("n1")


def path_between(before: str, after: str) -> RulePath:
    maker = Wiring()
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


@pytest.mark.parametrize(("before", "after"), [("1.36", "1.37"), ("1.37", "1.36")])
def test_a_rule_of_kube_scheduler_is_named_where_a_plugin_rejects(tmp_path: Path, before: str, after: str) -> None:
    """The room of a gated pod is kept since 1.37. NodeResourcesFit rejects, and its own rule of 1.37 has no part."""
    items = [*nodes(1), GATED, make_pod("q").requests(cpu="1").priority(1)]
    found = changes(compared(tmp_path / "c.json", items, (before, ""), (after, "")))
    places = ("n1", "") if before == "1.36" else ("", "n1")
    assert found == {"q": (*places, "rule gated_pods_keep_nominations")}


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [pytest.param(*pair, id=pair[1]) for pair in pairwise(RELEASES)])
def test_releases_that_lack_a_rule_schedule(before: str, after: str) -> None:
    """Each rule of a minor is taken out of it by itself. No mixture of two releases ends a cycle with an error that
    neither release has."""
    rule_path = path_between(before, after)
    loaded: Any = Wiring().read_sources(RunOptions(sources=[DEMO]))

    def errors(rule_set: int) -> set[str]:
        scheduler = rule_path.rule_sets[rule_set].make(loaded.copied())
        return {each.message for each in scheduler.run(scheduler.enqueue()) if each.result == "error"}

    known = errors(0) | errors(rule_path.last)
    for rule in rule_path.rules:
        first = next(each.first for each in rule_path.steps(rule.plugins, rule.aspects) if rule in each.rules)
        others = frozenset(each.switch for each in rule_path.rules if each != rule)
        assert errors(rule_path._mixture(first, others)) <= known, rule.text
