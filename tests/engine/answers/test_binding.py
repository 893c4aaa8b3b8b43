"""Plugins from Reserve to PostBind, which copies of a bound pod may do without."""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.interfaces import ReservePlugin
from ksched_cli.framework.status import SUCCESS, Status
from tests.builders import make_node, make_pod
from tests.engine.test_cycle import with_plugins
from tests.harness import make_scheduler


class Noted(ReservePlugin[Any]):
    """Remembers the pods that it was called for."""

    name = "Noted"
    called: list[str] = []  # noqa: RUF012  # one list for all that the tests make

    def reserve(self, state: Any, info: PodInfo, row: int) -> Status:
        self.called.append(info.name)
        return SUCCESS

    def unreserve(self, state: Any, info: PodInfo, row: int) -> None:
        return


class NotedOnce(Noted):
    """Depends on nothing that pods do."""

    name = "NotedOnce"
    called: list[str] = []  # noqa: RUF012  # as above

    def depends(self, info: PodInfo) -> Depends:
        return NOTHING


def test_plugins_after_scoring_run_once_for_pods_that_sign_alike_if_all_of_them_promise_to_do_nothing() -> None:
    nodes = [make_node(name).allocatable(cpu="9", memory="8Gi", pods=9).obj() for name in "ab"]
    pods = [make_pod(f"{app}{index}").label("app", app).requests(cpu="1").obj() for index in range(3) for app in "xy"]
    for plugin, wanted in ((Noted, ["x0", "y0", "x1", "y1", "x2", "y2"]), (NotedOnce, ["x0"])):
        plugin.called.clear()
        scheduler = make_scheduler(nodes, pods, plugins=[plugin], configuration=with_plugins(plugin.name))
        for row in range(len(pods)):
            assert scheduler.schedule(row).result == "scheduled"
        assert plugin.called == wanted
