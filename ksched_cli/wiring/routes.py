"""The way from the rules of one side of a comparison to those of the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import starmap

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import KschedError
from ksched_cli.plan.causes.way import RuleSet, Way
from ksched_cli.plan.loaded_input import scheduler_maker
from ksched_cli.plan.rule_changes import GATE_RULES, MINOR_RULES
from ksched_cli.plan.scheduler_spec import SchedulerSpec
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import RELEASES
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.release_fields import as_stored
from ksched_cli.wiring.options import RunOptions
from ksched_cli.wiring.schedulers import make_scheduler, scheduler_spec


def find_way(before: RunOptions, after: RunOptions, start: SchedulerSpec, end: SchedulerSpec) -> Way:
    """From minor to minor under the configuration and gates of the older side; at last to the gates, and the
    configuration, of the newer one."""
    if start.release.minor > end.release.minor:
        # A gate has its own rules from the first minor that has it.
        return find_way(after, before, end, start).back
    rule_sets, here = [_rule_set(before, start)], start
    for setup in _minors(before, after, start, end):
        there = _setting(setup)
        if there is None:
            continue
        stops = list(_gate_by_gate(here.gates, setup, there))
        if any(each.of_fields and here.release.minor < each.minor <= there.release.minor for each in MINOR_RULES):
            # A minor that has more fields of pods: its rules come first, without these fields.
            rule_sets.append(_rule_set(*stops[0], fields=here))
        rule_sets += starmap(_rule_set, stops)
        here = there
    rule_sets.append(_rule_set(after, end, configuration=int(before.config != after.config)))
    return Way(rule_sets)


def _minors(before: RunOptions, after: RunOptions, start: SchedulerSpec, end: SchedulerSpec) -> Iterator[RunOptions]:
    """The setups that the way passes: what a minor changes by itself comes first, then what its gates switch."""
    for each in RELEASES.values():
        if start.release.minor < each.minor < end.release.minor:
            yield replace(before, kube_version=each.version)
    yield replace(before, kube_version=end.release.version, feature_gates=after.feature_gates)


def _rule_set(
    setup: RunOptions, setting: SchedulerSpec, configuration: int = 0, fields: SchedulerSpec | None = None
) -> RuleSet:
    """`fields` is the setting whose API server stores the pods, if it is another one."""
    known, make = fields or setting, scheduler_maker(partial(make_scheduler, setup), setting)

    def stored(pod: Pod) -> Pod:
        return as_stored(as_stored([pod], setting.release, setting.gates), known.release, known.gates)[0]

    def without_new_fields(loaded: Loaded) -> Scheduler:
        copy = loaded.copied()
        copy.set_all(Pod, as_stored(loaded.of(Pod), known.release, known.gates))
        return make(copy)

    own = without_new_fields if fields else make
    return RuleSet(setting.release, setting.gates, known.release, configuration, own, stored)


def _gate_by_gate(
    gates: FeatureGates, setup: RunOptions, there: SchedulerSpec
) -> Iterator[tuple[RunOptions, SchedulerSpec]]:
    """The setups from `gates` to those of `there`: each switches one more gate that has rules."""
    known = there.release.known_gates.items()
    switched = sorted(
        name for name, gate in known if not gate.locked and gates.enabled(name) != there.gates.enabled(name)
    )
    ruled = [name for name in switched if name in GATE_RULES]
    others = [name for name in switched if name not in GATE_RULES]
    for done in range(len(ruled)):
        # Gates without rules switch with the last one, or with the first one where they depend on others.
        for left in ([*ruled[done:], *others], ruled[done:]):
            kept = ",".join(f"{name}={str(gates.enabled(name)).lower()}" for name in left)
            stop = replace(setup, feature_gates=f"{setup.feature_gates},{kept}")
            setting = _setting(stop)
            if setting is not None:
                yield stop, setting
                break
    yield setup, there


def _setting(setup: RunOptions) -> SchedulerSpec | None:
    try:
        return scheduler_spec(setup)
    except KschedError:
        return None
