"""Snapshots: the same answers, the same bytes, and clear words about broken ones."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.cli.main import run
from ksched_cli.errors import InputError
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.report.registry import RenderOptions, document_of
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.own_documents import FORMAT, read_snapshot, write_snapshot
from tests.builders import make_node, make_pod, write_list
from tests.lanes import sampled
from tests.running import Ksched, prepare
from tests.test_conformance import CASES

TIME = "2026-01-01T00:00:00Z"
ITEMS: list[Any] = [
    make_node("b").doc(),
    make_node("a").doc(),
    make_pod("p").requests(cpu="1").container(env=[{"name": "PASSWORD", "value": "s3cret"}], command=["run"]).doc(),
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
]


def document(source: Path, case: Path) -> dict[str, Any]:
    config = case / "config.yaml"
    setup = RunOptions([str(source)], config=str(config) if config.exists() else None)
    made = document_of(prepare(setup).simulate(detail=True), RenderOptions("json"))
    del made["stats"]
    return made


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 30))
def test_a_cluster_and_its_snapshot_come_out_the_same(case: Path, tmp_path: Path) -> None:
    taken = tmp_path / "cluster.ksched.gz"
    taken.write_bytes(write_snapshot(load_dump([str(case / "cluster.json")]), TIME))
    assert document(taken, case) == document(case / "cluster.json", case)


def test_the_order_of_the_input_does_not_change_the_bytes(tmp_path: Path) -> None:
    one = write_snapshot(load_dump([write_list(tmp_path / "1", *ITEMS)]), TIME)
    other = write_snapshot(load_dump([write_list(tmp_path / "2", *ITEMS[::-1])]), TIME)
    assert one == other
    again = tmp_path / "again"
    again.write_bytes(one)
    assert write_snapshot(load_dump([str(again)]), TIME) == one


def test_what_a_snapshot_keeps_beside_the_objects(tmp_path: Path) -> None:
    loaded = load_dump([write_list(tmp_path / "1", *ITEMS)])
    loaded.server_version, loaded.missing["Lease"] = "v1.34.2", "forbidden"
    loaded.autoscaler_flags["expander"] = "price"
    loaded.api_server_flags["service-node-port-range"] = "30000-30100"
    read: dict[str, Any] = {
        "spec": {"cidrs": ["10.0.0.0/24"]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    unread = {
        "metadata": {"name": "more", "uid": "u"},
        "status": {"conditions": [{**read["status"]["conditions"][0], "message": "m"}]},
    }
    loaded.service_ranges["more"] = {**read, **unread}
    loaded.service_ranges["old"] = {**read, "metadata": {"name": "old", "deletionTimestamp": TIME}}
    taken = tmp_path / "taken"
    taken.write_bytes(write_snapshot(loaded, TIME))
    again = load_dump([str(taken)])
    assert (again.server_version, again.missing, again.unknown) == ("v1.34.2", {"Lease": "forbidden"}, {"v1/Secret": 1})
    assert again.autoscaler_flags == {"expander": "price"}
    assert again.api_server_flags == {"service-node-port-range": "30000-30100"}
    assert again.service_ranges == {
        "more": {"metadata": {}, **read},
        "old": {"metadata": {"deletionTimestamp": TIME}, **read},
    }


def test_the_mistake_of_one_of_many_objects(tmp_path: Path) -> None:
    pods = [make_pod(f"p-{number:03d}").requests(cpu="1").doc() for number in range(100)]
    content = gzip.decompress(write_snapshot(load_dump([write_list(tmp_path / "1", *pods)]), TIME))
    source = tmp_path / "2"
    source.write_bytes(content.replace(b'"name":"p-077"', b'"name":77'))
    with pytest.raises(InputError) as raised:
        load_dump([str(source)])
    text = f"{source}: items[77]: metadata.name: expected a string, got a whole number"
    assert [str(each) for each in raised.value.problems] == [text]
    source.write_bytes(content)
    assert [pod.metadata.name for pod in load_dump([str(source)]).of(Pod)] == [
        f"p-{number:03d}" for number in range(100)
    ]


def test_what_is_in_it_and_what_is_not(tmp_path: Path) -> None:
    content = gzip.decompress(write_snapshot(load_dump([write_list(tmp_path / "1", *ITEMS)]), TIME))
    assert b"s3cret" not in content
    snapshot = read_snapshot(content, "s")
    assert (snapshot.format_version, snapshot.time, snapshot.not_read) == (FORMAT, TIME, {"v1/Secret": 1})
    kinds = [(item["kind"], item["metadata"]["name"]) for item in map(json.loads, map(bytes, snapshot.items))]
    assert kinds == [("Node", "a"), ("Node", "b"), ("Pod", "p")]


HEAD = b'{"apiVersion":"ksched/v1","kind":"Snapshot",'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            HEAD + b'"formatVersion":99,"items":[]}',
            "a snapshot of format 99, and this ksched reads up to format 1 (a newer ksched reads it)",
            id="a newer format",
        ),
        pytest.param(HEAD + b'"formatVersion":1,"items":[', "damaged snapshot: Input data was truncated", id="cut"),
        pytest.param(HEAD + b'"formatVersion":"x"}', "damaged snapshot: Expected `int`", id="no number"),
        pytest.param(
            HEAD + b'"formatVersion":1,"items":[{"kind":"Pod"}]}', "items[0]: ", id="an object without a version"
        ),
    ],
)
def test_broken_snapshots(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "s.ksched.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(InputError) as caught:
        load_dump([str(path)])
    assert message in str(caught.value.problems[0])
    assert str(caught.value.problems[0]).startswith(str(path))


def test_the_command(tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    source, target = write_list(tmp_path / "c.json", *ITEMS), tmp_path / "c.ksched.gz"
    said = ksched("snapshot", "--from", source, "-o", str(target), code=0).out.splitlines()
    assert said[0].startswith(f"{target}: ")
    assert said[0].endswith("KiB; 2 Node, 1 Pod")
    assert said[1] == "not in it: 1 v1/Secret"
    assert read_snapshot(gzip.decompress(target.read_bytes()), "s").time == "1970-01-01T00:00:00Z"
    assert ksched("simulate", "--from", str(target), "-o", "name", code=0).out == "pod/default/p\tnode/a\n"


@pytest.mark.parametrize("output", [[], ["-o", "-"]], ids=["without -o", "a dash"])
def test_a_snapshot_to_stdout(output: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    command = ["snapshot", "--from", write_list(tmp_path / "c.json", *ITEMS)]
    assert run([*command, "-o", str(tmp_path / "c.ksched.gz")]) == 0
    stdout = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", stdout)
    assert run([*command, *output]) == 0
    assert stdout.buffer.getvalue() == (tmp_path / "c.ksched.gz").read_bytes()  # type: ignore[attr-defined]


def test_a_terminal_shows_no_snapshot(tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    command, target = ["snapshot", "--from", write_list(tmp_path / "c.json", *ITEMS)], tmp_path / "c.ksched.gz"
    assert "a snapshot is not for the terminal to show" in ksched(*command, code=2).err
    ksched(*command, "-o", str(target), code=0)
    assert target.is_file()


@pytest.mark.parametrize(
    ("arguments", "epoch", "message"),
    [
        pytest.param(["--from", "{source}", "-o", "{folder}"], "0", "cannot write", id="a folder"),
        pytest.param(["--from", "{source}", "-o", "x"], "soon", "SOURCE_DATE_EPOCH=soon: not a number", id="time"),
        pytest.param(["--from", "{folder}/none"], "0", "no such file or directory", id="no such file"),
    ],
)
def test_ways_to_go_wrong(
    arguments: list[str], epoch: str, message: str, tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    monkeypatch.chdir(tmp_path)
    source = write_list(tmp_path / "c.json", *ITEMS)
    filled = [each.format(source=source, folder=tmp_path) for each in arguments]
    assert message in ksched("snapshot", *filled, code=2).err
