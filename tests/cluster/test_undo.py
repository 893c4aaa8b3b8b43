"""What a roll back restores: changes that are committed stand, and are rolled back with an earlier mark only."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.undo import Logged, LoggedDict, LoggedIndex, LoggedSet, UndoLog
from ksched_cli.engine.hints import VirtualClock


def test_a_committed_change_stands() -> None:
    undo = UndoLog()
    found: LoggedDict[str, int] = LoggedDict(undo)
    mark = undo.mark()
    found["a"] = 1
    undo.commit(mark)
    assert not undo.recording
    later = undo.mark()
    found["b"] = 2
    undo.roll_back(later)
    assert found == {"a": 1}


def test_after_all_marks_are_forgotten_every_change_stands() -> None:
    undo = UndoLog()
    undo.forget()
    found: LoggedDict[str, int] = LoggedDict(undo)
    undo.mark()
    found["a"] = 1
    undo.mark()
    found["b"] = 2
    undo.forget()
    assert not undo.recording
    later = undo.mark()
    del found["a"]
    undo.roll_back(later)
    assert found == {"a": 1, "b": 2}


def test_a_mark_notes_changes_after_all_logs_were_forgotten() -> None:
    undo = UndoLog()
    clock = VirtualClock(undo=undo)
    found, names = LoggedDict(undo, {"a": 1, "b": 2}), LoggedSet(undo, ("a",))
    undo.mark()
    clock.now, found["c"] = 1.0, 3
    undo.forget_in_process()
    assert not undo.recording
    clock.now, found["a"] = 2.0, 4
    names.add("c")
    del found["b"]
    again = undo.mark()
    clock.now, found["a"] = 3.0, 5
    found.pop("c")
    names.discard("a")
    undo.roll_back(again)
    assert (clock.now, found, names) == (2.0, {"a": 4, "c": 3}, {"a", "c"})


def test_an_earlier_mark_takes_back_what_a_later_one_committed() -> None:
    undo = UndoLog()
    found: LoggedDict[str, int] = LoggedDict(undo)
    first = undo.mark()
    found["a"] = 1
    second = undo.mark()
    found["b"] = 2
    undo.commit(second)
    assert found == {"a": 1, "b": 2}
    undo.roll_back(first)
    assert found == {}


class Counter(Logged):
    def __init__(self, undo: UndoLog) -> None:
        self.value = 0
        self.undo = undo


def test_an_attribute_that_changes_often_comes_back_as_it_was_at_each_mark() -> None:
    undo = UndoLog()
    counter = Counter(undo)
    first = undo.mark()
    counter.value = 1
    counter.value = 2
    second = undo.mark()
    counter.value = 3
    counter.value = 4
    undo.roll_back(second)
    assert counter.value == 2
    counter.value = 5
    undo.commit(undo.mark())
    counter.value = 6
    undo.roll_back(first)
    assert counter.value == 0


class Counted(Logged):
    times: int = 0

    def __init__(self, undo: UndoLog) -> None:
        self.undo = undo


@pytest.mark.parametrize("before", [None, 0, 3], ids=["not set", "the value of the class", "another value"])
def test_an_attribute_with_a_value_of_the_class_reads_as_before(before: int | None) -> None:
    undo = UndoLog()
    counted = Counted(undo)
    if before is not None:
        counted.times = before
    mark = undo.mark()
    counted.times += 1
    undo.roll_back(mark)
    assert counted.times == (before or 0)


def test_objects_that_come_and_go_within_a_mark_are_not_mixed_up() -> None:
    undo = UndoLog()
    mark = undo.mark()
    for value in range(100):
        Counter(undo).value = value
    kept = Counter(undo)
    kept.value = 7
    later = undo.mark()
    kept.value = 8
    undo.roll_back(later)
    assert kept.value == 7
    undo.roll_back(mark)
    assert kept.value == 0


def test_an_index_that_was_filled_comes_back_as_it_was() -> None:
    undo = UndoLog()
    index: LoggedIndex[str, str, int] = LoggedIndex(undo)
    index.fill({"a": {"x": 1, "y": 2}, "b": {"x": 3}, "c": {"z": 4}})
    mark = undo.mark()
    index.drop("a", "x")
    index.put("b", "y", 5)
    index.put("d", "x", 6)
    entries = index.entries_of("c")
    assert entries is not None
    entries["y"] = 7
    index.drop("e", "x")
    assert index == {"a": {"y": 2}, "b": {"x": 3, "y": 5}, "c": {"z": 4, "y": 7}, "d": {"x": 6}}
    undo.roll_back(mark)
    assert index == {"a": {"x": 1, "y": 2}, "b": {"x": 3}, "c": {"z": 4}}
    assert [list(each) for each in index.values()] == [["x", "y"], ["x"], ["z"]]
