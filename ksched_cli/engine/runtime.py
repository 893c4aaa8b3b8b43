"""Runs a profile's plugins over nodes (framework/runtime.frameworkImpl), a file for each extension point."""

from __future__ import annotations

from functools import cache

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.faults import Calling, blamed
from ksched_cli.engine.filters import Filters
from ksched_cli.engine.lane import TemplateLane
from ksched_cli.engine.nominated_filters import NominatedFilters
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.pre_filters import PreFilters
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.scores import Scores
from ksched_cli.engine.timings import Timings
from ksched_cli.framework.interfaces import LASTING
from ksched_cli.framework.status import Status

# One of these for each plugin and extension point: it is entered dozens of times per pod.
_blamed = cache(blamed)


class Runtime:
    """The plugins of one profile. Holds no state of a cycle: that is in CycleState."""

    def __init__(
        self, profile: Profile, cluster: Cluster, nominator: NominatedPods, timings: Timings | None = None
    ) -> None:
        self.profile = profile
        self.cluster = cluster
        self.calling: Calling = _blamed if timings is None else timings.calling
        self.pre_filters = PreFilters(profile, cluster, self.calling)
        self.filters = Filters(profile, cluster, self.calling)
        self.nominated = NominatedFilters(cluster, nominator, self.pre_filters, self.filters)
        self.scores = Scores(profile, cluster, self.calling)
        self.lane = TemplateLane(
            profile, cluster, nominator, self.pre_filters, self.filters, self.nominated, self.scores
        )

    def lets_copies_in(self, pod: PodInfo) -> bool:
        """Whether PreEnqueue lets in every copy of a pod that it has let in."""
        return all(plugin.placements_version(pod) == LASTING for plugin in self.profile.pre_enqueue)

    def run_pre_enqueue(self, pod: PodInfo, first: str = "") -> Status | None:
        """The first refusal, or None; the plugin that held the pod back until now runs before the others."""
        plugins = self.profile.pre_enqueue
        for plugin in sorted(plugins, key=lambda each: each.name != first) if first else plugins:
            with self.calling(plugin.name, "preEnqueue"):
                status = plugin.pre_enqueue(pod)
            if not status.ok:
                return status.by(plugin.name)
        return None
