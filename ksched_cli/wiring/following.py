"""A live cluster followed: one scheduler after the other, as it changes."""

from __future__ import annotations

import queue
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ksched_cli.wiring import RunOptions, assemble, connect_live, gather, read_sources

if TYPE_CHECKING:
    from ksched_cli.plan.results import Simulation
    from ksched_cli.plan.watch import News
    from ksched_cli.sources.live.cluster import LiveCluster


@dataclass
class Following:
    """What was found out, for whoever reads the news."""

    warnings: tuple[str, ...] = ()


def follow(setup: RunOptions, seconds: float | None, following: Following) -> Generator[News, None, None]:
    """For so long, or for ever. The manifests of the setup are placed in every picture anew."""
    from ksched_cli.plan.watch import Watch
    from ksched_cli.sources.live.cluster import read_cluster
    from ksched_cli.sources.live.watch import ClusterMirror, Event, Follower

    deadline = None if seconds is None else time.monotonic() + seconds
    server = connect_live(setup.live)
    first = read_cluster(server, setup.progress)
    if setup.progress is not None:
        setup.progress.close()

    def simulate(cluster: LiveCluster) -> Simulation:
        prepared = assemble(setup, gather(setup, cluster=read_sources(setup, None, lambda: cluster)))
        following.warnings = prepared.warnings
        return prepared.simulate()

    events: queue.Queue[Event | None] = queue.Queue()
    follower = Follower(server, events.put)
    follower.follow(list(first.versions), first.versions)
    try:
        yield from Watch(ClusterMirror(first), events, simulate, deadline).news()
    finally:
        follower.stop.set()
