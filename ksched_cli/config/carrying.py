"""How a profile of an older minor continues under the newest: which plugins run where, with which weights, and what
does the work of removed plugins. Each difference and each loss is a note with its place in the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.conversion import path_text
from ksched_cli.api.yaml_reader import Document
from ksched_cli.config.legacy.policy import plugins_named, policy_document
from ksched_cli.config.model import ALL, KubeSchedulerProfile, ResolvedProfile, expand_profile
from ksched_cli.config.plugin_args import STRATEGY_OF, NodeLabelArgs, PodTopologySpreadArgs
from ksched_cli.config.reading import is_policy
from ksched_cli.errors import Problem, joined
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.configuration import FIRST_PLUGINS, IN_TREE_LIMITS, OLD_PLUGINS
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import NODE_LABEL, NODE_RESOURCES_FIT, NODE_RESOURCES_LEAST_ALLOCATED

Steps = tuple[str | int, ...]


class MigrationNote(Struct, frozen=True):
    """`lost`: a setting of the old file is not in the new one."""

    problem: Problem
    lost: bool = False


class Notes:
    """The notes of one file. A note that holds for several profiles names the first."""

    def __init__(self, document: Document, source: str) -> None:
        self._document = document
        self._source = source
        self._notes: dict[tuple[str, str], MigrationNote] = {}

    def apart(self) -> Notes:
        """Notes that are not part of the result."""
        return Notes(self._document, self._source)

    def in_order(self) -> tuple[MigrationNote, ...]:
        """All notes; those about lost settings come first."""
        return tuple(sorted(self._notes.values(), key=lambda note: not note.lost))

    def add(self, message: str, steps: Sequence[str | int] = (), hint: str = "", *, lost: bool = False) -> None:
        line = self._document.line_of(tuple(steps)) if steps else None
        problem = Problem(message, self._source, line, path_text(steps), hint)
        self._notes.setdefault((message, hint), MigrationNote(problem, lost))

    def repeat(self, warning: str) -> None:
        """Add a note whose text already has its place."""
        self._notes.setdefault((warning, ""), MigrationNote(Problem(warning)))

    def place_of(self, plugins: Sequence[str], profile: int, point: str = "") -> Steps:
        """Where the file first names one of the plugins; nowhere if they are there by default."""
        document = self._document.value
        if is_policy(document):
            fields = ("priorities",) if point == "score" else ("predicates", "priorities")
            found = _in_policy(policy_document(document, self._source), fields, plugins)
        else:
            found = _in_profile(document, profile, point, plugins)
        return next(found, ())


def _in_policy(policy: dict[str, Any], fields: Sequence[str], plugins: Sequence[str]) -> Iterator[Steps]:
    for field in fields:
        for index, each in enumerate(policy.get(field) or ()):
            if set(plugins_named(each)) & set(plugins):
                yield (field, index)


def _in_profile(document: dict[str, Any], index: int, wanted: str, plugins: Sequence[str]) -> Iterator[Steps]:
    listed = document.get("profiles") or ()
    profile = listed[index] if index < len(listed) else {}
    steps: Steps = ("profiles", index)
    for point, own in (profile.get("plugins") or {}).items():
        for at, each in enumerate((own or {}).get("enabled") or ()):
            if wanted in ("", point) and each.get("name") in plugins:
                yield (*steps, "plugins", point, "enabled", at)
    for at, each in enumerate(profile.get("pluginConfig") or ()):
        if each.get("name") in plugins:
            yield (*steps, "pluginConfig", at)


class RemovedPlugin(Struct, frozen=True):
    """The version that removed a plugin, and what to use instead."""

    since: str
    instead: str


_COUNTED = RemovedPlugin(
    IN_TREE_LIMITS, f"{names.NODE_VOLUME_LIMITS} counts in-tree volumes as those of their CSI drivers"
)
_SPREADS = f"{names.POD_TOPOLOGY_SPREAD} spreads pods that have no constraints by its default ones"
REMOVED_PLUGINS: Mapping[str, RemovedPlugin] = {
    names.AZURE_DISK_LIMITS: _COUNTED,
    names.CINDER_LIMITS: _COUNTED,
    names.EBS_LIMITS: _COUNTED,
    names.GCEPD_LIMITS: _COUNTED,
    names.NODE_PREFER_AVOID_PODS: RemovedPlugin(
        OLD_PLUGINS, "taint nodes with PreferNoSchedule instead of annotating them"
    ),
    names.NODE_LABEL: RemovedPlugin(
        OLD_PLUGINS, f"prefer labels in the pods' node affinity, or in addedAffinity of {names.NODE_AFFINITY}"
    ),
    names.SERVICE_AFFINITY: RemovedPlugin(OLD_PLUGINS, "give the pods podAffinity or topologySpreadConstraints"),
    names.SELECTOR_SPREAD: RemovedPlugin("v1", _SPREADS),
    names.DEFAULT_POD_TOPOLOGY_SPREAD: RemovedPlugin("v1", _SPREADS),
    names.NODE_RESOURCE_LIMITS: RemovedPlugin(FIRST_PLUGINS, "nothing ranks nodes by the limits of a pod now"),
}


class LostPlugin(Struct, frozen=True):
    """A plugin that runs in the old profile and not in the new one. `has_effect`: the profile enables the plugin, and
    no plugin does its work now."""

    plugin: str
    has_effect: bool


def losses(mine: ResolvedProfile, default: ResolvedProfile) -> Iterator[LostPlugin]:
    """Required labels of nodes are not lost: addedAffinity can require them."""
    for plugin in REMOVED_PLUGINS:
        points = [point for point, names in mine.points.items() if plugin in names]
        if not points or (plugin == names.NODE_LABEL and not _prefers_labels(mine)):
            continue
        by_default = all(plugin in default.points[point] for point in points)
        is_default = by_default and mine.score_weights.get(plugin) == default.score_weights.get(plugin)
        yield LostPlugin(plugin, has_effect=not is_default and not _covered(plugin, mine))


def _prefers_labels(mine: ResolvedProfile) -> bool:
    args = mine.args[names.NODE_LABEL]
    assert isinstance(args, NodeLabelArgs)
    return names.NODE_LABEL in mine.points["score"] and bool(
        args.present_labels_preference or args.absent_labels_preference
    )


def _covered(plugin: str, mine: ResolvedProfile) -> bool:
    """Whether the plugins of the new profile do the work."""
    if REMOVED_PLUGINS[plugin] is _COUNTED:
        return names.NODE_VOLUME_LIMITS in mine.points["filter"]
    if plugin in (names.SELECTOR_SPREAD, names.DEFAULT_POD_TOPOLOGY_SPREAD):
        args = mine.args.get(names.POD_TOPOLOGY_SPREAD)
        by_default = isinstance(args, PodTopologySpreadArgs) and args.defaulting_type == "System"
        return by_default and names.POD_TOPOLOGY_SPREAD in mine.points["score"]
    return False


# Extension points at which all plugins run and their order has no effect.
UNORDERED = frozenset({"preScore", "score", "placementScore"})


class Minor(Struct, frozen=True):
    """A minor with its gates and the extension points of its plugins. `by_name`: plugins known only from the file."""

    release: Release
    gates: FeatureGates
    points: Mapping[str, Collection[str]]
    by_name: frozenset[str] = frozenset()

    def resolve(self, profile: KubeSchedulerProfile) -> ResolvedProfile:
        return expand_profile(profile, self.release, self.gates, self.points)


class OldProfile(Struct, frozen=True):
    """A profile of the old file. Its minor runs `runs`, and `default` if the file sets nothing."""

    profile: KubeSchedulerProfile
    index: int
    minor: Minor
    runs: ResolvedProfile
    default: ResolvedProfile


class MigratedPlugins(Struct, frozen=True):
    """The plugins to run. `ordered`: points at which the old profile sets an order; `idle`: plugins without a score,
    whose PreScore may be on or off; `scorer`: the plugin that scored resources."""

    points: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, Mapping[str, int]]
    ordered: frozenset[str]
    idle: frozenset[str]
    scorer: str


def migrate_plugins(old: OldProfile, new: Minor, notes: Notes) -> MigratedPlugins:
    """The plugins that run as the old profile runs its own, with notes about what differs."""
    return _PluginMigration(old, new, notes).migrated()


class _PluginMigration:
    """One profile during its migration, with the notes about it."""

    def __init__(self, old: OldProfile, new: Minor, notes: Notes) -> None:
        self._old = old
        self._release = old.minor.release
        self._new = new
        self._notes = notes
        # What runs, what ran by default, and what does today.
        self._old_plugins = in_new_terms(old.runs)
        self._default = in_new_terms(old.default)
        self._now = new.resolve(KubeSchedulerProfile())

    def migrated(self) -> MigratedPlugins:
        self._note_scorers()
        self._note_removed()
        self._note_new()
        mine = self._old_plugins
        points = {point: (*mine.points[point], *self._added_at(point)) for point in mine.points}
        idle = self._idle(points["score"])
        points["preScore"] = tuple(name for name in points["preScore"] if name not in idle)
        weights = {
            "score": _weights(points["score"], mine.score_weights, self._now.score_weights),
            "placementScore": _weights(points["placementScore"], mine.placement_weights, self._now.placement_weights),
        }
        self._note_weights(weights["score"])
        scorers = scorers_of_resources(self._old.runs)
        return MigratedPlugins(points, weights, frozenset(self._own_orders()), idle, scorers[0] if scorers else "")

    def _idle(self, scoring: Sequence[str]) -> frozenset[str]:
        """Plugins without a score, whose PreScore may be on or off; none for a profile of the newest minor."""
        by_default = frozenset() if self._release == self._new.release else frozenset(self._now.points["preScore"])
        return by_default - set(scoring)

    # What came since

    def _added_at(self, point: str) -> tuple[str, ...]:
        """Plugins that run here by default only since then: new plugins, and plugins in use that have a new part."""
        return tuple(
            name
            for name in self._now.points[point]
            if name not in (*self._old_plugins.points[point], *self._default.points[point])
            and self._is_wanted(name, point)
        )

    def _is_wanted(self, name: str, point: str) -> bool:
        if name in self._switched_off("multiPoint") | self._switched_off(point):
            return False
        if name in self._new_plugins:
            # What scores is what the profile lists, if it lists all that does.
            return not self._lists_all and not (point in UNORDERED and self._lists_all_at(point))
        if point == "preScore":
            return name in self._old_plugins.points["score"] or name in self._added_at("score")
        in_use = any(name in names for names in self._old_plugins.points.values())
        return in_use and not (point in UNORDERED and self._lists_all_at(point))

    def _switched_off(self, point: str) -> set[str]:
        plugins = self._old.profile.plugins
        own = {"multiPoint": plugins.multi_point, **dict(plugins.points())}[point]
        return {plugin.name for plugin in own.disabled}

    @property
    def _new_plugins(self) -> frozenset[str]:
        """Plugins that are on by default now and were not before, and that the profile does not enable itself."""
        known = _names(self._old_plugins) | _names(self._default)
        return frozenset(_names(self._now) - known - self._switched_off("multiPoint"))

    @property
    def _lists_all(self) -> bool:
        """Whether the profile has all default plugins off and not all of them on again."""
        return ALL in self._switched_off("multiPoint") and not _names(self._default) <= _names(self._old_plugins)

    def _lists_all_at(self, point: str) -> bool:
        missing = set(self._default.points[point]) - set(self._old_plugins.points[point])
        return ALL in self._switched_off(point) and bool(missing)

    def _own_orders(self) -> Iterator[str]:
        """Where plugins are not in the order of the defaults with what was added after them."""
        for point, listed in self._old_plugins.points.items():
            default = self._default.points[point]
            usual = (*(each for each in default if each in listed), *(each for each in listed if each not in default))
            if point not in UNORDERED and listed != usual:
                yield point

    # Notes

    def _note_scorers(self) -> None:
        first, *others = scorers_of_resources(self._old.runs) or [""]
        if others:
            weights = self._old.runs.score_weights
            names = joined([f"{name} ({weights[name]})" for name in (first, *others)])
            self._notes.add(
                f"{names} are strategies of {NODE_RESOURCES_FIT} now, which has one: {first} is kept",
                self._notes.place_of([first, *others], self._old.index),
                "switch the others off, or give the pods profiles with one strategy each",
                lost=True,
            )

    def _note_removed(self) -> None:
        found = list(losses(self._old.runs, self._old.default))
        for kind in dict.fromkeys((REMOVED_PLUGINS[each.plugin], each.has_effect) for each in found):
            removed, has_effect = kind
            names = [each.plugin for each in found if (REMOVED_PLUGINS[each.plugin], each.has_effect) == kind]
            text = f"{joined(names)} went away with {removed.since}"
            point = "score" if names == [NODE_LABEL] else ""
            self._notes.add(text, self._notes.place_of(names, self._old.index, point), removed.instead, lost=has_effect)

    def _note_new(self) -> None:
        if not self._new_plugins:
            return
        names = joined(sorted(self._new_plugins))
        text = f"on by default now, and not in Kubernetes {self._release.version}: {names}"
        if self._lists_all:
            hint = "left off, for the profile lists all that it runs: enable in plugins.multiPoint what is wanted"
        else:
            hint = "disable in plugins.multiPoint what is not wanted"
        self._notes.add(text, hint=hint)

    def _note_weights(self, weights: Mapping[str, int]) -> None:
        now, default = self._now.score_weights, self._default.score_weights
        changed = [
            f"{name} {weight} (now {now[name]})"
            for name, weight in sorted(weights.items())
            if name in now and weight == default.get(name) != now[name]
        ]
        if changed:
            text = f"default weights of Kubernetes {self._release.version} are written out: {', '.join(changed)}"
            self._notes.add(text, hint="take them out to have those of today")


def scorers_of_resources(resolved: ResolvedProfile) -> list[str]:
    """The plugins that score resources: the heaviest first, and of equals the default plugin last."""
    found = [name for name in resolved.points["score"] if name in STRATEGY_OF or name == NODE_RESOURCES_FIT]
    return sorted(found, key=lambda name: (-resolved.score_weights[name], name == NODE_RESOURCES_LEAST_ALLOCATED))


def in_new_terms(resolved: ResolvedProfile) -> ResolvedProfile:
    """The profile without the plugins that the newest minor does not have. Resources are scored under one name."""
    scorers = scorers_of_resources(resolved)
    weights = {name: resolved.score_weights[name] for name in resolved.points["score"]}
    if scorers:
        weights[NODE_RESOURCES_FIT] = weights[scorers[0]]
    score = dict.fromkeys(NODE_RESOURCES_FIT if name in scorers else name for name in resolved.points["score"])
    removed = {*REMOVED_PLUGINS, *STRATEGY_OF}
    points = {
        point: tuple(name for name in names if name not in removed)
        for point, names in {**resolved.points, "score": tuple(score)}.items()
    }
    return replace(resolved, points=points, score_weights={name: weights[name] for name in points["score"]})


def _names(resolved: ResolvedProfile) -> set[str]:
    return {name for names in resolved.points.values() for name in names}


def _weights(names: Sequence[str], mine: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    return {name: mine.get(name, now.get(name, 1)) for name in names}
