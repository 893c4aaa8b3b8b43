"""Lists of one kind are read at one go, and come out as any list does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api import decode
from ksched_cli.api.alike import decode_alike
from ksched_cli.api.kinds import KINDS
from tests.builders import make_node, make_pod

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"
PODS = [make_pod(f"p{number}").requests(cpu="1").doc() for number in range(5)]


def listed(*items: Any, **more: Any) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", **more, "items": list(items)}).encode()


def test_every_kind_of_the_corpus_comes_out_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    by_kind: dict[tuple[str, str], list[Any]] = {}
    for case in sorted(CORPUS.glob("*-00")):
        for item in json.loads((case / "cluster.json").read_text())["items"]:
            by_kind.setdefault((item["apiVersion"], item["kind"]), []).append(item)
    known = {identity: items for identity, items in by_kind.items() if identity in KINDS}
    assert len(known) > 15
    for items in known.values():
        # Its two first words may be in a case's own order, which is not the one that is looked for.
        documents = [{"apiVersion": each.pop("apiVersion"), "kind": each.pop("kind"), **each} for each in items]
        raw = listed(*documents)
        alike = list(decode.decode_json(raw))
        with monkeypatch.context() as patched:
            patched.setattr(decode, "decode_alike", lambda raw: None)
            assert list(decode.decode_json(raw)) == alike
        assert decode_alike(raw) == [each.value for each in alike]


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(listed(), id="an empty list"),
        pytest.param(listed(*PODS, make_node("n").doc()), id="another kind at the end"),
        pytest.param(listed(PODS[0], make_node("n").doc(), PODS[1]), id="another kind in the middle"),
        pytest.param(listed(*PODS, {**PODS[0], "apiVersion": "v2"}), id="another version"),
        pytest.param(listed(*PODS, {**PODS[0], "spec": {"containers": 3}}), id="a mistake"),
        pytest.param(listed(*PODS, {**PODS[0], "spec": None}), id="a null"),
        pytest.param(listed(*PODS)[:-2], id="cut off"),
        pytest.param(listed(*PODS).replace(b'"List"', b'"Pod"'), id="no list"),
        pytest.param(json.dumps(PODS[0]).encode(), id="one object"),
        pytest.param(listed({"apiVersion": "v1", "kind": "Widget"}), id="a kind that is not read"),
    ],
)
def test_anything_else_is_read_the_usual_way(raw: bytes) -> None:
    assert decode_alike(raw) is None


def test_pods_of_one_list() -> None:
    names = [each.value.metadata.name for each in decode.decode_json(listed(*PODS))]  # type: ignore[union-attr]
    assert names == ["p0", "p1", "p2", "p3", "p4"]
    assert decode_alike(listed(*PODS)) is not None
