"""Pages of each command on clusters of shapes: how long they are on a phone, and what their maps show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.html.opened import NARROW, OpenedPage
from tests.report.html.test_every_page import SCREENS
from tests.trial.shapes import SHAPES, dump
from tests.trial.test_everyday import MANIFEST

Opener = Callable[..., OpenedPage]
Maker = Callable[..., Path]
# Every command with a page; {manifest} is a Deployment.
COMMANDS = {
    "simulate": ("simulate",),
    "settle": ("simulate", "--settle"),
    "explain": ("explain",),
    "check": ("check", "-f", "{manifest}"),
    "capacity": ("capacity", "-f", "{manifest}"),
    "rightsize": ("rightsize", "-f", "{manifest}"),
    "size": ("size", "--catalog", "{catalog}"),
    "consolidate": ("consolidate",),
    "drain": ("drain", "{node}", "--ignore-daemonsets", "--force"),
    "drain each": ("drain", "--each", "node", "--ignore-daemonsets", "--force"),
    "diff": ("diff", "--to-kube-version", "1.36"),
    "sweep": ("sweep", "--fail", "node"),
    "verify": ("verify",),
}
CATALOG = {
    "apiVersion": "ksched/v1",
    "kind": "Catalog",
    "shapes": [{"name": "big", "price": 1, "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}],
}


@pytest.fixture(scope="module", params=["mixed", "gke"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder, items = tmp_path_factory.mktemp("shape"), SHAPES[request.param]().items
    paths = {name: folder / f"{name}.yaml" for name in ("cluster", "manifest", "catalog")}
    paths["cluster"].write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    paths["manifest"].write_text(MANIFEST)
    paths["catalog"].write_text(json.dumps(CATALOG))
    node = next(each["spec"]["nodeName"] for each in items if each["kind"] == "Pod" and "nodeName" in each["spec"])
    return {name: str(path) for name, path in paths.items()} | {
        "node": node,
        "scheme": "dark" if request.param == "gke" else "light",
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_is_short_on_a_phone_and_can_be_read(
    command: str, files: dict[str, str], page_file: Maker, opened: Opener
) -> None:
    """At most ten screens, nothing wider than the window, and axe-core finds no text with too little contrast."""
    words = [word.format(**files) for word in COMMANDS[command]]
    path = page_file(*words, "--from", files["cluster"])
    shown = opened(path, size=NARROW, scheme=files["scheme"], trusted=True)
    assert shown.page.evaluate("document.documentElement.scrollHeight") <= SCREENS * NARROW[1]
    assert not shown.wider_than_the_window
    assert shown.verdict_is_in_view
    assert [each for each in shown.violations() if "contrast" in each] == []


@pytest.fixture
def map_of_gke(tmp_path: Path, page_file: Maker, opened: Opener) -> OpenedPage:
    source = tmp_path / "gke.json"
    source.write_text(json.dumps(dump(SHAPES["gke"]())))
    return opened(page_file("simulate", "--from", str(source)))


def test_the_map_has_the_pools_of_each_zone(map_of_gke: OpenedPage) -> None:
    captions = map_of_gke.texts("#nodes figcaption")
    assert re.findall(r"([a-z-]+) (\d+)(?=,|$)", captions[0].partition("pools: ")[2]) == [
        ("default-pool", "2"), ("gpu-pool", "1"), ("highmem-pool", "1"), ("spot-pool", "1"),
    ]  # fmt: skip
    map_of_gke.page.locator("#nodes canvas").first.focus()
    map_of_gke.page.keyboard.press("Enter")
    assert "pool default-pool" in map_of_gke.texts("#nodes .nodeinfo .message")


def test_the_table_of_the_map_names_each_node_and_its_pool(map_of_gke: OpenedPage) -> None:
    map_of_gke.page.locator("#nodes summary").click()
    map_of_gke.page.locator("#nodes tbody tr").first.wait_for()
    heads = [each.split()[0] for each in map_of_gke.texts("#nodes thead th")]
    assert heads[:3] == ["Node", "Zone", "Pool"]
    names = map_of_gke.texts("#nodes tbody th")
    pools = map_of_gke.texts("#nodes tbody td:nth-child(3)")
    assert {
        name.rpartition("-")[0].removeprefix("gke-prod-"): pool for name, pool in zip(names, pools, strict=True)
    } == {pool: pool for pool in ("default-pool", "gpu-pool", "highmem-pool", "spot-pool")}
