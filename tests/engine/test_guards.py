"""Whatever a plugin of somebody's own does wrong is the error of the pod whose cycle it is, and nobody else's."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from ksched_cli.api.core import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet, SchedulerConfiguration
from ksched_cli.engine.registry import Registry, guarded
from ksched_cli.errors import UsageError
from ksched_cli.framework.depends import NOTHING
from ksched_cli.framework.interfaces import (
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from ksched_cli.framework.per_node import PerNodePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Code, Status, unschedulable
from ksched_cli.framework.verdict import Verdict
from tests.builders import make_node, make_pod
from tests.harness import decide, make_scheduler, placed


def profile(*names: str, **points: PluginSet) -> SchedulerConfiguration:
    enabled = PluginSet(tuple(PluginRef(name, 1) for name in names))
    return SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=Plugins(multi_point=enabled, **points)),))


def scheduler_with(plugin: type[Plugin], **points: PluginSet) -> Any:
    nodes = [make_node("a").obj(), make_node("b").obj()]
    pods = [make_pod("bad").obj(), make_pod("good").obj()]
    names = () if points else (plugin.name,)
    return make_scheduler(nodes, pods, configuration=profile(*names, **points), plugins=[plugin])


def answering(*bases: type[Plugin], **methods: Any) -> type[Plugin]:
    """A plugin with these methods, which get what they are for the pod called `bad` and are harmless for any other."""

    def of(name: str, given: Any) -> Any:
        def method(self: Any, *arguments: Any) -> Any:
            pod = next((each for each in arguments if isinstance(each, PodInfo)), None)
            if pod is not None and pod.name == "bad":
                return given(*arguments) if callable(given) else given
            return HARMLESS[name](*arguments)

        return method

    body = {name: of(name, given) for name, given in methods.items()}
    made: type[Plugin] = type("Mine", bases, {"name": "Mine", **body})
    return made


HARMLESS: dict[str, Any] = {
    "filter": lambda state, pod, nodes: Verdict.passing(len(nodes)),
    "score": lambda state, pod, nodes: np.zeros(len(nodes), dtype=np.int64),
    "normalize": lambda state, pod, nodes, scores: scores,
    "pre_score": lambda state, pod, nodes: SKIP,
    "pre_filter": lambda pod: SKIP,
    "depends": lambda pod: NOTHING,
    "filter_one": lambda pod, node: SUCCESS,
    "score_one": lambda pod, node: 0,
    "pre_enqueue": lambda pod: SUCCESS,
    "reserve": lambda state, pod, row: SUCCESS,
    "unreserve": lambda state, pod, row: None,
    "permit": lambda state, pod, row: (SUCCESS, 0.0),
    "pre_bind": lambda state, pod, row: SUCCESS,
    "bind": lambda state, pod, row: SKIP,
}


def fails(*arguments: Any) -> Any:
    raise KeyError("colour")


def leaves(*arguments: Any) -> Any:
    sys.exit("enough")


def on_b(answer: Any) -> Any:
    """For node b; all is well on a."""

    def ask(info: PodInfo, node: Node) -> Any:
        if node.metadata.name == "a":
            return SUCCESS
        return answer() if callable(answer) else answer

    return ask


def scored_on_b(answer: Any) -> Any:
    return lambda pod, node: 0 if node.metadata.name == "a" else answer


def verdict(codes: Any, reason_ids: Any, reasons: Any = ((), ("no",))) -> Any:
    return lambda state, pod, nodes: Verdict(codes, reason_ids, reasons)


def ints(*values: int, dtype: Any = np.int64) -> Any:
    return np.array(values, dtype=dtype)


OUT_OF_RANGE = (
    'applying score defaultWeights on Score plugins: plugin "Mine" returns an invalid score 101, '
    "it should in the range of [0, 100] after normalizing (node b)"
)
SCORED = {"score": HARMLESS["score"]}


@pytest.mark.parametrize(
    ("bases", "methods", "message"),
    [
        pytest.param(
            [PerNodePlugin], {"filter_one": on_b(fails)}, "filter: KeyError: 'colour' (node b)", id="raises on a node"
        ),
        pytest.param(
            [PerNodePlugin],
            {"filter_one": on_b(True)},
            "filter: TypeError: filter_one returned True, not a Status (node b)",
            id="no status for a node",
        ),
        pytest.param(
            [PerNodePlugin],
            {"score_one": scored_on_b(0.5)},
            "score: TypeError: score_one returned 0.5, not a whole number (node b)",
            id="a fraction for a node",
        ),
        pytest.param(
            [PerNodePlugin],
            {"score_one": scored_on_b(None)},
            "score: TypeError: score_one returned None, not a whole number (node b)",
            id="nothing for a node",
        ),
        pytest.param(
            [PerNodePlugin],
            {"score_one": scored_on_b(2**63)},
            "score: OverflowError: score_one returned 9223372036854775808 (node b)",
            id="a score beyond int64",
        ),
        pytest.param(
            [PerNodePlugin],
            {"score_one": scored_on_b(2**63 - 1)},
            OUT_OF_RANGE.replace("101", "9223372036854775807"),
            id="the highest score of int64",
        ),
        pytest.param(
            [PerNodePlugin],
            {"score_one": scored_on_b(-(2**63))},
            OUT_OF_RANGE.replace("101", "-9223372036854775808"),
            id="the lowest score of int64",
        ),
        pytest.param([FilterPlugin], {"filter": fails}, "filter: KeyError: 'colour'", id="raises"),
        pytest.param([FilterPlugin], {"filter": leaves}, "filter: SystemExit: enough", id="leaves the process"),
        pytest.param([FilterPlugin], {"filter": None}, "filter: returned None, not a Verdict", id="no verdict"),
        pytest.param(
            [FilterPlugin],
            {"filter": [SUCCESS, SUCCESS]},
            "filter: returned [Status(code=<Code.SUCCESS: 0>, reasons=(), plugin=''), Stat..., not a Verdict",
            id="statuses for a verdict",
        ),
        pytest.param(
            [FilterPlugin],
            {"filter": verdict([0, 0], ints(0, 0))},
            "filter: codes is [0, 0], not an array of whole numbers",
            id="a list of codes",
        ),
        pytest.param(
            [FilterPlugin],
            {"filter": verdict(ints(0, 0), np.zeros(2))},
            "filter: reason_ids is an array of float64, not an array of whole numbers",
            id="fractions for reasons",
        ),
        pytest.param(
            [FilterPlugin], {"filter": verdict(ints(0), ints(0))}, "filter: 1 verdicts for 2 nodes", id="too short"
        ),
        pytest.param(
            [FilterPlugin],
            {"filter": verdict(np.zeros((2, 2), dtype=int), ints(0, 0))},
            "filter: codes has the shape (2, 2) for 2 nodes",
            id="two-dimensional",
        ),
        pytest.param(
            [FilterPlugin],
            {"filter": verdict(ints(0, 2), ints(0, 2))},
            "filter: there is no reason 2 (node b)",
            id="a reason that is not there",
        ),
        pytest.param(
            [FilterPlugin],
            {"filter": verdict(ints(0, Code.SKIP), ints(0, 0))},
            "filter: code 5 is none that a filter gives (node b)",
            id="another point's code",
        ),
        pytest.param(
            [ScorePlugin], {"score": [1, 2]}, "score: returned [1, 2], not an array of scores", id="a list of scores"
        ),
        pytest.param(
            [ScorePlugin],
            {"score": lambda state, pod, nodes: np.zeros(2)},
            "score: scores are of type float64, not int64",
            id="fractions for scores",
        ),
        pytest.param(
            [ScorePlugin],
            {"score": lambda state, pod, nodes: ints(1)},
            "score: scores of shape (1,) for 2 nodes",
            id="too few scores",
        ),
        pytest.param(
            [ScorePlugin],
            {"score": lambda state, pod, nodes: ints(0, 101)},
            OUT_OF_RANGE,
            id="a score out of range",
        ),
        pytest.param([PreFilterPlugin], {"pre_filter": fails}, "preFilter: KeyError: 'colour'", id="PreFilter raises"),
        pytest.param(
            [PreFilterPlugin],
            {"pre_filter": {"a": 1}},
            "preFilter: returned {'a': 1}, not a PreFilterResult or a Status",
            id="a state without its wrapping",
        ),
        pytest.param(
            [PreFilterPlugin],
            {"pre_filter": PreFilterResult(None, ["a"])},  # type: ignore[arg-type]
            "preFilter: node_names is ['a'], not a frozenset of names",
            id="a list of node names",
        ),
        pytest.param(
            [PreScorePlugin, ScorePlugin], {"pre_score": fails, **SCORED}, "preScore: KeyError: 'colour'", id="PreScore"
        ),
        pytest.param(
            [PreEnqueuePlugin], {"pre_enqueue": fails}, "preEnqueue: KeyError: 'colour'", id="PreEnqueue raises"
        ),
        pytest.param(
            [PreEnqueuePlugin], {"pre_enqueue": True}, "preEnqueue: returned True, not a Status", id="PreEnqueue"
        ),
        pytest.param(
            [ReservePlugin],
            {"reserve": None, "unreserve": HARMLESS["unreserve"]},
            "reserve: returned None, not a Status",
            id="Reserve",
        ),
        pytest.param(
            [PermitPlugin],
            {"permit": SUCCESS},
            "permit: returned Status(code=<Code.SUCCESS: 0>, reasons=(), plugin=''), not a Status and a number of seconds",
            id="Permit",
        ),
        pytest.param([PreBindPlugin], {"pre_bind": 0}, "preBind: returned 0, not a Status", id="PreBind"),
    ],
)
def test_a_fault_is_that_pods_error(bases: list[type[Plugin]], methods: dict[str, Any], message: str) -> None:
    scheduler = scheduler_with(answering(*bases, **methods))
    decided = decide(scheduler)
    bad, good = decided["default/bad"], decided["default/good"]
    expected = message if message.startswith("applying") else f'plugin "Mine" failed at {message}'
    assert (bad.result, bad.message) == ("error", expected)
    assert (good.result, good.message) == ("scheduled", "")
    assert scheduler.cluster.usage.pod_count.sum() == 1


class _Following(PreFilterPlugin[list[int]], FilterPlugin[list[int]]):
    """Rejects all nodes, so that preemption has pods come and go."""

    name = "Following"
    fails_at = ""

    def _maybe_fail(self, method: str) -> None:
        if self.fails_at == method:
            raise RuntimeError("lost count")

    def pre_filter(self, info: PodInfo) -> PreFilterResult[list[int]]:
        return PreFilterResult([])

    def filter(self, state: list[int], info: PodInfo, nodes: NodeRows) -> Verdict:
        return Verdict.from_statuses([unschedulable("full") if info.name == "new" else SUCCESS] * len(nodes))

    def clone_state(self, state: list[int]) -> list[int]:
        self._maybe_fail("clone_state")
        return list(state)

    def add_pod(self, state: list[int], info: PodInfo, other: int, row: int) -> None:
        self._maybe_fail("add_pod")

    def remove_pod(self, state: list[int], info: PodInfo, other: int, row: int) -> None:
        self._maybe_fail("remove_pod")

    def concerns(self, state: list[int], info: PodInfo, other: int) -> bool:
        self._maybe_fail("concerns")
        return True


@pytest.mark.parametrize("method", ["clone_state", "remove_pod", "concerns"])
def test_a_fault_while_preemption_tries_things_out(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Following, "fails_at", method)
    pods = [make_pod("old").requests(cpu=1).on("a").obj(), make_pod("new").requests(cpu=1).priority(9).obj()]
    scheduler = make_scheduler([make_node("a").obj()], pods, configuration=profile("Following"), plugins=[_Following])
    (decision,) = decide(scheduler).values()
    assert (decision.result, decision.message) == (
        "error",
        'plugin "Following" failed at preFilter: RuntimeError: lost count',
    )
    # The trial was undone.
    assert scheduler.cluster.usage.pod_count.tolist() == [1]


def test_a_post_filter_that_answers_with_half_of_it() -> None:
    class Mine(PostFilterPlugin[None]):
        name = "Mine"

        def post_filter(self, state: None, info: PodInfo, cycle: Any) -> Any:
            return unschedulable("no remedy")

    nodes = [make_node("a").cordoned().obj()]
    scheduler = make_scheduler(nodes, [make_pod().obj()], configuration=profile("Mine"), plugins=[Mine])
    (decision,) = decide(scheduler).values()
    assert decision.result == "error"
    assert decision.message.endswith("not a PostFilterResult or None and a Status")


class TestQueueSort:
    """One plugin sorts all pods."""

    @staticmethod
    def sorting(key: Any) -> Any:
        def sort_key(self: Any, info: PodInfo) -> Any:
            return key(info)

        made: type[Plugin] = type("Mine", (QueueSortPlugin,), {"name": "Mine", "sort_key": sort_key})
        own = PluginSet((PluginRef("Mine"),), disabled=(PluginRef("*"),))
        return scheduler_with(made, queue_sort=own)

    def test_a_pod_without_a_key_is_in_error(self) -> None:
        decided = decide(self.sorting(lambda pod: fails() if pod.name == "bad" else (0,)))
        assert decided["default/bad"].message == "plugin \"Mine\" failed at queueSort: KeyError: 'colour'"
        assert decided["default/good"].result == "scheduled"

    def test_a_key_that_is_no_tuple(self) -> None:
        decided = decide(self.sorting(lambda pod: 5))
        assert {each.message for each in decided.values()} == {
            'plugin "Mine" failed at queueSort: returned 5, not a tuple'
        }

    def test_keys_that_cannot_be_compared(self) -> None:
        scheduler = self.sorting(lambda pod: (0,) if pod.name == "bad" else ("0",))
        with pytest.raises(UsageError, match='"Mine" gives keys that cannot be compared: TypeError: '):
            scheduler.enqueue()


def test_success_without_a_state_is_an_answer_to_pre_filter_and_pre_score() -> None:
    class Mine(PreFilterPlugin[None], FilterPlugin[None], PreScorePlugin[None, None], ScorePlugin[None]):
        name = "Mine"

        def pre_filter(self, info: PodInfo) -> Any:
            return SUCCESS

        def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
            assert state is None
            return Verdict.passing(len(nodes))

        def pre_score(self, state: None, info: PodInfo, nodes: NodeRows) -> Any:
            return SUCCESS

        def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Any:
            assert state is None
            return np.zeros(len(nodes), dtype=np.int64)

    assert set(placed(scheduler_with(Mine)).values()) == {"a", "b"}


def test_a_bind_plugin_that_breaks_after_the_pod_was_assumed() -> None:
    plugin = answering(BindPlugin, bind=fails)
    own = PluginSet((PluginRef("Mine"), PluginRef("DefaultBinder")), disabled=(PluginRef("*"),))
    scheduler = scheduler_with(plugin, bind=own)
    decided = decide(scheduler)
    assert decided["default/bad"].message == "plugin \"Mine\" failed at bind: KeyError: 'colour'"
    assert decided["default/good"].result == "scheduled"
    assert scheduler.cluster.usage.pod_count.sum() == 1


class TestMaking:
    """What goes wrong before any pod is looked at is a mistake of whoever starts the run."""

    def test_a_constructor_that_fails(self) -> None:
        class Mine(PerNodePlugin):
            name = "Mine"

            def __init__(self, args: Any, handle: Any) -> None:
                raise ValueError("no database")

        with pytest.raises(UsageError, match=r'plugin "Mine" \(test\) cannot be made: ValueError: no database'):
            scheduler_with(Mine)

    def test_a_class_is_guarded_once_and_keeps_what_it_does_not_define(self) -> None:
        class Mine(PerNodePlugin):
            name = "Mine"

            def filter_one(self, info: PodInfo, node: Node) -> Status:
                return SUCCESS

        twin: Any = guarded(Mine)
        assert guarded(Mine) is twin
        assert issubclass(twin, Mine)
        assert twin.depends is Plugin.depends
        assert twin.filter is not Mine.filter

    @pytest.mark.parametrize(
        ("attributes", "problem"),
        [
            pytest.param({}, "has no name", id="no name"),
            pytest.param({"name": ""}, "has no name", id="an empty name"),
            pytest.param(
                {"name": "Mine", "args_model": dict}, "args_model is <class 'dict'>, not a dataclass", id="model"
            ),
        ],
    )
    def test_classes_that_are_no_plugins(self, attributes: dict[str, Any], problem: str) -> None:
        from ksched_cli.engine.registry import _checked

        with pytest.raises(UsageError, match=problem):
            _checked(type("Mine", (PerNodePlugin,), attributes), "here")

    def test_an_unfinished_class(self) -> None:
        from ksched_cli.engine.registry import _checked

        with pytest.raises(UsageError, match="here is not finished: it lacks score"):
            _checked(type("Mine", (ScorePlugin,), {"name": "Mine"}), "here")
        with pytest.raises(UsageError, match="here takes part in no extension point"):
            _checked(type("Mine", (Plugin,), {"name": "Mine"}), "here")

    def test_a_clash_of_names(self) -> None:
        class Mine(PerNodePlugin):
            name = "NodeName"

        from ksched_cli.plugins.in_tree import IN_TREE

        with pytest.raises(UsageError, match="two plugins are named 'NodeName': one in-tree, one from here"):
            Registry(IN_TREE).register(Mine, "here")
