"""A migrated file means what the old one meant: plugins, weights, arguments, orders, and where pods go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ksched_cli.config.legacy.algorithm import ORDER
from ksched_cli.config.legacy.algorithm import PRIORITIES as PRIORITIES_OF_1_16
from ksched_cli.config.legacy.policy import PREDICATES, PRIORITIES
from ksched_cli.config.migrate import Migration
from ksched_cli.config.model import KubeSchedulerProfile, ResolvedProfile, SchedulerConfiguration
from ksched_cli.config.view import configuration_document
from ksched_cli.errors import ConfigError
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.minors import DEFAULT, NEWEST, RELEASES
from ksched_cli.wiring import scheduler_spec
from tests.config.migrations import (
    POLICY,
    READERS,
    check_meaning,
    configuration,
    migrated,
    minor,
    read,
    score,
)
from tests.config.test_minors import GROUP
from tests.lanes import examples, sampled
from tests.running import prepare
from tests.test_conformance import CORPUS, disagreements, simulate
from tests.test_other_minors import recorded

# What is no predicate without an argument.
OF_ARGUMENTS = {"CheckNodeLabelPresence", "CheckServiceAffinity"}
OLD_VERSIONS = ("v1beta1", "v1beta2", "v1beta3")


@st.composite
def profiles(draw: st.DrawFn, version: str) -> dict[str, Any]:
    """A profile with lists at some points; not each of them is one that kube-scheduler takes."""
    by = minor(READERS[version])
    default = by.resolve(KubeSchedulerProfile(config_version=version if version in OLD_VERSIONS[:2] else ""))
    plugins: dict[str, Any] = {}
    at = ["preFilter", "filter", "preScore", "score", "postFilter", "reserve"]
    for point in draw(st.lists(st.sampled_from(at), unique=True, max_size=3)):
        known = [name for name, where in by.points.items() if point in where]
        off = draw(st.one_of(st.just(["*"]), st.lists(st.sampled_from(default.points[point]), unique=True, max_size=3)))
        on = draw(st.lists(st.sampled_from(known), unique=True, max_size=4))
        plugins[point] = {"disabled": refs(off), "enabled": [ref(name, draw(st.integers(0, 5))) for name in on]}
    if version not in OLD_VERSIONS[:2] and draw(st.booleans()):
        everywhere = sorted(
            {name for names in default.points.values() for name in names} - {"PrioritySort", "DefaultBinder"}
        )
        off = draw(st.lists(st.sampled_from(everywhere), unique=True, max_size=4))
        on = draw(st.lists(st.sampled_from(everywhere), unique=True, max_size=4))
        if draw(st.booleans()):
            off, on = ["*"], ["PrioritySort", *on, "DefaultBinder"]
        plugins["multiPoint"] = {"disabled": refs(off), "enabled": [ref(name, draw(st.integers(0, 5))) for name in on]}
    return {"plugins": plugins}


def refs(names: list[str]) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def ref(name: str, weight: int) -> dict[str, Any]:
    return {"name": name, "weight": weight} if weight else {"name": name}


@pytest.mark.slow
@pytest.mark.parametrize("version", READERS)
@settings(
    max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(data=st.data())
def test_a_profile_means_the_same(version: str, data: st.DataObject) -> None:
    document = configuration(version, profiles=[data.draw(profiles(version))])
    try:
        read(document, minor(READERS[version]))
    except ConfigError:
        assume(False)
    check_meaning(document)


@pytest.mark.parametrize(
    ("version", "plugins"),
    [
        pytest.param(
            "v1beta1",
            {
                "filter": {"disabled": refs(["NodeUnschedulable", "NodeAffinity"])},
                "score": {"disabled": refs(["*"]), "enabled": refs(["ImageLocality"])},
            },
            id="v1beta1",
        ),
        pytest.param(
            "v1beta3",
            {
                "preFilter": {"disabled": refs(["*"])},
                "filter": {"disabled": refs(["NodeUnschedulable", "TaintToleration"])},
                "score": {"disabled": refs(["*"]), "enabled": refs(["TaintToleration", "ImageLocality"])},
            },
            id="v1beta3",
        ),
    ],
)
def test_what_was_migrated_is_as_short_as_it_can_be(version: str, plugins: dict[str, Any]) -> None:
    """One plugin leaves MultiPoint only once another has left it."""
    check_meaning(configuration(version, profiles=[{"plugins": plugins}]))


def entries(table: Any, weighted: bool) -> st.SearchStrategy[Any]:
    entry = st.builds(
        lambda name, weight: {"name": name} | ({"weight": weight} if weighted else {}),
        st.sampled_from(sorted(table)),
        st.integers(1, 9),
    )
    return st.one_of(st.none(), st.lists(entry, unique_by=lambda each: each["name"], max_size=8))


@pytest.mark.slow
@settings(max_examples=examples(50), deadline=None)
@given(
    predicates=entries(PREDICATES, weighted=False),
    priorities=entries(set(PRIORITIES) - {"ResourceLimitsPriority"}, weighted=True),
)
def test_a_policy_means_the_same(predicates: Any, priorities: Any) -> None:
    document = {**POLICY, "predicates": predicates, "priorities": priorities}
    try:
        read(document, minor("1.22"))
    except ConfigError:
        assume(False)
    check_meaning(document)


@pytest.mark.slow
@settings(max_examples=examples(50), deadline=None)
@given(
    predicates=entries(set(PREDICATES) & set(ORDER) - OF_ARGUMENTS - {"EvenPodsSpread"}, weighted=False),
    priorities=entries(set(PRIORITIES) & set(PRIORITIES_OF_1_16), weighted=True),
)
def test_a_policy_means_in_1_16_what_it_means_in_1_22(predicates: Any, priorities: Any) -> None:
    """Apart from constraints of pods, which came in between: they are obeyed."""
    document = {**POLICY, "predicates": predicates or [], "priorities": priorities or []}
    later, earlier = (resolved(migrated(document, by=by)) for by in ("1.22", "1.16"))
    spread = "PodTopologySpread"
    for point, names in later.points.items():
        if point == "preScore":
            # It may be on for plugins that do not score.
            continue
        asked = {spread} if point in ("preFilter", "filter") else set()
        assert set(earlier.points[point]) == set(names) | asked
    scoring = later.points["score"]
    assert {name: earlier.score_weights[name] for name in scoring} == {
        name: later.score_weights[name] for name in scoring
    }
    shared = (set(later.args) & set(earlier.args)) - {spread}
    assert {name: earlier.args[name] for name in shared} == {name: later.args[name] for name in shared}


def resolved(migration: Migration) -> ResolvedProfile:
    (only,) = read(migration.document, minor(DEFAULT.version)).profiles
    assert migrated(migration.document).document == migration.document
    return minor(DEFAULT.version).resolve(only)


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", sampled((pytest.param(path, id=path.parent.name) for path in sorted(CORPUS.glob("*/config.yaml"))), 5)
)
@pytest.mark.parametrize("to", ["1.36", "1.37"])
@pytest.mark.parametrize("version", ["v1beta3", "v1"])
def test_recorded_configurations_mean_the_same(version: str, to: str, file: Path) -> None:
    check_meaning({**yaml.safe_load(file.read_text()), "apiVersion": f"{GROUP}/{version}"}, to=to)


# Pods go where they went


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "before"),
    [
        pytest.param(
            "1.28", configuration("v1beta3", profiles=[{"plugins": score(("TaintToleration", 9))}]), id="1.28"
        ),
        pytest.param(
            "1.27",
            configuration(
                "v1beta2", profiles=[{"plugins": score(("ImageLocality", 5), disabled=("NodeResourcesFit",))}]
            ),
            id="1.27",
        ),
        pytest.param(
            "1.22",
            configuration(
                "v1beta1",
                profiles=[
                    {"plugins": score(("NodeResourcesMostAllocated", 4), disabled=("NodeResourcesLeastAllocated",))}
                ],
            ),
            id="1.22",
        ),
        pytest.param(
            "1.22",
            {
                **POLICY,
                "predicates": [{"name": "GeneralPredicates"}, {"name": "MatchInterPodAffinity"}],
                "priorities": [{"name": "MostRequestedPriority", "weight": 2}],
            },
            id="a Policy",
        ),
        pytest.param(
            "1.16",
            configuration("v1alpha1", algorithmSource={"provider": "ClusterAutoscalerProvider"}),
            id="1.16",
        ),
    ],
)
@pytest.mark.parametrize("case", sampled(["resources-00", "taints-01", "podaffinity-02", "nodeaffinity-03"], 4))
def test_pods_go_where_they_went(case: str, by: str, before: dict[str, Any]) -> None:
    """Under the same minor, by the file and by what became of it, said again in the words of the minor."""
    assert choices(case, by, before) == choices(case, by, migrated(before, by=by).document)


@pytest.mark.parametrize("version", sampled(RELEASES, 5))
def test_what_view_prints_comes_to_no_more_than_the_default(version: str) -> None:
    by = minor(version)
    default = SchedulerConfiguration()
    shown = configuration_document(default, by.release, by.gates)
    nothing = POLICY if by.release.before_plugins else {name: shown[name] for name in ("apiVersion", "kind")}
    to = NEWEST.version
    assert migrated(shown, by=version, to=to).document == migrated(nothing, by=version, to=to).document


def choices(case: str, by: str, config: dict[str, Any]) -> list[Any]:
    prepared = prepare(RunOptions([str(CORPUS / case / "cluster.json")], config=config, kube_version=by))
    outcomes = prepared.place(detail=False, top=0).outcomes
    return [(each.pod, each.node, each.result) for each in outcomes]


OF_1_21_AND_1_28 = [
    pytest.param(by, version, file.parent, id=f"{by} {file.parent.name}")
    for by, version in (("1.21", "v1beta1"), ("1.28", "v1beta3"))
    for subject in ("profiles", "scoring")
    for file in sorted(CORPUS.glob(f"{subject}-*/config.yaml"))
]


@pytest.mark.parametrize(("by", "version", "case"), sampled(OF_1_21_AND_1_28, 5))
def test_what_was_recorded_holds_for_what_became_of_the_file(by: str, version: str, case: Path) -> None:
    """The configurations of the recordings, as their minor says them with all defaults, and what migration makes of
    those."""
    given = scheduler_spec(RunOptions(config=str(case / "config.yaml"), kube_version=by))
    shown = configuration_document(given.configuration, given.release, given.gates)
    migrated_file = migrated({**shown, "apiVersion": f"{GROUP}/{version}"}, by=by).document
    decisions = map(msgspec.json.decode, recorded(by)[case.name.rpartition("-")[0]])
    (want,) = (each for each in decisions if each["case"] == case.name)
    assert disagreements(want, simulate(case, by, migrated_file)) == {}


@pytest.mark.parametrize(
    ("to", "plugins", "expected"),
    [
        pytest.param("1.36", {}, [], id="1.36"),
        pytest.param(
            "1.37", {}, ["VolumeBinding scores nodes by their room for volumes in Kubernetes 1.37"], id="1.37"
        ),
        pytest.param("1.37", {"score": {"disabled": refs(["VolumeBinding"])}}, [], id="1.37, VolumeBinding off"),
        pytest.param("1.37", {"score": {"disabled": refs(["*"])}}, [], id="1.37, no scores"),
    ],
)
def test_a_note_says_that_volume_binding_scores(to: str, plugins: dict[str, Any], expected: list[str]) -> None:
    """The gate StorageCapacityScoring is on by default in 1.37."""
    migration = check_meaning(configuration("v1", profiles=[{"plugins": plugins}]), to=to)
    assert [
        str(note.problem.message) for note in migration.notes if "room for volumes" in str(note.problem)
    ] == expected
