"""VolumeBinding's scores while StorageCapacityScoring is on."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.core import LabelSelector
from ksched_cli.config.load import load_config
from ksched_cli.config.plugin_args import UtilizationShapePoint, VolumeBindingArgs
from ksched_cli.framework.status import SKIP, Status
from ksched_cli.plugins.lib.resource_scoring import broken_linear
from ksched_cli.plugins.volume_binding import VolumeBinding
from ksched_cli.releases.minors import DEFAULT, RELEASES, Release
from tests.builders import make_node, make_pod
from tests.config.test_minors import points
from tests.harness import decide, make_bench, make_scheduler
from tests.plugins.storage import claim, csi_driver, pool, storage_class, volume, with_claims

GATE = "StorageCapacityScoring=true"
NODES = [make_node(name).zone(name).obj() for name in ("a", "b", "c")]
LATE, OTHER = storage_class("late"), storage_class("other")
FULL_FIRST = VolumeBindingArgs(shape=(UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)))
STEEP = VolumeBindingArgs(
    shape=(UtilizationShapePoint(0, 0), UtilizationShapePoint(50, 3), UtilizationShapePoint(100, 5))
)


def another(made: Any) -> Any:
    made.metadata.name += "-2"
    return made


def scores(
    claims: list[Any], objects: list[Any], args: Any = None, gates: str = GATE, current: Release = DEFAULT
) -> dict[str, int]:
    wanted = with_claims(*(each.metadata.name for each in claims))
    every = [LATE, OTHER, *claims, *objects]
    found = make_bench(VolumeBinding, NODES, wanted, args=args, gates=gates, objects=every, current=current).scores()
    assert not isinstance(found, Status)
    return found


@pytest.mark.parametrize(
    ("claims", "objects", "args", "expected"),
    [
        pytest.param(
            [claim("d", size="50Gi")],
            [volume("va", size="100Gi", zone="a"), volume("vb", size="60Gi", zone="b")],
            None, {"a": 50, "b": 17, "c": 0}, id="the most free first",
        ),
        pytest.param(
            [claim("d", size="50Gi")],
            [volume("va", size="100Gi", zone="a"), volume("vb", size="50Gi", zone="b")],
            FULL_FIRST, {"a": 50, "b": 100, "c": 0}, id="the fullest first",
        ),
        pytest.param(
            [claim("d", size="50Gi"), claim("e", size="100Gi")],
            [volume("va1", size="50Gi", zone="a"), volume("va2", size="200Gi", zone="a"),
             volume("vb1", size="50Gi", zone="b"), volume("vb2", size="100Gi", zone="b")],
            FULL_FIRST, {"a": 60, "b": 100, "c": 0}, id="several claims of a class are one sum",
        ),
        pytest.param(
            [claim("d", size="50Gi"), claim("e", size="50Gi", cls="other")],
            [volume("va1", size="100Gi", zone="a"), volume("va2", size="200Gi", zone="a", cls="other")],
            FULL_FIRST, {"a": 38, "b": 0, "c": 0}, id="classes are averaged and rounded",
        ),
        pytest.param(
            [claim("d", size="50Gi")],
            [volume("va", size="100Gi", zone="a"), volume("vb", size="200Gi", zone="b"),
             volume("vc", size="50Gi", zone="c")],
            STEEP, {"a": 30, "b": 15, "c": 50}, id="a shape of its own",
        ),
        pytest.param(
            [claim("d", size="50Gi")],
            [csi_driver(), pool("a", "100Gi"), pool("b", "200Gi"), pool("c", "50Gi")],
            None, {"a": 50, "b": 75, "c": 0}, id="pools that volumes are made in",
        ),
        pytest.param(
            [claim("d", size="50Gi")],
            [csi_driver(), pool("a", "100Gi"), pool("b", "200Gi"), pool("c", "50Gi")],
            FULL_FIRST, {"a": 50, "b": 25, "c": 100}, id="the fullest pool first",
        ),
        pytest.param(
            [claim("d", size="50Gi"), claim("e", size="25Gi")], [csi_driver(), pool("a", "100Gi"), pool("b", "60Gi")],
            FULL_FIRST, {"a": 75, "b": 100, "c": 0}, id="a pool's capacity counts once",
        ),
        pytest.param(
            [claim("d", size="50Gi"), claim("e", size="25Gi")],
            [csi_driver(), pool("a", "100Gi"), pool("b", "100Gi"), volume("vb", size="100Gi", zone="b")],
            FULL_FIRST, {"a": 75, "b": 25, "c": 0}, id="a volume that exists decides alone",
        ),
        pytest.param(
            [claim("d", size="50Gi")],
            [csi_driver(), pool("a", None, "100Gi"), pool("b", "60Gi"), another(pool("a", "100Gi"))],
            FULL_FIRST, {"a": 100, "b": 83, "c": 0}, id="of two pools the first by name, which holds nothing",
        ),
        pytest.param(
            [claim("d", size="10Gi", cls="silent"), claim("e", size="50Gi")],
            [storage_class("silent", provisioner="silent.example"), csi_driver(), pool("a", "100Gi"), pool("b", "60Gi")],
            FULL_FIRST, {"a": 50, "b": 83, "c": 0}, id="a class that tells nothing beside one that does",
        ),
        pytest.param(
            [claim("d", size="50Gi"), claim("e", size="50Gi", cls="other")],
            [volume("va", size="100Gi", zone="a"), volume("vb", size="200Gi", zone="b", cls="other")],
            FULL_FIRST, {"a": 50, "b": 25, "c": 0}, id="a class counts where a volume of it is bound",
        ),
        pytest.param(
            [claim("d", size="50Gi")], [], FULL_FIRST, {"a": 0, "b": 0, "c": 0}, id="nobody tells how much there is"
        ),
        pytest.param(
            [claim("d", volume="v")], [volume("v", owner="d")], FULL_FIRST, {"a": 0, "b": 0, "c": 0}, id="bound"
        ),
    ],
)  # fmt: skip
def test_scores(claims: list[Any], objects: list[Any], args: Any, expected: dict[str, int]) -> None:
    """With the gate in 1.36, and by default in 1.37."""
    assert scores(claims, objects, args) == expected
    assert scores(claims, objects, args, "", RELEASES["1.37"]) == expected


@pytest.mark.parametrize(("minor", "gates"), [("1.36", ""), ("1.37", "StorageCapacityScoring=false")])
def test_without_the_gate_nothing_is_scored(minor: str, gates: str) -> None:
    objects, current = [LATE, claim("d"), volume("va", zone="a")], RELEASES[minor]
    made = make_bench(VolumeBinding, NODES, with_claims("d"), objects=objects, gates=gates, current=current)
    assert made.scores() == SKIP


def test_a_pod_without_claims_scores_nothing_but_is_scored() -> None:
    made = make_bench(VolumeBinding, NODES, make_pod().obj(), gates=GATE)
    assert made.pre_filter().skip
    assert made.scores() == {"a": 0, "b": 0, "c": 0}
    assert made.plugin.reserve(made.state(), made.pod, 0).ok


def test_without_pre_filter_there_is_no_state() -> None:
    made = make_bench(VolumeBinding, NODES, make_pod().obj(), gates=GATE)
    assert made.plugin.pre_score(None, made.pod, made.nodes()).message == "not found"
    assert made.plugin.score(None, made.pod, made.nodes()).message == "not found"


@given(
    st.lists(st.tuples(st.integers(1, 20), st.sampled_from(("late", "other"))), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abc"), st.sampled_from(("late", "other"))), max_size=6),
)
def test_pools_read_plainly(asked: list[tuple[int, str]], published: list[tuple[int, str, str]]) -> None:
    """Node by node: what is asked of a class over what its first pool that is large enough for each claim holds."""
    claims = [claim(f"c{at}", size=f"{size}Gi", cls=cls) for at, (size, cls) in enumerate(asked)]
    pools = []
    for at, (size, zone, cls) in enumerate(published):
        made = pool(zone, f"{size}Gi", cls=cls)
        made.metadata.name = f"p{at}"
        pools.append(made)
    found = scores(claims, [csi_driver(), *pools], FULL_FIRST)
    for zone in "abc":
        held = [[room for room, *rest in published if rest == [zone, cls] and room >= size] for size, cls in asked]
        if not all(held):
            continue  # no volume can be made here, so that the node is not scored at all
        classes: dict[str, tuple[int, int]] = {}
        # Claims are taken by their size, and the pool of the last one is the class's.
        for (size, cls), rooms in sorted(zip(asked, held, strict=True), key=lambda each: each[0][0]):
            classes[cls] = classes.get(cls, (0, 0))[0] + size, rooms[0]
        each = [broken_linear([(0, 0), (100, 10)], 100 if a > b else a * 100 // b) for a, b in classes.values()]
        assert found[zone] == int(np.floor(sum(each) / len(each) + 0.5))


PRIORITY = "VolumeCapacityPriority=true"


@pytest.mark.parametrize("minor", ["1.21", "1.22", "1.27", "1.29", "1.32"])
@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            [volume("va", size="100Gi", zone="a"), volume("vb", size="60Gi", zone="b")],
            {"a": 50, "b": 83}, id="the fullest volume first",
        ),
        pytest.param(
            [volume("va", size="100Gi", zone="a"), csi_driver(), pool("b", "50Gi")],
            {"a": 50, "b": 0}, id="pools do not count",
        ),
        pytest.param([csi_driver(), pool("a", "100Gi"), pool("b", "60Gi")], {}, id="pools alone"),
    ],
)  # fmt: skip
def test_the_gate_before_storage_capacity_scoring(minor: str, objects: list[Any], expected: dict[str, int]) -> None:
    release = RELEASES[minor]
    scheduler = make_scheduler(
        NODES, [with_claims("d")], objects=[LATE, claim("d", size="50Gi"), *objects], gates=PRIORITY, current=release
    )
    (decision,) = decide(scheduler).values()
    names = scheduler.cluster.nodes.names
    assert decision.scores is not None
    raw = decision.scores.raw.get("VolumeBinding")
    if not expected and release.at_least("1.30"):
        assert raw is None
    else:
        assert raw is not None
        assert raw.tolist() == [expected.get(names[row], 0) for row in decision.feasible.tolist()]


def test_the_gate_before_storage_capacity_scoring_with_a_shape_of_its_own() -> None:
    found = make_bench(
        VolumeBinding, NODES, with_claims("d"), args=STEEP, gates=PRIORITY, current=RELEASES["1.31"],
        objects=[LATE, claim("d", size="50Gi"), volume("va", size="100Gi", zone="a")],
    )  # fmt: skip
    state = found.state()
    found.plugin.filter(state, found.pod, found.nodes())
    assert found.plugin.pre_score(state, found.pod, found.nodes()) is state
    assert found.plugin.score(state, found.pod, found.nodes()).tolist() == [30, 0, 0]


def test_a_node_with_a_volume_for_one_claim_of_two_is_scored_by_it() -> None:
    objects = [LATE, claim("d", size="50Gi"), claim("e"), volume("va", size="100Gi", zone="a", labels={"for": "d"})]
    objects[2].spec.selector = msgspec.convert({"matchLabels": {"for": "e"}}, LabelSelector)
    made = make_bench(
        VolumeBinding, NODES, with_claims("d", "e"), gates=PRIORITY, objects=objects, current=RELEASES["1.31"]
    )
    state = made.state()
    made.plugin.filter(state, made.pod, made.nodes())
    assert made.plugin.pre_score(state, made.pod, made.nodes()) is state


def test_scores_in_a_profile_that_leaves_pre_score_out() -> None:
    """Score reads what PreFilter has written (getStateData)."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"preScore": {"disabled": [{"name": "VolumeBinding"}]}}}],
    }  # fmt: skip
    newest = RELEASES["1.36"]
    configuration = load_config(json.dumps(document), "given", newest, newest.gates(GATE), points(newest))
    objects = [LATE, claim("d", size="50Gi"), volume("va", size="100Gi", zone="a")]
    scheduler = make_scheduler(NODES, [with_claims("d")], objects=objects, gates=GATE, configuration=configuration)
    (decision,) = decide(scheduler).values()
    assert decision.scores is not None
    assert decision.scores.raw["VolumeBinding"].tolist()[0] == 50
