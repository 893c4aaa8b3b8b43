"""HiGHS, the solver of linear and mixed-integer programs, behind the few calls that `size` and `consolidate` need. The
only importer of `highspy`, an optional dependency."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from msgspec import Struct

_LEAST_SECONDS = 0.05


def solver_is_installed() -> bool:
    return find_spec("highspy") is not None


class Solved(Struct, frozen=True):
    """`values` of the columns are empty without a feasible solution; `duals` of the rows are those of a linear program;
    `bound`: no solution is better."""

    status: Literal["optimal", "infeasible", "stopped"]
    values: Sequence[float]
    duals: Sequence[float]
    objective: float
    bound: float


class LinearModel:
    """Rows and columns of a program. The objective is minimised unless `maximise` is set."""

    def __init__(self, *, maximise: bool = False) -> None:
        import highspy

        class Quiet(highspy.Highs):  # type: ignore[misc,unused-ignore]  # has no types
            """Newer versions print a line on stdout in this step, which is part of making one."""

            def enableCallbacks(self) -> None:  # noqa: N802  # overrides
                self.setOptionValue("output_flag", False)
                super().enableCallbacks()  # type: ignore[no-untyped-call,unused-ignore]

        self._highs: Any = Quiet()  # type: ignore[no-untyped-call,unused-ignore]
        self._api: Any = highspy
        self._is_whole = False
        for option, setting in (("output_flag", False), ("threads", 1), ("random_seed", 1), ("mip_rel_gap", 0.0)):
            self._highs.setOptionValue(option, setting)
        if maximise:
            self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def set_gap(self, gap: float) -> None:
        """A solution this close to the best possible is good enough."""
        self._highs.setOptionValue("mip_abs_gap", gap)

    def add_row(self, low: float, high: float, columns: Iterable[int] = (), amounts: Iterable[float] = ()) -> None:
        indexes, values = _entries(columns, amounts)
        self._highs.addRow(low, high, len(indexes), indexes, values)

    def add_column(
        self, cost: float, most: float = math.inf, rows: Iterable[int] = (), amounts: Iterable[float] = ()
    ) -> int:
        """The index of the column, which is at least 0 and at most `most`."""
        indexes, values = _entries(rows, amounts)
        self._highs.addCol(cost, 0.0, most, len(indexes), indexes, values)
        return int(self._highs.getNumCol()) - 1

    def set_least(self, rows: Sequence[float]) -> None:
        """The least that each row must come to."""
        for at, least in enumerate(rows):
            self._highs.changeRowBounds(at, least, math.inf)

    def set_most(self, first: int, amounts: Sequence[float]) -> None:
        """The most that each row, from this one on, may come to."""
        for at, most in enumerate(amounts, first):
            self._highs.changeRowBounds(at, -math.inf, most)

    def make_whole(self, columns: Iterable[int]) -> None:
        """Only whole numbers from now on."""
        for column in columns:
            self._is_whole = True
            self._highs.changeColIntegrality(column, self._api.HighsVarType.kInteger)

    def set_costs(self, costs: Sequence[float]) -> None:
        """Of the first columns."""
        indexes = np.arange(len(costs), dtype=np.int32)
        self._highs.changeColsCost(len(costs), indexes, np.asarray(costs, dtype=np.float64))

    def solve(self, seconds: float) -> Solved:
        """Solve for at most so many seconds."""
        self._highs.setOptionValue("time_limit", float(self._highs.getRunTime()) + max(seconds, _LEAST_SECONDS))
        self._highs.run()
        info, solution = self._highs.getInfo(), self._highs.getSolution()
        statuses = self._api.HighsModelStatus
        status = self._highs.getModelStatus()
        feasible = info.primal_solution_status == self._api.SolutionStatus.kSolutionStatusFeasible
        objective = float(info.objective_function_value)
        return Solved(
            "optimal" if status == statuses.kOptimal else "infeasible" if status == statuses.kInfeasible else "stopped",
            list(solution.col_value) if feasible else [],
            list(solution.row_dual),
            objective,
            float(info.mip_dual_bound) if self._is_whole else objective,
        )


def _entries(indexes: Iterable[int], amounts: Iterable[float]) -> tuple[Any, Any]:
    return np.asarray(list(indexes), dtype=np.int32), np.asarray(list(amounts), dtype=np.float64)
