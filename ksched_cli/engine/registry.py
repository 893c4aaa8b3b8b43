"""Plugins by name: the in-tree ones, those that packages announce, and those named on the command line; and profiles.

A `Profile` has its plugins made: which plugin runs at which extension point, in which order, with which weight.

Plugins that are not in-tree are checked at every call: whatever they do wrong becomes the error of the pod whose
cycle it is, and names the plugin and, where it is known, the node. The checks are in a subclass that is made of the
plugin's class. In-tree plugins are tested instead, and pay nothing.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from msgspec.structs import replace

from ksched_cli.config.model import ResolvedProfile
from ksched_cli.config.plugin_args import default_args, is_model
from ksched_cli.engine.faults import CycleError, PluginFault, error_text
from ksched_cli.errors import KschedError, UsageError
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import (
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    PodGroupPostFilterPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    extension_points,
)
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Code, Status, as_reasons
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.minors import DEFAULT, Release

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


ENTRY_POINT_GROUP = "ksched.plugins"
IN_TREE_ORIGIN = "in-tree"


class Registry(Mapping[str, type[Plugin]]):
    """runtime.Registry: one class per name, a second claim on a name is refused. `named` are those that the user asked
    for, by `module:Class`."""

    def __init__(self, plugins: Iterable[type[Plugin]] = ()) -> None:
        self._plugins: dict[str, type[Plugin]] = {}
        self._origins: dict[str, str] = {}
        self.named: frozenset[str] = frozenset()
        for plugin in plugins:
            self.register(plugin, IN_TREE_ORIGIN)

    def register(self, plugin: type[Plugin], origin: str) -> None:
        if plugin.name in self._plugins:
            raise UsageError(
                f"two plugins are named {plugin.name!r}: one {self._origins[plugin.name]}, one from {origin}; "
                "rename one of them"
            )
        self._plugins[plugin.name] = plugin
        self._origins[plugin.name] = origin

    def __getitem__(self, name: str) -> type[Plugin]:
        return self._plugins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plugins)

    def __len__(self) -> int:
        return len(self._plugins)

    def origin(self, name: str) -> str:
        return self._origins[name]

    def models(self) -> dict[str, type[Any]]:
        """The models that check the arguments of plugins, for plugins that have one."""
        return {name: plugin.args_model for name, plugin in self._plugins.items() if plugin.args_model is not None}

    def in_tree_models(self) -> dict[str, type[Any]]:
        """The models of in-tree plugins."""
        return {name: model for name, model in self.models().items() if self._origins[name] == IN_TREE_ORIGIN}

    def make(self, name: str, args: Any, handle: Handle) -> Plugin:
        """The plugin. An out-of-tree plugin is guarded."""
        plugin = self._plugins[name]
        if args is None and plugin.args_model is not None:
            args = default_args(name, plugin.args_model)
        if self._origins[name] == IN_TREE_ORIGIN:
            return plugin(args, handle)
        try:
            return guarded(plugin)(args, handle)  # type: ignore[arg-type]  # classes are hashable
        except (Exception, SystemExit) as problem:
            if isinstance(problem, KschedError):
                raise
            raise UsageError(
                f'plugin "{name}" ({self._origins[name]}) cannot be made: {error_text(problem)}'
            ) from problem

    def points(self, release: Release = DEFAULT) -> dict[str, tuple[str, ...]]:
        """Which extension points each plugin takes part in, for expanding profiles."""
        return {name: extension_points(plugin, release) for name, plugin in self._plugins.items()}


def add_installed(registry: Registry) -> None:
    """Plugins that installed packages announce under the entry point group."""
    for entry in _announced(tuple((each, _changed(each)) for each in sys.path)):
        package = entry.dist.name if entry.dist is not None else entry.value
        origin = f"entry point {entry.name} of {package}"
        try:
            found = entry.load()
        except (Exception, SystemExit) as problem:
            raise UsageError(f"{origin} cannot be loaded: {error_text(problem)} (repair or uninstall it)") from problem
        registry.register(_checked(found, origin), origin)


@lru_cache(maxsize=8)
def _announced(path: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """The entry points of the group, for a search path and the times of its folders. A process makes many
    registries."""
    # The parser of the standard library takes 30 ms, and most installations have no plugin.
    if not any(_may_announce(*each) for each in path):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=ENTRY_POINT_GROUP))


@lru_cache(maxsize=64)
def _may_announce(folder: str, changed: int) -> bool:
    """Whether a place of the search path, which last changed at that time, names the group. Archives and eggs are not
    read for this: they may."""
    place = Path(folder)
    if not place.is_dir() or place.suffix == ".egg":
        return place.exists()
    group = ENTRY_POINT_GROUP.encode()
    return any(group in each.read_bytes() for each in place.glob("*-info/entry_points.txt"))


def _changed(folder: str) -> int:
    """When a package was last added to the folder or removed from it, in nanoseconds."""
    try:
        return os.stat(folder or os.curdir).st_mtime_ns
    except OSError:
        return 0


def add_named(registry: Registry, reference: str) -> None:
    """A plugin given as `module:Class`."""
    module_name, separator, class_name = reference.partition(":")
    if not separator or not module_name or not class_name:
        raise UsageError(f"--plugin {reference}: write it as module:Class")
    # An installed command does not look into the directory it is called in, which is where people keep a plugin. It
    # comes last, so that no file there takes the place of a module that is installed.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as problem:
        raise UsageError(f"--plugin {reference}: cannot import {module_name}: {problem}") from problem
    except (Exception, SystemExit) as problem:
        raise UsageError(f"--plugin {reference}: {module_name} breaks on import: {error_text(problem)}") from problem
    found = getattr(module, class_name, None)
    if found is None:
        raise UsageError(f"--plugin {reference}: {module_name} has no {class_name}")
    plugin = _checked(found, reference)
    registry.register(plugin, reference)
    registry.named |= {plugin.name}


def add_class(registry: Registry, plugin: type[Plugin]) -> None:
    """A plugin given as a class."""
    origin = f"{plugin.__module__}:{plugin.__qualname__}" if isinstance(plugin, type) else repr(plugin)
    registry.register(_checked(plugin, origin), origin)
    registry.named |= {plugin.name}


def _checked(found: object, origin: str) -> type[Plugin]:
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise UsageError(f"{origin} is not a subclass of ksched_cli.framework.interfaces.Plugin")
    if not isinstance(getattr(found, "name", None), str) or not found.name:
        raise UsageError(f"{origin} has no name: give the class an attribute `name`")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise UsageError(f"{origin} is not finished: it lacks {missing}")
    if not is_model(found.args_model):
        raise UsageError(f"{origin}: args_model is {found.args_model!r}, not a dataclass or a msgspec.Struct")
    if not extension_points(found):
        raise UsageError(f"{origin} takes part in no extension point: inherit from FilterPlugin, ScorePlugin, ...")
    return found


class Profile:
    """frameworkImpl's plugin lists. One instance per plugin, shared by its extension points."""

    def __init__(self, resolved: ResolvedProfile, registry: Registry, handle: Handle) -> None:
        self.scheduler_name = resolved.scheduler_name
        self.percentage_of_nodes_to_score = resolved.percentage_of_nodes_to_score
        self.weights = dict(resolved.score_weights)
        self.checks_all_filters = resolved.checks_all_filters or EngineRules.of(handle.release).all_filters_run
        self._made: dict[str, Plugin] = {}
        self._resolved, self._registry, self._handle = resolved, registry, handle
        self.pre_enqueue = cast("tuple[PreEnqueuePlugin, ...]", self._at("preEnqueue"))
        self.queue_sort = cast(QueueSortPlugin, self._at("queueSort")[0])
        self.pre_filter = cast("tuple[PreFilterPlugin[Any], ...]", self._at("preFilter"))
        self.filter = cast("tuple[FilterPlugin[Any], ...]", self._at("filter"))
        self.post_filter = cast("tuple[PostFilterPlugin[Any], ...]", self._at("postFilter"))
        self.pre_score = cast("tuple[PreScorePlugin[Any, Any], ...]", self._at("preScore"))
        self.score = cast("tuple[ScorePlugin[Any], ...]", self._at("score"))
        self.reserve = cast("tuple[ReservePlugin[Any], ...]", self._at("reserve"))
        self.permit = cast("tuple[PermitPlugin[Any], ...]", self._at("permit"))
        self.pre_bind = cast("tuple[PreBindPlugin[Any], ...]", self._at("preBind"))
        self.bind = cast("tuple[BindPlugin[Any], ...]", self._at("bind"))
        self.placement_weights = dict(resolved.placement_weights)
        self.placement_generate = cast("tuple[PlacementGeneratePlugin, ...]", self._at("placementGenerate"))
        self.placement_score = cast("tuple[PlacementScorePlugin, ...]", self._at("placementScore"))
        self.post_bind = cast("tuple[PostBindPlugin[Any], ...]", self._at("postBind"))
        # The plugins that a pod meets once it has a node, in their order.
        self.after_scoring: tuple[Plugin, ...] = (
            *self.reserve,
            *self.permit,
            *self.pre_bind,
            *self.bind,
            *self.post_bind,
        )

    @property
    def pod_group_post_filter(self) -> PodGroupPostFilterPlugin | None:
        """The first plugin of the profile that makes room for pod groups: at its extension point, where the minor has
        it, else wherever the plugin takes part."""
        point = "podGroupPostFilter"
        own = cast("tuple[PodGroupPostFilterPlugin, ...]", self._at(point))
        able = (each for each in self.plugins if isinstance(each, PodGroupPostFilterPlugin))
        anywhere = (each for each in able if point not in extension_points(type(each), each.handle.release))
        return next(chain(own, anywhere), None)

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        return tuple(self._made.values())

    def _at(self, point: str) -> tuple[Plugin, ...]:
        """The point's plugins in order; that they take part in it was checked when the profile was expanded."""
        used = dict.fromkeys(name for names in self._resolved.points.values() for name in names)
        unlisted = (name for name in used if point in self._registry[self._kind(name)].unlisted_at)
        return tuple(self._make(name) for name in dict.fromkeys((*self._resolved.points[point], *unlisted)))

    def _kind(self, name: str) -> str:
        """The name under which the registry has the plugin."""
        return self._resolved.implemented_by.get(name, name)

    def _make(self, name: str) -> Plugin:
        made = self._made.get(name)
        if made is None:
            kind = self._kind(name)
            made = self._made[name] = self._registry.make(kind, self._resolved.args.get(name), self._handle)
            if kind != name:
                # Wherever it is spoken of it goes by the name that it was given.
                vars(made)["name"] = name
        return made


