"""The way from the rules of one side of a comparison to those of the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ksched_cli.api.core import Pod
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import KschedError
from ksched_cli.plan.causes.stations import Route, Station
from ksched_cli.plan.rule_changes import GATE_RULES, MINOR_RULES, Rules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import RELEASES, Release
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.release_fields import as_stored
from ksched_cli.wiring import RunOptions, SchedulerSpec, make_setting, scheduler_maker


def only_rules_differ(before: RunOptions, after: RunOptions) -> bool:
    """The same cluster under another version, other gates or another configuration. A scenario has made two clusters
    of it by now; and extenders are not asked once more."""
    alike = replace(after, config=before.config, kube_version=before.kube_version, feature_gates=before.feature_gates)
    return alike == before and before.scenario is None and not before.allow_extenders


def route(before: RunOptions, after: RunOptions, start: SchedulerSpec, end: SchedulerSpec) -> Route:
    """From minor to minor under the configuration and gates of the older side; at last to the gates, and the
    configuration, of the newer one."""
    if start.release.minor > end.release.minor:
        # What a gate switches can be told from the rest only where there is such a gate.
        return route(after, before, end, start).back
    way = _Way(before, start)
    for minor in _minors_on_the_way(start.release, end.release):
        way.go_to(replace(before, kube_version=minor.version))
    way.go_to(replace(before, kube_version=end.release.version, feature_gates=after.feature_gates))
    way.arrive(after, end, configuration=int(before.config != after.config))
    return Route(tuple(way.stations))


def _minors_on_the_way(start: Release, end: Release) -> list[Release]:
    return [each for each in RELEASES.values() if start.minor < each.minor < end.minor]


class _Way:
    """From one setting to the next: what a minor changes by itself comes first, then gate by gate what it switches. A
    stop that the configuration or the gates do not allow is passed by."""

    def __init__(self, setup: RunOptions, setting: SchedulerSpec) -> None:
        self.stations: list[Station] = []
        self.arrive(setup, setting)

    def arrive(self, setup: RunOptions, setting: SchedulerSpec, configuration: int = 0) -> None:
        rules = Rules(setting.release, setting.gates, setting.release)
        self.stations.append(Station(rules, configuration, scheduler_maker(setup, setting)))
        self._setting = setting

    def go_to(self, setup: RunOptions) -> None:
        there = _setting(setup)
        if there is None:
            return
        stops = list(_gate_by_gate(self._setting.gates, setup, there))
        self._stop_without_fields(*stops[0])
        for stop in stops:
            self.arrive(*stop)

    def _stop_without_fields(self, setup: RunOptions, setting: SchedulerSpec) -> None:
        """A stop before a minor that knows more fields of pods: its rules, without these."""
        older = self._setting
        if any(older.release.minor < each.minor <= setting.release.minor for each in MINOR_RULES if each.of_fields):
            make = scheduler_maker(setup, setting)

            def without(loaded: Loaded) -> Scheduler:
                copy = loaded.copied()
                copy.set_all(Pod, as_stored(loaded.of(Pod), older.release, older.gates))
                return make(copy)

            self.stations.append(Station(Rules(setting.release, setting.gates, older.release), 0, without))


def _gate_by_gate(
    gates: FeatureGates, setup: RunOptions, there: SchedulerSpec
) -> Iterator[tuple[RunOptions, SchedulerSpec]]:
    """First with all gates as they are now, then with one less each time."""
    switched = sorted(
        name
        for name, gate in there.release.known_gates.items()
        if not gate.locked and gates.enabled(name) != there.gates.enabled(name)
    )
    told = [name for name in switched if name in GATE_RULES]
    others = [name for name in switched if name not in GATE_RULES]
    for done in range(len(told)):
        # Gates that nothing is told of go with the last, or with the first where they depend on others.
        for left in ([*told[done:], *others], told[done:]):
            kept = ",".join(f"{name}={str(gates.enabled(name)).lower()}" for name in left)
            stop = replace(setup, feature_gates=f"{setup.feature_gates},{kept}")
            setting = _setting(stop)
            if setting is not None:
                yield stop, setting
                break
    yield setup, there


def _setting(setup: RunOptions) -> SchedulerSpec | None:
    try:
        return make_setting(setup)
    except KschedError:
        return None
