"""Verdicts of many nodes: how the results of several filters become one."""

from __future__ import annotations

import numpy as np
import pytest

from ksched_cli.framework.reasons import free_text
from ksched_cli.framework.status import SUCCESS, Code, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict

NO = unschedulable(free_text("no"))
NEITHER = unschedulable(free_text("neither"))
NEVER = unresolvable(free_text("never"))
BROKEN, WORSE = error("broken"), error("worse")


@pytest.mark.parametrize(
    ("statuses", "code", "texts"),
    [
        pytest.param([SUCCESS, SUCCESS], Code.SUCCESS, (), id="all pass"),
        pytest.param([SUCCESS, NO], Code.UNSCHEDULABLE, ("no",), id="one rejects"),
        pytest.param([NO, NEITHER], Code.UNSCHEDULABLE, ("no", "neither"), id="reasons in order"),
        pytest.param([NO, NEVER], Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("no", "never"), id="one is unresolvable"),
        pytest.param([NEVER, NO], Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never", "no"), id="in the other order"),
        pytest.param([NO, BROKEN, NEVER], Code.ERROR, ("broken",), id="an error hides the rest"),
        pytest.param([BROKEN, WORSE], Code.ERROR, ("broken",), id="the first of two errors"),
    ],
)
def test_filters_together(statuses: list[Status], code: Code, texts: tuple[str, ...]) -> None:
    """The node in question comes after one that passes and before one that is rejected by the last filter alone."""
    verdicts = [Verdict.from_statuses([SUCCESS, status, SUCCESS]) for status in statuses[:-1]]
    verdicts.append(Verdict.from_statuses([SUCCESS, statuses[-1], NO]))
    found = Verdict.together(verdicts)
    assert (found.status(1).code, found.status(1).texts) == (code, texts)
    assert (found.status(0).ok, found.status(2).texts) == (True, ("no",))
    assert found.passed.tolist() == [True, code is Code.SUCCESS, False]


def test_two_filters_together_on_many_nodes() -> None:
    """Whatever two statuses a node has, it has both reasons."""
    said = [SUCCESS, NO, NEVER, unschedulable("never"), unresolvable("no")]
    pairs = [(one, other) for one in said for other in said]
    found = Verdict.together([Verdict.from_statuses(each) for each in zip(*pairs, strict=True)])
    assert [found.status(row).texts for row in range(len(pairs))] == [
        (*one.texts, *other.texts) for one, other in pairs
    ]
    hopeless = [NEVER.code in (one.code, other.code) for one, other in pairs]
    assert [found.status(row).code is NEVER.code for row in range(len(pairs))] == hopeless


def test_a_group_of_nodes_has_one_status() -> None:
    found = Verdict.by_group(np.array([2, 0, 1, 0], dtype=np.int32), [SUCCESS, NO, NEVER])
    assert [found.status(row).texts for row in range(4)] == [("never",), (), ("no",), ()]
    assert Verdict.by_group(np.array([], dtype=np.int32), []).passed.tolist() == []


@pytest.mark.parametrize(
    ("rejected", "passed"),
    [
        pytest.param([True, False], [False, True], id="some"),
        pytest.param([False, False], [True, True], id="none"),
        pytest.param([True, True], [False, False], id="all"),
    ],
)
def test_rejected_rows(rejected: list[bool], passed: list[bool]) -> None:
    found = Verdict.rejecting(np.array(rejected, dtype=np.bool_), NEVER)
    assert found.passed.tolist() == passed
    assert [found.status(row).code for row in range(2)] == [SUCCESS.code if each else NEVER.code for each in passed]
    assert len(found) == 2


def test_the_verdict_that_all_share_cannot_be_written_to() -> None:
    shared = Verdict.passing(3)
    assert shared.passed.all()
    with pytest.raises(ValueError, match="read-only"):
        shared.codes[0] = 1
