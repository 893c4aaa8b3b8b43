from __future__ import annotations

import copy
from typing import Any

import pytest

from ksched_cli.api.core import Namespace, ObjectMeta, Pod
from ksched_cli.config.plugin_args import InterPodAffinityArgs
from ksched_cli.framework.status import Status
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from tests.builders import PodBuilder, make_node, make_pod
from tests.harness import Bench, make_bench

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
AFFINITY = ("UnschedulableAndUnresolvable", ("node(s) didn't match pod affinity rules",))
ANTI = ("Unschedulable", ("node(s) didn't match pod anti-affinity rules",))
EXISTING = ("Unschedulable", ("node(s) didn't satisfy existing pods anti-affinity rules",))
LISTS = {
    "near": ("podAffinity", REQUIRED),
    "apart": ("podAntiAffinity", REQUIRED),
    "likes": ("podAffinity", PREFERRED),
    "dislikes": ("podAntiAffinity", PREFERRED),
}


def about(key: str = "zone", **fields: Any) -> dict[str, Any]:
    """A term on pods with app=db; fields by their JSON names."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "db"}}, **fields}


def weighted(weight: int, term: dict[str, Any]) -> dict[str, Any]:
    return {"weight": weight, "podAffinityTerm": term}


def with_terms(builder: PodBuilder, **lists: list[dict[str, Any]]) -> PodBuilder:
    affinity: dict[str, Any] = {}
    for name, terms in lists.items():
        kind, strength = LISTS[name]
        affinity.setdefault(kind, {})[strength] = terms
    return builder.spec(affinity=affinity)


def pod(name: str = "new", namespace: str = "default", on: str = "", app: str = "", **lists: Any) -> Pod:
    builder = with_terms(make_pod(name, namespace), **lists)
    if app:
        builder.label(app=app)
    return (builder.on(on) if on else builder).obj()


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


NAMESPACES = (namespace("default", team="a"), namespace("prod", team="a"), namespace("dev", team="b"))
# Two zones of two nodes, and a node without a zone.
NODES = [
    make_node("a1").label(zone="a").obj(),
    make_node("a2").label(zone="a").obj(),
    make_node("b1").label(zone="b").obj(),
    make_node("b2").label(zone="b").obj(),
    make_node("x").obj(),
]
ALL = ("a1", "a2", "b1", "b2", "x")


def bench(incoming: Pod, running: list[Pod], **args: Any) -> Bench:
    options = InterPodAffinityArgs(**args)
    return make_bench(InterPodAffinity, NODES, incoming, running, args=options, objects=NAMESPACES)


def rejected(names: tuple[str, ...], status: Any) -> dict[str, Any]:
    return dict.fromkeys(names, status)


@pytest.mark.parametrize(
    ("incoming", "running", "expected"),
    [
        pytest.param(
            pod(near=[about()]), [pod("r", on="a1", app="db")], rejected(("b1", "b2", "x"), AFFINITY), id="near"
        ),
        pytest.param(pod(near=[about()]), [pod("r", on="a1", app="web")], rejected(ALL, AFFINITY), id="near nobody"),
        pytest.param(
            pod(near=[about("kubernetes.io/hostname")]),
            [pod("r", on="a1", app="db")],
            rejected(("a2", "b1", "b2", "x"), AFFINITY),
            id="near on the host",
        ),
        pytest.param(pod(app="db", near=[about()]), [], rejected(("x",), AFFINITY), id="first of its group"),
        pytest.param(
            pod(app="db", near=[about()]),
            [pod("r", on="x", app="db")],
            rejected(("x",), AFFINITY),
            id="first of its group when others are outside the topology",
        ),
        pytest.param(
            pod(app="db", near=[about(), about("kubernetes.io/hostname")]),
            [pod("r", on="x", app="db")],
            rejected(ALL, AFFINITY),
            id="not first when another is in one of its topologies",
        ),
        pytest.param(
            pod(app="db", near=[about()]),
            [pod("r", on="b1", app="db")],
            rejected(("a1", "a2", "x"), AFFINITY),
            id="second of its group",
        ),
        pytest.param(
            pod(app="db", near=[about(), about(labelSelector={"matchLabels": {"app": "web"}})]),
            [],
            rejected(ALL, AFFINITY),
            id="not first if it matches only one of its own terms",
        ),
        pytest.param(
            pod(app="db", near=[about(namespaces=["prod"])]),
            [],
            rejected(ALL, AFFINITY),
            id="its own, another namespace",
        ),
        pytest.param(
            pod(near=[about(), about(labelSelector={"matchExpressions": [{"key": "tier", "operator": "Exists"}]})]),
            [pod("r", on="a1", app="db"), pod("s", on="b1", app="db")],
            rejected(ALL, AFFINITY),
            id="one pod has to match all terms",
        ),
        pytest.param(
            pod(near=[about(), about("kubernetes.io/hostname")]),
            [pod("r", on="a1", app="db")],
            rejected(("a2", "b1", "b2", "x"), AFFINITY),
            id="every topology counts",
        ),
        pytest.param(
            pod(near=[about("rack")]), [pod("r", on="a1", app="db")], rejected(ALL, AFFINITY), id="no such key"
        ),
        pytest.param(pod(apart=[about()]), [pod("r", on="a1", app="db")], rejected(("a1", "a2"), ANTI), id="apart"),
        pytest.param(pod(apart=[about()]), [pod("r", on="x", app="db")], {}, id="apart from one without a zone"),
        pytest.param(pod(apart=[about()]), [pod("r", "dev", on="a1", app="db")], {}, id="another namespace"),
        pytest.param(
            pod(apart=[about(), about(labelSelector={"matchLabels": {"app": "web"}})]),
            [pod("r", on="a1", app="db"), pod("s", on="b1", app="web")],
            rejected(("a1", "a2", "b1", "b2"), ANTI),
            id="apart from any",
        ),
        pytest.param(
            pod(apart=[about(labelSelector=None)]), [pod("r", on="a1", app="db")], {}, id="no selector: nobody"
        ),
        pytest.param(
            pod(apart=[about(labelSelector={})]),
            [pod("r", on="a1")],
            rejected(("a1", "a2"), ANTI),
            id="empty selector: everybody",
        ),
        pytest.param(
            pod(app="db"), [pod("r", on="a1", apart=[about()])], rejected(("a1", "a2"), EXISTING), id="symmetry"
        ),
        pytest.param(pod(app="db"), [pod("r", on="x", apart=[about()])], {}, id="symmetry without a zone"),
        pytest.param(pod(app="db"), [pod("r", on="a1", near=[about()])], {}, id="affinity is not symmetric"),
        pytest.param(pod(app="db"), [pod("r", "dev", on="a1", apart=[about()])], {}, id="symmetry, other namespace"),
        pytest.param(
            pod(app="db"),
            [pod("r", "dev", on="a1", apart=[about(namespaces=["default", "prod"])])],
            rejected(("a1", "a2"), EXISTING),
            id="symmetry, named namespace",
        ),
        pytest.param(
            pod(app="db", near=[about()], apart=[about()]),
            [pod("r", on="a1", app="db", apart=[about("kubernetes.io/hostname")]), pod("s", on="b1", apart=[about()])],
            {
                **rejected(("a1", "a2"), ANTI),
                **rejected(("b1", "b2", "x"), AFFINITY),
            },
            id="affinity first, then anti-affinity, then the others'",
        ),
        pytest.param(
            pod(apart=[about(matchLabelKeys=["app"], labelSelector={"matchLabels": {"tier": "x"}})], app="db"),
            [pod("r", on="a1", app="db")],
            {},
            id="matchLabelKeys are the API server's business",
        ),
        pytest.param(
            pod(app="db"),
            [pod("r", on="a1", apart=[about(labelSelector={"matchExpressions": [{"key": "app", "operator": "In"}]})])],
            {},
            id="a running pod's broken terms count for nothing",
        ),
    ],
)
def test_filter(incoming: Pod, running: list[Pod], expected: dict[str, Any]) -> None:
    assert bench(incoming, running).statuses() == expected


TEAM_A = {"matchLabels": {"team": "a"}}
NOT_TEAM_A = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}


@pytest.mark.parametrize(
    ("fields", "counted"),
    [
        pytest.param({}, {"default"}, id="neither: the pod's own"),
        pytest.param({"namespaces": ["dev"]}, {"dev"}, id="names"),
        pytest.param({"namespaceSelector": {}}, {"default", "prod", "dev", "ghost"}, id="empty selector"),
        pytest.param({"namespaceSelector": TEAM_A}, {"default", "prod"}, id="selector"),
        pytest.param({"namespaceSelector": TEAM_A, "namespaces": ["dev"]}, {"default", "prod", "dev"}, id="both"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "z"}}}, set(), id="selector that finds none"),
    ],
)
@pytest.mark.parametrize("other", ["default", "prod", "dev", "ghost"])
def test_namespaces_of_a_term(fields: dict[str, Any], counted: set[str], other: str) -> None:
    """Either way round; the namespace `ghost` is not among the objects."""
    own = bench(pod(apart=[about(**fields)]), [pod("r", other, on="a1", app="db")])
    assert bool(own.statuses()) is (other in counted)
    theirs = bench(pod(namespace=other, app="db"), [pod("r", on="a1", apart=[about(**fields)])])
    assert bool(theirs.statuses()) is (other in counted)


def test_an_incoming_selector_that_holds_for_no_labels_takes_in_every_namespace() -> None:
    """Go merges the names into the term and leaves the selector on it, to be asked about no labels at all."""
    fields: dict[str, Any] = {"namespaceSelector": NOT_TEAM_A}
    own = bench(pod(apart=[about(**fields)]), [pod("r", "prod", on="a1", app="db")])
    assert own.statuses() == rejected(("a1", "a2"), ANTI)
    theirs = bench(pod(namespace="prod", app="db"), [pod("r", on="a1", apart=[about(**fields)])])
    assert theirs.statuses() == {}


@pytest.mark.parametrize(
    ("incoming", "running"),
    [
        pytest.param(pod(), [], id="nothing anywhere"),
        pytest.param(pod(), [pod("r", on="a1", app="db", near=[about()])], id="affinity of others"),
        pytest.param(pod(app="db"), [pod("r", on="x", apart=[about()])], id="others' topology is missing"),
        pytest.param(pod(likes=[weighted(1, about())]), [pod("r", on="a1", app="db")], id="preferences only"),
    ],
)
def test_pre_filter_skips(incoming: Pod, running: list[Pod]) -> None:
    answer = bench(incoming, running).pre_filter()
    assert isinstance(answer, Status)
    assert answer.skipped


def test_terms_that_do_not_compile_reject_the_pod() -> None:
    broken = about(labelSelector={"matchExpressions": [{"key": "app", "operator": "In"}]})
    made = bench(pod(near=[broken], dislikes=[weighted(1, broken)]), [])
    answer = made.pre_filter()
    assert answer.code.go_name == "UnschedulableAndUnresolvable"
    assert answer.message.startswith("parsing pod: [requiredAffinityTerms: values: ")
    assert "preferredAntiAffinityTerms: values: " in answer.message
    assert made.plugin.pre_score(None, made.pod, made.nodes()).message.startswith("failed to parse pod: [required")


@pytest.mark.parametrize(
    ("incoming", "running", "args", "expected"),
    [
        pytest.param(
            pod(likes=[weighted(5, about())]),
            [pod("r", on="a1", app="db"), pod("s", on="a2", app="db"), pod("t", on="b1", app="db")],
            {},
            {"a1": 10, "a2": 10, "b1": 5, "b2": 5, "x": 0},
            id="likes",
        ),
        pytest.param(
            pod(dislikes=[weighted(5, about())]),
            [pod("r", on="a1", app="db")],
            {},
            {"a1": -5, "a2": -5, "b1": 0, "b2": 0, "x": 0},
            id="dislikes",
        ),
        pytest.param(
            pod(likes=[weighted(5, about())], dislikes=[weighted(3, about("kubernetes.io/hostname"))]),
            [pod("r", on="a1", app="db")],
            {},
            {"a1": 2, "a2": 5, "b1": 0, "b2": 0, "x": 0},
            id="both, on different topologies",
        ),
        pytest.param(
            pod(app="db"),
            [pod("r", on="a1", likes=[weighted(7, about())]), pod("s", on="b1", dislikes=[weighted(4, about())])],
            {},
            {"a1": 7, "a2": 7, "b1": -4, "b2": -4, "x": 0},
            id="symmetry",
        ),
        pytest.param(
            pod(app="db"),
            [pod("r", on="a1", near=[about()])],
            {"hard_pod_affinity_weight": 50},
            {"a1": 50, "a2": 50, "b1": 0, "b2": 0, "x": 0},
            id="others' required affinity",
        ),
        pytest.param(
            pod(app="db"),
            [pod("r", on="a1", apart=[about()])],
            {"hard_pod_affinity_weight": 50},
            None,
            id="others' required anti-affinity is no preference",
        ),
        pytest.param(
            pod(near=[about()]), [pod("r", on="a1", app="db")], {}, None, id="its own required affinity neither"
        ),
        pytest.param(
            pod(app="db"),
            [pod("r", on="a1", near=[about()])],
            {"hard_pod_affinity_weight": 0},
            None,
            id="hard weight 0",
        ),
        pytest.param(
            pod(app="db"),
            [pod("r", on="a1", likes=[weighted(7, about())])],
            {"ignore_preferred_terms_of_existing_pods": True},
            None,
            id="others ignored",
        ),
        pytest.param(
            pod(app="db", likes=[weighted(1, about())]),
            [pod("r", on="a1", likes=[weighted(7, about())])],
            {"ignore_preferred_terms_of_existing_pods": True},
            {"a1": 7, "a2": 7, "b1": 0, "b2": 0, "x": 0},
            id="others not ignored if the pod prefers anything",
        ),
        pytest.param(
            pod(likes=[weighted(5, about())]), [pod("r", on="x", app="db")], {}, None, id="no topology, no score"
        ),
        pytest.param(pod(likes=[weighted(5, about())]), [], {}, None, id="nobody there"),
        pytest.param(
            pod(likes=[weighted(5, about())], dislikes=[weighted(5, about())]),
            [pod("r", on="a1", app="db")],
            {},
            dict.fromkeys(ALL, 0),
            id="a sum of 0 is a score all the same",
        ),
        pytest.param(
            pod(likes=[weighted(5, about(namespaceSelector=TEAM_A))]),
            [pod("r", "prod", on="a1", app="db"), pod("s", "dev", on="b1", app="db")],
            {},
            {"a1": 5, "a2": 5, "b1": 0, "b2": 0, "x": 0},
            id="namespace selector",
        ),
    ],
)
def test_score(incoming: Pod, running: list[Pod], args: dict[str, Any], expected: dict[str, int] | None) -> None:
    scores = bench(incoming, running, **args).scores()
    if expected is None:
        assert isinstance(scores, Status)
        assert scores.skipped
    else:
        assert scores == expected


@pytest.mark.parametrize(
    ("likes", "running", "expected"),
    [
        pytest.param([2, 1], ["a1", "a1", "b1"], {"a1": 100, "a2": 66, "b1": 50, "b2": 33, "x": 0}, id="66.67 is 66"),
        pytest.param([1], ["a1"], {"a1": 100, "a2": 100, "b1": 0, "b2": 0, "x": 0}, id="one topology"),
    ],
)
def test_normalized(likes: list[int], running: list[str], expected: dict[str, int]) -> None:
    terms = [
        weighted(weight, about(key)) for weight, key in zip(likes, ("zone", "kubernetes.io/hostname"), strict=False)
    ]
    made = bench(pod(likes=terms), [pod(f"r{index}", on=node, app="db") for index, node in enumerate(running)])
    assert made.scores(normalized=True) == expected


def test_normalized_from_least_to_most() -> None:
    likes, dislikes = [weighted(2, about())], [weighted(1, about("kubernetes.io/hostname"))]
    running = [pod("r", on="a1", app="db"), pod("s", on="a1", app="db"), pod("t", on="b1", app="db")]
    made = bench(pod(likes=likes, dislikes=dislikes), running)
    assert made.scores() == {"a1": 2, "a2": 4, "b1": 1, "b2": 2, "x": 0}
    assert made.scores(normalized=True) == {"a1": 50, "a2": 100, "b1": 25, "b2": 50, "x": 0}
    assert made.scores([0, 1, 2], normalized=True) == {"a1": 33, "a2": 100, "b1": 0}
    assert made.scores([0, 3], normalized=True) == {"a1": 0, "b2": 0}


def test_explain_counts_pods_per_topology() -> None:
    made = bench(pod(apart=[about()]), [pod("r", on="a1", app="db"), pod("s", on="a2", app="db")])
    here = [{"topologyKey": "zone", "topologyValue": "a", "matchingPods": 2, "pods": ["default/r", "default/s"]}]
    assert made.plugin.explain(made.state(), made.pod, made.nodes(), 0) == {"podAntiAffinity": here}
    near = bench(pod(near=[about()]), [pod("r", on="a1", app="db")])
    missing = {"topologyKey": "zone", "topologyValue": None, "matchingPods": 0}
    assert near.plugin.explain(near.state(), near.pod, near.nodes(), ALL.index("x")) == {"podAffinity": [missing]}
    theirs = bench(pod(app="db"), [pod("r", on="b1", apart=[about()])])
    there = [{"topologyKey": "zone", "topologyValue": "b", "matchingPods": 1, "pods": ["default/r"]}]
    assert theirs.plugin.explain(theirs.state(), theirs.pod, theirs.nodes(), 3) == {"existingAntiAffinity": there}


def test_explain_names_the_pods_that_one_term_of_several_is_about() -> None:
    """`web` is another app on the same node, and `theirs` keeps away from `new` over another topology."""
    web = about(labelSelector={"matchLabels": {"app": "web"}})
    theirs = pod(
        "theirs",
        on="a2",
        apart=[about("kubernetes.io/hostname"), about(labelSelector={"matchLabels": {"app": "none"}})],
    )
    running = [pod("r", on="a1", app="db"), pod("s", on="a1", app="none"), pod("t", on="a1", apart=[about()]), theirs]
    made = bench(pod(app="db", apart=[about(), web]), running)
    found = made.plugin.explain(made.state(), made.pod, made.nodes(), 0)
    assert {kind: [each["pods"] for each in topologies] for kind, topologies in found.items()} == {
        "podAntiAffinity": [["default/r"]],
        "existingAntiAffinity": [["default/t"]],
    }


def test_a_changed_node_and_a_changed_namespace_are_noticed() -> None:
    made = bench(pod(apart=[about(namespaceSelector=TEAM_A)]), [pod("r", "dev", on="a1", app="db")])
    assert made.statuses() == {}
    made.cluster.catalog.put(namespace("dev", team="a"))
    assert made.statuses() == rejected(("a1", "a2"), ANTI)
    made.cluster.update_node(make_node("a2").label(zone="b").obj())
    assert made.statuses() == rejected(("a1",), ANTI)
    made.cluster.remove_node("a1")
    assert made.statuses() == {}


TIER = {"matchLabels": {"tier": "1"}}


@pytest.mark.parametrize(
    "incoming",
    [
        pytest.param(pod(near=[about()]), id="near"),
        pytest.param(pod(near=[about(), about(labelSelector=TIER)]), id="near pods that match both terms"),
        pytest.param(pod(near=[about(labelSelector={"matchExpressions": [{"key": "tier", "operator": "Exists"}]})]), id="near any"),
        pytest.param(pod(apart=[about(), about("kubernetes.io/hostname", labelSelector=TIER)]), id="apart"),
        pytest.param(pod(app="web"), id="others keep away from it, or prefer it"),
        pytest.param(pod(likes=[weighted(3, about())], dislikes=[weighted(5, about(labelSelector=TIER))]), id="prefers"),
    ],
)  # fmt: skip
def test_counts_follow_the_pods_that_come_and_go(incoming: Pod) -> None:
    """What the plugin keeps between cycles gives the answers of a plugin that sees the pods for the first time."""
    web = about(labelSelector={"matchLabels": {"app": "web"}})
    others = [
        (pod("db", on="a1", app="db"), 0),
        (pod("away", on="b1", apart=[web]), 2),
        (with_terms(make_pod("both").label(app="db", tier="1").on("b2"), likes=[weighted(7, web)]).obj(), 3),
        (pod("far", "dev", on="a2", app="db"), 1),
    ]
    made = bench(incoming, [])
    rows = []
    for pending, _ in others:
        waiting = copy.deepcopy(pending)
        waiting.spec.node_name = ""
        rows.append(made.cluster.register(waiting))
    there: list[Pod] = []

    def check() -> None:
        anew = bench(incoming, there)
        assert (made.statuses(), made.scores()) == (anew.statuses(), anew.scores())

    check()
    for row, (other, node) in zip(rows, others, strict=True):
        made.cluster.place(row, node)
        there.append(other)
        check()
    for row in rows:
        made.cluster.displace(row)
        there.pop(0)
        check()


def test_the_index_is_not_changed_by_a_trial() -> None:
    """What a cycle is handed is a copy even of what is kept for the next one."""
    made = bench(pod(apart=[about()]), [pod("r", on="a1", app="db")])
    first, second = made.state(), made.state()
    made.plugin.remove_pod(first, made.pod, made.cluster.pods.row_of["default/r"], 0)
    assert made.plugin.filter(first, made.pod, made.nodes()).passed.all()
    assert not made.plugin.filter(second, made.pod, made.nodes()).passed.all()
    assert made.statuses() == rejected(("a1", "a2"), ANTI)


@pytest.mark.parametrize(
    ("incoming", "other", "without", "with_other"),
    [
        pytest.param(
            pod(near=[about()]),
            pod("r", on="a1", app="db"),
            rejected(ALL, AFFINITY),
            rejected(("b1", "b2", "x"), AFFINITY),
            id="affinity",
        ),
        pytest.param(
            pod(app="db", near=[about()]),
            pod("r", on="a1", app="db"),
            rejected(("x",), AFFINITY),
            rejected(("b1", "b2", "x"), AFFINITY),
            id="affinity to its own kind",
        ),
        pytest.param(
            pod(apart=[about()]), pod("r", on="a1", app="db"), {}, rejected(("a1", "a2"), ANTI), id="anti-affinity"
        ),
        pytest.param(
            pod(app="db", apart=[about(labelSelector=None)]),
            pod("r", on="a1", apart=[about()]),
            {},
            rejected(("a1", "a2"), EXISTING),
            id="the other's anti-affinity",
        ),
    ],
)
def test_add_and_remove(incoming: Pod, other: Pod, without: Any, with_other: Any) -> None:
    made = bench(incoming, [other])
    row = made.cluster.displace(0)
    state = made.state()
    for change, expected in ((made.plugin.add_pod, with_other), (made.plugin.remove_pod, without)):
        change(state, made.pod, 0, row)
        verdict = made.plugin.filter(state, made.pod, made.nodes())
        found = {name: verdict.status(index) for index, name in enumerate(ALL)}
        assert {name: (each.code.go_name, each.texts) for name, each in found.items() if not each.ok} == expected


def test_the_pods_namespace_gets_other_labels() -> None:
    elsewhere: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"team": "b"}}}
    running = [pod("r", "dev", on="a1", apart=[about(**elsewhere)], likes=[weighted(3, about(**elsewhere))])]
    made = bench(pod(app="db"), running)
    assert made.statuses() == {}
    assert isinstance(made.scores(), Status)
    made.cluster.catalog.put(namespace("default", team="b"))
    assert made.statuses() == rejected(("a1", "a2"), EXISTING)
    assert made.scores() == {"a1": 3, "a2": 3, "b1": 0, "b2": 0, "x": 0}
