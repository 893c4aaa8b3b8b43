"""The product of dimensions, and a variant from its number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import KschedError, UsageError
from ksched_cli.plan.sweep.model import dimensions_of, read_edit_range, read_sweep, sweep_schema
from ksched_cli.plan.sweep.trials import Setting, VariantSpace, variant_space
from ksched_cli.sources.dump import load_dump
from tests.builders import make_node, make_pod
from tests.plan.sweep.clusters import node

HEAD = "apiVersion: ksched/v1\nkind: Sweep\n"


def space(nodes: int = 4, **words: Any) -> VariantSpace:
    items = [node(f"node-{number}", f"zone-{number % 2}") for number in range(nodes)]
    items.append(make_pod("new").doc())
    return variant_space(read_sweep(None, words), load_dump((), objects=items))


def at(found: VariantSpace) -> list[dict[str, Any]]:
    variants = found
    return [variants[number].coordinates for number in range(len(found))]


RACKS = {"rack": "aabbcc", "row": "aaabbb", "only": "xxxxxx", "host": "uvwxyz", "some": "aabb"}


@pytest.mark.parametrize(
    ("labels", "hint"),
    [
        pytest.param(["rack"], "--fail label=rack has 3 values", id="groups of two"),
        pytest.param(["rack", "row"], "--fail label=row has 2 values", id="the fewest groups"),
        pytest.param(["only"], "", id="one group"),
        pytest.param(["host"], "", id="a group for each node"),
        pytest.param(["some"], "", id="a label of some nodes"),
        pytest.param(["host", "some", "rack", "only"], "--fail label=rack has 3 values", id="others"),
    ],
)
def test_a_label_that_divides_the_nodes_is_the_hint_where_they_have_no_zones(labels: list[str], hint: str) -> None:
    items = [make_node(f"n{number}").doc() for number in range(6)]
    for number, each in enumerate(items):
        each["metadata"]["labels"] = {key: RACKS[key][number] for key in labels if number < len(RACKS[key])}
    with pytest.raises(UsageError) as raised:
        variant_space(read_sweep(None, {"fail": "zone"}), load_dump((), objects=items))
    (problem,) = raised.value.problems
    assert (problem.message, problem.hint) == (
        "no node of the input has the label topology.kubernetes.io/zone",
        hint,
    )


def test_dimensions_multiply_and_failures_vary_fastest() -> None:
    found = at(space(2, fail="node", orders=2, kube_version="1.35,1.36"))
    assert len(found) == 8
    assert found[:3] == [
        {"kubeVersion": "1.35", "order": 1, "fail": ["node-0"]},
        {"kubeVersion": "1.35", "order": 1, "fail": ["node-1"]},
        {"kubeVersion": "1.35", "order": 2, "fail": ["node-0"]},
    ]


def test_pairs_of_zones_fail_with_all_their_nodes() -> None:
    found = space(4, fail="zone:2")
    assert len(found) == 1
    variant = found[0]
    assert variant.coordinates == {"fail": ["zone-0", "zone-1"]}
    assert sorted(variant.failing) == ["node-0", "node-1", "node-2", "node-3"]


@pytest.mark.parametrize(
    ("fail", "nodes"),
    [("zone:zone-1", ("node-1", "node-3")), ("node:node-2", ("node-2",)), ("label=pool:a", ("node-0",))],
)
def test_one_domain_fails_by_name(fail: str, nodes: tuple[str, ...]) -> None:
    items = [node(f"node-{number}", f"zone-{number % 2}") for number in range(4)]
    items[0]["metadata"]["labels"]["pool"] = "a"
    found = variant_space(read_sweep(None, {"fail": fail}), load_dump((), objects=items))
    assert len(found) == 1
    assert found[0].failing == nodes
    assert str(found.sweep.failing).endswith(fail.removeprefix("label="))


@pytest.mark.parametrize(
    ("pods", "is_pending"),
    [
        pytest.param([make_pod("a").on("n"), make_pod("b"), make_pod("c").phase("Failed")], True, id="one of three"),
        pytest.param([make_pod("a").on("n"), make_pod("c").phase("Failed")], False, id="running and finished"),
    ],
)
def test_orders_are_those_of_pending_pods(pods: list[Any], is_pending: bool) -> None:
    loaded = load_dump((), objects=[node("n", "zone-0"), *(each.doc() for each in pods)])
    if is_pending:
        assert len(variant_space(read_sweep(None, {"orders": 3}), loaded)) == 3
    else:
        with pytest.raises(UsageError, match="--orders 3: no pod of the input is pending"):
            variant_space(read_sweep(None, {"orders": 3}), loaded)


def test_what_is_no_dimension_is_as_the_options_have_it() -> None:
    assert space(2, fail="node")[1].setting == Setting(grid=-1, version=-1, order=0, tie=0, edits=())


def test_a_range_of_edits_has_an_edit_for_each_number() -> None:
    found = space(2, add_node="cpu=4=0..2", scale="deployment/web=1..2")
    assert at(found)[1] == {"addNode": {"cpu=4": 0}, "scale": {"deployment/web": 2}}
    assert [str(edit) for edit in found[5].setting.edits] == [
        "--add-node new-node=2",
        "--scale deployment/web=2",
    ]
    assert [str(edit) for edit in found[0].setting.edits] == ["--scale deployment/web=1"]


def test_a_sample_draws_each_variant_at_most_once_and_follows_the_seed() -> None:
    first, again, other = (at(space(40, fail="node:2", sample=100, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert len({tuple(each["fail"]) for each in first}) == 100


def test_a_sample_that_is_larger_than_the_product_is_the_product() -> None:
    assert at(space(3, fail="node", sample=10)) == at(space(3, fail="node"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param({}, "the sweep has no dimension", id="no dimension"),
        pytest.param({"fail": "rack"}, "--fail rack: 'rack' is nothing that fails", id="unknown failure"),
        pytest.param({"fail": "label=rack"}, "--fail rack: no node of the input has the label rack", id="no such label"),
        pytest.param({"fail": "node:0"}, "--fail node:0: '0' is not how many fail together", id="none fails"),
        pytest.param({"fail": "node:"}, "'' is not how many fail together", id="no number"),
        pytest.param({"fail": "zone:eu"}, "--fail zone:eu: the input has no zone eu", id="no such zone"),
        pytest.param({"fail": "zone:3"}, "--fail zone:3: 3 cannot fail together: the input has 2 zones", id="too few"),
        pytest.param({"orders": 0}, "--orders 0: 0 is not between 1 and", id="no order"),
        pytest.param({"ties": -1}, "--ties -1: -1 is not between 1 and", id="negative"),
        pytest.param({"kube_version": "1.36..1.30"}, "--kube-version 1.36..1.30: the range 1.36..1.30 is empty", id="minors"),
        pytest.param({"kube_version": "1.x..1.30"}, "'1.x..1.30' is not a range of minors", id="no minors"),
        pytest.param({"kube_version": "1.36..1.99"}, "minors of 1.36..1.99 are not modelled", id="future minors"),
        pytest.param({"scale": "deployment/web=5..1"}, "--scale deployment/web=5..1: the range 5..1 is empty", id="empty"),
        pytest.param({"scale": "deployment/web=5"}, "'deployment/web=5' has no range of numbers (write deployment/web=1..10)", id="no range"),
        pytest.param({"scale": "deployment/web"}, "'deployment/web' has no range of numbers (write deployment/web=1..10)", id="no number"),
        pytest.param({"scale": "thing/web=1..5"}, "there is no kind thing", id="unknown kind"),
        pytest.param({"add_node": "cpu=4=0..200000"}, "has more than 100,000 numbers", id="long range"),
        pytest.param({"fail": "label=a b"}, "'a b' cannot be a label's key", id="no key of a label"),
        pytest.param({"ties": 10**7 + 1}, "--ties 10000001: 10000001 is not between 1 and 10,000,000", id="too many draws"),
        pytest.param({"kube_version": "1.30..1.x"}, "'1.30..1.x' is not a range of minors", id="no last minor"),
        pytest.param({"scale": "deployment/web=0..100000"}, "has more than 100,000 numbers", id="one number more"),
        pytest.param({"fail": "node", "keep_worst": 0}, "--keep-worst: 0 is not at least 1", id="none is kept"),
        pytest.param({"fail": "node", "sample": 0}, "--sample: 0 is not at least 1", id="empty sample"),
        pytest.param(
            {"orders": 10**6, "ties": 10**6}, "the dimensions have 1,000,000,000,000 products", id="a product of 10^12"
        ),
    ],
)  # fmt: skip
def test_bad_words(words: dict[str, Any], message: str) -> None:
    with pytest.raises(KschedError) as raised:
        space(**words)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("words", "dimensions"),
    [
        pytest.param({"fail": "node"}, {"fail": "node"}, id="each node"),
        pytest.param({"fail": "zone:1"}, {"fail": "zone"}, id="each zone"),
        pytest.param({"fail": "region:2"}, {"fail": "region:2"}, id="pairs"),
        pytest.param({"fail": "zone:zone-1"}, {"fail": "zone:zone-1"}, id="one by name"),
        pytest.param({"fail": "label=example.com/rack:2"}, {"fail": "example.com/rack:2"}, id="pairs of a label"),
        pytest.param({"orders": 1, "ties": 10**7}, {"orders": 1, "ties": 10**7}, id="the fewest and the most draws"),
        pytest.param({"kube_version": "1.36,1.34..1.35, 1.36"}, {"kubeVersion": ["1.36", "1.34", "1.35"]}, id="minors"),
        pytest.param({"kube_version": ("1.36", "1.36..1.36")}, {"kubeVersion": ["1.36"]}, id="one minor twice"),
        pytest.param(
            {"scale": ("deployment/a=1..2", "deployment/b=3..3"), "clone_node": "n=0..1"},
            {"scale": ["deployment/a=1..2", "deployment/b=3..3"], "cloneNode": ["n=0..1"]},
            id="edits",
        ),
    ],
)
def test_dimensions_as_they_are_written(words: dict[str, Any], dimensions: dict[str, Any]) -> None:
    assert dimensions_of(read_sweep(None, words)) == dimensions


def test_the_numbers_of_a_range() -> None:
    scale, clone = read_edit_range("scale", "deployment/web=0..2"), read_edit_range("clone-node", "n=0..2")
    assert [getattr(each, "replicas", None) for each in scale.edits] == [0, 1, 2]
    assert [each if each is None else each.count for each in clone.edits] == [None, 1, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("kind: Sweep\ndimensions: {orders: 1}", "apiVersion: expected ksched/v1, got none", id="no version"),
        pytest.param("apiVersion: ksched/v1\nkind: Other\ndimensions: {orders: 1}", "2: kind: expected Sweep, got Other", id="another kind"),
        pytest.param(HEAD + "dimensions: {orders: 0}", "3: dimensions.orders: 0 is not between", id="a dimension"),
        pytest.param(HEAD + "dimensions: {orders: 1}\nsample: 0", "4: sample: 0 is not at least 1", id="a sample"),
        pytest.param(HEAD + "dimensions: {orders: 1}\nkeepWorst: 0", "4: keepWorst: 0 is not at least 1", id="none is kept"),
        pytest.param(HEAD + "dimensions: {kubeVersion: 1.x}", "dimensions.kubeVersion: ", id="a minor"),
        pytest.param(HEAD + "dimensions: {}", "the sweep has no dimension", id="no dimension"),
        pytest.param(HEAD + "dimensions: {orders: a}", "dimensions.orders", id="a type"),
        pytest.param(HEAD + "dimensions: {grid: {weights: {A: x}}}", "dimensions.grid", id="a grid"),
        pytest.param(HEAD + "dimensions: {orders: 1}\nexpect:\n  on:\n    pod/p: []", "6: expect.on[pod/p]: no node is named", id="a bare on"),
        pytest.param(HEAD + "dimensions: {orders: 1}\nsample: 1\nkeepWorst: 1", "", id="the least"),
    ],
)  # fmt: skip
def test_mistakes_of_a_file_have_their_places(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    if not message:
        assert read_sweep(str(path), {}).orders == 1
        return
    with pytest.raises(KschedError) as raised:
        read_sweep(str(path), {})
    assert message in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_product_of_ten_to_the_twelve_can_be_sampled() -> None:
    found = space(orders=10**6, ties=10**6, sample=3)
    assert len(at(found)) == 3
    assert found.product == 10**12


def test_all_mistakes_are_raised_together() -> None:
    with pytest.raises(UsageError) as raised:
        space(fail="rack", orders=0, scale=("x", "deployment/web=5..1"))
    assert len(raised.value.problems) == 4


def test_the_schema_has_the_head_and_the_least_values() -> None:
    schema = sweep_schema()
    properties, dimensions = schema["properties"], schema["$defs"]["DimensionsDocument"]
    assert (properties["apiVersion"], properties["kind"]) == ({"const": "ksched/v1"}, {"const": "Sweep"})
    assert schema["required"] == ["apiVersion", "kind", "dimensions"]
    assert dimensions["minProperties"] == 1
    least = {name: each.get("minimum") for name, each in (*properties.items(), *dimensions["properties"].items())}
    assert {name: each for name, each in least.items() if each is not None} == {
        "sample": 1, "keepWorst": 1, "orders": 1, "ties": 1,
    }  # fmt: skip
    # null is for a value that is not there, which an editor has no use for.
    assert '"null"' not in json.dumps(schema)
    assert dimensions["properties"]["kubeVersion"]["anyOf"][0] == {"type": "string"}
    assert properties["seed"]["type"] == "integer"
