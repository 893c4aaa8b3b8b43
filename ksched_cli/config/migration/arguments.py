"""The arguments of a profile's plugins as v1 has them: under the plugins of today, and only what differs from the
defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields, replace

from ksched_cli.api.affinity import NodeAffinityTerms, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ksched_cli.api.listing import joined
from ksched_cli.config.migration.carrying import GONE, Carried, Minor, Notes, OldProfile
from ksched_cli.config.model import KubeSchedulerProfile
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
from ksched_cli.config.resolved_profile import ResolvedProfile
from ksched_cli.config.validate_args import args_complaints
from ksched_cli.releases import plugin_names as names


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


def carried_args(old: OldProfile, carried: Carried, new: Minor, own: Own, notes: Notes) -> list[dict[str, Any]]:
    """The pluginConfig; `own` are the models of plugins that are not kube-scheduler's."""
    profile, index, before = old.profile, old.index, old.runs
    args = {name: each for name, each in profile.args.items() if name not in GONE and name not in STRATEGY_OF}
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
    _tell_unused(profile, before, index, notes)
    _tell_new_shape(before, carried, index, new, notes)
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
        since = GONE[names.NODE_LABEL].since
        text = f"{names.NODE_LABEL} went away with {since}, and {names.NODE_AFFINITY}, which can ask for labels, is off"
        notes.add(text, steps, f"enable {names.NODE_AFFINITY} with addedAffinity", lost=True)
        return
    own = args.get(names.NODE_AFFINITY) or NodeAffinityArgs()
    args[names.NODE_AFFINITY] = replace(
        own, added_affinity=_with_requirements(own.added_affinity or NodeAffinityTerms(), requirements)
    )
    since = GONE[names.NODE_LABEL].since
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


def _tell_unused(profile: KubeSchedulerProfile, before: ResolvedProfile, index: int, notes: Notes) -> None:
    unused = [name for name in profile.args if name not in before.args and (name in GONE or name in STRATEGY_OF)]
    if unused:
        text = f"arguments of {joined(unused)} are left out: the profile does not run what they are for"
        notes.add(text, notes.place_of(unused, index))


def _tell_new_shape(before: ResolvedProfile, carried: Carried, index: int, new: Minor, notes: Notes) -> None:
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
