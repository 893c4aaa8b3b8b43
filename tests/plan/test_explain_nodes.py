"""What an explanation states about one node that fits, about a node that is not there, and about claims."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.errors import UsageError
from tests.builders import make_pod
from tests.plan.explaining import explained
from tests.plan.test_explain import node, running, weighed

ON_TWO = [node("n1"), node("n2"), running("r", "n2", "2"), make_pod("p").requests(cpu="1")]


@pytest.mark.parametrize(
    ("items", "of", "place", "text"),
    [
        pytest.param(ON_TWO, "n1", (0, False), ["n1 is where it goes."], id="where it goes"),
        pytest.param(
            ON_TWO, "n2", (2, True),
            ["n2 fits and is number 2 of 2, 26 behind n1 (NodeResourcesFit -26).", "No other weight of a single plugin takes it to n2."],
            id="a worse one",
        ),
        pytest.param(
            [node("n1"), node("n2"), make_pod("p")], "n2", (1, True),
            ["n2 fits and has the same score as n1: of equals the lowest name is taken.", "No other weight of a single plugin takes it to n2."],
            id="an equal one",
        ),
    ],
)  # fmt: skip
def test_a_node_that_fits(items: list[Any], of: str, place: tuple[int, bool], text: list[str]) -> None:
    focus = explained([each.obj() for each in items], "p", node=of).focus
    assert focus is not None
    assert list(focus.text) == text
    assert (focus.rank, focus.behind is not None) == place


@pytest.mark.parametrize(
    ("items", "name", "said"),
    [
        pytest.param(weighed(), "n3", "there is n1, n2", id="near others"),
        pytest.param([*(node(f"x{at}").obj() for at in range(6)), make_pod("p").obj()], "new", "there is x0, x1, x2, x3, x4", id="near none"),
        pytest.param([make_pod("p").obj()], "n3", "none is", id="no node"),
    ],
)  # fmt: skip
def test_a_node_that_is_not_there(items: list[Any], name: str, said: str) -> None:
    with pytest.raises(UsageError, match=f"--node {name}: there is no such node; {said}$"):
        explained(items, "p", node=name)


def unbound(name: str, **spec: Any) -> PersistentVolumeClaim:
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, PersistentVolumeClaim)


def fast(mode: str) -> StorageClass:
    fields = {"metadata": {"name": "fast"}, "provisioner": "csi.example.com", "volumeBindingMode": mode}
    return msgspec.convert(fields, StorageClass)


PROVISIONER = (
    "Claim data has no volume yet: the provisioner csi.example.com of class fast makes it before the pod is scheduled. "
    "The events of the claim have the reason."
)


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        pytest.param([unbound("data", storageClassName="fast")], ["Claim data names StorageClass fast, which does not exist."], id="no such class"),
        pytest.param([unbound("data", storageClassName="fast"), fast("Immediate")], [PROVISIONER], id="a class that makes it at once"),
        pytest.param([unbound("data", storageClassName="fast"), fast("WaitForFirstConsumer")], [], id="a class that waits for the pod"),
        pytest.param([unbound("data"), fast("Immediate")], [], id="no class"),
        pytest.param([unbound("data", storageClassName="fast", volumeName="v")], [], id="bound"),
        pytest.param([], [], id="no claim"),
    ],
)  # fmt: skip
def test_a_claim_without_a_volume(stored: list[Any], said: list[str]) -> None:
    """It comes after another claim of the pod, which lacks nothing."""
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("first", "data")]
    pod = make_pod("p").requests(cpu="9").spec(volumes=volumes)
    items = [node("n1").obj(), unbound("first", volumeName="x"), *stored, pod.obj()]
    assert [each for each in explained(items, "p").summary if each.startswith("Claim data")] == said
