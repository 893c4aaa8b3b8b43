"""Compressed files and archives: good ones, broken ones, and those that mean harm."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.errors import InputError
from ksched_cli.sources import files as archives
from ksched_cli.sources.dump import load_dump
from tests.builders import make_node, make_pod

NODE, POD = json.dumps(make_node("n").doc()).encode(), json.dumps(make_pod("p").doc()).encode()
MEMBERS = {
    "dump/nodes.json": NODE,
    "dump/ns/pods.yaml": POD,
    "dump/ns/web.log": b"\x00 not for us",
    "dump/.hidden.json": b"{",
}


def tar(members: dict[str, bytes], *, packed: bool = False, extra: tuple[tarfile.TarInfo, ...] = ()) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in extra:
            archive.addfile(info)
    return gzip.compress(out.getvalue()) if packed else out.getvalue()


def zipped(members: dict[str, bytes], *, links: tuple[str, ...] = ()) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        for name in links:
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
    return out.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def load(path: Path, content: bytes) -> tuple[list[str], list[str]]:
    path.write_bytes(content)
    loaded = load_dump([str(path)])
    return [each.metadata.name for each in loaded.of(Node)], [each.metadata.name for each in loaded.of(Pod)]


def complaints(path: Path, content: bytes) -> list[str]:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_dump([str(path)])
    assert caught.value.exit_code == 2
    return [str(problem).replace(str(path), "F") for problem in caught.value.problems]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(tar(MEMBERS), id="tar"),
        pytest.param(tar(MEMBERS, packed=True), id="tgz"),
        pytest.param(zipped(MEMBERS), id="zip"),
        pytest.param(gzip.compress(NODE + b"\n" + POD), id="a compressed file"),
        pytest.param(tar(MEMBERS, extra=(link("x.json", "dump/nodes.json"),)), id="tar with a link"),
        pytest.param(tar(MEMBERS, extra=(link("x.json", "", tarfile.FIFOTYPE),)), id="tar with a pipe"),
        pytest.param(zipped(MEMBERS, links=("x.json",)), id="zip with a link"),
    ],
)
@pytest.mark.parametrize("name", ["dump.tgz", "without-a-suffix"])
def test_what_is_in_it_is_read(content: bytes, name: str, tmp_path: Path) -> None:
    before = set(os.listdir(tmp_path))
    assert load(tmp_path / name, content) == (["n"], ["p"])
    assert set(os.listdir(tmp_path)) - before == {name}


def test_an_archive_on_stdin() -> None:
    loaded = load_dump(["-"], stdin=io.BytesIO(tar(MEMBERS, packed=True)))
    assert [each.metadata.name for each in loaded.of(Node)] == ["n"]


def bomb() -> bytes:
    return b" " * 80_000_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(tar(MEMBERS, packed=True)[:-40], "F: it ends in the middle: the file is truncated", id="tgz, cut"),
        pytest.param(gzip.compress(NODE)[:-9], "F: it ends in the middle: the file is truncated", id="gz, cut"),
        pytest.param(zipped(MEMBERS)[:-30], "F: damaged: File is not a zip file", id="zip, cut"),
        pytest.param(gzip.compress(NODE)[:12] + b"\xff" * 40, "F: damaged: ", id="gz, overwritten"),
        pytest.param(b"a: \xffbcde", "F: not text in UTF-8 (byte 3)", id="not UTF-8"),
        pytest.param(b"a: \xffbcd", "F: not text that YAML can hold: ", id="not UTF-8 in the last four bytes"),
        pytest.param(gzip.compress(gzip.compress(NODE)), "F: compressed more than once", id="compressed twice"),
        pytest.param(tar({"a.log": b"x"}), "F: no file in it ends in .json, .yaml, .yml", id="nothing to read"),
        pytest.param(
            tar({"../../etc/x.json": NODE}),
            "F: the file ../../etc/x.json in it points out of the archive",
            id="tar, ..",
        ),
        pytest.param(tar({"/etc/x.json": NODE}), "F: the file /etc/x.json in it points out", id="tar, absolute"),
        pytest.param(zipped({"a/../../x.json": NODE}), "F: the file a/../../x.json in it points out", id="zip, .."),
        pytest.param(
            lambda: gzip.compress(bomb()),
            "F: unpacks to more than 200 times its size",
            id="a bomb",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda: zipped({"x.json": bomb()}),
            "F: unpacks to more than 200 times its size",
            id="a bomb in a zip",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            tar({"a.json": NODE, "b.json": b"{"}, packed=True), "F:b.json:1: broken JSON", id="a broken file in it"
        ),
    ],
)
def test_what_cannot_be_read_is_said(content: bytes | Callable[[], bytes], message: str, tmp_path: Path) -> None:
    (said,) = complaints(tmp_path / "dump", content() if callable(content) else content)
    assert said.startswith(message)


def test_all_broken_files_of_an_archive_are_named(tmp_path: Path) -> None:
    said = complaints(tmp_path / "dump.tar", tar({"a.json": b"{", "b.yaml": b"a: [", "c.json": NODE}))
    assert [each.split(" ")[0] for each in said] == ["F:a.json:1:", "F:b.yaml:2:"]


def test_the_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    assert complaints(tmp_path / "a", tar(MEMBERS))[0].startswith("F: more than 3 files in it")
    monkeypatch.setattr(archives, "MAX_MEMBERS", len(MEMBERS))
    assert load(tmp_path / "a", tar(MEMBERS))[0]
    monkeypatch.setattr(archives, "MAX_UNPACKED", len(NODE))
    assert load(tmp_path / "b", gzip.compress(NODE))[0]
    assert "unpacks to more than 0 GiB" in complaints(tmp_path / "b", gzip.compress(NODE + b" "))[0]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError, match="pipes, sockets and devices are not read"):
        load_dump([str(path)])
