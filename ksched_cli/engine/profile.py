"""A profile with its plugins made: which plugin runs at which point, in which order, with which weight."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from ksched_cli.config.resolved_profile import ResolvedProfile
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

if TYPE_CHECKING:
    from ksched_cli.engine.registry import Registry


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
