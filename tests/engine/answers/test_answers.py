"""Results that are repaired through placements, deletions and changes of nodes, against a scheduler that computes
everything again for each pod."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.engine.answers import answers, ranking
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.results.outcomes import PodOutcome
from ksched_cli.plan.simulate import OutputOptions, outcome_of
from tests.builders import make_pod
from tests.clusters import ZONES, nodes, pods
from tests.engine.answers.test_reuse import HOST, ZONE, spread, together
from tests.harness import make_scheduler
from tests.lanes import examples, sampled
from tests.plugins.storage import with_volumes

Step = tuple[str, int]
STEPS = (*["place"] * 9, "leave", "leave", "cordon", "taint", "remove node", "add node", "relabel")
FORK, BACK = "fork", "back"


def near(app: str, key: str, weight: int) -> Pod:
    rule = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    preferred = [{"weight": abs(weight), "podAffinityTerm": rule}]
    kind = "podAffinity" if weight > 0 else "podAntiAffinity"
    affinity = {kind: {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return make_pod("x").requests(cpu="100m").label(app=app).spec(affinity=affinity).obj()


def with_disk(kind: str, disk: str) -> Pod:
    return with_volumes({"name": "t", "emptyDir": {}}, {"name": "a", kind: {"pdName": disk, "volumeID": disk}})


def with_token() -> Pod:
    return with_volumes({"name": "token", "projected": {}}, {"name": "t", "emptyDir": {}})


def test_only_the_latest_results_are_kept() -> None:
    kept: OrderedDict[str, int] = OrderedDict()
    assert [ranking.keep_latest(kept, key, number, 2) for number, key in enumerate("abc")] == [0, 1, 2]
    assert kept == {"b": 1, "c": 2}


@st.composite
def templates(draw: st.DrawFn) -> list[Pod]:
    apps, keys = st.sampled_from(("app-0", "app-1")), st.sampled_from((HOST, ZONE))
    kind = st.one_of(
        pods("kind"),
        st.builds(together, apps, apart=st.booleans(), key=keys),
        st.builds(spread, apps, st.sampled_from(("DoNotSchedule", "ScheduleAnyway")), keys),
        st.builds(near, apps, keys, st.sampled_from((50, -20))),
        st.builds(with_token),
        st.builds(with_disk, st.sampled_from(("gcePersistentDisk", "awsElasticBlockStore")), st.sampled_from("xy")),
    )
    return draw(st.lists(kind, min_size=1, max_size=4))


@st.composite
def histories(draw: st.DrawFn, kinds: tuple[str, ...] = STEPS) -> tuple[list[Node], list[Pod], list[Step]]:
    names = [f"n{index}" for index in range(draw(st.integers(2, 7)))]
    made = [draw(nodes(name)) for name in names]
    for node in made:
        node.metadata.labels.update({HOST: node.metadata.name, ZONE: draw(st.sampled_from(ZONES))})
    steps = st.tuples(st.sampled_from(kinds), st.integers(0, 11))
    return made, draw(templates()), draw(st.lists(steps, min_size=8, max_size=24))


class History:
    """One scheduler, and the steps taken on it."""

    def __init__(self, made: list[Node], kinds: list[Pod], *, reuse: bool) -> None:
        self._kinds = copy.deepcopy(kinds)
        self._pods = 0
        self._extra = 0
        self._forks: list[tuple[int, int, int]] = []
        self.scheduler: Scheduler = make_scheduler(copy.deepcopy(made), [], reuse=reuse)

    def take(self, step: Step) -> PodOutcome | None:
        kind, number = step
        cluster = self.scheduler.cluster
        if kind == "place":
            return self._place(self._kinds[number % len(self._kinds)])
        if kind == "leave":
            placed = [row for row in range(self._pods) if cluster.pods.node_row[row] != NOWHERE]
            if placed:
                cluster.remove_pod(placed[number % len(placed)])
            return None
        if not len(cluster.nodes):
            return None
        name = sorted(cluster.nodes.names)[number % len(cluster.nodes)]
        node = cluster.nodes.objects[cluster.nodes.row_of[name]]
        if kind == "remove node":
            cluster.remove_node(name)
        elif kind == "add node":
            self._extra += 1
            new = f"x{self._extra}"
            labels = {**node.metadata.labels, HOST: new}
            cluster.add_node(replace(node, metadata=replace(node.metadata, name=new, uid=new, labels=labels)))
        elif kind == "relabel":
            labels = {**node.metadata.labels, ZONE: ZONES[number % len(ZONES)]}
            cluster.update_node(replace(node, metadata=replace(node.metadata, labels=labels)))
        elif kind == "cordon":
            cluster.update_node(replace(node, spec=replace(node.spec, unschedulable=not node.spec.unschedulable)))
        else:
            taints = () if node.spec.taints else (Taint(key="t", value="", effect="NoSchedule"),)
            cluster.update_node(replace(node, spec=replace(node.spec, taints=taints)))
        return None

    def fork(self) -> None:
        self._forks.append((self.scheduler.cluster.undo.mark(), self._pods, self._extra))

    def back(self) -> None:
        mark, self._pods, self._extra = self._forks.pop()
        self.scheduler.cluster.undo.roll_back(mark)

    def _place(self, kind: Pod) -> PodOutcome:
        name = f"p{self._pods}"
        self._pods += 1
        pod = replace(kind, metadata=replace(kind.metadata, name=name, uid=name))
        row = self.scheduler.cluster.register(pod)
        return outcome_of(self.scheduler.schedule(row), self.scheduler.cluster, OutputOptions(detail=True))


@pytest.fixture(
    params=sampled(
        [
            pytest.param((0, 2**20, 100), id="repaired-always"),
            pytest.param((8, 2**20, 0), id="kept-with-copies"),
            pytest.param((0, 1, 100), id="two-templates-kept"),
        ],
        3,
    ),
)
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    share, size, unused = request.param
    monkeypatch.setattr(ranking, "_AFRESH_SHARE", share)
    monkeypatch.setattr(answers, "_BYTES", size)
    monkeypatch.setattr(answers, "_UNUSED", unused)


# The limits are the same for all examples of a run, and nothing else outlives one.
@given(histories())
@settings(max_examples=examples(150), deadline=None)
def check(drawn: tuple[list[Node], list[Pod], list[Step]]) -> None:
    made, kinds, steps = drawn
    repaired, afresh = History(made, kinds, reuse=True), History(made, kinds, reuse=False)
    for step in steps:
        assert repaired.take(step) == afresh.take(step), step


@pytest.mark.slow
@pytest.mark.usefixtures("limits")
def test_every_step_has_the_same_outcome_as_without_reuse() -> None:
    check()


# The limits are the same for all examples of a run, and nothing else outlives one.
@given(histories((*STEPS, FORK, FORK, BACK, BACK)))
@settings(max_examples=examples(150), deadline=None)
def check_forks(drawn: tuple[list[Node], list[Pod], list[Step]]) -> None:
    made, kinds, steps = drawn
    forked, anew = History(made, kinds, reuse=True), History(made, kinds, reuse=False)
    taken: list[list[Step]] = [[]]
    for step in steps:
        if step[0] == FORK:
            forked.fork()
            taken.append([])
        elif step[0] == BACK and len(taken) > 1:
            forked.back()
            taken.pop()
            anew = History(made, kinds, reuse=False)
            for each in (each for part in taken for each in part):
                anew.take(each)
        elif step[0] != BACK:
            assert forked.take(step) == anew.take(step), step
            taken[-1].append(step)


@pytest.mark.slow
@pytest.mark.usefixtures("limits")
def test_a_cluster_that_was_forked_and_rolled_back_decides_like_one_built_anew() -> None:
    check_forks()


def test_a_template_that_was_seen_is_filtered_on_changed_nodes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
    from tests.builders import make_node

    asked: list[list[int]] = []
    original = NodeResourcesFit.filter

    def counted(self: Any, state: Any, pod: Any, rows: Any) -> Any:
        asked.append(rows.rows.tolist())
        return original(self, state, pod, rows)

    monkeypatch.setattr(NodeResourcesFit, "filter", counted)
    made = [make_node(f"n{index}").allocatable(cpu="4", memory="4Gi", pods=10).obj() for index in range(3)]
    history = History(made, [make_pod("x").requests(cpu="1").obj()], reuse=True)
    placed = [history.take(("place", 0)) for _ in range(3)]
    rows = [history.scheduler.cluster.nodes.row_of[each.node] for each in placed if each is not None]
    assert asked == [[0, 1, 2], [rows[0]], [rows[1]]]


def test_a_pod_that_no_node_fits_needs_no_search_when_it_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from ksched_cli.engine.cycle.runtime import Runtime
    from tests.builders import make_node

    monkeypatch.setattr(answers, "_UNUSED", 0)
    searched: list[str] = []
    original = Runtime.run_pre_filter

    def counted(self: Any, state: Any, pod: Any) -> Any:
        searched.append(pod.name)
        return original(self, state, pod)

    monkeypatch.setattr(Runtime, "run_pre_filter", counted)
    made = [make_node(f"n{index}").allocatable(cpu="4", memory="4Gi", pods=10).obj() for index in range(3)]
    waiting = [
        make_pod("huge").requests(cpu="5").obj(),
        *(make_pod(f"p{n}").requests(cpu=f"{n}").obj() for n in (1, 2)),
    ]
    scheduler = make_scheduler(made, waiting)
    rows = {info.name: row for row, info in enumerate(scheduler.cluster.pods.infos)}
    tried = [scheduler.schedule(rows[name]) for name in ("huge", "p1", "huge", "p2", "huge")]
    assert searched == ["huge", "p1", "p2"]
    assert {each.message for each in tried[::2]} == {tried[0].message}
    assert "3 Insufficient cpu" in tried[0].message


def test_nodes_of_a_zone_that_opens_again_are_not_scored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
    from tests.builders import make_node

    scored: list[list[int]] = []
    original = NodeResourcesFit.score

    def counted(self: Any, state: Any, pod: Any, rows: Any) -> Any:
        scored.append(rows.rows.tolist())
        return original(self, state, pod, rows)

    monkeypatch.setattr(NodeResourcesFit, "score", counted)
    made = [
        make_node(f"n{index}").allocatable(cpu="8", memory="8Gi", pods=10).label(ZONE, "ab"[index % 2]).obj()
        for index in range(40)
    ]
    kind = spread("app-0", "DoNotSchedule", ZONE)
    repaired, afresh = (History(made, [kind], reuse=each) for each in (True, False))
    zones = []
    for _ in range(4):
        scored.clear()
        found = repaired.take(("place", 0))
        again = list(scored)
        assert found == afresh.take(("place", 0))
        assert found is not None
        zones.append(int(found.node[1:]) % 2)
    assert zones == [0, 1, 0, 1]
    # The last cycle scored the node that the pod before it went to, and no others.
    assert [len(rows) for rows in again] == [1]


def test_scores_are_normalized_again_when_the_node_with_the_highest_score_is_full() -> None:
    from tests.builders import make_node, term

    builder = make_pod("x").requests(cpu="1")
    builder.prefers(50, term(("disk", "In", ["a"]))).prefers(10, term(("disk", "In", ["b"])))
    made = [
        make_node(f"n{index}").allocatable(cpu="4", memory="4Gi", pods=2 + 4 * index).label("disk", "acb"[index]).obj()
        for index in range(3)
    ]
    repaired, afresh = (History(made, [builder.obj()], reuse=each) for each in (True, False))
    for _ in range(5):
        step = ("place", 0)
        found = repaired.take(step)
        assert found == afresh.take(step)
    assert found is not None
    assert found.top[0].scores["NodeAffinity"].normalized == 100