# Of the arguments that a method was called with and of its answer: the answer to go on with, or a Complaint.
Check = Callable[[tuple[Any, ...], Any], Any]


class Complaint(Exception):
    """What is wrong with an answer."""


@cache
def guarded(plugin: type[Plugin]) -> type[Plugin]:
    """The class with every method that the engine calls under guard. What it does not define itself stays as it is:
    whether a plugin has a method of its own is an answer, too."""
    with_defaults = (Plugin, PreFilterPlugin, FilterPlugin, ScorePlugin)
    bases = {getattr(base, name, None) for name in _CHECKS for base in with_defaults}
    methods = {
        name: _guard(plugin, name, point, check)
        for name, (point, check) in _CHECKS.items()
        if (own := getattr(plugin, name, None)) is not None and own not in bases
    }
    return type(plugin.__name__, (plugin,), {**methods, "__module__": plugin.__module__, "__doc__": plugin.__doc__})


def _guard(plugin: type[Plugin], name: str, point: str, check: Check) -> Callable[..., Any]:
    method = getattr(plugin, name)

    @wraps(method)
    def call(self: Plugin, *arguments: Any) -> Any:
        try:
            return check(arguments, method(self, *arguments))
        except CycleError:
            raise
        except Complaint as complaint:
            raise PluginFault(plugin.name, point, str(complaint)) from None
        except (Exception, SystemExit) as problem:
            raise PluginFault(plugin.name, point, error_text(problem)) from problem

    return call


