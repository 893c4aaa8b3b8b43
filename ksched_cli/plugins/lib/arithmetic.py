"""Arithmetic of scores, to the last bit as Go does it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ksched_cli.cluster.columns import FloatColumn, Int64Column, truncated_divide
from ksched_cli.framework.scoring import MAX_NODE_SCORE

MAX_CUSTOM_PRIORITY_SCORE = 10
MAX_UTILIZATION = 100

# Up to here every int64 is a float64 as well.
EXACT = 2**53


def floor_quotient(dividend: Int64Column, divisor: Int64Column) -> Int64Column:
    """Division of numbers that are not negative. In float64 it takes a third of the time, and it is exact below 2**53:
    a quotient that is no whole number is further from the next one than rounding can carry it."""
    if dividend.max(initial=0) < EXACT and divisor.max(initial=1) < EXACT:
        return (dividend / divisor).astype(np.int64)
    quotient: Int64Column = np.floor_divide(dividend, divisor)
    return quotient


def spared_share(most: int, counts: Int64Column | FloatColumn, best: float) -> FloatColumn:
    """The best score where nothing is, 0 where most is."""
    spared: FloatColumn = best * ((most - counts) / most) if most > 0 else np.full(len(counts), best)
    return spared


def go_round(values: FloatColumn) -> Int64Column:
    """math.Round: halves go away from zero."""
    whole = np.trunc(values)
    fraction = values - whole
    return whole.astype(np.int64) + (fraction >= 0.5) - (fraction <= -0.5)


_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


def go_log(x: float) -> float:
    """math.Log to the last bit: Go evaluates FreeBSD's series, which can differ from the C library's logarithm."""
    fraction, exponent = math.frexp(x)
    if fraction < math.sqrt(2) / 2:
        fraction, exponent = fraction * 2, exponent - 1
    f, k = fraction - 1, float(exponent)
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_LOG[0] + s4 * (_LOG[2] + s4 * (_LOG[4] + s4 * _LOG[6])))
    even = s4 * (_LOG[1] + s4 * (_LOG[3] + s4 * _LOG[5]))
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + (odd + even)) + k * _LN2_LOW)) - f)


def broken_linear(points: Sequence[tuple[int, int]], percent: int, best: int = MAX_NODE_SCORE) -> int:
    """helper.BuildBrokenLinearFunction, with the shape's 0..10 scores scaled to 0..100."""
    scale = best // MAX_CUSTOM_PRIORITY_SCORE
    previous: tuple[int, int] | None = None
    for utilization, score in points:
        if percent <= utilization:
            if previous is None:
                return score * scale
            rise = (score - previous[1]) * scale * (percent - previous[0])
            step = truncated_divide(np.array([rise], dtype=np.int64), utilization - previous[0])
            return previous[1] * scale + int(step[0])
        previous = utilization, score
    return points[-1][1] * scale
