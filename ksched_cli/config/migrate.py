"""Rewrites an older configuration or a Policy for the newest version, with notes about differences and losses.

The lists of plugins are the shortest: what differs from the defaults, or whole lists where these are shorter. Arguments
have only what differs from the defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct, structs
from msgspec.structs import fields, replace

from ksched_cli.api.core import NodeAffinityTerms, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ksched_cli.config.carrying import (
    REMOVED_PLUGINS,
    UNORDERED,
    MigratedPlugins,
    MigrationNote,
    Minor,
    Notes,
    OldProfile,
    migrate_plugins,
)
from ksched_cli.config.legacy.migration import (
    in_plugins,
    note_policy,
    settings,
    settings_of_alpha,
    tell_of_all_filters,
)
from ksched_cli.config.legacy.policy import Policy, policy_document, policy_profile
from ksched_cli.config.load import load_config
from ksched_cli.config.model import (
    ALL,
    EXTENSION_POINT_FIELDS,
    KubeSchedulerProfile,
    PluginRef,
    Plugins,
    PluginSet,
    ResolvedProfile,
    SchedulerConfiguration,
    default_plugins,
)
from ksched_cli.config.plugin_args import (
    CPU_AND_MEMORY,
    STRATEGY_OF,
    NodeAffinityArgs,
    NodeLabelArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioArgs,
    RequestedToCapacityRatioParam,
    ScoringStrategy,
    VolumeBindingArgs,
    args_by_default,
    args_of,
    own_args,
)
from ksched_cli.config.reading import KIND, is_policy, read_one
from ksched_cli.config.validate_args import args_complaints
from ksched_cli.config.view import plugin_set
from ksched_cli.errors import joined
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.plugin_names import VOLUME_BINDING

_ALL_OFF = (PluginRef(ALL),)
_NO_WEIGHTS: Mapping[str, int] = {}


def shortest(carried: MigratedPlugins, own_order: Sequence[str], new: Minor) -> Plugins:
    """`own_order`: of the old profile's MultiPoint, which may save listing its plugins point by point."""
    ways = _Ways(carried, own_order, new)
    return min((ways.from_multi_point(each) for each in ways.multi_points()), key=_lines_of_all)


class _Ways:
    """The possible lists for one content of MultiPoint."""

    def __init__(self, carried: MigratedPlugins, own_order: Sequence[str], new: Minor) -> None:
        self._carried = carried
        self._own_order = own_order
        self._points_of = new.points
        self._by_name = new.by_name
        self._default = default_plugins(new.release, new.gates).multi_point.enabled
        self._on = {name for names in carried.points.values() for name in names}
        self._by_default = {plugin.name for plugin in self._default}
        own = dict.fromkeys(name for names in carried.points.values() for name in names if name not in self._by_default)
        self._own = [PluginRef(name, self._weight(name)) for name in own if self._is_everywhere(name)]

    def multi_points(self) -> Iterator[PluginSet]:
        # The plugin that sorts the queue stands at its point, and is the same in all profiles, as required.
        on = [plugin for plugin in self._default if plugin.name in self._on or self._sorts(plugin.name)]
        yield self._shortened(
            PluginSet(tuple(self._own), _refs([each.name for each in self._default if each not in on]))
        )
        listed = [PluginRef(plugin.name, self._weight(plugin.name) or plugin.weight) for plugin in on] + self._own
        yield PluginSet(tuple(listed), _ALL_OFF)
        places = {name: place for place, name in enumerate(self._own_order)}
        yield PluginSet(tuple(sorted(listed, key=lambda each: places.get(each.name, len(places)))), _ALL_OFF)

    def _shortened(self, multi_point: PluginSet) -> PluginSet:
        """MultiPoint without disabled plugins that lists at the points switch off in fewer lines. Each removal may make
        an earlier one worth while."""
        for plugin in multi_point.disabled:
            left = PluginSet(multi_point.enabled, tuple(each for each in multi_point.disabled if each != plugin))
            if _lines_of_all(self.from_multi_point(left)) < _lines_of_all(self.from_multi_point(multi_point)):
                return self._shortened(left)
        return multi_point

    def _sorts(self, name: str) -> bool:
        return "queueSort" in self._points_of.get(name, ())

    def _is_everywhere(self, name: str) -> bool:
        """Whether MultiPoint lists a custom plugin: the old one did, or the plugin is on at all its several points."""
        points = self._points_of[name]
        whole = len(points) > 1 and all(name in self._carried.points[point] for point in points)
        return name in self._own_order or (whole and not self._sorts(name) and name not in self._by_name)

    def _weight(self, name: str) -> int:
        """0 where it is no more than what is taken for none."""
        weight = self._carried.weights["score"].get(name, 0)
        return 0 if weight == 1 and name not in self._by_default else weight

    def from_multi_point(self, multi_point: PluginSet) -> Plugins:
        weights = {plugin.name: plugin.weight or 1 for plugin in multi_point.enabled}
        if multi_point.disabled != _ALL_OFF:
            off = {plugin.name for plugin in multi_point.disabled}
            weights = {plugin.name: plugin.weight or 1 for plugin in self._default if plugin.name not in off} | weights
        return Plugins.of({point: self._point(point, weights) for point in EXTENSION_POINT_FIELDS}, multi_point)

    def _point(self, point: str, multi_point: Mapping[str, int]) -> PluginSet:
        """`multi_point`: what is on there, in its order, with its weights."""
        wanted = self._carried.points[point]
        weights = self._carried.weights.get(point, {})
        idle = self._carried.idle if point == "preScore" else ()
        brought = [name for name in multi_point if point in self._points_of.get(name, ())]
        off = [name for name in brought if name not in wanted and name not in idle]
        reweighted = {name for name, weight in weights.items() if weight != multi_point.get(name)}
        whole = PluginSet(_refs(wanted, weights), _ALL_OFF)
        if point == "queueSort":
            return PluginSet() if wanted == tuple(brought) else whole
        for first in range(len(wanted) + 1):
            # What is named at the point itself comes before the rest of MultiPoint, or after it if it is not in there.
            own = [*wanted[:first], *(name for name in wanted[first:] if name in reweighted or name not in brought)]
            order = (
                *(name for name in own if name in brought),
                *(name for name in brought if name in wanted and name not in own),
                *(name for name in own if name not in brought),
            )
            if self._is_in_order(point, order):
                return min(PluginSet(_refs(own, weights), _refs(off)), whole, key=_lines)
        return whole

    def _is_in_order(self, point: str, names: tuple[str, ...]) -> bool:
        """Default plugins may come in the order of today where the old profile had that of its time."""
        wanted = self._carried.points[point]
        if point in UNORDERED or names == wanted:
            return True
        own = [name for name in names if name not in self._by_default]
        return point not in self._carried.ordered and own == [name for name in wanted if name in own]


