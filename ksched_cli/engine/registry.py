"""Plugins by name: the in-tree ones, those that packages announce, and those named on the command line."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksched_cli.config.plugin_args import default_args, is_model
from ksched_cli.engine.faults import error_text
from ksched_cli.engine.guards import guarded
from ksched_cli.errors import KschedError, UsageError
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Plugin, extension_points
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