def _anything(arguments: tuple[Any, ...], answer: Any) -> Any:
    return answer


def _status(arguments: tuple[Any, ...], answer: Any) -> Status:
    if not isinstance(answer, Status):
        raise Complaint(f"returned {_shown(answer)}, not a Status")
    return _with_reasons(answer)


def _with_reasons(status: Status) -> Status:
    """A plugin may give its reasons as texts."""
    if all(isinstance(reason, Reason) for reason in status.reasons):
        return status
    return replace(status, reasons=as_reasons(status.reasons))


def _permission(arguments: tuple[Any, ...], answer: Any) -> tuple[Status, float]:
    match answer:
        case (Status() as status, int() | float() as seconds):
            return _with_reasons(status), float(seconds)
    raise Complaint(f"returned {_shown(answer)}, not a Status and a number of seconds")


def _pre_filter(arguments: tuple[Any, ...], answer: Any) -> PreFilterResult[Any] | Status:
    """Success without a state is what Go's plugins return most of the time."""
    if isinstance(answer, Status):
        return PreFilterResult(None) if answer.ok else _with_reasons(answer)
    if not isinstance(answer, PreFilterResult):
        raise Complaint(f"returned {_shown(answer)}, not a PreFilterResult or a Status")
    names = answer.node_names
    if not (names is None or (isinstance(names, frozenset) and all(isinstance(name, str) for name in names))):
        raise Complaint(f"node_names is {_shown(names)}, not a frozenset of names")
    return answer


def _pre_score(arguments: tuple[Any, ...], answer: Any) -> Any:
    return None if isinstance(answer, Status) and answer.ok else answer


