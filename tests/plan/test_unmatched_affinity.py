"""Required pod affinity that no pod satisfies: the selector, the namespaces searched, and what may have been meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.core import Namespace, ObjectMeta
from ksched_cli.plan.reasons.pod_affinity import unmatched_terms
from tests.builders import PodBuilder, make_node, make_pod, write_list
from tests.plan.explaining import explained
from tests.running import Ksched

NAMESPACES = [Namespace(metadata=ObjectMeta(name=name, labels={"team": name})) for name in ("web", "db")]
PODS = [
    make_pod("cache-0", "web").label(app="cache", tier="back").on("n1"),
    make_pod("redis-0", "db").label(app="redis", tier="back").on("n1"),
    make_pod("late-0", "web").label(app="late"),
    make_pod("late-1", "web").label(app="late-2"),
    make_pod("done-0", "web").label(app="done").on("n1").phase("Succeeded"),
]


def near(labels: dict[str, str] | None, *expressions: dict[str, Any], **term: Any) -> PodBuilder:
    selector = {"labelSelector": {"matchLabels": labels, "matchExpressions": list(expressions)}}
    own = {"topologyKey": "kubernetes.io/hostname", **(selector if labels is not None else {}), **term}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [own]}
    return make_pod("p", "web").label(app="own").spec(affinity={"podAffinity": required})


# Of these no value is taken for a typing error.
EXPRESSIONS = [
    {"key": "app", "operator": "In", "values": ["cahce", "x"]},
    {"key": "app", "operator": "Exists"},
    {"key": "gone", "operator": "DoesNotExist"},
    {"key": "app", "operator": "NotIn", "values": ["cahc"]},
]
NEEDS = ", and its required pod affinity needs one"


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        pytest.param(near({"app": "nothing"}), [f"no pod matches app=nothing in namespace web{NEEDS}"], id="no pod"),
        pytest.param(
            near({"app": "cahce"}),
            [f"no pod matches app=cahce in namespace web{NEEDS}: did you mean app=cache?"],
            id="a typing error of a value",
        ),
        pytest.param(
            near({"teir": "back"}),
            [f"no pod matches teir=back in namespace web{NEEDS}: did you mean tier=back?"],
            id="a typing error of a key",
        ),
        pytest.param(
            near({}, {"key": "app", "operator": "In", "values": ["cach"]}),
            [f"no pod matches app in (cach) in namespace web{NEEDS}: did you mean app=cache?"],
            id="a typing error of an expression",
        ),
        pytest.param(
            near({"teir": "front"}),
            [f"no pod matches teir=front in namespace web{NEEDS}"],
            id="the near key has another value",
        ),
        pytest.param(
            near({"app": "redis"}),
            [f"no pod matches app=redis in namespace web{NEEDS}: namespace db has such pods"],
            id="another namespace",
        ),
        pytest.param(
            near({"app": "late"}),
            [f"no pod with a node matches app=late in namespace web{NEEDS}: web/late-0 has no node yet"],
            id="a pod that waits itself",
        ),
        pytest.param(
            near({"app": "done"}), [f"no pod matches app=done in namespace web{NEEDS}"], id="a pod that has finished"
        ),
        pytest.param(
            near({"app": "x"}, namespaces=["db", "web"]),
            [f"no pod matches app=x in namespaces db, web{NEEDS}"],
            id="namespaces by name",
        ),
        pytest.param(
            near({"app": "x"}, namespaceSelector={"matchLabels": {"team": "db"}}),
            [f"no pod matches app=x in namespace db{NEEDS}"],
            id="a namespace by label",
        ),
        pytest.param(
            near({"app": "x"}, namespaceSelector={}),
            [f"no pod matches app=x in any namespace{NEEDS}"],
            id="every namespace",
        ),
        pytest.param(
            near({"app": "cache"}, namespaceSelector={"matchLabels": {"team": "none"}}),
            [
                "its required pod affinity needs a pod with app=cache and searches no namespace: namespace web has such pods"
            ],
            id="no namespace",
        ),
        pytest.param(
            near({"tier": "bakc"}, *EXPRESSIONS, {"key": "app", "operator": "In", "values": ["cach"]}),
            [
                "no pod matches tier=bakc,app in (cahce,x),app,!gone,app notin (cahc),app in (cach) in namespace web"
                f"{NEEDS}: did you mean tier=back and app=cache?"
            ],
            id="two typing errors, and expressions without",
        ),
        pytest.param(
            near({}, {"key": "teir", "operator": "In", "values": ["back"]}),
            [f"no pod matches teir in (back) in namespace web{NEEDS}: did you mean tier=back?"],
            id="a typing error of the key of an expression",
        ),
        pytest.param(
            near(None), [f"no pod matches a term without a labelSelector in namespace web{NEEDS}"], id="no selector"
        ),
        pytest.param(
            near({}, {"key": "tier", "operator": "Exists"}, namespaces=["none"]),
            [f"no pod matches tier in namespace none{NEEDS}: namespaces db, web have such pods"],
            id="several other namespaces",
        ),
        pytest.param(
            near({}, {"key": "app", "operator": "In", "values": ["late", "late-2"]}),
            [
                f"no pod with a node matches app in (late,late-2) in namespace web{NEEDS}: "
                "web/late-0, web/late-1 have no node yet"
            ],
            id="several pods that wait",
        ),
        pytest.param(
            near({}, {"key": "app", "operator": "Is", "values": ["x"]}), [], id="an operator that there is not"
        ),
        pytest.param(near({"app": "cache"}), [], id="a pod matches"),
        pytest.param(near({"app": "own"}), [], id="it matches itself"),
        pytest.param(make_pod("p", "web"), [], id="no affinity"),
    ],
)
def test_the_sentence(pod: PodBuilder, said: list[str]) -> None:
    pods = [each.obj() for each in PODS]
    assert list(map(str, unmatched_terms(pod.obj(), pods, NAMESPACES))) == said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pod", "text"),
    [
        pytest.param(near({"app": "cahce"}), "app=cache and not app=cahce", id="value"),
        pytest.param(near({"teir": "back"}), "tier=back and not teir=back", id="key"),
        pytest.param(
            near({}, EXPRESSIONS[1], {"key": "app", "operator": "In", "values": ["cahce"]}),
            "app=cache and not app=cahce",
            id="value of an expression",
        ),
        pytest.param(
            near({}, {"key": "teir", "operator": "In", "values": ["back"]}),
            "tier=back and not teir=back",
            id="key of an expression",
        ),
    ],
)
def test_the_typing_error_is_corrected_first(pod: PodBuilder, text: str) -> None:
    node = make_node("n1").allocatable(cpu="4", memory="8Gi", pods=10).label("kubernetes.io/hostname", "n1")
    items = [node, *PODS[:2], pod]
    fixes = explained([*(each.obj() for each in items), *NAMESPACES], "web/p").fixes
    assert fixes is not None
    assert fixes.found[0].text == f"let its pod affinity want {text}"
    assert fixes.found[0].node == "n1"


def test_check_names_it(tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}]
    cluster = write_list(tmp_path / "c.json", make_node("n1").doc(), PODS[0].doc(), *spaces)
    manifest = write_list(tmp_path / "m.json", near({"app": "cahce"}).doc())
    assert "did you mean app=cache?" in ksched("check", "--from", cluster, "-f", manifest).out
