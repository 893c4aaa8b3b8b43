"""Draining: no budget is ever broken, kubectl's filters, the eviction API's rules, and where pods go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import is_ready, pod_key
from ksched_cli.api.selectors import Selector
from ksched_cli.api.workloads import (
    JOB_INDEX,
    DaemonSet,
    Job,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
)
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.budgets import needs_no_budget
from ksched_cli.plan.drain.drain import DrainRun, find_nodes, in_turn
from ksched_cli.plan.drain.results import DrainResult, Flags, Healthy, PodFate
from ksched_cli.sources.loaded import Loaded
from tests.builders import PodBuilder, loaded_of, make_node, make_pod
from tests.harness import make_scheduler
from tests.lanes import examples
from tests.running import input_over

ALL = Flags(force=True, ignore_daemonsets=True, delete_emptydir_data=True)


def run(loaded: Loaded, *nodes: str, flags: Flags = ALL, pending_first: bool = True, **more: bool) -> DrainResult:
    loaded = loaded if pending_first else loaded.without_pending()
    scheduler = make_scheduler(loaded.of(Node), loaded.of(Pod), objects=loaded.others())
    (found,) = DrainRun(input_over(scheduler, loaded), flags, **more).drain_in_turn([nodes])
    return found


def fates(drain: DrainResult) -> dict[str, tuple[str, int, str]]:
    """Pod to what becomes of it, in which round, and where it goes."""
    return {
        pod.pod.removeprefix("default/"): (pod.fate, pod.round, pod.to) for node in drain.nodes for pod in node.pods
    }


def only(drain: DrainResult) -> PodFate:
    ((pod,),) = (node.pods for node in drain.nodes)
    return pod


def owned(name: str, owner: str = "web", kind: str = "ReplicaSet", version: str = "apps/v1") -> PodBuilder:
    builder = make_pod(name).uid(f"uid-{name}").label(app=owner).requests(cpu="1")
    builder.owner(kind, owner, apiVersion=version, uid=f"uid-{owner}")
    if kind == "ReplicaSet":
        builder.data["metadata"]["generateName"] = f"{owner}-"
    return builder


def ready(builder: PodBuilder, is_ready: bool = True) -> PodBuilder:
    conditions = [{"type": "Ready", "status": "True" if is_ready else "False"}]
    return builder.phase("Running").status(conditions=conditions)


def budget(
    name: str = "web",
    *,
    labels: dict[str, str] | None = None,
    status: tuple[int, int, int, int] = (0, 0, 0, 0),
    **spec: Any,
) -> Any:
    """`status`: healthy, desired, expected, allowed."""
    healthy, desired, expected, allowed = status
    data = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"} if labels is None else labels}, **spec},
        "status": {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": allowed,
        },
    }
    return msgspec.convert(data, PodDisruptionBudget)


A = make_node("a").allocatable(cpu="8", memory="16Gi", pods=110).obj()
B = make_node("b").allocatable(cpu="8", memory="16Gi", pods=110).obj()
TIGHT = make_node("b").allocatable(cpu="1", memory="16Gi", pods=110).obj()
APPS = ("x", "y", "z")
CLASSES = {
    name: msgspec.convert({"metadata": {"name": name}, "value": value}, PriorityClass)
    for name, value in (("low", 0), ("high", 10))
}


# Properties


def replica_set(app: str, docs: list[dict[str, Any]]) -> ReplicaSet:
    """The ReplicaSet of these pods, whose template is the first of them."""
    own = [doc for doc in docs if doc["metadata"]["labels"]["app"] == app]
    spec = {**own[0]["spec"], "nodeName": ""} if own else {"containers": []}
    template = {"metadata": {"labels": {"app": app}}, "spec": spec}
    data = {
        "metadata": {"name": app, "namespace": "default", "uid": f"uid-{app}"},
        "spec": {"replicas": len(own), "selector": {"matchLabels": {"app": app}}, "template": template},
    }
    return msgspec.convert(data, ReplicaSet)


@st.composite
def shops(draw: st.DrawFn) -> tuple[Loaded, list[str]]:
    """Pods of three applications on a few nodes, with budgets that cover some of them, sometimes the same ones. Some
    applications have their controller in the input, some are more important than others."""
    names = [f"n{index}" for index in range(draw(st.integers(2, 4)))]
    nodes = [make_node(name).allocatable(cpu=draw(st.integers(1, 6)), memory="9Gi", pods=9).obj() for name in names]
    priorities = {app: draw(st.sampled_from(("low", "low", "high"))) for app in APPS}
    pods, docs = [], []
    for index in range(draw(st.integers(1, 9))):
        app = draw(st.sampled_from(APPS))
        builder = ready(owned(f"p{index}", app), draw(st.integers(0, 3)) > 0).on(draw(st.sampled_from(names)))
        if draw(st.integers(0, 5)) == 0:
            builder.label(tier="web")
        builder.requests(cpu=draw(st.sampled_from(("500m", "1", "2")))).spec(priorityClassName=priorities[app])
        pods.append(builder.priority(CLASSES[priorities[app]].value).obj())
        del builder.data["spec"]["priority"]
        docs.append(builder.doc())
    owners = [replica_set(app, docs) for app in APPS if draw(st.booleans())]
    selectors = [{"app": app} for app in APPS] + [{"tier": "web"}]
    wanted = draw(st.lists(st.sampled_from(range(4)), unique=True))
    budgets = []
    for number in wanted:
        covered = [pod for pod in pods if selectors[number].items() <= pod.metadata.labels.items()]
        healthy, desired = sum(map(is_ready, covered)), draw(st.integers(0, len(covered)))
        allowed = max(0, healthy - desired) if covered else 0
        policy = draw(st.sampled_from((None, "AlwaysAllow", "IfHealthyBudget")))
        budgets.append(
            budget(
                f"b{number}",
                labels=selectors[number],
                status=(healthy, desired, len(covered), allowed) if draw(st.booleans()) else (0, 0, 0, 0),
                minAvailable=desired,
                unhealthyPodEvictionPolicy=policy,
            )
        )
    return loaded_of(*nodes, *pods, *owners, *budgets, *CLASSES.values()), draw(
        st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)
    )


class Watcher:
    """Checks each eviction that the eviction API grants against the budgets, and each drain against its evictions. Where
    chance decides, the same nodes are drained again in other orders, always from the same beginning."""

    def __init__(self, loaded: Loaded, nodes: list[str]) -> None:
        self.pods = {pod_key(pod): pod for pod in loaded.of(Pod)}
        self.nodes = nodes
        self.api: Any = None
        # The evictions that were granted in the drain that runs, and the drains that have ended.
        self.granted: list[str] = []
        self.drains: list[DrainResult] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        with self._watching_evictions(), self._watching_drains():
            yield

    def _watching_drains(self) -> Any:
        original = DrainRun._drain_all

        def run_drain(run: DrainRun, *arguments: Any) -> DrainResult:
            self.granted.clear()
            drain = original(run, *arguments)
            self.check(drain)
            self.drains.append(drain)
            return drain

        return patch.object(DrainRun, "_drain_all", run_drain)

    def check(self, drain: DrainResult) -> None:
        """The drain has just ended: the objects of the API server are as the drain left them."""
        left = [pod.pod for node in drain.nodes for pod in node.of("moves", "unplaced")]
        assert sorted(self.granted) == sorted(left)
        on_nodes = {key for key, pod in self.pods.items() if pod.spec.node_name in self.nodes}
        stuck = {pod.pod for node in drain.nodes for pod in node.of("stuck")}
        preempted = {each.pod for each in drain.preempted}
        assert {*left, *stuck} == on_nodes - preempted
        # Nothing that could still go is left behind.
        assert all(self.holds(self.pods[key]) for key in stuck)
        assert drain.drained == (not stuck)
        assert drain.world.settled
        for change in drain.budgets:
            assert preempted or change.current_healthy.lowest >= min(
                change.desired_healthy, change.current_healthy.before
            )

    def _watching_evictions(self) -> Any:
        original = ApiServer.evict

        def evict(api: ApiServer, pod: Pod, **options: Any) -> str:
            self.api = api
            current = api.store.current(pod)
            assert current is not None
            covering = [] if needs_no_budget(current) else self.covering(current)
            before = [item.status for item in covering]
            refusal = original(api, pod, **options)
            if not refusal:
                self.granted.append(pod_key(pod))
                assert len(covering) <= 1
                for item, status in zip(covering, before, strict=True):
                    assert status.disruptions_allowed > 0 or self.is_free(item, current)
                    assert not is_ready(current) or self.healthy(item) >= self.desired(item)
            return refusal

        return patch.object(ApiServer, "evict", evict)

    def covering(self, pod: Pod) -> list[PodDisruptionBudget]:
        return [item for item in self.api.store.of(PodDisruptionBudget) if self.covers(item, pod)]

    def covers(self, item: PodDisruptionBudget, pod: Pod) -> bool:
        assert item.spec.selector is not None
        return item.spec.selector.match_labels.items() <= pod.metadata.labels.items()

    def desired(self, item: PodDisruptionBudget) -> int:
        assert isinstance(item.spec.min_available, int)
        return item.spec.min_available

    def healthy(self, item: PodDisruptionBudget) -> int:
        pods = [pod for pod in self.api.store.of(Pod) if self.covers(item, pod)]
        return sum(is_ready(pod) and pod.metadata.deletion_timestamp is None for pod in pods)

    def is_free(self, item: PodDisruptionBudget, pod: Pod) -> bool:
        """An unready pod that may go whatever the budget allows."""
        if is_ready(pod):
            return False
        return item.spec.unhealthy_pod_eviction_policy == "AlwaysAllow" or self.healthy(item) >= self.desired(item) > 0

    def holds(self, pod: Pod) -> bool:
        covering = self.covering(pod)
        return len(covering) > 1 or any(self.healthy(item) <= self.desired(item) for item in covering)


@pytest.mark.slow
@given(shops())
@settings(max_examples=examples(200), deadline=None)
def test_no_budget_is_ever_broken(drawn: Any) -> None:
    loaded, nodes = drawn
    watcher = Watcher(loaded, nodes)
    with watcher.watching():
        drain = run(loaded, *nodes)
    assert watcher.drains[0].nodes == watcher.drains[-1].nodes == drain.nodes


def test_in_every_order_a_drain_lists_the_pods_that_it_evicts() -> None:
    """chooser-0 may go to b or c, follower-0 only to b. Both choices are tried, and follower-0 before chooser-0, and then
    the first once more."""
    nodes = [
        make_node(name).allocatable(cpu=cpu, memory="9Gi", pods=9).obj() for name, cpu in zip("abc", "211", strict=True)
    ]
    chooser, follower = (ready(owned(f"{name}-0", name)).on("a") for name in ("chooser", "follower"))
    follower.selector(**{"kubernetes.io/hostname": "b"})
    watcher = Watcher(loaded := loaded_of(*nodes, chooser.obj(), follower.obj()), ["a"])
    with watcher.watching():
        drain = run(loaded, "a")
    assert drain.orders == {"no place": 1, "safe": 2}
    first = {"chooser-0": ("moves", 1, "b"), "follower-0": ("unplaced", 1, "")}
    other = {"chooser-0": ("moves", 1, "c"), "follower-0": ("moves", 1, "b")}
    assert [fates(each) for each in watcher.drains] == [first, other, other, first]
    assert fates(drain) == first


@pytest.mark.slow
@given(shops())
@settings(max_examples=examples(60), deadline=None)
def test_every_pod_is_in_the_end_where_its_fate_says(drawn: Any) -> None:
    loaded, nodes = drawn
    drain = run(loaded, *nodes, moved_only=False)
    final = {pod.pod: pod for pod in drain.world.final if pod.state != "gone"}
    gone = {pod.pod for pod in drain.world.final if pod.state == "gone"}
    assert {pod_key(pod) for pod in loaded.of(Pod)} <= {*final, *gone}
    for fate in (pod for node in drain.nodes for pod in node.pods):
        if fate.fate in ("moves", "unplaced"):
            assert (final[fate.successor].node, fate.pod in gone) == (fate.to, True)
            assert fate.to or fate.why
        else:
            assert fate.fate == "stuck"
            assert final[fate.pod].node in nodes
    for each in drain.preempted:
        assert each.pod in gone
        assert final[each.successor].node == each.to
    assert {pod.pod for pod in drain.world.unplaced} == {pod.successor for pod in (*drain.unplaced, *drain.homeless)}


@pytest.mark.slow
@given(shops())
@settings(max_examples=examples(60), deadline=None)
def test_no_pod_goes_to_a_node_that_is_drained(drawn: Any) -> None:
    loaded, nodes = drawn
    assert all(to not in nodes for _, _, to in fates(run(loaded, *nodes)).values())


# Rounds


def test_a_budget_lets_one_go_a_round_and_recovers_when_its_successor_has_a_place() -> None:
    pods = [ready(owned(f"web-{index}")).on("a").obj() for index in range(3)]
    drain = run(loaded_of(A, B, *pods, budget(minAvailable=2)), "a")
    assert fates(drain) == {f"web-{index}": ("moves", index + 1, "b") for index in range(3)}
    assert (drain.safe, drain.nodes[0].rounds) == (True, 3)
    (change,) = drain.budgets
    assert (change.current_healthy, change.disruptions_allowed.after) == (Healthy(3, 2, 3), 1)


@pytest.mark.parametrize(("needed", "waiting", "verb"), [(3, 1, "waits"), (2, 2, "wait")])
def test_a_budget_whose_pods_find_no_place_holds_the_rest(needed: int, waiting: int, verb: str) -> None:
    pods = [ready(owned(f"web-{index}")).on("a").obj() for index in range(4)]
    drain = run(loaded_of(A, TIGHT, *pods, budget(minAvailable=needed)), "a")
    assert fates(drain)["web-0"] == ("moves", 1, "b")
    assert fates(drain)["web-1"][0] == "unplaced"
    why = next(pod for pod in drain.nodes[0].pods if pod.fate == "stuck").why
    assert why.startswith(
        f"The disruption budget web needs {needed} healthy pods and has {needed} currently: default/web-"
    )
    assert why.endswith(f" {verb} for a place")
    assert why.count("default/web-") == waiting
    assert (drain.drained, drain.safe) == (False, False)


def test_nodes_are_drained_in_the_order_they_are_named_and_none_takes_what_another_gives() -> None:
    pods = [ready(owned("web-0")).on("a").obj(), ready(owned("web-1")).on("b").obj()]
    third = make_node("c").allocatable(cpu="8", memory="9Gi", pods=9).obj()
    drain = run(loaded_of(A, B, third, *pods, budget(maxUnavailable=1)), "b", "a")
    assert [node.node for node in drain.nodes] == ["b", "a"]
    assert {to for _, _, to in fates(drain).values()} == {"c"}


def test_pending_pods_take_their_places_first_unless_they_are_ignored() -> None:
    pods = [ready(owned("web-0")).on("a").obj(), make_pod("waiting").requests(cpu="1").obj()]
    assert fates(run(loaded_of(A, TIGHT, *pods), "a")) == {"web-0": ("unplaced", 1, "")}
    drain = run(loaded_of(A, TIGHT, *pods), "a")
    assert (drain.pending.pods, drain.pending.placed) == (1, 1)
    assert fates(run(loaded_of(A, TIGHT, *pods), "a", pending_first=False)) == {"web-0": ("moves", 1, "b")}


def test_a_successor_may_preempt_and_its_victim_looks_for_a_place_too() -> None:
    strong = ready(owned("web-0")).priority(10).on("a").obj()
    weak = ready(owned("low-0", "low")).priority(0).on("b").obj()
    drain = run(loaded_of(A, TIGHT, strong, weak), "a")
    assert fates(drain) == {"web-0": ("moves", 1, "b")}
    (evicted,) = drain.preempted
    assert (evicted.pod, evicted.node, evicted.to) == ("default/low-0", "b", "")
    assert evicted.by.startswith("default/web-")
    assert (drain.drained, drain.safe) == (True, False)


def test_a_pod_of_the_node_that_another_pod_preempts_is_named() -> None:
    """The pending pod takes its place before kubectl evicts it, and takes none where the node is cordoned."""
    urgent = make_pod("urgent").uid("urgent").priority(10).requests(cpu="1").spec(nodeSelector={"x": "y"}).obj()
    node = make_node("a").label("x", "y").allocatable(cpu="2", memory="16Gi", pods=110).obj()
    pods = [ready(owned(f"low-{number}", "low")).priority(0).on("a").obj() for number in range(2)]
    drain = run(loaded_of(node, TIGHT, urgent, *pods), "a", "b")
    remarks = {remark.message: remark.pods for remark in drain.nodes[0].warnings}
    gone = {each.pod for each in drain.preempted}
    named = set(remarks.get("preempted by other pods, not evicted", ()))
    evicted = {pod.pod for pod in drain.nodes[0].pods}
    assert named | evicted >= {"default/low-0", "default/low-1"}
    assert gone <= named | evicted


def test_which_evictions_a_budget_grants_is_a_draw() -> None:
    pods = [ready(owned(f"web-{number}")).on("a").obj() for number in range(3)]
    web = replica_set("web", [msgspec.to_builtins(pod) for pod in pods])
    limits = budget(maxUnavailable=1, status=(3, 2, 3, 1))
    drawn = [
        each for each in run(loaded_of(A, B, web, limits, *pods), "a").world.draws if each.what == "evictions granted"
    ]
    assert [(len(each.options), len(each.taken)) for each in drawn][:1] == [(3, 1)]
    generous = budget(maxUnavailable=3, status=(3, 0, 3, 3))
    found = run(loaded_of(A, B, web, generous, *pods), "a")
    assert not [each for each in found.world.draws if each.what == "evictions granted"]


def test_stateful_pods_keep_their_names_and_others_get_new_ones() -> None:
    pods = [ready(owned("db-0", "db", "StatefulSet")).on("a").obj(), ready(owned("web-abcde")).on("a").obj()]
    by_pod = {pod.pod: pod.successor for pod in run(loaded_of(A, B, *pods), "a").nodes[0].pods}
    assert by_pod["default/db-0"] == "default/db-0"
    assert by_pod["default/web-abcde"].startswith("default/web-")
    assert by_pod["default/web-abcde"] != "default/web-abcde"


def test_what_was_loaded_stays_as_it_was() -> None:
    loaded = loaded_of(A, B, ready(owned("web-0")).on("a").obj(), budget(minAvailable=1))
    before = msgspec.json.encode({kind.__name__: items for kind, items in loaded.objects.items()})
    run(loaded, "a")
    assert msgspec.json.encode({kind.__name__: items for kind, items in loaded.objects.items()}) == before


# What kubectl refuses

DAEMON = owned("logs-0", "logs", "DaemonSet")
MIRROR = make_pod("static")
MIRROR.data["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
LOCAL = owned("web-0").spec(volumes=[{"name": "data", "emptyDir": {}}])
BARE = make_pod("bare")


@pytest.mark.parametrize(
    ("pod", "flags", "fate", "message"),
    [
        pytest.param(DAEMON, Flags(), "refused", "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", id="DaemonSet"),
        pytest.param(DAEMON, Flags(ignore_daemonsets=True), "stays", "ignoring DaemonSet-managed Pods", id="DaemonSet ignored"),
        pytest.param(MIRROR, Flags(), "stays", "mirror pods are the kubelet's own: drain skips them", id="mirror pod"),
        pytest.param(LOCAL, Flags(), "refused", "cannot delete Pods with local storage (use --delete-emptydir-data to override)", id="emptyDir"),
        pytest.param(LOCAL, Flags(delete_emptydir_data=True), "moves", "", id="emptyDir deleted"),
        pytest.param(BARE, Flags(), "refused", "cannot delete Pods that declare no controller (use --force to override)", id="no controller"),
        pytest.param(BARE, Flags(force=True), "gone", "no controller recreates it", id="no controller, forced"),
        pytest.param(make_pod("done").phase("Succeeded"), Flags(), "gone", "it is finished", id="finished"),
        pytest.param(make_pod("bare").spec(volumes=[{"name": "d", "emptyDir": {}}]), Flags(force=True), "refused", "cannot delete Pods with local storage (use --delete-emptydir-data to override)", id="local storage comes before the controller"),
        pytest.param(owned("logs-0", "logs", "DaemonSet", "extensions/v1beta1"), Flags(), "moves", "", id="a DaemonSet of an old API is none to kubectl, but its controller makes another"),
        pytest.param(owned("web-0"), Flags(pod_selector=Selector()), "moves", "", id="selected"),
        pytest.param(owned("web-0").terminating(), Flags(), "gone", "it is being deleted already", id="on its way out"),
    ],
)  # fmt: skip
def test_what_kubectl_does_with_each_kind_of_pod(pod: PodBuilder, flags: Flags, fate: str, message: str) -> None:
    found = only(run(loaded_of(A, B, pod.on("a").obj()), "a", flags=flags))
    assert (found.fate, found.why) == (fate, message)


def test_a_job_makes_no_pod_in_the_place_of_one_that_has_finished() -> None:
    """Its new pods take the place of the pods with their index."""
    template = {"metadata": {"labels": {"job-name": "j"}}, "spec": {"restartPolicy": "Never", "containers": []}}
    spec = {"parallelism": 3, "completions": 4, "completionMode": "Indexed", "template": template}
    job = msgspec.convert({"metadata": {"name": "j", "namespace": "default", "uid": "j"}, "spec": spec}, Job)
    pods = []
    for index, phase, node in ((0, "Succeeded", "a"), (1, "Running", "a"), (2, "Running", "b"), (3, "Running", "a")):
        pod = owned(f"j-{index}", "j", "Job", "batch/v1").on(node).phase(phase).label(**{"job-name": "j"})
        pod.data["metadata"]["ownerReferences"][0]["uid"] = "j"
        pod.data["metadata"]["annotations"] = {JOB_INDEX: str(index)}
        pods.append(pod.obj())
    drain = run(loaded_of(A, B, job, *pods), "a")
    assert fates(drain) == {"j-0": ("gone", 1, ""), "j-1": ("moves", 1, "b"), "j-3": ("moves", 1, "b")}
    successors = {each.pod: each.successor for each in drain.nodes[0].pods}
    assert successors["default/j-1"].startswith("default/j-1-")
    assert successors["default/j-3"].startswith("default/j-3-")


def test_a_lost_daemon_set_is_told_by_a_dump_that_has_others() -> None:
    other = msgspec.convert({"metadata": {"name": "other", "namespace": "default"}}, DaemonSet)
    pod = owned("logs-0", "logs", "DaemonSet").on("a").obj()
    refused = only(run(loaded_of(A, B, other, pod), "a", flags=Flags(ignore_daemonsets=True)))
    assert (refused.fate, refused.why) == ("refused", 'cannot delete daemonsets.apps "logs" not found')
    forced = run(loaded_of(A, B, other, pod), "a")
    assert only(forced).fate == "gone"
    assert list(map(str, forced.nodes[0].warnings)) == ['daemonsets.apps "logs" not found: default/logs-0']


def test_a_node_with_a_pod_that_kubectl_refuses_is_left_as_it_is_and_the_next_is_drained() -> None:
    pods = [BARE.on("a").obj(), ready(owned("web-0")).on("a").obj(), ready(owned("web-1")).on("b").obj()]
    third = make_node("c").obj()
    drain = run(loaded_of(A, B, third, *pods), "a", "b", flags=Flags())
    assert fates(drain) == {"bare": ("refused", 0, ""), "web-0": ("waits", 0, ""), "web-1": ("moves", 1, "c")}
    assert [str(each) for each in drain.nodes[0].refusals] == [
        "cannot delete Pods that declare no controller (use --force to override): default/bare"
    ]
    assert [node.drained for node in drain.nodes] == [False, True]


# What the eviction API allows

HEALTHY, UNREADY = ready(owned("web-0")), ready(owned("web-0"), False)
PENDING = owned("web-0").phase("Pending")
PLAIN = owned("web-0")


@pytest.mark.parametrize(
    ("pod", "budgets", "why"),
    [
        pytest.param(HEALTHY, [budget(status=(2, 1, 2, 1))], "", id="allowed"),
        pytest.param(HEALTHY, [budget(status=(1, 1, 1, 0))], "The disruption budget web needs 1 healthy pods and has 1 currently", id="not allowed"),
        pytest.param(HEALTHY, [budget(status=(3, 1, 3, 0))], "The disruption budget web does not allow evicting pods currently", id="not allowed for another reason"),
        pytest.param(HEALTHY, [budget("one", status=(2, 1, 2, 1)), budget("two", status=(2, 1, 2, 1))], "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", id="two budgets"),
        pytest.param(HEALTHY, [budget(labels={}, status=(1, 1, 1, 0))], "The disruption budget web needs 1 healthy pods and has 1 currently", id="an empty selector covers all"),
        pytest.param(HEALTHY, [budget(labels={"app": "other"}, status=(1, 1, 1, 0))], "", id="a budget of others"),
        pytest.param(UNREADY, [budget(status=(1, 1, 2, 0))], "", id="unready, and the others are healthy"),
        pytest.param(UNREADY, [budget(status=(0, 1, 1, 0))], "The disruption budget web needs 1 healthy pods and has 0 currently", id="unready, and too few are healthy"),
        pytest.param(UNREADY, [budget(status=(0, 0, 1, 0))], "The disruption budget web needs 0 healthy pods and has 0 currently", id="unready, and no pod has to be healthy"),
        pytest.param(UNREADY, [budget(status=(0, 1, 1, 0), unhealthyPodEvictionPolicy="AlwaysAllow")], "", id="unready may always go"),
        pytest.param(UNREADY, [budget(status=(0, 1, 1, 0), unhealthyPodEvictionPolicy="IfHealthyBudget")], "The disruption budget web needs 1 healthy pods and has 0 currently", id="the default policy by name"),
        pytest.param(PENDING, [budget(status=(1, 1, 1, 0)), budget("two", status=(1, 1, 1, 0))], "", id="not running yet"),
        pytest.param(PLAIN, [budget(minAvailable=1)], "The disruption budget web needs 1 healthy pods and has 1 currently", id="a status that says nothing, and a pod without conditions"),
        pytest.param(PLAIN, [budget(maxUnavailable=1)], "", id="one may be unavailable"),
        pytest.param(PLAIN, [budget(maxUnavailable="50%")], "", id="half of one, rounded up"),
        pytest.param(PLAIN, [budget(minAvailable="1%")], "The disruption budget web needs 1 healthy pods and has 1 currently", id="a share, rounded up"),
        pytest.param(PLAIN, [budget()], "The disruption budget web does not allow evicting pods currently", id="a budget that says nothing expects nothing"),
    ],
)  # fmt: skip
def test_what_budgets_say(pod: PodBuilder, budgets: list[Any], why: str) -> None:
    found = only(run(loaded_of(A, B, pod.on("a").obj(), *budgets), "a"))
    assert (found.fate, found.why) == (("stuck", why) if why else ("moves", ""))


def test_a_share_is_of_what_the_controllers_want() -> None:
    """getExpectedScale: a ReplicaSet by its own, a StatefulSet by its own, whatever runs of them."""
    wanted = {"spec": {"replicas": 10}}
    items = [
        msgspec.convert({"metadata": {"name": "web", "namespace": "default"}, **wanted}, ReplicaSet),
        msgspec.convert({"metadata": {"name": "db", "namespace": "default"}, **wanted}, StatefulSet),
    ]
    pods = [
        ready(owned("web-0")).on("a").obj(),
        ready(owned("db-0", "db", "StatefulSet")).label(app="web").on("b").obj(),
    ]
    drain = run(loaded_of(A, B, *items, *pods, budget(maxUnavailable="50%")), "a")
    assert only(drain).why == "The disruption budget web needs 10 healthy pods and has 2 currently"


# Which nodes


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        pytest.param(None, [("n1, n2, n3", ("n1", "n2", "n3"))], id="together"),
        pytest.param("node", [("n1", ("n1",)), ("n2", ("n2",)), ("n3", ("n3",))], id="nodes in turn"),
        pytest.param("zone", [("(no zone)", ("n3",)), ("z", ("n1", "n2"))], id="zones in turn"),
    ],
)
def test_what_is_drained_together(each: Any, expected: list[Any]) -> None:
    loaded = loaded_of(make_node("n1").zone("z").obj(), make_node("n2").zone("z").obj(), make_node("n3").obj())
    assert in_turn(loaded, find_nodes(loaded, (), None), each) == expected
    assert find_nodes(loaded, ("node/n2", "n1", "n2"), None) == ["n2", "n1"]


# Nodes whose kubelet does not report

SKIP = {"skip_wait_for_delete_timeout": 60}


def lost(**conditions: str) -> Any:
    """A node with the taints that the node lifecycle controller sets where no kubelet reports."""
    found = [{"type": kind, "status": status} for kind, status in (conditions or {"Ready": "Unknown"}).items()]
    builder = make_node("lost").status(conditions=found)
    for effect in ("NoSchedule", "NoExecute"):
        builder.taint("node.kubernetes.io/unreachable", effect=effect)
    return builder.obj()


def tolerant(builder: PodBuilder, seconds: int | None = 300) -> Any:
    """A ready pod that tolerates for so long that its node is lost."""
    toleration = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": seconds}
    return ready(builder).spec(tolerations=[toleration]).obj()


@pytest.mark.parametrize(
    ("pod", "conditions", "flags", "expected", "outcome"),
    [
        pytest.param(owned("x"), {}, {}, ("stuck", 1, "a"), "blocked", id="replaced at once"),
        pytest.param(owned("x-0", "x", "StatefulSet"), {}, {}, ("stuck", 1, ""), "blocked", id="of a StatefulSet"),
        pytest.param(make_pod("x"), {}, {}, ("stuck", 1, ""), "blocked", id="without a controller"),
        pytest.param(owned("x").terminating(), {}, {}, ("stuck", 1, ""), "blocked", id="Terminating already"),
        pytest.param(owned("x"), {}, {"timeout": 60.0}, ("stuck", 1, "a"), "blocked", id="a timeout"),
        pytest.param(owned("x"), {}, {"grace_period": 0.0}, ("moves", 1, "a"), "safe", id="deleted by force"),
        pytest.param(
            owned("x").terminating(), {}, {"grace_period": 0.0}, ("gone", 1, ""), "safe", id="Terminating, by force"
        ),
        pytest.param(owned("x", "x", "DaemonSet"), {}, {}, ("stays", 0, ""), "safe", id="of a DaemonSet"),
        pytest.param(owned("x"), {}, SKIP, ("moves", 1, "a"), "safe", id="replaced at once, and skipped"),
        pytest.param(
            owned("x-0", "x", "StatefulSet"), {}, SKIP, ("unplaced", 1, ""), "no place", id="of a set, and skipped"
        ),
        pytest.param(make_pod("x"), {}, SKIP, ("gone", 1, ""), "loses pods", id="without a controller, and skipped"),
        pytest.param(owned("x").terminating(), {}, SKIP, ("stays", 0, ""), "safe", id="Terminating, and skipped"),
        pytest.param(owned("x"), {"Ready": "False"}, {}, ("moves", 1, "a"), "safe", id="not ready, but it reports"),
    ],
)
def test_a_drain_waits_for_a_kubelet_that_does_not_report(
    pod: PodBuilder, conditions: dict[str, str], flags: dict[str, Any], expected: tuple[str, int, str], outcome: str
) -> None:
    drain = run(
        loaded_of(A, lost(**conditions), tolerant(pod.on("lost"), None)),
        "lost",
        flags=msgspec.structs.replace(ALL, **flags),
    )
    (found,) = fates(drain).values()
    assert (found, drain.outcome) == (expected, outcome)
    assert drain.drained == (outcome != "blocked")
    assert ("stays Terminating" in only(drain).why) == (expected[0] in ("stuck", "unplaced"))


@pytest.mark.parametrize(
    ("seconds", "timeout", "outcome"),
    [
        pytest.param(60, 90.0, "blocked", id="as long as kubectl would wait for it still"),
        pytest.param(60, 91.1, "safe", id="one moment longer"),
        pytest.param(1, 32.1, "safe", id="after a second"),
        pytest.param(0, 400.0, "blocked", id="never"),
    ],
)
def test_a_pod_is_skipped_once_it_should_be_gone_since_longer(seconds: int, timeout: float, outcome: str) -> None:
    """30 s of grace, and more than these seconds: kubectl cuts off the fractions of a second that it compares."""
    pod = tolerant(owned("x").spec(terminationGracePeriodSeconds=30).on("lost"), None)
    flags = msgspec.structs.replace(ALL, timeout=timeout, skip_wait_for_delete_timeout=seconds)
    drain = run(loaded_of(A, lost(), pod), "lost", flags=flags)
    assert drain.outcome == outcome


def test_what_is_skipped_is_told() -> None:
    pod = tolerant(owned("x").on("lost"), None)
    drain = run(loaded_of(A, lost(), pod), "lost", flags=msgspec.structs.replace(ALL, **SKIP))
    (node,) = drain.nodes
    assert [(each.message, each.pods) for each in node.warnings] == [
        ("kubectl does not wait for it any longer (--skip-wait-for-delete-timeout)", ("default/x",))
    ]


@pytest.mark.parametrize("seconds", [None, 0, 300])
def test_a_drain_does_not_count_what_a_taint_of_another_node_evicts(seconds: int | None) -> None:
    objects = (A, B, lost(), ready(owned("x").on("a")).obj(), tolerant(owned("y", "y").on("lost"), seconds))
    drain = run(loaded_of(*objects), "a")
    assert (fates(drain), drain.outcome) == ({"x": ("moves", 1, "b")}, "safe")
    evicted = {each.pod for each in drain.world.final if each.state == "leaving"}
    assert evicted == (set() if seconds is None else {"default/y"})


def test_a_drain_that_takes_the_last_place_of_an_evicted_pod() -> None:
    objects = (A, TIGHT, lost(), ready(owned("x").on("a")).obj(), tolerant(owned("y", "y").on("lost")))
    drain = run(loaded_of(*objects), "a")
    assert fates(drain) == {"x": ("moves", 1, "b")}
    (displaced,) = drain.displaced
    assert (displaced.pod, displaced.fate, displaced.round, drain.outcome) == ("default/y", "unplaced", 0, "no place")
    assert displaced.successor.startswith("default/y-")
