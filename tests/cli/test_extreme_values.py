"""Numbers, times and names beyond what any cluster has: each is read or refused, and none ends in a crash."""

from __future__ import annotations

import copy
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_workload, write_list

DIGITS = "9" * 5000
NODE = make_node("n").allocatable(cpu="4", memory="8Gi", pods=110).doc()
NODE_TEXT = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: VALUE}}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_list(tmp_path / "c.json", NODE)
    write_list(tmp_path / "m.json", make_workload("Deployment"))
    return tmp_path


def said(arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(arguments.split())
    shown = capsys.readouterr()
    return code, " ".join(f"{shown.out} {shown.err}".split())


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        pytest.param("n.yaml", NODE_TEXT.replace("VALUE", DIGITS), "5000 digits is not a quantity", id="YAML"),
        pytest.param("n.yaml", NODE_TEXT.replace("VALUE", f"'{DIGITS}'"), "5000 digits is not a quantity", id="text"),
        pytest.param("n.yaml", NODE_TEXT.replace("VALUE", f"1e{DIGITS}"), "is not a quantity", id="an exponent"),
        pytest.param(
            "n.json",
            json.dumps({**NODE, "status": {"allocatable": {"cpu": 0}}}).replace('"cpu": 0', f'"cpu": {DIGITS}'),
            "5000 digits is not a quantity",
            id="JSON",
        ),
    ],
)
def test_a_number_of_5000_digits(
    name: str, text: str, problem: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / name).write_text(text)
    code, shown = said(f"simulate --from {name}", capsys)
    assert problem in shown
    assert (code, "please report" in shown) == (2, False)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"])
@pytest.mark.parametrize("command", ["simulate --settle", "check -f m.json"])
def test_a_template_of_the_cluster_with_a_number_of_5000_digits(
    kind: str, command: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = make_workload(kind)
    workload["apiVersion"] = "batch/v1" if kind == "Job" else "apps/v1"
    workload["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": DIGITS}}
    write_list(here / "c.json", NODE, workload)
    code, shown = said(f"{command} --from c.json", capsys)
    assert "spec.template.spec.containers[0].resources.requests.cpu: a number of 5000 digits is not a quantity" in shown
    assert (code, "please report" in shown) == (2, False)


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_a_workload_of_the_cluster_without_a_template(
    kind: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = make_workload(kind)
    manifest = copy.deepcopy(workload)
    del workload["spec"]["template"]
    write_list(here / "c.json", NODE, workload)
    write_list(here / "m.json", manifest)
    code, shown = said("check --from c.json -f m.json", capsys)
    assert (code, "please report" in shown) == (0, False), shown


@pytest.mark.parametrize(
    "arguments",
    [
        f"--scale deployment/web={DIGITS}",
        f"--add-node cpu={DIGITS}",
        f"--add-node cpu=4={DIGITS}",
        f"--seed {DIGITS}",
    ],
    ids=lambda text: text.replace(DIGITS, "DIGITS"),
)
def test_an_option_of_5000_digits(arguments: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = said(f"simulate --from c.json -f m.json {arguments}", capsys)
    assert (code, "please report" in shown) == (2, False)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["simulate", "simulate --settle", "check -f m.json", "drain n"])
@pytest.mark.parametrize(
    "time",
    [
        "9999-12-31T23:59:59Z",
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+12:00",
    ],
)
def test_the_ends_of_time(command: str, time: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "creationTimestamp": time, "deletionTimestamp": time},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running", "startTime": time},
    }
    write_list(here / "c.json", NODE, pod)
    code, shown = said(f"{command} --from c.json", capsys)
    assert (code in (0, 1), "please report" in shown) == (True, False)


def zipped(name: bytes, *, claims_utf8: bool) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("n" * len(name), json.dumps(NODE))
    data = bytearray(stream.getvalue().replace(b"n" * len(name), name, 1))
    central = data.find(b"PK\x01\x02")
    data[central:] = data[central:].replace(b"n" * len(name), name, 1)
    if claims_utf8:
        data[7] |= 8
        data[central + 9] |= 8
    return bytes(data)


@pytest.mark.parametrize(("claims_utf8", "code"), [(True, 2), (False, 0)])
def test_a_zip_entry_whose_name_is_not_utf8(
    claims_utf8: bool, code: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "z.zip").write_bytes(zipped(b"a\xff\xfe\x80\x81.json", claims_utf8=claims_utf8))
    left, shown = said("simulate --from z.zip", capsys)
    assert (left, "names are in UTF-8" in shown, "please report" in shown) == (code, claims_utf8, False)


@pytest.mark.parametrize("output", ["table", "json", "sarif", "junit", "markdown"])
def test_names_of_files_that_are_not_utf8(output: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {}}).encode()
    (here / "odd").mkdir()
    (here / "odd" / "x\udcff.json").write_bytes(bad)
    with tarfile.open(here / "t.tar", "w", errors="surrogateescape") as archive:
        member = tarfile.TarInfo("a\udcff.json")
        member.size = len(bad)
        archive.addfile(member, io.BytesIO(bad))
    for source in ("odd", "t.tar"):
        code, shown = said(f"check --from c.json -f {source} -o {output}", capsys)
        assert (code, "please report" in shown) == (2, False)