def _post_filter(arguments: tuple[Any, ...], answer: Any) -> tuple[PostFilterResult | None, Status]:
    match answer:
        case (None | PostFilterResult() as result, Status() as status):
            return result, _with_reasons(status)
    raise Complaint(f"returned {_shown(answer)}, not a PostFilterResult or None and a Status")


def _verdict(arguments: tuple[Any, ...], answer: Any) -> Verdict:
    nodes: NodeRows = arguments[2]
    if not isinstance(answer, Verdict):
        raise Complaint(f"returned {_shown(answer)}, not a Verdict")
    size = len(nodes)
    for what, column in (("codes", answer.codes), ("reason_ids", answer.reason_ids)):
        if not (isinstance(column, np.ndarray) and column.dtype.kind in "iu"):
            raise Complaint(f"{what} is {_shown(column)}, not an array of whole numbers")
        if column.ndim == 1 and len(column) != size:
            raise Complaint(f"{len(column)} verdicts for {size} nodes")
        if column.shape != (size,):
            raise Complaint(f"{what} has the shape {column.shape} for {size} nodes")
    # Most verdicts are of one node, which passes.
    if not answer.reasons or np.count_nonzero(answer.reason_ids):
        for index in np.nonzero((answer.reason_ids < 0) | (answer.reason_ids >= len(answer.reasons)))[0][:1]:
            raise Complaint(f"there is no reason {answer.reason_ids[index]} (node {nodes.names[index]})")
    if np.count_nonzero(answer.codes):
        # By a table: np.isin takes its time with few codes.
        is_known = (answer.codes >= 0) & (answer.codes < len(_IS_FILTER_CODE))
        is_known &= _IS_FILTER_CODE.take(answer.codes, mode="clip")
        for index in np.nonzero(~is_known)[0][:1]:
            raise Complaint(f"code {answer.codes[index]} is none that a filter gives (node {nodes.names[index]})")
    return Verdict(answer.codes, answer.reason_ids, [as_reasons(reasons) for reasons in answer.reasons])


_FILTER_CODES = (Code.SUCCESS, Code.ERROR, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)
_IS_FILTER_CODE = np.array([code in _FILTER_CODES for code in Code])


def _scores(arguments: tuple[Any, ...], answer: Any) -> Any:
    size = len(arguments[2])
    if isinstance(answer, Status):
        return _with_reasons(answer)
    if not isinstance(answer, np.ndarray):
        raise Complaint(f"returned {_shown(answer)}, not an array of scores")
    if answer.dtype != np.int64:
        raise Complaint(f"scores are of type {answer.dtype}, not int64")
    if answer.shape != (size,):
        raise Complaint(f"scores of shape {answer.shape} for {size} nodes")
    return answer


def _depends(arguments: tuple[Any, ...], answer: Any) -> Any:
    if not (answer is None or isinstance(answer, Depends)):
        raise Complaint(f"returned {_shown(answer)}, not a Depends or None")
    hash(answer)
    return answer


def _key(arguments: tuple[Any, ...], answer: Any) -> tuple[Any, ...]:
    if not isinstance(answer, tuple):
        raise Complaint(f"returned {_shown(answer)}, not a tuple")
    return answer


def _shown(answer: Any) -> str:
    if isinstance(answer, np.ndarray):
        return f"an array of {answer.dtype}"
    text = repr(answer)
    return text if len(text) <= 60 else f"{text[:60]}..."


# Methods by name: the extension point that they belong to, and what their answer must be.
_CHECKS: Mapping[str, tuple[str, Check]] = {
    "pre_enqueue": ("preEnqueue", _status),
    "sort_key": ("queueSort", _key),
    "pre_filter": ("preFilter", _pre_filter),
    "clone_state": ("preFilter", _anything),
    "add_pod": ("preFilter", _anything),
    "remove_pod": ("preFilter", _anything),
    "concerns": ("preFilter", _anything),
    "filter": ("filter", _verdict),
    "depends": ("depends", _depends),
    "explain": ("explain", _anything),
    "post_filter": ("postFilter", _post_filter),
    "pre_score": ("preScore", _pre_score),
    "score": ("score", _scores),
    "normalize": ("normalizeScore", _scores),
    "reserve": ("reserve", _status),
    "unreserve": ("unreserve", _anything),
    "permit": ("permit", _permission),
    "pre_bind": ("preBind", _status),
    "bind": ("bind", _status),
    "post_bind": ("postBind", _anything),
    "generate_placements": ("placementGenerate", _anything),
    "score_placement": ("placementScore", _anything),
    "normalize_placements": ("placementScore", _anything),
}
