"""`ksched help`: every page is listed, linked from the README and shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ksched_cli.cli.help import TOPICS
from ksched_cli.cli.main import run

ROOT = Path(__file__).parent.parent.parent
PAGES = ROOT / "ksched_cli" / "help"


def test_every_page_is_a_topic_and_linked_from_the_readme() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == TOPICS.keys()
    linked = re.findall(r"\(ksched_cli/help/([a-z-]+)\.md\)", (ROOT / "README.md").read_text())
    assert linked == list(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_shows_its_page(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", topic]) == 0
    assert capsys.readouterr().out == (PAGES / f"{topic}.md").read_text()


def test_help_without_a_topic_lists_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help"]) == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"^  {topic} +\S", shown, re.MULTILINE) for topic in TOPICS)


def test_help_of_a_command_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--help"]) == 0
    own = capsys.readouterr().out
    assert run(["help", "simulate"]) == 0
    assert capsys.readouterr().out == own


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        pytest.param("input", "did you mean inputs?", id="misspelt page"),
        pytest.param("simulat", "did you mean simulate?", id="misspelt command"),
        pytest.param("xyz", "there are commands, inputs", id="unknown"),
    ],
)
def test_an_unknown_topic(topic: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", topic]) == 2
    shown = capsys.readouterr().err
    assert f'the manual has no page "{topic}"' in shown
    assert hint in shown
