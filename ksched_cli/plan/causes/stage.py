"""Schedulers of all stations in one and the same state: the first is in force, the others are asked."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.inspection import inspect
from ksched_cli.engine.mirror import Mirror
from ksched_cli.engine.runtime import Runtime
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.framework.status import Code
from ksched_cli.plan.causes.stations import Route
from ksched_cli.plan.rule_changes import family_of
from ksched_cli.sources.loaded import Loaded


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a station says of a node; `beyond_help` where no eviction could change it. Without a plugin the search did
    not come to the node."""

    passes: bool
    plugin: str = ""
    reason: str = ""
    beyond_help: bool = False

    @property
    def family(self) -> str:
        """Whose rule it is, whatever the minor calls it."""
        return family_of(self.plugin, self.reason)


class Stage:
    """For one round. Stations between the ends are made when they are asked for the first time."""

    def __init__(self, route: Route, loaded: Loaded) -> None:
        self.route = route
        self.leader = route.stations[0].make(loaded)
        self._loaded = loaded
        self._mirrors = {0: Mirror(self.leader, self.leader)}

    def at(self, station: int) -> Mirror:
        mirror = self._mirrors.get(station)
        if mirror is None:
            follower = self.route.stations[station].make(self._loaded)
            mirror = self._mirrors[station] = Mirror(self.leader, follower)
        mirror.catch_up()
        return mirror

    def situation(self, pod_row: int) -> Situation:
        return Situation(self, pod_row)


class Situation:
    """One pod that is due, with everybody else where the first station has put them. Nodes are told by the rows that
    they have there."""

    def __init__(self, stage: Stage, pod_row: int) -> None:
        self.route = stage.route
        self.pod_row = pod_row
        self._stage = stage
        self._mirrors: dict[int, Mirror] = {}
        self._decisions: dict[int, Decision] = {}

    @property
    def names(self) -> list[str]:
        """Of the nodes."""
        return self._stage.leader.cluster.nodes.names

    @property
    def name_rank(self) -> RowColumn:
        return self._stage.leader.cluster.nodes.name_rank

    def pod_name(self, pod_row: int) -> str:
        return self._stage.leader.cluster.pods.infos[pod_row].key

    def _at(self, station: int) -> Mirror:
        if station not in self._mirrors:
            self._mirrors[station] = self._stage.at(station)
        return self._mirrors[station]

    def decision(self, station: int) -> Decision:
        """But for the diagnosis, which is by the station's own rows."""
        if station not in self._decisions:
            self._decisions[station] = self._at(station).ask(self.pod_row)
        return self._decisions[station]

    @property
    def destination(self) -> str:
        """Where the last station sends the pod, be it after an eviction."""
        decision = self.decision(self.route.last)
        return decision.nominated_node if decision.row is None else self.names[decision.row]

    def scores_of(self, station: int, rows: RowColumn) -> ScoreTable | None:
        return self._at(station).scores_of(self.pod_row, rows)

    def verdict(self, station: int, node_row: int) -> Verdict:
        decision = self.decision(station)
        if decision.result == "error":
            return Verdict(False, self._named_in(station, decision.message), decision.message, True)
        if decision.diagnosis is None or node_row in decision.feasible:
            return Verdict(decision.diagnosis is not None)
        nodes = decision.diagnosis.nodes
        status = decision.diagnosis.pre_filter or nodes.status(self._at(station).row_of(node_row))
        beyond_help = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        plugin = status.plugin or self._who_left_out(station, node_row)
        return Verdict(False, plugin, status.message or "not looked at", beyond_help)

    def _runtime(self, station: int) -> Runtime:
        scheduler = self._at(station).follower
        return scheduler.runtimes[scheduler.cluster.pods.infos[self.pod_row].pod.spec.scheduler_name]

    def _who_left_out(self, station: int, node_row: int) -> str:
        """The plugin whose PreFilter is for other nodes only."""
        runtime, name = self._runtime(station), self.names[node_row]
        looked = inspect(runtime, runtime.cluster.pods.infos[self.pod_row])
        left_out = (each for each in looked.pre_filter if each.node_names is not None and name not in each.node_names)
        return next((each.plugin for each in left_out), "")

    def _named_in(self, station: int, message: str) -> str:
        """The plugin that an error speaks of."""
        plugins = self._runtime(station).profile.plugins
        return next((each.name for each in plugins if f'"{each.name}"' in message), "")
