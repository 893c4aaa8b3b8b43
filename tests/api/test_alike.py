"""Lists of many items are read at once, and come out as any list does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from ksched_cli.api import decode
from ksched_cli.api.decode import KINDS, PART, decode_alike
from tests.builders import make_node, make_pod

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"
PODS = [make_pod(f"p{number}").requests(cpu="1").doc() for number in range(PART)]
NODES = [make_node(f"n{number}").doc() for number in range(PART)]


def listed(*items: Any, **more: Any) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", **more, "items": list(items)}).encode()


def read(raw: bytes) -> list[decode.DecodedObject]:
    """The objects of the list with their documents as text: raw ones are equal only to themselves."""
    found = list(decode.decode_json(raw, "cluster.json", 3))
    for each in found:
        each.document = bytes(each.document) if isinstance(each.document, Raw) else each.document
    return found


def one_by_one(items: Sequence[Raw]) -> Iterator[None]:
    return (None for _ in items)


def at_once(raw: bytes) -> list[bool]:
    """Whether each item of the list is decoded together with others."""
    return [each is not None for each in decode_alike(msgspec.json.decode(raw, type=list[Raw]))]


def packed(items: Sequence[Any]) -> bytes:
    return json.dumps(items).encode()


def test_all_objects_of_the_corpus_come_out_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        item
        for case in sorted(CORPUS.glob("*-00"))
        for item in json.loads((case / "cluster.json").read_text())["items"]
    ]
    kinds = {(item["apiVersion"], item["kind"]) for item in items}
    assert len(kinds & KINDS.keys()) > 15
    for order in (items, sorted(items, key=lambda item: str(item["kind"]))):
        raw = listed(*({"apiVersion": each["apiVersion"], "kind": each["kind"], **each} for each in order))
        alike = read(raw)
        assert sum(at_once(raw[raw.index(b"[") : -1])) > len(items) / 2
        with monkeypatch.context() as patched:
            patched.setattr(decode, "decode_alike", one_by_one)
            assert read(raw) == alike


def test_items_of_several_kinds_are_decoded_together() -> None:
    mixed = [each for pair in zip(PODS, NODES, strict=True) for each in pair]
    assert all(at_once(packed(mixed)))
    assert [each.value.metadata.name for each in read(listed(*mixed))] == [each["metadata"]["name"] for each in mixed]  # type: ignore[union-attr]


def test_a_short_list_is_decoded_one_by_one() -> None:
    assert not any(at_once(packed(PODS[1:])))


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({**PODS[0], "apiVersion": "v2"}, id="another version"),
        pytest.param({**PODS[0], "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics"}, id="a kind not read"),
        pytest.param({**PODS[0], "spec": {"containers": 3}}, id="a mistake"),
        pytest.param({**PODS[0], "spec": None}, id="a null"),
        pytest.param({**PODS[0], "kind": None}, id="a kind that is null"),
        pytest.param({"metadata": {"name": "p"}}, id="neither kind nor version"),
        pytest.param({"kind": "Pod", "metadata": {"name": "p"}}, id="no version"),
        pytest.param({"metadata": {"name": "p"}, "kind": "Pod", "apiVersion": "v1"}, id="kind and version at the end"),
        pytest.param({"apiVersion": "v1", "kind": "List", "items": PODS}, id="a list"),
        pytest.param(
            {**PODS[0], "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}, id="another group"
        ),
        pytest.param(5, id="no object"),
    ],
)
@pytest.mark.parametrize("kind", ["List", "PodList"])
def test_an_odd_item_comes_out_as_from_a_short_list(odd: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = listed(*PODS, *PODS[:5], odd, *NODES, kind=kind)
    found = read(raw)
    with monkeypatch.context() as patched:
        patched.setattr(decode, "decode_alike", one_by_one)
        assert read(raw) == found
    assert at_once(raw[raw.index(b"[") : -1])[:PART] == [True] * PART


def test_text_that_is_not_utf_8_is_a_mistake() -> None:
    raw = listed(*PODS).replace(b'"p7"', b'"\xff"')
    with pytest.raises(UnicodeDecodeError):
        read(raw)
