from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.conversion import problems_in
from ksched_cli.api.core import Node, Pod
from ksched_cli.api.decode import KINDS, UnknownKind, decode_json, decode_plain, is_stray

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"


def pod(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop"}, **fields}


def problems(document: Any) -> list[str]:
    """The same of JSON and of plain values."""
    from_json = [str(p) for found in decode_json(json.dumps(document).encode(), "f.json", 3) for p in found.problems]
    plain = [str(p) for found in decode_plain(document, "f.json", 3) for p in found.problems]
    assert from_json == plain
    return from_json


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(
            pod(spec={"priority": "high"}),
            ["f.json:3: Pod shop/a: spec.priority: expected a whole number, got a string"],
            id="field",
        ),
        pytest.param(
            pod(spec={"containers": [{"name": "x"}, {"name": 5}]}),
            ["f.json:3: Pod shop/a: spec.containers[1].name: expected a string, got a whole number"],
            id="in a list",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"ok": "x", "a.b/c": True}}},
            ["f.json:3: Pod a: metadata.labels[a.b/c]: expected a string, got true or false"],
            id="the key of a map",
        ),
        pytest.param(
            pod(spec={"containers": [{"resources": {"requests": {"cpu": ["1"]}}}]}),
            [
                "f.json:3: Pod shop/a: spec.containers[0].resources.requests.cpu: "
                "expected a quantity such as 100m or 2Gi, got a list"
            ],
            id="a quantity",
        ),
        pytest.param(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"},
                "spec": {"minAvailable": 0.5},
            },
            [
                "f.json:3: PodDisruptionBudget b: spec.minAvailable: "
                "expected a whole number or a string such as 25%, got a number"
            ],
            id="a number or a percentage",
        ),
        *(
            pytest.param(
                pod(spec={field: number}),
                [f"f.json:3: Pod shop/a: spec.{field}: {number} is out of range: it takes more than {bits} bits"],
                id=f"more than {bits} bits: {number}",
            )
            for field, number, bits in (
                ("priority", 2**31, 32),
                ("priority", -(2**31) - 1, 32),
                ("terminationGracePeriodSeconds", 2**63, 64),
                ("terminationGracePeriodSeconds", -(2**63) - 1, 64),
            )
        ),
        pytest.param(
            pod(spec={"priority": "x", "nodeName": 3, "containers": "none"}),
            [
                "f.json:3: Pod shop/a: spec.containers: expected a list, got a string",
                "f.json:3: Pod shop/a: spec.nodeName: expected a string, got a whole number",
                "f.json:3: Pod shop/a: spec.priority: expected a whole number, got a string",
            ],
            id="all at once",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "List", "items": [pod(), pod(spec=5)]},
            ["f.json:3: Pod shop/a: items[1].spec: expected an object, got a whole number"],
            id="in a List",
        ),
        pytest.param(
            {"apiVersion": "v1", "metadata": {}},
            ["f.json:3: no kind (every Kubernetes object has an apiVersion and a kind)"],
            id="no kind",
        ),
        pytest.param({"kind": "Pod"}, ["f.json:3: Pod has no apiVersion (for a Pod it is v1)"], id="no apiVersion"),
        pytest.param(
            {"apiVersion": 1, "kind": "Pod"},
            ["f.json:3: apiVersion: expected a string, got a number"],
            id="apiVersion of a wrong type",
        ),
        pytest.param([1], ["f.json:3: expected an object with apiVersion and kind, got a list"], id="not an object"),
        pytest.param(
            {"apiVersion": "v1", "kind": "PodList", "items": 3},
            ["f.json:3: items: expected a list, got a number"],
            id="items",
        ),
    ],
)
def test_problems(document: Any, expected: list[str]) -> None:
    assert sorted(problems(document)) == sorted(expected)


def test_null_is_as_good_as_absent() -> None:
    document = pod(spec={"nodeName": None, "tolerations": None, "affinity": None}, status=None)
    (found,) = decode_json(json.dumps(document).encode())
    assert isinstance(found.value, Pod)
    assert (found.value.spec.node_name, found.value.spec.tolerations) == ("", ())


def test_a_null_entry_of_a_map_is_there_and_empty() -> None:
    """As Go has it; were it dropped, the pod could go to any node."""
    spec = {"nodeSelector": {"disk": None}, "containers": [{"resources": {"requests": {"cpu": None}}}]}
    document = pod(spec=spec, status=None)
    for found in (*decode_json(json.dumps(document).encode()), *decode_plain(document)):
        assert isinstance(found.value, Pod)
        assert found.value.spec.node_selector == {"disk": ""}
        assert found.value.spec.containers[0].resources.requests == {"cpu": 0}


