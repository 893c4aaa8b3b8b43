"""Changes that are committed stand, and are rolled back with an earlier mark only."""

from __future__ import annotations

from ksched_cli.cluster.undo import LoggedDict, UndoLog


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
