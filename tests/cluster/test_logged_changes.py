"""Each way to change a dict, a set or a list that the undo log follows: it does what the plain collection does, and a roll back
restores the content and the order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from ksched_cli.cluster.undo import LoggedDict, LoggedList, LoggedSet, LoggedTable, UndoLog

Change = Callable[[Any], Any]


def _add_to(found: Any, other: Any) -> None:
    found |= other


def _keep_in(found: Any, other: Any) -> None:
    found &= other


def _take_from(found: Any, other: Any) -> None:
    found -= other


def _toggle_in(found: Any, other: Any) -> None:
    found ^= other


DICT_CHANGES: dict[str, Change] = {
    "set a new key": lambda found: found.__setitem__("d", 4),
    "set a known key": lambda found: found.__setitem__("b", 5),
    "del the last": lambda found: found.__delitem__("c"),
    "del the first": lambda found: found.__delitem__("a"),
    "pop the last": lambda found: found.pop("c"),
    "pop the first": lambda found: found.pop("a"),
    "pop with a default": lambda found: found.pop("x", 7),
    "pop a known key with a default": lambda found: found.pop("b", 7),
    "popitem": lambda found: found.popitem(),
    "clear": lambda found: found.clear(),
    "setdefault of a known key": lambda found: found.setdefault("a", 9),
    "setdefault of a new key": lambda found: found.setdefault("d", 9),
    "update": lambda found: found.update({"a": 7, "d": 8}),
    "update by name": lambda found: found.update(b=7),
    "in-place or": lambda found: _add_to(found, {"c": 7, "d": 8}),
    "del, then set again": lambda found: (found.pop("a"), found.__setitem__("a", 1)),
    "popitem, then set": lambda found: (found.popitem(), found.__setitem__("d", 1)),
    "set, then clear": lambda found: (found.__setitem__("d", 1), found.clear()),
}

SET_CHANGES: dict[str, Change] = {
    "add a new item": lambda found: found.add(4),
    "add a known item": lambda found: found.add(1),
    "discard a known item": lambda found: found.discard(1),
    "discard an unknown item": lambda found: found.discard(9),
    "remove": lambda found: found.remove(2),
    "clear": lambda found: found.clear(),
    "update": lambda found: found.update({3, 4}, [5]),
    "difference": lambda found: found.difference_update({1}, [2, 9]),
    "intersection": lambda found: found.intersection_update({1, 2, 9}, [2, 3]),
    "symmetric difference": lambda found: found.symmetric_difference_update([1, 1, 9]),
    "in-place or": lambda found: _add_to(found, {3, 4}),
    "in-place and": lambda found: _keep_in(found, {1, 9}),
    "in-place minus": lambda found: _take_from(found, {1, 9}),
    "in-place xor": lambda found: _toggle_in(found, {1, 9}),
    "add, then discard": lambda found: (found.add(4), found.discard(4)),
    "discard, then add": lambda found: (found.discard(1), found.add(1)),
}

LIST_CHANGES: dict[str, Change] = {
    "append": lambda found: found.append(4),
    "append twice": lambda found: (found.append(4), found.append(5)),
    "extend": lambda found: found.extend([4, 5]),
    "extend by nothing": lambda found: found.extend([]),
}

FEW = {"a": 1, "b": 2, "c": 3}
# A LoggedDict of so many keys is not copied as a whole when a key is set.
MANY = {**{f"k{number}": number for number in range(20)}, **FEW}

CASES = [
    *[pytest.param(LoggedDict, FEW, each, id=f"dict: {name}") for name, each in DICT_CHANGES.items()],
    *[pytest.param(LoggedDict, MANY, each, id=f"large dict: {name}") for name, each in DICT_CHANGES.items()],
    *[pytest.param(LoggedTable, FEW, each, id=f"table: {name}") for name, each in DICT_CHANGES.items()],
    *[pytest.param(LoggedSet, {1, 2, 3}, each, id=f"set: {name}") for name, each in SET_CHANGES.items()],
    *[pytest.param(LoggedList, [1, 2, 3], each, id=f"list: {name}") for name, each in LIST_CHANGES.items()],
]


def content(found: Any) -> Any:
    """The content, for a dict with its order."""
    return list(found.items()) if isinstance(found, dict) else found


@pytest.mark.parametrize(("kind", "start", "change"), CASES)
def test_a_change_and_its_roll_back(kind: Any, start: Any, change: Change) -> None:
    undo, plain = UndoLog(), type(start)(start)
    found = kind(undo, start)
    result = change(plain)
    mark = undo.mark()
    assert change(found) == result
    assert content(found) == content(plain)
    undo.roll_back(mark)
    assert content(found) == content(start)


@pytest.mark.parametrize(("kind", "start", "change"), CASES)
def test_a_change_without_a_mark_stands(kind: Any, start: Any, change: Change) -> None:
    undo, plain = UndoLog(), type(start)(start)
    found = kind(undo, start)
    change(plain)
    change(found)
    undo.roll_back(undo.mark())
    assert content(found) == content(plain)


@pytest.mark.parametrize(("kind", "start", "change"), CASES)
def test_the_later_of_two_marks_restores_what_the_earlier_had(kind: Any, start: Any, change: Change) -> None:
    undo, plain = UndoLog(), type(start)(start)
    found = kind(undo, start)
    first = undo.mark()
    change(found)
    change(plain)
    between = type(start)(plain)
    second = undo.mark()
    for each in (found, plain):
        if isinstance(each, dict):
            each["e"] = 6
        elif isinstance(each, set):
            each.add(6)
        else:
            each.append(6)
    assert content(found) == content(plain)
    undo.roll_back(second)
    assert content(found) == content(between)
    undo.roll_back(first)
    assert content(found) == content(start)


@pytest.mark.parametrize(
    ("kind", "start", "change"),
    [
        pytest.param(LoggedDict, {"a": 1}, lambda found: found.__delitem__("x"), id="dict: del"),
        pytest.param(LoggedDict, {"a": 1}, lambda found: found.pop("x"), id="dict: pop"),
        pytest.param(LoggedDict, {}, lambda found: found.popitem(), id="dict: popitem"),
        pytest.param(LoggedTable, {"a": 1}, lambda found: found.__delitem__("x"), id="table: del"),
        pytest.param(LoggedTable, {"a": 1}, lambda found: found.pop("x"), id="table: pop"),
        pytest.param(LoggedSet, {1}, lambda found: found.remove(9), id="set: remove"),
    ],
)
def test_what_is_not_there_cannot_be_removed(kind: Any, start: Any, change: Change) -> None:
    undo = UndoLog()
    found = kind(undo, start)
    mark = undo.mark()
    with pytest.raises(KeyError):
        change(found)
    undo.roll_back(mark)
    assert content(found) == content(start)


def test_a_set_gives_out_each_item_once() -> None:
    undo = UndoLog()
    found = LoggedSet(undo, {1, 2, 3})
    mark = undo.mark()
    assert {found.pop(), found.pop(), found.pop()} == {1, 2, 3}
    assert found == set()
    undo.roll_back(mark)
    assert found == {1, 2, 3}


# A LoggedTable has the content and the order of a dict, also after a roll back


def change(table: dict[int, int], plain: dict[int, int], rng: random.Random) -> None:
    """The same random change of both."""
    key, kind = rng.randrange(30), rng.random()
    for each in (table, plain):
        if kind < 0.4:
            each[key] = rng.randrange(100) if each is table else table[key]
        elif kind < 0.8:
            each.pop(key, None)
        elif kind < 0.9:
            each.update({key: 1, key + 1: 2})
        elif kind < 0.95 and each:
            each.popitem()
        elif kind > 0.99:
            each.clear()


def same(table: dict[int, int], plain: dict[int, int]) -> bool:
    return (
        list(table) == list(plain)
        and list(table.items()) == list(plain.items())
        and list(table.values()) == list(plain.values())
        and list(reversed(table)) == list(reversed(plain))
        and dict(table) == plain
    )


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("looks", [True, False], ids=["loops in between", "loops in the end"])
def test_it_is_as_a_dict(seed: int, looks: bool) -> None:
    rng, undo = random.Random(seed), UndoLog()
    start = {number: number for number in rng.sample(range(30), 20)}
    table, plain = LoggedTable(undo, start), dict(start)
    for _ in range(5):
        change(table, plain, rng)
        before = dict(plain)
        with undo.trial():
            for _ in range(8):
                change(table, plain, rng)
            inner = dict(plain)
            with undo.trial():
                for _ in range(8):
                    change(table, plain, rng)
                assert not looks or same(table, plain)
            plain = inner
            assert not looks or same(table, plain)
            for _ in range(3):
                change(table, plain, rng)
        plain = before
        assert not looks or same(table, plain)
    assert same(table, plain)
