"""Names and messages of a hostile cluster are text on a page, and the page's policy runs nothing that is put into it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ksched_cli.report.sinks.html import script_json
from tests.cli.test_hostile_text import BAD, bad_file, deployments
from tests.cli.transcripts import DEMO, ROOT
from tests.report.html.opened import OpenedPage

Opener = Callable[..., OpenedPage]
Maker = Callable[..., Path]
MARKUP = (
    "<script>document.title='OWNED'</script></script></style><style>*{display:none}</style><!--"
    "<img src=x onerror=document.title='OWNED'>\" onload=\"document.title='OWNED'\" ' onclick='x"
    "<a href=javascript:document.title='OWNED'>a</a>{{7*7}}{%raw%}${7*7}&lt;b&gt;<svg/onload=x>]]>"
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Clusters and manifests in which every name and label has markup, bidi marks and commands of terminals."""
    folder = tmp_path_factory.mktemp("hostile")
    clusters = ROOT / "fixtures" / "clusters"
    sources = {
        "demo": (Path(DEMO), True),
        "drain": (clusters / "drain.yaml", True),
        "fleet": (clusters / "fleet.yaml", True),
        "cluster": (ROOT / "fixtures" / "check" / "cluster.yaml", True),
        "deploy": (deployments(folder), False),
    }
    found = {}
    for name, (path, labels) in sources.items():
        made = Path(bad_file(path, folder / f"{name}.json", labels=labels))
        made.write_text(made.read_text().replace(json.dumps(BAD)[1:-1], json.dumps(BAD + MARKUP)[1:-1]))
        found[name] = str(made)
    scenario = folder / "scenario.json"
    # YAML has no escape for some characters of BAD.
    step = {"name": MARKUP, "expect": {"schedulable": True}}
    document = {"apiVersion": "ksched/v1", "kind": "Scenario", "metadata": {"name": MARKUP}, "steps": [step]}
    scenario.write_text(json.dumps(document))
    return {**found, "scenario": str(scenario)}


CAPACITY = str(ROOT / "fixtures" / "manifests" / "capacity.yaml")
SHAPES = str(ROOT / "fixtures" / "catalogs" / "shop.yaml")
COMMANDS = {
    "simulate": ("simulate", "--from", "{demo}"),
    "simulate --settle": ("simulate", "--from", "{demo}", "--settle"),
    "simulate --scenario": ("simulate", "--from", "{demo}", "--scenario", "{scenario}"),
    "explain": ("explain", "--from", "{demo}", "-f", CAPACITY),
    "check": ("check", "--from", "{cluster}", "-f", "{deploy}"),
    "capacity": ("capacity", "--from", "{fleet}", "-f", CAPACITY, "--max", "5"),
    "drain": ("drain", "-l", "kubernetes.io/os!=none", "--from", "{drain}", "--ignore-daemonsets"),
    "drain --each node": ("drain", "--each", "node", "--from", "{drain}"),
    "diff": ("diff", "--from", "{demo}", "--to", "{fleet}"),
    "sweep": ("sweep", "--fail", "node", "--from", "{drain}"),
    "size": ("size", "--from", "{demo}", "--catalog", SHAPES, "--time-limit", "1s"),
    "consolidate": ("consolidate", "--from", "{drain}", "--force", "--delete-emptydir-data", "--time-limit", "5s"),
    "rightsize": ("rightsize", "--from", "{demo}", "-f", CAPACITY, "--catalog", SHAPES),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_markup_of_a_cluster_is_text(command: str, hostile: dict[str, str], page_file: Maker, opened: Opener) -> None:
    path = page_file(*(each.format(**hostile) for each in COMMANDS[command]))
    text = path.read_text(encoding="ascii")
    assert len(re.findall(r"<script", text)) == 2
    assert len(re.findall(r"<style", text)) == 1
    assert "<img" not in text
    assert "##[" not in text
    shown = opened(path)
    for summary in shown.page.locator("summary").all():
        summary.click()
    assert "OWNED" not in shown.page.title().split("OWNED'")[0]
    assert (
        shown.page.evaluate("document.querySelectorAll('img, a[href^=javascript], body script, body style').length")
        == 2
    )
    assert shown.page.evaluate("document.scripts.length") == 2
    body = shown.page.locator("body").inner_text()
    assert "<script>document.title='OWNED'</script>" in body
    assert "\\u202e" in body
    assert "{{7*7}}" in body
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", body)


def test_policy_blocks_what_is_put_into_the_file_by_hand(tmp_path: Path, page_file: Maker, opened: Opener) -> None:
    text = page_file("simulate", "--from", DEMO).read_text(encoding="ascii")
    planted = (
        "<script>document.title = 'OWNED'</script><img src='data:,' onerror=\"document.title = 'OWNED'\">"
        "<style>body { display: none }</style><p style='color: red' id='planted'>x</p>"
        "<script src='https://evil.example/x.js'></script><img src='https://evil.example/x.png'>"
        "<iframe src='https://evil.example/'></iframe>"
    )
    path = tmp_path / "planted.html"
    path.write_text(text.replace("</main>", f"{planted}</main>"))
    # Once it is open, its scripts have run and its images have failed to load.
    shown = opened(path)
    assert "OWNED" not in shown.page.title()
    assert shown.page.locator("body").is_visible()
    assert shown.page.evaluate("getComputedStyle(document.getElementById('planted')).color") != "rgb(255, 0, 0)"
    assert sum("Content Security Policy" in each for each in shown.errors) >= 5
    assert all("Content Security Policy" in each for each in shown.errors)
    assert [url for url in shown.responses if "evil" in url] == []
    shown.errors.clear()
    shown.requests.clear()


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "&amp;", "\u2028\u2029", "\U0001f600", "\\", '"'])
def test_json_of_a_script_element(text: str) -> None:
    made = script_json({text: [text]})
    assert json.loads(made) == {text: [text]}
    assert made.isascii()
    assert not set("<>&") & set(made)