def _refs(names: Sequence[str], weights: Mapping[str, int] = _NO_WEIGHTS) -> tuple[PluginRef, ...]:
    return tuple(PluginRef(name, weights.get(name, 0)) for name in names)


def _lines(own: PluginSet) -> int:
    """How many lines the lists have as YAML."""
    refs = (*own.enabled, *own.disabled)
    return sum(1 + bool(plugin.weight) for plugin in refs) + bool(own.enabled) + bool(own.disabled) + bool(refs)


def _lines_of_all(plugins: Plugins) -> int:
    return _lines(plugins.multi_point) + sum(_lines(own) for _, own in plugins.points())


class Migration(Struct, frozen=True):
    """The document, and the notes about it."""

    document: dict[str, Any]
    notes: tuple[MigrationNote, ...]

    @property
    def whole(self) -> bool:
        """Whether the new document expresses everything that the old one did."""
        return not any(note.lost for note in self.notes)


def migrate(text: str | bytes, source: str, old: Minor, new: Minor, own_models: Mapping[str, type[Any]]) -> Migration:
    """`old`: the minor that reads the file, and refuses it for its mistakes."""
    configuration = load_config(text, source, old.release, old.gates, old.points, own_models)
    document = read_one(text, source)
    notes = Notes(document, source)
    for warning in configuration.notes:
        notes.repeat(warning)
    migrated = {
        "apiVersion": new.release.config.read[0],
        "kind": KIND,
        **_settings(document.value, source, old, notes),
    }
    profiles = []
    for each in _old_profiles(configuration, document.value, old, new, notes):
        carried = migrate_plugins(each, new, notes)
        if is_policy(document.value) or old.release.before_plugins:
            # Predicates are run in the order of kube-scheduler, whatever the order of the file.
            carried = replace(carried, ordered=carried.ordered - {"preFilter", "filter"})
        profiles.append(_profile(each, carried, carried_args(each, carried, new, own_models, notes), new, notes))
    if profiles != [{"schedulerName": KubeSchedulerProfile().scheduler_name}]:
        migrated["profiles"] = profiles
    if configuration.extenders:
        migrated["extenders"] = [differing(each) for each in configuration.extenders]
    return Migration(migrated, notes.in_order())


def _settings(document: dict[str, Any], source: str, old: Minor, notes: Notes) -> dict[str, Any]:
    if is_policy(document):
        note_policy(policy_document(document, source), notes)
        return {}
    return (settings_of_alpha if old.release.before_plugins else settings)(document, notes)


