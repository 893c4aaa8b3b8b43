"""What is summed up of the statuses of all nodes, which copies share until one of them changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.diagnosis import Diagnosis, NodeStatuses
from ksched_cli.framework.status import SUCCESS, Code, Status, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict

SIZE = 4
FULL, TAINTED = unschedulable("full", "tainted too"), unresolvable("tainted")
# The reasons of FULL with another code.
FULL_FOR_GOOD = unresolvable("full", "tainted too")
rows = st.lists(st.integers(0, SIZE - 1), max_size=SIZE, unique=True).map(lambda each: np.array(each, dtype=np.int64))
said = st.sampled_from((SUCCESS, FULL, TAINTED, FULL_FOR_GOOD))


def other(row: int, status: Status) -> NodeStatuses:
    made = NodeStatuses(SIZE)
    made.set(row, status.by("Other"))
    return made


CHANGES = st.one_of(
    st.builds(lambda row, status: lambda each: each.set(row, status.by("Set")), st.integers(0, SIZE - 1), said),
    st.builds(
        lambda where, status: lambda each: each.record("Recorded", where, Verdict.from_statuses([status] * len(where))),
        rows,
        said,
    ),
    st.builds(
        lambda statuses: lambda each: each.record("Mixed", np.arange(SIZE), Verdict.from_statuses(statuses)),
        st.lists(said, min_size=SIZE, max_size=SIZE),
    ),
    st.builds(lambda where: lambda each: each.forget(where), rows),
    st.builds(lambda where: lambda each: each.take_over(other(1, TAINTED), where), rows),
    st.builds(lambda where: lambda each: each.set_absent(np.isin(np.arange(SIZE), where), FULL), rows),
    st.builds(lambda name: lambda each: each.set_unknown_node(name, TAINTED), st.sampled_from("ab")),
)


def summed_up(each: NodeStatuses) -> Any:
    groups = [(status, members.tolist()) for status, members in each.groups()]
    by_code = {code: each.rows_with(code).tolist() for code in Code}
    return groups, by_code, each.unschedulable_plugins(), each.reason_counts()


def anew(each: NodeStatuses) -> Any:
    """The same of a copy that nothing is known of."""
    copy = each.copy()
    copy.set_unknown_node("x", SUCCESS)
    del copy.unknown_nodes["x"]
    return summed_up(copy)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda each: each.set(1, TAINTED), id="set"),
        pytest.param(lambda each: each.set_unknown_node("x", TAINTED), id="unknown node"),
        pytest.param(lambda each: each.set_absent(np.ones(SIZE, dtype=np.bool_), FULL), id="absent"),
        pytest.param(lambda each: each.take_over(other(1, TAINTED), np.array([1])), id="taken over"),
        pytest.param(lambda each: each.forget(np.array([0])), id="forgotten"),
    ],
)
def test_a_change_of_a_copy_leaves_the_first_alone(change: Callable[[NodeStatuses], None]) -> None:
    first = other(0, FULL)
    before = summed_up(first)
    copy = first.copy()
    change(copy)
    assert summed_up(first) == before != summed_up(copy)


@given(
    before=st.lists(CHANGES, max_size=3), of_copy=st.lists(CHANGES, max_size=2), of_first=st.lists(CHANGES, max_size=2)
)
def test_what_is_kept_is_what_it_would_be(
    before: list[Callable[[NodeStatuses], None]],
    of_copy: list[Callable[[NodeStatuses], None]],
    of_first: list[Callable[[NodeStatuses], None]],
) -> None:
    first = NodeStatuses(SIZE)
    for change in before:
        change(first)
        assert summed_up(first) == anew(first)
    copy = first.copy()
    assert summed_up(copy) == summed_up(first)
    for change in of_copy:
        change(copy)
        assert summed_up(copy) == anew(copy)
    assert summed_up(first) == anew(first)
    for change in of_first:
        change(first)
        assert summed_up(first) == anew(first)
    assert summed_up(copy) == anew(copy)


@pytest.mark.parametrize("copies", [1, 3])
def test_it_is_summed_up_once_for_all_copies(copies: int) -> None:
    first = other(2, FULL)
    made: list[int] = []
    for each in [first.copy() for _ in range(copies)]:
        assert each.once("mine", lambda: made.append(1) or "found") == "found"
    assert made == [1]
    first.set(0, TAINTED)
    assert first.once("mine", lambda: "another") == "another"


@given(before=st.lists(CHANGES, max_size=3), of_other=st.lists(CHANGES, max_size=3), where=rows)
def test_statuses_that_follow_are_those_of_the_other_on_these_rows(
    before: list[Callable[[NodeStatuses], None]], of_other: list[Callable[[NodeStatuses], None]], where: Any
) -> None:
    mine, theirs = NodeStatuses(SIZE), NodeStatuses(SIZE)
    for change in before:
        change(mine)
    for change in of_other:
        change(theirs)
    for each in (mine, theirs):
        each.absent = np.zeros(SIZE, dtype=np.bool_)
    copy, elsewhere = mine.copy(), [row for row in range(SIZE) if row not in where.tolist()]
    kept = [mine.status(row) for row in range(SIZE)]
    mine.follow(theirs, where)
    assert [mine.status(row) for row in where.tolist()] == [theirs.status(row) for row in where.tolist()]
    assert [mine.status(row) for row in elsewhere] == [kept[row] for row in elsewhere]
    assert [copy.status(row) for row in range(SIZE)] == kept
    assert summed_up(mine) == anew(mine)


def test_sums_stay_where_statuses_come_out_as_they_were() -> None:
    statuses, same, cleared = other(1, FULL), other(1, FULL), NodeStatuses(SIZE)
    groups, where = statuses.groups(), np.array([0, 1])
    statuses.follow(same, where)
    assert statuses.groups() is groups
    statuses.follow(cleared, where)
    assert statuses.groups() == ()


@given(st.lists(CHANGES, max_size=4))
def test_groups_have_each_node_with_its_status(changes: list[Callable[[NodeStatuses], None]]) -> None:
    each = NodeStatuses(SIZE)
    for change in changes:
        change(each)
    plain = {row: each.status(row) for row in range(SIZE) if not each.status(row).ok}
    assert {row: status for status, members in each.groups() if not status.ok for row in members.tolist()} == plain


@given(st.lists(said, min_size=SIZE, max_size=SIZE))
def test_a_recorded_verdict_is_each_nodes_status(statuses: list[Status]) -> None:
    each = NodeStatuses(SIZE)
    each.record("Recorded", np.arange(SIZE), Verdict.from_statuses(statuses))
    assert [each.status(row) for row in range(SIZE)] == [
        status if status.ok else status.by("Recorded") for status in statuses
    ]


@pytest.mark.parametrize(
    ("status", "blamed", "pending"),
    [
        pytest.param(FULL.by("Mine"), {"Mine"}, set(), id="rejects"),
        pytest.param(Status(Code.PENDING, plugin="Mine"), {"Mine"}, {"Mine"}, id="waits for something"),
        pytest.param(Status(Code.ERROR, plugin="Mine"), set(), set(), id="an error"),
        pytest.param(FULL, set(), set(), id="of no plugin"),
    ],
)
def test_whose_events_wake_the_pod(status: Status, blamed: set[str], pending: set[str]) -> None:
    diagnosis = Diagnosis(NodeStatuses(SIZE))
    diagnosis.add_plugin_status(status)
    assert (diagnosis.unschedulable_plugins, diagnosis.pending_plugins) == (blamed, pending)
