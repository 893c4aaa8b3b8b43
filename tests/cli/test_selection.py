"""Names that match nothing of the input, of namespaces, labels and nodes: no command ends with exit code 0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.cli.inputs import NODE, POD, deployment, dumped, first_line, lay_out
from tests.lanes import sampled
from tests.running import Ksched

Files = Mapping[str, str]
CASES: list[Any] = []
WEB = dumped(deployment())
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def case(name: str, files: Files, arguments: str, code: int, line: str) -> None:
    CASES.append(pytest.param(files, arguments, code, line, id=name))


NO_LABELS = "ksched: -l app=wbe: no pod or workload of the input has these labels (did you mean app=web?)"
for _command in ("simulate", "simulate --settle", "diff --cordon n1", "verify"):
    case(
        f"labels that no pod has: {_command}",
        {"c.yaml": dumped(NODE, deployment(), POD)},
        f"{_command} --from c.yaml -l app=wbe",
        2,
        NO_LABELS,
    )
    case(
        f"a namespace that is not there: {_command}",
        {"c.yaml": dumped(NODE, POD)},
        f"{_command} --from c.yaml -n defualt",
        2,
        "ksched: -n defualt: nothing of the input is in namespace defualt (did you mean default?)",
    )
STEP = {"apiVersion": "ksched/v1", "kind": "Scenario", "steps": [{"name": "s", "cordon": ["n1"]}]}
case(
    "a scenario in a namespace that is not there",
    {"c.yaml": dumped(NODE, POD), "s.yaml": dumped(STEP)},
    "simulate --from c.yaml --scenario s.yaml -n defualt",
    2,
    "ksched: -n defualt: nothing of the input is in namespace defualt (did you mean default?)",
)
case(
    "a namespace of the manifests that is almost one of the cluster",
    {"m.yaml": WEB, "c.yaml": dumped(NODE, {**POD, "metadata": {"name": "p", "namespace": "shop"}})},
    "check --from c.yaml -f m.yaml -n shpo",
    0,
    "m.yaml:1: warning KS009: the input has no such namespace",
)
BAD_NAME = "no namespace can have this name (lower case letters, digits and '-', at most 63 characters)"
for _command in ("check", "simulate", "diff", "capacity"):
    case(
        f"-n that no namespace can have: {_command}",
        {"m.yaml": WEB, "c.yaml": dumped(NODE, POD)},
        f"{_command} --from c.yaml -f m.yaml -n Team_A",
        2,
        f"ksched: -n Team_A: {BAD_NAME}",
    )
case(
    "--assume-namespace that no namespace can have",
    {"m.yaml": WEB, "c.yaml": dumped(NODE, POD)},
    "check --from c.yaml -f m.yaml --assume-namespace team.a",
    2,
    f"ksched: --assume-namespace team.a: {BAD_NAME}",
)
case(
    "a snapshot without a node",
    {"c.yaml": WEB},
    "snapshot --from c.yaml -o s.gz",
    2,
    "ksched: c.yaml: the input has no Node: it has 1 Deployment (dump the nodes too: kubectl get nodes,pods -A -o json)",
)
BOUND = deployment()
BOUND["spec"]["template"]["spec"]["nodeName"] = "n11"
for _command in ("simulate", "simulate --settle", "diff", "explain", "rightsize", "drain n1"):
    case(
        f"a template that names a node that is not there: {_command}",
        {"m.yaml": dumped(BOUND), "c.yaml": dumped(NODE)},
        f"{_command} --from c.yaml -f m.yaml",
        2,
        'ksched: m.yaml:20: Deployment default/web: spec.template.spec.nodeName: there is no node "n11" '
        "(did you mean n1?)",
    )
case(
    "nothing that verify can compare",
    {"c.yaml": dumped(NODE)},
    "verify --from c.yaml",
    2,
    "nothing to compare: no pod was placed or found unschedulable by a modelled profile",
)


@pytest.mark.parametrize(("files", "arguments", "code", "line"), CASES)
def test_exit_code_and_first_line(
    files: Files, arguments: str, code: int, line: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(files, here)
    left, shown = run(arguments.split()), capsys.readouterr()
    assert (left, first_line(shown.out, shown.err)) == (code, line)


def test_a_namespace_that_only_the_manifests_of_a_diff_have(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out({"c.yaml": dumped(NODE, POD), "m.yaml": WEB}, here)
    assert run(["diff", "--from", "c.yaml", "-f", "m.yaml", "-n", "new"]) == 0
    assert capsys.readouterr().out.startswith("1 pod: 1 new, 0 as before")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", sampled(["check", "simulate", "simulate --settle", "diff", "capacity", "rightsize", "explain"], 4)
)
@pytest.mark.parametrize("others", [pytest.param((), id="pods only"), pytest.param((SHOP,), id="Namespace objects")])
def test_one_warning_for_a_namespace_like_none_of_the_cluster(
    command: str, others: tuple[Any, ...], here: Path, ksched: Ksched
) -> None:
    running = {**POD, "metadata": {"name": "p", "namespace": "shop"}}
    lay_out({"c.yaml": dumped(NODE, running, *others), "m.yaml": WEB}, here)
    refused = command == "check" and others
    shown = ksched(*command.split(), "--from", "c.yaml", "-f", "m.yaml", "-n", "elsewhere", code=2 if refused else 0)
    assert f"{shown.out}{shown.err}".count("--assume-namespace elsewhere") == 1
    shown = ksched(*command.split(), "--from", "c.yaml", "-f", "m.yaml", "-n", "shop", code=0)
    assert "--assume-namespace" not in f"{shown.out}{shown.err}"


@pytest.mark.parametrize(
    ("pod", "arguments"),
    [
        pytest.param({"nodeName": "n1"}, [], id="of the cluster"),
        pytest.param({"nodeName": "n2"}, ["--add-node", "n2.yaml"], id="of an edit"),
    ],
)
def test_a_pod_of_the_manifests_on_a_node_that_is_there(
    pod: dict[str, Any], arguments: list[str], here: Path, ksched: Ksched
) -> None:
    other = dumped({**NODE, "metadata": {"name": "n2"}})
    lay_out({"c.yaml": dumped(NODE), "n2.yaml": other, "m.yaml": dumped({**POD, "spec": {**POD["spec"], **pod}})}, here)
    assert "there is no node" not in ksched("simulate", "--from", "c.yaml", "-f", "m.yaml", *arguments, code=0).err


@pytest.mark.parametrize(
    ("phase", "live", "code"),
    [
        pytest.param("Succeeded", True, 0, id="finished in the cluster"),
        pytest.param("Running", True, 0, id="left behind in the cluster"),
        pytest.param("Succeeded", False, 2, id="new, for the API server drops the status"),
    ],
)
def test_a_pod_of_the_manifests_whose_node_is_gone(
    phase: str, live: bool, code: int, here: Path, ksched: Ksched
) -> None:
    pod = {**POD, "spec": {**POD["spec"], "nodeName": "n9"}, "status": {"phase": phase}}
    lay_out({"c.yaml": dumped(NODE, *([pod] if live else [])), "m.yaml": dumped(pod, deployment())}, here)
    shown = ksched("simulate", "--from", "c.yaml", "-f", "m.yaml", code=code)
    assert ('there is no node "n9"' in shown.err) is not live