def _old_profiles(
    configuration: SchedulerConfiguration, document: dict[str, Any], old: Minor, new: Minor, notes: Notes
) -> Iterator[OldProfile]:
    for index, profile in enumerate(configuration.profiles):
        if profile.checks_all_filters:
            tell_of_all_filters(notes)
        if old.release.before_plugins:
            yield in_plugins(_with_bind_timeout(profile, document), old, new, notes)
        else:
            default = policy_profile(Policy(), old.release, old.gates)[0] if is_policy(document) else None
            default = default or KubeSchedulerProfile(config_version=profile.config_version)
            yield OldProfile(profile, index, old, old.resolve(profile), old.resolve(default))


def _with_bind_timeout(profile: KubeSchedulerProfile, document: dict[str, Any]) -> KubeSchedulerProfile:
    """An argument of a plugin, and a field of v1alpha1."""
    seconds = document.get("bindTimeoutSeconds")
    if seconds is None:
        return profile
    return structs.replace(
        profile, args={**profile.args, VOLUME_BINDING: VolumeBindingArgs(bind_timeout_seconds=seconds)}
    )


def _profile(
    old: OldProfile, carried: MigratedPlugins, args: list[dict[str, Any]], new: Minor, notes: Notes
) -> dict[str, Any]:
    profile = old.profile
    plugins = shortest(carried, [plugin.name for plugin in profile.plugins.multi_point.enabled], new)
    _note_order(old, plugins, new, notes)
    document: dict[str, Any] = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    if plugins != Plugins():
        sets = {"multiPoint": plugins.multi_point, **dict(plugins.points())}
        document["plugins"] = {name: own for name, each in sets.items() if (own := plugin_set(each))}
    if args:
        document["pluginConfig"] = args
    return document


def _note_order(old: OldProfile, plugins: Plugins, new: Minor, notes: Notes) -> None:
    before = old.runs.points["filter"]
    after = new.resolve(KubeSchedulerProfile(plugins=plugins)).points["filter"]
    if [name for name in before if name in after] != [name for name in after if name in before]:
        text = "filters run in the order of v1: of several that reject a node, another may be named"
        notes.add(text, hint="where pods go is the same")


def differing(value: Struct) -> dict[str, Any]:
    """The fields that differ from the defaults of the type, at every depth."""
    found = {}
    for field in fields(value):
        own = getattr(value, field.name)
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        if own != default:
            found[field.encode_name] = _plain(own)
    return found


