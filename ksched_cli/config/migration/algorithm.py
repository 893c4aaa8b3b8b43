"""A profile of predicates and priorities, rewritten as a profile of plugins, as the last reader of a Policy does."""

from __future__ import annotations

from msgspec.structs import replace

from ksched_cli.config.migration.carrying import Minor, OldProfile
from ksched_cli.config.migration.migration_notes import Notes
from ksched_cli.config.model import KubeSchedulerProfile, Plugins
from ksched_cli.config.plugin_args import (
    InterPodAffinityArgs,
    NodeLabelArgs,
    RequestedToCapacityRatioArgs,
    ServiceAffinityArgs,
)
from ksched_cli.config.policy.families import LAST_NAMES, PREDICATES, PRIORITIES
from ksched_cli.config.policy.predicates import ORDER, PREEMPTION
from ksched_cli.config.policy.profile import Making
from ksched_cli.config.resolved_profile import merge_with_defaults
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.configuration import LAST_WITH_POLICY
from ksched_cli.releases.removals import NODE_CONDITIONS, RESOURCE_LIMITS


def in_plugins(profile: KubeSchedulerProfile, old: Minor, new: Minor, notes: Notes) -> OldProfile:
    """The profile and the default profile of its minor, rewritten as plugins."""
    silent = notes.apart()
    default = _InPlugins(KubeSchedulerProfile(), old, new, silent).made()
    made = _InPlugins(profile, old, new, notes).made()
    # What the gates of that time decided is in the predicates; today's gates decide about the plugins.
    minor = Minor(old.release, new.gates, {})
    return OldProfile(made, 0, minor, _reader(made, new).resolve(made), _reader(default, new).resolve(default))


def _reader(profile: KubeSchedulerProfile, new: Minor) -> Minor:
    """A minor in which each plugin takes part at every point where the profile lists it."""
    points: dict[str, list[str]] = {}
    for point, own in profile.plugins.points():
        for plugin in own.enabled:
            points.setdefault(plugin.name, []).append(point)
    return Minor(LAST_WITH_POLICY, new.gates, points)


class _InPlugins:
    """One profile during its rewriting."""

    def __init__(self, profile: KubeSchedulerProfile, old: Minor, new: Minor, notes: Notes) -> None:
        self._profile = profile
        self._notes = notes
        self._making = Making(new.release, new.gates)
        enabled = merge_with_defaults(profile, old.release, old.gates).multi_point.enabled
        self._enabled = {plugin.name: plugin.weight for plugin in enabled}

    def made(self) -> KubeSchedulerProfile:
        # Constraints of pods came later, and who gives a pod some wants them obeyed.
        self._making.add_predicate(names.EVEN_PODS_SPREAD)
        for name in ORDER:
            if name in self._enabled:
                self._add_predicate(name)
        for name, weight in self._weights().items():
            self._making.add_priority(name, weight)
        affinity = self._profile.args.get(names.INTER_POD_AFFINITY_PRIORITY)
        if isinstance(affinity, InterPodAffinityArgs):
            self._making.args[names.INTER_POD_AFFINITY] = affinity
        own = {name: args for name, args in self._profile.args.items() if name not in self._enabled}
        plugins = self._with_own(self._making.plugins())
        return replace(self._profile, plugins=plugins, args={**own, **self._making.args}, implemented_by={})

    def _kind(self, name: str) -> str:
        """The predicate or priority that an entry means. An entry with an argument may have any name."""
        return self._profile.implemented_by.get(name, name)

    def _add_predicate(self, name: str) -> None:
        kind = self._kind(name)
        if kind in PREDICATES:
            self._add_labels(name)
            self._making.add_predicate(kind)
        else:
            text = f"{name} went away with {NODE_CONDITIONS}"
            self._notes.add(
                text, hint=f"nodes are tainted by their conditions, and {names.TAINT_TOLERATION} looks at taints"
            )

    def _weights(self) -> dict[str, int]:
        """The weight of each priority, under its last name."""
        weights: dict[str, int] = {}
        for name, weight in self._enabled.items():
            kind = self._kind(name)
            known = LAST_NAMES.get(kind, kind)
            if kind == names.RESOURCE_LIMITS_PRIORITY:
                text = f"{names.RESOURCE_LIMITS_PRIORITY} went away with {RESOURCE_LIMITS}"
                self._notes.add(text, hint="nothing prefers nodes that have room for a pod's limits", lost=True)
            elif weight and known == names.REQUESTED_TO_CAPACITY_RATIO:
                self._add_ratio(name, weight, weights)
            elif weight and known in PRIORITIES:
                self._add_labels(name)
                weights[known] = weights.get(known, 0) + weight
        if names.SELECTOR_SPREAD_PRIORITY in weights:
            spreads = f"the default constraints of {names.POD_TOPOLOGY_SPREAD}"
            text = f"pods of a Service or workload are spread by {spreads} now"
            self._notes.add(text, hint=f"it counts pods in another way than {names.SELECTOR_SPREAD_PRIORITY} did")
        return weights

    def _add_ratio(self, name: str, weight: int, weights: dict[str, int]) -> None:
        """There can be several, each with a shape of its own, and one is left."""
        args = self._profile.args.get(name)
        assert isinstance(args, RequestedToCapacityRatioArgs)
        if names.REQUESTED_TO_CAPACITY_RATIO in weights:
            kept = "for a profile now, and that of most weight is kept"
            text = f"there is one shape of {names.REQUESTED_TO_CAPACITY_RATIO} {kept}"
            self._notes.add(text, hint="give the pods profiles with one shape each", lost=True)
        if weight > weights.get(names.REQUESTED_TO_CAPACITY_RATIO, 0):
            weights[names.REQUESTED_TO_CAPACITY_RATIO], self._making.args[names.REQUESTED_TO_CAPACITY_RATIO] = (
                weight,
                args,
            )

    def _add_labels(self, name: str) -> None:
        args = self._profile.args.get(name)
        if isinstance(args, NodeLabelArgs | ServiceAffinityArgs):
            self._making.add_args(args)

    def _with_own(self, plugins: Plugins) -> Plugins:
        """The plugins with those of the profile after them. One that binds comes first, one that sorts stands alone."""
        sets = dict(plugins.points())
        for point, own in self._profile.plugins.points():
            if own.enabled:
                there = () if point == "queueSort" else sets[point].enabled
                listed = (*own.enabled, *there) if point == "bind" else (*there, *own.enabled)
                sets[point] = replace(sets[point], enabled=listed)
        if PREEMPTION not in self._enabled:
            sets["postFilter"] = replace(sets["postFilter"], enabled=())
        return Plugins.of(sets)
