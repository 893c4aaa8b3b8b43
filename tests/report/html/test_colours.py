"""The colours of a page can be told apart by people who see fewer of them, and text on its background can be read."""

from __future__ import annotations

import itertools
import re
from importlib.resources import files

import pytest

STYLE = (files("ksched_cli.report.sinks") / "assets" / "style.css").read_text(encoding="ascii")
SCHEMES = re.findall(r":root \{(.*?)\n\s*\}", STYLE, re.DOTALL)[:2]
# Machado, Oliveira and Fernandes 2009, severity 1: linear RGB as people without one kind of cones see it.
VISIONS = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
Colour = tuple[float, float, float]
# CIE76: 2.3 is a difference that is just noticed.
LEAST_DIFFERENCE = 15


def colours(scheme: str) -> dict[str, Colour]:
    """Linear RGB of each variable."""
    found = {}
    for name, text in re.findall(r"--([a-z0-9-]+): #([0-9a-f]{6})", scheme):
        parts = [int(text[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        found[name] = tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return found  # type: ignore[return-value]  # three parts each


def lab(colour: Colour) -> Colour:
    red, green, blue = colour
    scaled = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883,
    )
    x, y, z = (each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116 for each in scaled)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour: Colour, vision: str) -> Colour:
    rows = (sum(part * factor for part, factor in zip(colour, row, strict=True)) for row in VISIONS[vision])
    return tuple(min(1, max(0, each)) for each in rows)  # type: ignore[return-value]


def contrast(first: Colour, second: Colour) -> float:
    light = [0.2126 * each[0] + 0.7152 * each[1] + 0.0722 * each[2] + 0.05 for each in (first, second)]
    return max(light) / min(light)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_colours_of_answers_differ(scheme: str, vision: str) -> None:
    found = colours(scheme)
    shown = {name: lab(seen(found[name], vision)) for name in (f"c{number}" for number in range(8))}
    for (one, first), (other, second) in itertools.combinations(shown.items(), 2):
        difference = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5
        assert difference >= LEAST_DIFFERENCE, (one, other, round(difference, 1))


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    """WCAG AA: 4.5 for text, 3 for graphics."""
    found = colours(scheme)
    for text, back in itertools.product(("text", "soft", "accent", "good", "warn", "bad"), ("back", "sheet")):
        assert contrast(found[text], found[back]) >= 4.5, (text, back)
    for number in range(7):
        assert contrast(found[f"c{number}"], found["back"]) >= 2, number
