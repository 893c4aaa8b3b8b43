"""Pods whose service account the cluster, the manifests or neither has, as `check` judges them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_workload, write_list

NODE = make_node("n").allocatable(cpu="8", memory="8Gi", pods=20).doc()


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def account(name: str, space: str = "shop") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": space}}


SHOP = [namespace("shop")]
LISTED = [*SHOP, account("default"), account("web")]
NEW = [namespace("new"), account("own", "new")]


@pytest.mark.parametrize(
    ("cluster", "manifests", "space", "name", "code"),
    [
        pytest.param(SHOP, [account("web")], "shop", "", 0, id="accounts are in the manifests only"),
        pytest.param(SHOP, [account("web")], "shop", "other", 0, id="the cluster lists no accounts"),
        pytest.param(LISTED, [], "shop", "", 0, id="the default account"),
        pytest.param(LISTED, [], "shop", "other", 1, id="an account that the cluster lacks"),
        pytest.param(LISTED, [account("other")], "shop", "other", 0, id="an account of the manifests"),
        pytest.param([*SHOP, account("web")], [], "shop", "", 1, id="the default account was deleted"),
        pytest.param(LISTED, NEW, "new", "", 0, id="a new namespace gets its default account"),
        pytest.param(LISTED, NEW, "new", "other", 1, id="a new namespace has no other account"),
    ],
)
def test_accounts(cluster: list[Any], manifests: list[Any], space: str, name: str, code: int, tmp_path: Path) -> None:
    pod = {"serviceAccountName": name} if name else {}
    workload = make_workload("Deployment", pod=pod, metadata={"namespace": space})
    dump, manifest = tmp_path / "c.json", tmp_path / "m.json"
    write_list(dump, NODE, *cluster)
    write_list(manifest, *manifests, workload)
    assert run(["check", "--from", str(dump), "-f", str(manifest)]) == code


@pytest.mark.parametrize(
    ("files", "code", "text"),
    [
        pytest.param(["b", "a"], 0, "", id="the Namespace first"),
        pytest.param(["a", "b"], 2, "namespace new comes later, in b.json", id="the Namespace last"),
        pytest.param(["a"], 2, "the input has no namespace new", id="no Namespace"),
    ],
)
def test_a_namespace_comes_before_its_objects(
    files: list[str],
    code: int,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_list(tmp_path / "c.json", NODE, *SHOP)
    write_list(tmp_path / "a.json", make_workload("Deployment", metadata={"namespace": "new"}))
    write_list(tmp_path / "b.json", namespace("new"))
    assert run(["check", "--from", "c.json", *(f"-f{each}.json" for each in files)]) == code
    assert text in " ".join(capsys.readouterr().out.split())
