"""Draws a chart of a View as SVG: part of a page, and a file of its own.

Each series is a line, with a band behind it if the values vary. Its name stands at the end of the line. The page
colours the classes `c0` to `c7` by its own style; a file of its own has the colours in its attributes, on white.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any, TextIO

from ksched_cli.report.view.model import Chart, View
from ksched_cli.report.visible import visible

_COLOURS = ("#1d4cd3", "#af390b", "#e0870b", "#a160bc", "#25a098", "#573523", "#7c8f5d", "#8fbdf5")
_WIDTH, _HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 150, 14, 46
# Pixels between two names, and about how many lines a grid has.
_LINE, _TICKS = 15, 7
_LONGEST_NAME = 22


def write_svg(view: View, out: TextIO) -> None:
    """Write the first chart of the View as a file."""
    charts = (section.content for section in view.sections)
    chart = next((each for each in charts if isinstance(each, Chart)), None)
    if chart is not None:
        out.write(f"{chart_svg(chart_data(chart), alone=True)}\n")


def chart_data(chart: Chart) -> dict[str, Any]:
    """The chart for the template of the page."""
    series = [{"label": each.label, "points": list(each.points), "band": list(each.band)} for each in chart.series]
    return {"x": chart.x_title, "y": chart.y_title, "series": series, "from": chart.x_from}


def chart_svg(data: Mapping[str, Any], *, alone: bool = False) -> str:
    """The SVG element. `alone`: for a file of its own."""
    series = [_from(each, data["from"]) for each in data["series"]]
    series = [each for each in series if each["points"]]
    xs = [x for each in series for x, *_ in each["points"]] or [0.0, 1.0]
    ys = [y for each in series for _, *values in (*each["points"], *each["band"]) for y in values] or [0.0, 1.0]
    scale = _Scale(min(xs), max(xs), *_grid_range(min(ys), max(ys)))
    width, height = _WIDTH, _HEIGHT
    title = escape(f"{data['y']} by {data['x']}")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" class="chart" role="img" '
        f'aria-label="{title}" font-family="system-ui, sans-serif" font-size="12" fill="currentColor">'
    ]
    if alone:
        lines[0] = lines[0].replace("currentColor", "#16202c")
        lines.append(f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    lines += _axes(scale, data)
    for number, each in enumerate(series):
        lines += _series(scale, each, number % len(_COLOURS))
    lines += _names(scale, series)
    return "\n".join([*lines, "</svg>"])


def _from(series: Mapping[str, Any], first: float) -> dict[str, Any]:
    """The part of the series from this place on."""
    return {
        "label": series["label"],
        "points": [point for point in series["points"] if point[0] >= first],
        "band": [point for point in series["band"] if point[0] >= first],
    }


class _Scale:
    """Where values are in the picture."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self.left, self.right = left, right if right > left else left + 1
        self.low, self.high = low, high if high > low else low + 1

    def x(self, value: float) -> float:
        inner = _WIDTH - _LEFT - _RIGHT
        return round(_LEFT + (value - self.left) / (self.right - self.left) * inner, 1)

    def y(self, value: float) -> float:
        inner = _HEIGHT - _TOP - _BOTTOM
        return round(_TOP + (self.high - value) / (self.high - self.low) * inner, 1)


def _step(low: float, high: float) -> float:
    """A round distance of the lines of a grid."""
    rough = max(high - low, 1e-9) / _TICKS
    power = 10.0 ** floor(log10(rough))
    return next((power * each for each in (1, 2, 5) if power * each >= rough), power * 10)


def _grid_range(low: float, high: float) -> tuple[float, float]:
    step = _step(low, high)
    return floor(low / step) * step, ceil(high / step) * step


def _ticks(low: float, high: float) -> Iterator[float]:
    step = _step(low, high)
    for number in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1):
        yield round(number * step, 9)


def _axes(scale: _Scale, data: Mapping[str, Any]) -> Iterator[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for value in _ticks(scale.low, scale.high):
        y = scale.y(value)
        yield f'<path class="grid" d="M{_LEFT} {y}H{right}" stroke="#ccd3dc" fill="none"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{value:g}</text>'
    for value in _ticks(scale.left, scale.right):
        x = scale.x(value)
        yield f'<path class="grid" d="M{x} {bottom}v5" stroke="#ccd3dc" fill="none"/>'
        yield f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{value:g}</text>'
    middle = (_LEFT + right) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{_text(data["x"])}</text>'
    across = (_TOP + bottom) / 2
    yield f'<text transform="translate(14 {across}) rotate(-90)" text-anchor="middle">{_text(data["y"])}</text>'


def _series(scale: _Scale, series: Mapping[str, Any], number: int) -> Iterator[str]:
    colour = _COLOURS[number]
    if series["band"]:
        there = [f"{scale.x(x)} {scale.y(high)}" for x, _, high in series["band"]]
        back = [f"{scale.x(x)} {scale.y(low)}" for x, low, _ in reversed(series["band"])]
        outline = "L".join([*there, *back])
        yield f'<path class="c{number} band" d="M{outline}Z" fill="{colour}" fill-opacity="0.18"/>'
    line = "L".join(f"{scale.x(x)} {scale.y(y)}" for x, y in series["points"])
    yield f'<path class="c{number} line" d="M{line}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _names(scale: _Scale, series: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The names at the ends of the lines, far enough from each other."""
    places = sorted((scale.y(each["points"][-1][1]), number) for number, each in enumerate(series))
    above = float("-inf")
    room = _HEIGHT - _BOTTOM - _LINE * len(places)
    for place, (wanted, number) in enumerate(places):
        above = max(above + _LINE, min(wanted, room + _LINE * (place + 1)))
        colour, x = _COLOURS[number % len(_COLOURS)], scale.x(series[number]["points"][-1][0]) + 8
        name = _text(series[number]["label"], _LONGEST_NAME)
        yield f'<text class="c{number % len(_COLOURS)} name" x="{x}" y="{above + 4:g}" fill="{colour}">{name}</text>'


def _text(text: str, longest: int = 200) -> str:
    shown = visible(text)
    return escape(shown if len(shown) <= longest else f"{shown[: longest - 1]}…")
