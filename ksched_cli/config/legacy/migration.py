"""The parts of a migration that only old files need: a profile of predicates and priorities as a profile of plugins,
as the last reader of a Policy makes it, and the settings outside the profiles of old versions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ksched_cli.config.carrying import Minor, Notes, OldProfile
from ksched_cli.config.legacy.algorithm import ORDER, PREEMPTION
from ksched_cli.config.legacy.policy import LAST_NAMES, PREDICATES, PRIORITIES, Making, plugins_named
from ksched_cli.config.model import KubeSchedulerProfile, Plugins, merge_with_defaults
from ksched_cli.config.plugin_args import (
    InterPodAffinityArgs,
    NodeLabelArgs,
    RequestedToCapacityRatioArgs,
    ServiceAffinityArgs,
)
from ksched_cli.config.reading import ADDRESSES, LOCK
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.configuration import INSECURE_PORT, LAST_WITH_POLICY, NODE_CONDITIONS, RESOURCE_LIMITS
from ksched_cli.releases.plugin_names import INTER_POD_AFFINITY, INTER_POD_AFFINITY_PRIORITY


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


# With what v1 takes them for where the file does not have them.
_DEFAULTS: dict[str, Any] = {
    "parallelism": 16,
    "percentageOfNodesToScore": 0,
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 10,
    "enableProfiling": True,
    "enableContentionProfiling": True,
    "delayCacheUntilActive": False,
}
_WHOLE = ("leaderElection", "clientConnection")
# The default lock object of a scheduler of the time of v1alpha1.
_ALPHA_LOCK = "endpoints"


def settings(document: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The settings of a configuration. Sections without an effect on scheduling are copied."""
    found = {name: own for name in _WHOLE if (own := _section(document.get(name)))}
    found |= {
        name: document[name]
        for name, default in _DEFAULTS.items()
        if document.get(name, default) not in (None, default)
    }
    election = found.get("leaderElection", {})
    if election.get("resourceLock", LOCK) != LOCK:
        _note_lock(election.pop("resourceLock"), notes, lost=True)
    _note_addresses(document, notes)
    return {name: own for name, own in found.items() if own != {}}


def settings_of_alpha(document: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The settings of a v1alpha1 file, which has other defaults, and another name for the field of the lock name."""
    election = _section(document.get("leaderElection"))
    for name in ("Namespace", "Name"):
        own = election.pop(f"lockObject{name}", None)
        if own and not election.get(f"resource{name}"):
            election[f"resource{name}"] = own
    if election.get("leaderElect") is not False and not election.get("resourceLock"):
        _note_lock(_ALPHA_LOCK, notes, lost=False)
    profiling = {name: document.get(name) or False for name in ("enableProfiling", "enableContentionProfiling")}
    if not profiling["enableProfiling"]:
        del profiling["enableContentionProfiling"]
        notes.add("profiling was off by default, and this is written out: enableProfiling: false")
    kept = {name: document.get(name) for name in ("clientConnection", "percentageOfNodesToScore")}
    addresses = {name: document.get(name) for name in ADDRESSES}
    return settings({**kept, **addresses, **profiling, "leaderElection": election}, notes)


def _note_lock(lock: str, notes: Notes, *, lost: bool) -> None:
    default = "" if lost else ", its default then"
    notes.add(
        f"leader election knows {LOCK} only, no {lock}{default}",
        ("leaderElection", "resourceLock"),
        f"let all replicas of today's scheduler come to {LOCK} before the first of the new ones starts",
        lost=lost,
    )


def _note_addresses(document: dict[str, Any], notes: Notes) -> None:
    for name in ADDRESSES:
        address = document.get(name)
        if address and not address.endswith(":0"):
            text = f"nothing is served at {address}: the port without encryption went away with {INSECURE_PORT}"
            notes.add(text, (name,), "use the flags --bind-address and --secure-port, and https", lost=True)


def _section(own: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (own or {}).items() if value is not None}


def note_policy(policy: dict[str, Any], notes: Notes) -> None:
    priorities = policy.get("priorities")
    named = [plugin for each in priorities or () for plugin in plugins_named(each)]
    if policy.get("hardPodAffinitySymmetricWeight") and priorities is not None and INTER_POD_AFFINITY not in named:
        text = f"this weight decides nothing, for {INTER_POD_AFFINITY_PRIORITY} is not among the priorities"
        notes.add(text, ("hardPodAffinitySymmetricWeight",))


def tell_of_all_filters(notes: Notes) -> None:
    text = "the other filters do not run any more for a node that one filter has rejected"
    hint = "pods go where they went, and fewer reasons are shown; ksched explain shows all of them"
    notes.add(text, ("alwaysCheckAllPredicates",), hint, lost=True)
