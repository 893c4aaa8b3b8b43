"""Parts of documents are made of the fields of results that have the same names."""

from __future__ import annotations

import io
import json

import pytest
from msgspec import Struct

from ksched_cli.report.encoding import json_text
from ksched_cli.report.registry import RenderOptions, document_of
from ksched_cli.report.view import stream
from ksched_cli.report.view.documents import DocumentPart, encoded
from ksched_cli.simulator import Simulator
from tests.cli.transcripts import DEMO


class Written:
    """What writes itself."""

    def document(self) -> dict[str, int]:
        return {"pods": 3}


class Result(Struct):
    node_name: str
    price: str
    added: Written


class Part(DocumentPart, frozen=True, kw_only=True):
    node_name: str
    price: str
    added: dict[str, int]
    note: str = ""


def test_a_part_has_the_fields_of_the_same_names() -> None:
    part = Part.like(Result("node-1", "0.5", Written()))
    assert encoded(part) == {"apiVersion": "ksched/v1", "nodeName": "node-1", "price": "0.5", "added": {"pods": 3}}


def test_other_fields_come_before_those_of_the_result() -> None:
    part = Part.like(Result("node-1", "2", Written()), node_name="node-2", note="new")
    assert (part.node_name, part.note) == ("node-2", "new")


def test_a_field_that_must_be_there_is_missed() -> None:
    with pytest.raises(TypeError, match="price"):
        Part.like(Written(), node_name="node-1", added={})


def test_a_document_that_is_written_pod_by_pod_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the final state is written in pieces."""
    monkeypatch.setattr(stream, "_PIECE", 2)
    options = RenderOptions("json")
    out = io.StringIO()
    stream.write_stream(Simulator.load(DEMO).stream(), out, options)
    written = json.loads(out.getvalue())
    whole = json.loads(json_text(document_of(Simulator.load(DEMO).simulate(), options)))
    assert len(whole["final"]) > 4
    assert list(written) == list(whole)
    for each in (written, whole):
        del each["stats"]
    assert written == whole
