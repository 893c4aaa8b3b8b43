"""A label that no node has gets the nearest that some node has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.plan.reasons.typos import selector_typos
from tests.builders import make_node, make_pod, write_list

LABELS = [
    {"disk-type": "ssd", "pool": "general", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"},
    {"disk-type": "hdd", "pool": "memory"},
]


def term(*expressions: tuple[str, str, str]) -> dict[str, Any]:
    """Expressions as key, operator and values with spaces in between."""
    made = [{"key": key, "operator": operator, "values": values.split()} for key, operator, values in expressions]
    terms = [{"matchExpressions": made}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"nodeSelector": {"disktype": "ssd"}},
            ["no node has the label disktype: did you mean disk-type?"],
            id="a key",
        ),
        pytest.param(
            {"nodeSelector": {"pool": "genral"}}, ["no node has pool=genral: did you mean pool=general?"], id="a value"
        ),
        pytest.param(
            {"nodeSelector": {"disk-type": "sdd"}},
            ["no node has disk-type=sdd: did you mean disk-type=ssd?"],
            id="one letter of three",
        ),
        pytest.param({"nodeSelector": {"disk-type": "nvm"}}, [], id="three letters of three"),
        pytest.param({"nodeSelector": {"pool": "memory"}}, [], id="a node has it"),
        pytest.param({"nodeSelector": {"gpu": "yes"}}, [], id="nothing is near"),
        pytest.param({"nodeSelector": {"pool": "gpu"}}, [], id="no value is near"),
        pytest.param(
            {"affinity": term(("pool", "In", "memry memori"))},
            ["no node has pool=memry: did you mean pool=memory?"],
            id="a term",
        ),
        pytest.param({"affinity": term(("pool", "In", "memry general"))}, [], id="one value of the term is there"),
        pytest.param(
            {"affinity": term(("disk-typ", "In", "ssd"))},
            ["no node has the label disk-typ: did you mean disk-type?"],
            id="a key of a term",
        ),
        pytest.param(
            {"affinity": term(("pool", "In", "nothing memori"))},
            ["no node has pool=memori: did you mean pool=memory?"],
            id="the second value of a term",
        ),
        pytest.param({"affinity": term(("unlike", "In", "x"))}, [], id="no key is near a term"),
        pytest.param(
            {"nodeSelector": {"gpu": "yes", "kubernetes.io/os": "windws", "pool": "genral"}},
            [
                "no node has kubernetes.io/os=windws: did you mean kubernetes.io/os=windows?",
                "no node has pool=genral: did you mean pool=general?",
            ],
            id="nothing near before two that are",
        ),
        pytest.param({"nodeSelector": {"kubernetes.io/arch": "arm64"}}, [], id="a right value that no node has"),
        pytest.param({"affinity": term(("pol", "NotIn", "x"))}, [], id="a term that wants the label away"),
        pytest.param(
            {"affinity": term(("pool", "Exists", ""), ("disk-typ", "In", "ssd"), ("pool", "In", "memry"))},
            [
                "no node has the label disk-typ: did you mean disk-type?",
                "no node has pool=memry: did you mean pool=memory?",
            ],
            id="each expression of a term",
        ),
    ],
)
def test_the_nearest_label(fields: dict[str, Any], expected: list[str]) -> None:
    assert list(map(str, selector_typos(make_pod("p").spec(**fields).obj(), LABELS))) == expected


def test_check_and_explain_say_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    cluster = write_list(tmp_path / "c.json", make_node("n").label(pool="general").doc())
    manifest = write_list(tmp_path / "m.json", make_pod("p").spec(nodeSelector={"pool": "genral"}).doc())
    assert run(["check", "--from", cluster, "-f", manifest]) == 1
    assert "No node has pool=genral: did you mean pool=general?" in capsys.readouterr().out
    run(["explain", "p", "--from", cluster, "-f", manifest])
    assert "No node has pool=genral: did you mean pool=general?" in capsys.readouterr().out