def test_a_null_in_a_list_is_there_and_empty() -> None:
    """As Go has it."""
    spread = {"topologyKey": "zone", "matchLabelKeys": [None]}
    document = pod(spec={"containers": [None, {"name": "c"}], "topologySpreadConstraints": [spread]}, status=None)
    for found in (*decode_json(json.dumps(document).encode()), *decode_plain(document)):
        assert isinstance(found.value, Pod)
        assert [each.name for each in found.value.spec.containers] == ["", "c"]
        assert found.value.spec.topology_spread_constraints[0].match_label_keys == ("",)


def test_the_input_is_not_changed() -> None:
    document = pod(spec={"priority": "x", "nodeName": None, "containers": [{"name": 5}]})
    before = json.dumps(document)
    assert problems(document)
    assert json.dumps(document) == before


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "PodTemplate"),
        ("batch/v1", "CronJob"),
        ("policy/v1beta1", "PodDisruptionBudget"),
        ("resource.k8s.io/v1", "ResourceClaim"),
        ("resource.k8s.io/v1beta2", "ResourceSlice"),
    ],
)
def test_kinds_that_are_read(api_version: str, kind: str) -> None:
    (found,) = decode_plain({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}})
    assert type(found.value).__name__ == kind


@pytest.mark.parametrize(
    ("api_version", "kind"), [("resource.k8s.io/v1beta1", "ResourceClaim"), ("apps/v1", "Pod"), ("v1", "pod")]
)
def test_kinds_that_are_not_read(api_version: str, kind: str) -> None:
    (found,) = decode_plain({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}})
    assert found.value == UnknownKind(api_version, kind)


@pytest.mark.parametrize(
    "struct", sorted(set(KINDS.values()), key=lambda each: each.__name__), ids=lambda each: each.__name__
)
def test_every_kind_can_be_empty_and_has_metadata(struct: type[msgspec.Struct]) -> None:
    assert msgspec.convert({"metadata": {"name": "a"}}, struct).metadata.name == "a"


def test_names_of_fields_that_are_no_camel_case() -> None:
    ports = [{"hostIP": "10.0.0.1", "containerPort": 1}]
    volumes = [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol"}, "azureDisk": {"diskURI": "uri"}}]
    (found,) = decode_plain(pod(spec={"containers": [{"ports": ports}], "volumes": volumes}))
    assert isinstance(found.value, Pod)
    (volume,) = found.value.spec.volumes
    assert found.value.spec.containers[0].ports[0].host_ip == "10.0.0.1"
    assert volume.aws_elastic_block_store is not None
    assert volume.azure_disk is not None
    assert (volume.aws_elastic_block_store.volume_id, volume.azure_disk.disk_uri) == ("vol", "uri")


def test_unknown_fields_are_passed_over() -> None:
    (found,) = decode_json(json.dumps(pod(spec={"fromTheFuture": {"x": 1}}, extra=1)).encode())
    assert isinstance(found.value, Pod)


@pytest.mark.parametrize(
    ("document", "kinds"),
    [
        pytest.param({"apiVersion": "v1", "kind": "List", "items": []}, [], id="empty"),
        pytest.param(
            {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}]}, [Pod], id="typed"
        ),
        pytest.param({"apiVersion": "v1", "kind": "NodeList", "items": None}, [], id="no items"),
        pytest.param({"apiVersion": "x.io/v1", "kind": "AllowList", "spec": {}}, [UnknownKind], id="named as a list"),
        pytest.param({"apiVersion": "x.io/v1", "kind": "Shelf", "items": [pod()]}, [UnknownKind], id="with own items"),
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node"}]}],
            },
            [Node],
            id="a list in a list",
        ),
    ],
)
def test_lists_are_opened(document: Any, kinds: list[type]) -> None:
    assert [type(found.value) for found in decode_json(json.dumps(document).encode())] == kinds
    assert [type(found.value) for found in decode_plain(document)] == kinds


def test_an_unknown_kind_is_told_and_not_a_problem() -> None:
    (found,) = decode_json(b'{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": 5}')
    assert found.value == UnknownKind("example.com/v1", "Widget")


@pytest.mark.parametrize(("lists", "told"), [(4, []), (5, ["lists inside lists more than 3 deep"])])
def test_lists_in_lists_end_somewhere(lists: int, told: list[str]) -> None:
    document: dict[str, Any] = pod()
    for _ in range(lists):
        document = {"apiVersion": "v1", "kind": "List", "items": [document]}
    assert [text.rpartition(": ")[2] for text in problems(document)] == told


