"""The solver of programs."""

from __future__ import annotations

import math

import pytest

from ksched_cli.plan.size.solver import LinearModel

pytest.importorskip("highspy")


def test_the_solver_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    model = LinearModel(maximise=True)
    model.add_row(-math.inf, 7)
    model.make_whole([model.add_column(2, rows=[0], amounts=[2])])
    solved = model.solve(5)
    assert (solved.status, solved.values, solved.objective) == ("optimal", [3], 6)
    assert capfd.readouterr() == ("", "")
