"""`--orders` and `--ties` of simulate and explain: what becomes of a pod under random orders and tie-breaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod, write_list
from tests.cli.transcripts import DEMO
from tests.running import Ksched


@pytest.fixture
def contended(tmp_path: Path) -> str:
    """One place, two pods that want it, and a pod that fits nowhere."""
    node = make_node("a").allocatable(cpu="1", memory="1Gi", pods="10").doc()
    pods = [
        make_pod(name).uid(name).requests(cpu=cpu).doc() for name, cpu in (("one", "1"), ("two", "1"), ("big", "64"))
    ]
    return write_list(tmp_path / "cluster.json", node, *pods)


def test_simulate_prints_a_sentence_for_each_pod(contended: str, ksched: Ksched) -> None:
    shown = " ".join(ksched("simulate", "--from", contended, "--orders", "40", "--seed", "1", code=1).out.split())
    row = {each.pod: each for each in Simulator.load(contended).sweep(orders=40, seed=1).result().pods}["default/one"]
    share = dict(row.results)["scheduled"].share
    assert 0 < share < 1
    assert (
        f"default/one goes to a in {share * 100:.1f} % of 40 arrival orders, stays Pending in {100 - share * 100:.1f} %"
        in shown
    )
    assert "default/big goes to no node in 40 arrival orders" in shown


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [True, False])
def test_the_document_has_the_shares(streamed: bool, ksched: Ksched) -> None:
    form = "json" if streamed else "yaml"
    text = ksched("simulate", "--from", DEMO, "--ties", "30", "-o", form, code=1).out
    if streamed:
        odds = json.loads(text)["odds"]
        assert (odds["orders"], odds["ties"]) == (0, 30)
        web = next(each for each in odds["pods"] if each["pod"] == "shop/web-1")
        assert sum(each["variants"] for each in web["nodes"].values()) == web["variants"] == 30
        assert {each["pod"] for each in odds["pods"]} == {each["pod"] for each in json.loads(text)["pods"]}
    else:
        assert "\nodds:\n  orders: 0\n  ties: 30\n" in text


def test_without_the_options_nothing_is_drawn(ksched: Ksched) -> None:
    assert "odds" not in json.loads(ksched("simulate", "--from", DEMO, "-o", "json", code=1).out)


def test_only_wanted_pods_are_shown(ksched: Ksched) -> None:
    document = json.loads(ksched("simulate", "--from", DEMO, "--ties", "3", "-l", "app=web", "-o", "json", code=0).out)
    assert {each["pod"] for each in document["odds"]["pods"]} == {each["pod"] for each in document["pods"]} != set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pod", "sentence"),
    [
        pytest.param("shop/web-1", " goes to east-2 in ", id="two best nodes"),
        pytest.param(
            "shop/batch-1", "shop/batch-1 goes to west-1 in all of 20 tie-breaks, never stays Pending", id="one"
        ),
        pytest.param("shop/db-0", "shop/db-0 goes to no node in 20 tie-breaks", id="none"),
    ],
)
def test_explain_has_one_sentence(pod: str, sentence: str, ksched: Ksched) -> None:
    assert sentence in " ".join(ksched("explain", pod, "--from", DEMO, "--ties", "20", "--no-fixes").out.split())


def test_explain_has_the_shares_in_its_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(["explain", "shop/web-1", "--from", DEMO, "--orders", "4", "--ties", "5", "--no-fixes", "-o", "json"]) == 0
    )
    odds = json.loads(capsys.readouterr().out)["odds"]
    assert (odds["orders"], odds["ties"]) == (4, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--ties", "3", "--settle"], "not with --settle or --scenario", id="settle"),
        pytest.param(["--ties", "0"], "Invalid value for '--ties'", id="none"),
        pytest.param(["--orders", "-2"], "Invalid value for '--orders'", id="negative"),
    ],
)
def test_bad_command_lines(arguments: list[str], message: str, ksched: Ksched) -> None:
    assert message in ksched("simulate", "--from", DEMO, *arguments, code=2).err
