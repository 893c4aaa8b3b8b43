"""A LoggedTable has the content and the order of a dict, also after a roll back."""

from __future__ import annotations

import random

import pytest

from ksched_cli.cluster.undo import LoggedTable, UndoLog


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
