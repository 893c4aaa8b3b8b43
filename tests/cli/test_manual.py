"""`ksched help`: every page is listed, linked from the README and shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ksched_cli.cli.help import TOPICS
from tests.running import Ksched

ROOT = Path(__file__).parent.parent.parent
PAGES = ROOT / "ksched_cli" / "help"


def test_every_page_is_a_topic_and_linked_from_the_readme() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == TOPICS.keys()
    linked = re.findall(r"\(ksched_cli/help/([a-z-]+)\.md\)", (ROOT / "README.md").read_text())
    assert linked == list(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_shows_its_page(topic: str, ksched: Ksched) -> None:
    assert ksched("help", topic, code=0).out == (PAGES / f"{topic}.md").read_text()


def test_help_without_a_topic_lists_the_pages(ksched: Ksched) -> None:
    shown = ksched("help", code=0).out
    assert all(re.search(rf"^  {topic} +\S", shown, re.MULTILINE) for topic in TOPICS)


def test_help_of_a_command_is_its_help(ksched: Ksched) -> None:
    own = ksched("simulate", "--help", code=0).out
    assert ksched("help", "simulate", code=0).out == own


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        pytest.param("input", "did you mean inputs?", id="misspelt page"),
        pytest.param("simulat", "did you mean simulate?", id="misspelt command"),
        pytest.param("xyz", "there are commands, inputs", id="unknown"),
    ],
)
def test_an_unknown_topic(topic: str, hint: str, ksched: Ksched) -> None:
    shown = ksched("help", topic, code=2).err
    assert f'the manual has no page "{topic}"' in shown
    assert hint in shown