@pytest.mark.parametrize("case", sorted(CORPUS.iterdir())[::7], ids=lambda case: case.name)
def test_recorded_clusters_decode_alike_from_json_and_from_values(case: Path) -> None:
    raw = (case / "cluster.json").read_bytes()
    typed = [found.value for found in decode_json(raw)]
    assert typed == [found.value for found in decode_plain(json.loads(raw))]
    assert not any(isinstance(value, UnknownKind) for value in typed)


def test_every_recorded_cluster_decodes() -> None:
    for case in sorted(CORPUS.iterdir()):
        problems_of = [
            str(p) for found in decode_json((case / "cluster.json").read_bytes(), case.name) for p in found.problems
        ]
        assert problems_of == []


@pytest.mark.parametrize(
    ("document", "stray"),
    [
        pytest.param({"replicaCount": 2}, True, id="settings"),
        pytest.param({"replicaCount": 2, "spec": {}}, False, id="one field of an object"),
        pytest.param([{"op": "add", "path": "/spec"}, 3], True, id="a patch"),
        pytest.param([3, {"op": "add"}, {"kind": "Pod"}], False, id="an object in a list"),
        pytest.param([], True, id="an empty list"),
        pytest.param("text", True, id="a text"),
    ],
)
def test_documents_of_other_tools(document: Any, stray: bool) -> None:
    assert is_stray(document) is stray


@pytest.mark.parametrize(
    ("document", "stray"),
    [
        pytest.param({"replicaCount": 2}, True, id="settings"),
        pytest.param({"spec": {"replicas": 2}}, False, id="an object without a kind"),
        pytest.param([1], True, id="a list"),
        pytest.param([{"kind": "Pod"}], False, id="a list of objects"),
        pytest.param(
            {"apiVersion": "v1", "kind": "List", "items": [{"replicaCount": 2}]}, False, id="settings in a List"
        ),
        pytest.param({"apiVersion": "v1", "kind": "List", "items": [[1]]}, False, id="a list in a List"),
    ],
)
def test_a_whole_document_of_another_tool_may_be_passed_over(document: Any, stray: bool) -> None:
    for found in (*decode_json(json.dumps(document).encode()), *decode_plain(document)):
        assert found.problems
        assert found.stray is stray


def test_a_mistake_in_a_map_of_maps() -> None:
    """msgspec does not name keys: the first entry that the message can be about is meant, and mistakes come one by one."""

    class Held(msgspec.Struct):
        maps: dict[str, dict[str, int]] = {}

    value = {"maps": {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": "no"}, "c": {"z": "no"}}}
    typed, mistakes = problems_in(value, Held)
    assert [steps for steps, _ in mistakes] == [("maps", "b", "y"), ("maps", "c", "z")]
    assert typed == Held({"a": {"x": 1, "y": 2}, "b": {"x": 1}, "c": {}})


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    x: int = 0


@pytest.mark.parametrize(
    ("kind", "value", "steps"),
    [
        pytest.param(dict[str, list[int]], {"a": [1], "b": [1, None]}, ("b", 1), id="lists"),
        pytest.param(
            dict[str, dict[str, list[int]]], {"a": {"x": [1]}, "b": {"x": [1, "no"]}}, ("b", "x", 1), id="maps of lists"
        ),
        pytest.param(dict[str, Strict], {"a": {}, "b": {"x": 1}, "c": {"x": "no"}}, ("c", "x"), id="objects"),
    ],
)
def test_the_entry_of_a_map_that_has_the_mistake(kind: Any, value: Any, steps: tuple[str | int, ...]) -> None:
    _, mistakes = problems_in(value, kind)
    assert mistakes[0][0] == steps


def test_a_mistake_in_a_list_hides_no_later_mistake() -> None:
    typed, mistakes = problems_in({"a": [1, "no"], "b": [None], "c": [3]}, dict[str, list[int]])
    assert [steps for steps, _ in mistakes] == [("a", 1), ("b", 0)]
    assert typed == {"c": [3]}


def test_an_unknown_field_in_a_map_of_objects() -> None:
    value = {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": {"y": 3}}
    typed, mistakes = problems_in(value, dict[str, Strict])
    assert [steps for steps, _ in mistakes] == [("b", "y"), ("c", "y")]
    assert typed == {"a": Strict(1), "b": Strict(1), "c": Strict()}
