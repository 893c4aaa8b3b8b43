"""Situations with several terms, both ways at once, and topologies that only some nodes have."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Namespace, ObjectMeta, Pod
from ksched_cli.config.plugin_args import InterPodAffinityArgs
from ksched_cli.framework.status import Status
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from tests.builders import make_node, make_pod
from tests.harness import make_bench

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SHORT = {
    "node(s) didn't match pod affinity rules": "affinity",
    "node(s) didn't match pod anti-affinity rules": "own",
    "node(s) didn't satisfy existing pods anti-affinity rules": "theirs",
}
# a and b share a region, each has a zone of its own; c is in another region and has no zone.
NODES = [
    make_node("a").label(region="1", zone="1").obj(),
    make_node("b").label(region="1", zone="2").obj(),
    make_node("c").label(region="2").obj(),
]


def on(key: str, *conditions: tuple[str, str, list[str]], **fields: Any) -> dict[str, Any]:
    """A term on a topology; without conditions on pods with app=db."""
    expressions = [{"key": name, "operator": op, "values": values} for name, op, values in conditions]
    selector = {"matchExpressions": expressions} if conditions else {"matchLabels": {"app": "db"}}
    return {"topologyKey": key, "labelSelector": selector, **fields}


def pod(labels: str = "", where: str = "", *, ns: str = "default", name: str = "new", **lists: Any) -> Pod:
    """`labels` as "app=db x=1"; lists of terms by near, apart, likes and dislikes, weights first for the latter two."""
    builder = make_pod(name, ns)
    for each in labels.split():
        key, _, value = each.partition("=")
        builder.label(key, value)
    affinity: dict[str, Any] = {}
    for kind, terms in lists.items():
        side = "podAffinity" if kind in ("near", "likes") else "podAntiAffinity"
        if kind in ("near", "apart"):
            affinity.setdefault(side, {})[REQUIRED] = terms
        else:
            affinity.setdefault(side, {})[PREFERRED] = [{"weight": each, "podAffinityTerm": at} for each, at in terms]
    builder.spec(affinity=affinity)
    return (builder.on(where) if where else builder).obj()


def there(*pods: tuple[Any, ...] | dict[str, Any]) -> list[Pod]:
    return [pod(*each[:2], name=f"r{at}", **(each[2] if len(each) > 2 else {})) for at, each in enumerate(pods)]


def turned_down(incoming: Pod, running: list[Pod], objects: Any = ()) -> dict[str, str]:
    made = make_bench(InterPodAffinity, NODES, incoming, running, objects=objects)
    return {name: SHORT[reasons[-1]] for name, (_, reasons) in made.statuses().items()}


NEVER = {"a": "affinity", "b": "affinity", "c": "affinity"}
DB, WEB = ("app", "In", ["db"]), ("app", "In", ["web"])


@pytest.mark.parametrize(
    ("incoming", "running", "expected"),
    [
        pytest.param(pod(), [], {}, id="nothing is asked"),
        pytest.param(pod(near=[on("region", ("app", "In", ["db", "dc"]))]), there(("app=db", "a")),
                     {"c": "affinity"}, id="one of several values"),
        pytest.param(pod(near=[on("region", ("app", "NotIn", ["x", "y"]))]), there(("app=db", "a")),
                     {"c": "affinity"}, id="none of several values"),
        pytest.param(pod(near=[on("region", ("app", "In", ["x"]))]), there(("app=db", "a")), NEVER,
                     id="another value"),
        pytest.param(pod(near=[on("region", DB, ("x", "Exists", []), ("z", "DoesNotExist", []), WEB)]),
                     there(("app=db x=1", "a")), NEVER, id="one of all conditions fails"),
        pytest.param(pod(near=[on("region", DB, ("x", "Exists", []), ("z", "DoesNotExist", []))]),
                     there(("app=db x=1", "a")), {"c": "affinity"}, id="all conditions hold"),
        pytest.param(pod(near=[on("region", DB), on("region", ("x", "Exists", []))]), there(("app=db x=1", "a")),
                     {"c": "affinity"}, id="all terms hold for one pod"),
        pytest.param(pod(near=[on("region", DB), on("zone", WEB)]), there(("app=db", "a"), ("app=web", "a")), NEVER,
                     id="each term holds for another pod"),
        pytest.param(pod(near=[on("region", DB)], apart=[on("zone", WEB)]), there(("app=db", "a")), {"c": "affinity"},
                     id="near one, and nobody to be apart from"),
        pytest.param(pod(near=[on("region", DB)], apart=[on("zone", DB)]), there(("app=db", "a")),
                     {"a": "own", "c": "affinity"}, id="near, but not too near"),
        pytest.param(pod("app=web", near=[on("region", DB)], apart=[on("zone", ("x", "Exists", []))]),
                     there(("app=db", "b", {"apart": [on("zone", WEB)]})), {"b": "theirs", "c": "affinity"},
                     id="near, and kept away by whom it is near"),
        pytest.param(pod("app=db", near=[on("region", DB)]), there(("app=db", "a")), {"c": "affinity"},
                     id="near its own kind"),
        pytest.param(pod("app=db"), there(("app=web", "a", {"apart": [on("zone", DB)]})), {"a": "theirs"},
                     id="kept away, with no wishes of its own"),
        pytest.param(pod("app=db"), there(("app=web", "a", {"apart": [on("zone", WEB)]})), {},
                     id="not meant, with no wishes of its own"),
        pytest.param(pod("app=db", apart=[on("zone", ("x", "Exists", []))]),
                     there(("app=web", "a", {"apart": [on("zone", DB)]})), {"a": "theirs"},
                     id="would not keep away, and is kept away"),
        pytest.param(pod(apart=[on("zone", DB), on("zone", WEB)]), there(("app=web", "b")), {"b": "own"},
                     id="any of its terms keeps it away"),
        pytest.param(pod(apart=[on("region", DB)]), there(("app=db", "a")), {"a": "own", "b": "own"},
                     id="kept out of the whole region"),
        pytest.param(pod(apart=[on("region", DB)]), [*there(("app=db", "a")), pod("app=db", "c", ns="x", name="x")],
                     {"a": "own", "b": "own"}, id="a pod of another namespace keeps nobody out"),
        pytest.param(pod(near=[on("nothing", DB)]), there(("app=db", "a")), NEVER, id="a topology that no node has"),
        pytest.param(pod(apart=[on("nothing", DB)]), there(("app=db", "a")), {},
                     id="kept out of a topology that no node has"),
        pytest.param(pod("app=db"), there(("", "a", {"apart": [on("nothing", DB)]})), {},
                     id="others keep it out of a topology that no node has"),
        pytest.param(pod(apart=[on("zone", DB), on("nothing", DB)]), there(("app=db", "c")), {},
                     id="a topology that the pod's node does not have"),
        pytest.param(pod("app=db x=1"), there(("", "a", {"apart": [on("nothing", DB), on("zone", ("x", "Exists", []))]})),
                     {"a": "theirs"}, id="one of their terms on a topology that there is"),
        pytest.param(pod("app=db x=1"), there(("", "a", {"apart": [on("region", DB), on("zone", ("x", "Exists", []))]})),
                     {"a": "theirs", "b": "theirs"}, id="both of their terms"),
        pytest.param(pod("app=db"), there(("", "a", {"apart": [on("zone", DB)]}), ("", "b", {"apart": [on("zone", DB)]})),
                     {"a": "theirs", "b": "theirs"}, id="one of them in every zone"),
        pytest.param(pod("app=db"),
                     there(("", "a", {"apart": [on("region", DB)]}), ("", "c", {"apart": [on("region", DB)]})),
                     {"a": "theirs", "b": "theirs", "c": "theirs"}, id="one of them in every region"),
        pytest.param(pod("app=db", near=[on("zone", DB)]), [], {"c": "affinity"},
                     id="the first of its kind needs the topology all the same"),
        pytest.param(pod("app=db x=1", near=[on("zone", DB), on("region", ("x", "Exists", []))]), [], {"c": "affinity"},
                     id="the first of its kind needs all topologies"),
        pytest.param(pod("app=db", near=[on("zone", DB)], apart=[on("region", WEB)]), there(("app=web", "a")),
                     {"a": "own", "b": "own", "c": "affinity"}, id="the first of its kind, kept out elsewhere"),
    ],
)  # fmt: skip
def test_who_is_turned_down(incoming: Pod, running: list[Pod], expected: dict[str, str]) -> None:
    assert turned_down(incoming, running) == expected


@pytest.mark.parametrize(
    ("labels", "mine", "theirs", "expected"),
    [
        pytest.param("app=db", [("x", "Exists", []), ("y", "Exists", [])], [DB], {"a": "theirs"}, id="they mean it"),
        pytest.param("app=db", [WEB], [("y", "Exists", [])], {"a": "own"}, id="it means them"),
        pytest.param("y=1", [("z", "Exists", [])], [("y", "Exists", []), DB], {}, id="neither, each in part"),
        pytest.param("y=1", [WEB, ("z", "Exists", [])], [("y", "Exists", []), DB], {}, id="neither, both in part"),
    ],
)
def test_conditions_of_one_term_hold_together_both_ways(
    labels: str, mine: list[Any], theirs: list[Any], expected: dict[str, str]
) -> None:
    running = there(("app=web", "a", {"apart": [on("zone", *theirs)]}))
    assert turned_down(pod(labels, apart=[on("zone", *mine)]), running) == expected


TEAMS = tuple(
    Namespace(metadata=ObjectMeta(name=name, labels={"team": team}))
    for name, team in (("a1", "a"), ("a2", "a"), ("b1", "b"))
)
ALL_TEAMS: dict[str, Any] = {"namespaceSelector": {}}
TEAM_A: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"team": "a"}}}


@pytest.mark.parametrize(
    ("scope", "ns", "meant"),
    [
        pytest.param(TEAM_A, "a2", True, id="selected"),
        pytest.param(TEAM_A, "b1", False, id="not selected"),
        pytest.param({**TEAM_A, "namespaces": ["b1"]}, "b1", True, id="named"),
        pytest.param({**TEAM_A, "namespaces": ["b1"]}, "a1", True, id="selected besides those named"),
        pytest.param(ALL_TEAMS, "b1", True, id="any"),
        pytest.param({"namespaces": ["b1"]}, "a1", False, id="not named"),
    ],
)
def test_namespaces(scope: dict[str, Any], ns: str, meant: bool) -> None:
    other = [pod("app=db", "a", ns=ns, name="r")]
    assert (turned_down(pod(apart=[on("zone", **scope)], ns="a1"), other, TEAMS) == {"a": "own"}) is meant
    assert (turned_down(pod(near=[on("zone", **scope)], ns="a1"), other, TEAMS) != NEVER) is meant
    theirs = [pod("", "a", ns="a1", name="r", apart=[on("zone", **scope)])]
    assert (turned_down(pod("app=db", ns=ns), theirs, TEAMS) == {"a": "theirs"}) is meant


# Scores, from the least to the most


def scores(incoming: Pod, running: list[Pod], **args: Any) -> dict[str, int] | None:
    """None where the plugin leaves scoring out."""
    options = InterPodAffinityArgs(**args)
    found = make_bench(InterPodAffinity, NODES, incoming, running, args=options, objects=TEAMS).scores(normalized=True)
    return None if isinstance(found, Status) else found


HALF = {"a": 100, "b": 100, "c": 0}


@pytest.mark.parametrize(
    ("incoming", "running", "expected"),
    [
        pytest.param(pod("app=db"), there(("app=db", "a")), None, id="no wishes anywhere"),
        pytest.param(pod(likes=[(5, on("region"))]), there(("app=db", "a")), HALF, id="all of a region alike"),
        pytest.param(pod(likes=[(5, on("region"))]), there(("app=db", "a"), ("app=db", "b"), ("app=db", "c")),
                     HALF, id="the region with more of them"),
        pytest.param(pod(likes=[(8, on("region", DB)), (2, on("zone", ("x", "Exists", []), WEB))]),
                     there(("app=db", "a"), ("app=web", "b"), ("app=web x=1", "b")), {"a": 80, "b": 100, "c": 0},
                     id="several conditions, some of which fail"),
        pytest.param(pod(dislikes=[(5, on("zone"))]), there(("app=db", "a")), {"a": 0, "b": 100, "c": 100},
                     id="where they are not"),
        pytest.param(pod(dislikes=[(5, on("zone"))]), there(("app=db", "a"), ("app=db", "b"), ("app=db", "b")),
                     {"a": 50, "b": 0, "c": 100}, id="where there are fewer"),
        pytest.param(pod(dislikes=[(5, on("zone"))]), there(("app=web", "a")), None, id="others do not matter"),
        pytest.param(pod("app=db"), there(("", "a", {"dislikes": [(5, on("zone"))]})), {"a": 0, "b": 100, "c": 100},
                     id="disliked by others"),
        pytest.param(pod("app=db"), there(("", "a", {"likes": [(5, on("zone"))]}), ("", "b", {"likes": [(8, on("zone"))]})),
                     {"a": 62, "b": 100, "c": 0}, id="liked by others"),
        pytest.param(pod(likes=[(8, on("region"))], dislikes=[(5, on("zone", WEB))]),
                     there(("app=db", "a"), ("app=web", "a")), {"a": 37, "b": 100, "c": 0}, id="likes and dislikes"),
        pytest.param(pod("app=db", likes=[(8, on("region"))], dislikes=[(5, on("zone"))]),
                     there(("app=db", "a"), ("app=db", "b"), ("app=db", "b")), {"a": 100, "b": 73, "c": 0},
                     id="likes and dislikes the same pods"),
        pytest.param(pod("app=web", likes=[(8, on("region"))], dislikes=[(5, on("zone"))]),
                     there(("app=db", "a"), ("app=db", "b", {"likes": [(4, on("zone", WEB))]}),
                           ("", "c", {"dislikes": [(3, on("region", WEB))]})), {"a": 77, "b": 100, "c": 0},
                     id="likes and dislikes, both ways"),
    ],
)  # fmt: skip
def test_scores(incoming: Pod, running: list[Pod], expected: dict[str, int] | None) -> None:
    assert scores(incoming, running) == expected


@pytest.mark.parametrize(
    ("weight", "term", "expected"),
    [
        pytest.param(1, on("region", namespaces=["a1"]), HALF, id="by default"),
        pytest.param(0, on("region", namespaces=["a1"]), None, id="weight 0"),
        pytest.param(1, on("region", namespaces=["b1"]), None, id="another namespace"),
        pytest.param(1, on("region", **TEAM_A), HALF, id="namespace selector"),
    ],
)
def test_what_others_require_counts_by_its_weight(weight: int, term: dict[str, Any], expected: Any) -> None:
    running = [pod("", "a", ns="a2", name="r", near=[term])]
    assert scores(pod("app=db", ns="a1"), running, hard_pod_affinity_weight=weight) == expected


@pytest.mark.parametrize("kind", ["likes", "dislikes"])
def test_a_wish_that_cannot_be_read_ends_the_cycle(kind: str) -> None:
    broken = pod(**{kind: [(5, on("region", ("app", "In", ["{{.bad}}"])))]})
    made = make_bench(InterPodAffinity, NODES, broken)
    answer = made.plugin.pre_score(None, made.pod, made.nodes())
    assert answer.code.go_name == "Error"
    assert answer.message.startswith(f"failed to parse pod: preferred{'Anti' * (kind == 'dislikes')}AffinityTerms: ")
