"""What a roll back restores: changes that are committed stand, and are rolled back with an earlier mark only."""

from __future__ import annotations

from ksched_cli.cluster.undo import Logged, LoggedDict, UndoLog


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
