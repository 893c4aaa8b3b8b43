"""Plugins by name: the in-tree ones, those that packages announce, and those named on the command line; and profiles.

A `Profile` has its plugins made: which plugin runs at which extension point, in which order, with which weight.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ksched_cli.config.model import ResolvedProfile
from ksched_cli.config.plugin_args import default_args, is_model
from ksched_cli.engine.faults import error_text
from ksched_cli.engine.guards import guarded
from ksched_cli.errors import KschedError, UsageError
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
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    extension_points,
)
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