def _entry(value: Any) -> Any:
    """Names with their numbers are whole, also where a number is zero."""
    if not isinstance(value, Struct):
        return _plain(value)
    values = [getattr(value, name) for name in value.__struct_fields__]
    return msgspec.to_builtins(value) if all(type(each) in (int, str) for each in values) else differing(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return differing(value)
    if isinstance(value, tuple | list):
        return [_entry(each) for each in value]
    return msgspec.to_builtins(value)


Own = Mapping[str, type[Any]]


def carried_args(old: OldProfile, carried: MigratedPlugins, new: Minor, own: Own, notes: Notes) -> list[dict[str, Any]]:
    """The pluginConfig; `own` are the models of plugins that are not kube-scheduler's."""
    profile, index, before = old.profile, old.index, old.runs
    args = {
        name: each for name, each in profile.args.items() if name not in REMOVED_PLUGINS and name not in STRATEGY_OF
    }
    if carried.scorer in STRATEGY_OF:
        args[names.NODE_RESOURCES_FIT] = _with_strategy(
            args.get(names.NODE_RESOURCES_FIT), carried.scorer, before.args[carried.scorer]
        )
    _ask_for_labels(args, before, index, notes)
    spread = before.args.get(names.POD_TOPOLOGY_SPREAD)
    if (
        not old.minor.gates.enabled("DefaultPodTopologySpread")
        and spread is not None
        and not spread.default_constraints
    ):
        # An older plugin did what default constraints do, or none did.
        by_default = bool({names.SELECTOR_SPREAD, names.DEFAULT_POD_TOPOLOGY_SPREAD} & {*before.points["score"]})
        args[names.POD_TOPOLOGY_SPREAD] = replace(spread, defaulting_type="System" if by_default else "List")
    _note_unused(profile, before, index, notes)
    _note_new_shape(before, carried, index, new, notes)
    documents = {name: _document(name, each, index, new, own, notes) for name, each in args.items()}
    return [{"name": name, "args": each} for name, each in documents.items() if each]


def _with_strategy(fit: NodeResourcesFitArgs | None, plugin: str, args: Any) -> NodeResourcesFitArgs:
    ratio = None
    if isinstance(args, RequestedToCapacityRatioArgs):
        ratio = RequestedToCapacityRatioParam(args.shape)
    strategy = ScoringStrategy(STRATEGY_OF[plugin], args.resources, ratio)
    return replace(fit or NodeResourcesFitArgs(), scoring_strategy=strategy)


def _ask_for_labels(args: dict[str, Any], before: ResolvedProfile, index: int, notes: Notes) -> None:
    """An old plugin selected nodes with and without labels; addedAffinity can require the same for all pods."""
    label = before.args.get(names.NODE_LABEL)
    if not isinstance(label, NodeLabelArgs) or names.NODE_LABEL not in before.points["filter"]:
        return
    requirements = tuple(
        NodeSelectorRequirement(key, operator)
        for operator, keys in (("Exists", label.present_labels), ("DoesNotExist", label.absent_labels))
        for key in keys
    )
    if not requirements:
        return
    steps = notes.place_of([names.NODE_LABEL], index)
    if names.NODE_AFFINITY not in before.points["filter"]:
        since = REMOVED_PLUGINS[names.NODE_LABEL].since
        text = f"{names.NODE_LABEL} went away with {since}, and {names.NODE_AFFINITY}, which can ask for labels, is off"
        notes.add(text, steps, f"enable {names.NODE_AFFINITY} with addedAffinity", lost=True)
        return
    own = args.get(names.NODE_AFFINITY) or NodeAffinityArgs()
    args[names.NODE_AFFINITY] = replace(
        own, added_affinity=_with_requirements(own.added_affinity or NodeAffinityTerms(), requirements)
    )
    since = REMOVED_PLUGINS[names.NODE_LABEL].since
    text = f"{names.NODE_LABEL} went away with {since}: its condition is addedAffinity of {names.NODE_AFFINITY}"
    notes.add(text, steps, "the reason of nodes without it is that they do not match scheduler-enforced node affinity")


def _with_requirements(
    affinity: NodeAffinityTerms, requirements: tuple[NodeSelectorRequirement, ...]
) -> NodeAffinityTerms:
    required = affinity.required_during_scheduling_ignored_during_execution
    terms = required.node_selector_terms if required else (NodeSelectorTerm(),)
    # One term is enough to match, so each term has to require it.
    terms = tuple(replace(each, match_expressions=(*each.match_expressions, *requirements)) for each in terms)
    return replace(affinity, required_during_scheduling_ignored_during_execution=NodeSelector(terms))


def _note_unused(profile: KubeSchedulerProfile, before: ResolvedProfile, index: int, notes: Notes) -> None:
    unused = [
        name for name in profile.args if name not in before.args and (name in REMOVED_PLUGINS or name in STRATEGY_OF)
    ]
    if unused:
        text = f"arguments of {joined(unused)} are left out: the profile does not run what they are for"
        notes.add(text, notes.place_of(unused, index))


def _note_new_shape(before: ResolvedProfile, carried: MigratedPlugins, index: int, new: Minor, notes: Notes) -> None:
    """A plugin that binds volumes scores if it has a shape; the gates of the new minor may give it one by default."""
    for name in carried.points["score"]:
        args, now = before.args.get(name), args_by_default(name, new.gates)
        if isinstance(args, VolumeBindingArgs) and not args.shape and now.shape:
            text = f"{name} scores nodes by their room for volumes in Kubernetes {new.release.version}"
            hint = f"disable {name} in plugins.score if that is not wanted"
            notes.add(text, notes.place_of([name], index), hint)


def _document(name: str, args: Any, index: int, new: Minor, own: Own, notes: Notes) -> dict[str, Any]:
    if name in own:
        return _own_document(args, own[name])
    if not isinstance(args, Struct) or args_of(name, new.release) is None:
        return dict(args or {})
    document = differing(replace(args, api_version="", kind=""))
    if isinstance(args, NodeResourcesFitArgs) and "scoringStrategy" in document:
        document["scoringStrategy"] = _strategy(args.scoring_strategy)
    if isinstance(args, VolumeBindingArgs) and args.shape == args_by_default(name, new.gates).shape:
        document.pop("shape", None)
    for path, text in args_complaints(args, new.gates, new.release):
        field = path.partition(".")[0].partition("[")[0]
        if document.pop(field, None) is not None:
            message = f"Kubernetes {new.release.version} does not take {path} of {name}: {text}"
            notes.add(message, notes.place_of([name], index), f"{field} is left out", lost=True)
    return document


def _strategy(strategy: ScoringStrategy) -> dict[str, Any]:
    """Its type has no default in a file."""
    resources = strategy.resources if strategy.resources != CPU_AND_MEMORY else ()
    return {"type": strategy.type, **differing(replace(strategy, type="", resources=resources))}


def _own_document(args: Any, model: type[Any]) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(args)
    default, _ = own_args(model, {})
    usual = {} if default is None else msgspec.to_builtins(default)
    missing = object()
    return {key: value for key, value in document.items() if usual.get(key, missing) != value}
