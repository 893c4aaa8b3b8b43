"""The pictures of the README show what the commands write today: `python -m tests.pictures` makes them anew."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.pictures import PAGE, PICTURES, TERMINAL, output

README = (PICTURES.parent.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_picture_of_a_terminal_has_the_words_of_the_command() -> None:
    drawn = ElementTree.parse(PICTURES / "explain.svg").iter("{http://www.w3.org/2000/svg}text")
    lines: dict[float, list[str]] = {}
    for each in drawn:
        if "-title" not in each.get("class", ""):
            lines.setdefault(float(each.get("y", "")), []).append("".join(each.itertext()))
    # A word in two colours is two pieces.
    shown = "".join(piece for _, texts in sorted(lines.items()) for text in texts for piece in text.split())
    assert shown == "".join(["$", "ksched", *TERMINAL, *output(*TERMINAL, colours=False).split()])


@pytest.mark.slow
def test_the_picture_of_a_page_is_described_by_its_verdict() -> None:
    described = re.search(r"!\[ksched simulate -o html: (.*?), and why\]\(fixtures/pictures/simulate.png\)", README)
    assert described is not None
    assert f"{described[1]}.</h1>" in re.sub(r"\s*<(/?span|svg|path)[^>]*>\s*", "", output(*PAGE, colours=False))
