"""Only the engine and the world run scheduling cycles; everything else applies changes and reads results."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.package_source import texts, trees

# The layers above the world; `Scheduler.run` and `World.run` are the loops that they use.
DRIVERS = ("plan/", "wiring.py", "cli/", "report/", "simulator.py")
# One cycle or one turn of `Scheduler` and `SchedulingLoop`.
CYCLE_FUNCTIONS = {"take", "turns", "schedule", "schedule_group", "schedule_one", "step", "conclude"}


def repeated(loop: ast.AST) -> Iterator[ast.AST]:
    """The parts of a loop that run more than once."""
    if isinstance(loop, ast.For):
        yield from loop.body
    elif isinstance(loop, ast.While):
        yield from (loop.test, *loop.body)
    elif isinstance(loop, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        yield from [loop.key, loop.value] if isinstance(loop, ast.DictComp) else [loop.elt]
        yield from (each for part in loop.generators for each in part.ifs)
        yield from (part.iter for part in loop.generators[1:])


def cycles_in_loops(tree: ast.AST) -> list[str]:
    parts = [part for loop in ast.walk(tree) for part in repeated(loop)]
    calls = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)]
    return [ast.unparse(call) for call in calls if getattr(call.func, "attr", "") in CYCLE_FUNCTIONS]


def test_no_driver_loops_over_cycles() -> None:
    pattern = rf"\.({'|'.join(CYCLE_FUNCTIONS)})\("
    found = {path: calls for path, tree in trees(pattern, DRIVERS) if (calls := cycles_in_loops(tree))}
    assert found == {}


def test_a_loop_over_cycles_would_be_found() -> None:
    assert cycles_in_loops(ast.parse("for turn in scheduler.turns(queue):\n    found += scheduler.take(turn)"))
    assert cycles_in_loops(ast.parse("while loop.has_work():\n    loop.step()"))
    assert cycles_in_loops(ast.parse("[scheduler.schedule(row) for row in rows]"))


def test_no_driver_has_rounds_of_its_own() -> None:
    assert not any("MAX_ROUNDS" in text or "def play_out" in text for text in texts().values())
