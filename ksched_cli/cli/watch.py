"""`ksched watch`: simulates a live cluster again whenever it changes (`Simulator.watch`, `plan/watch.py`). On a
terminal `live_screen.py` draws it as one screen."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import ClusterOptions, LiveClusterOptions, SchedulerOptions, SchedulerRun, takes_groups
from ksched_cli.cli.showing import show
from ksched_cli.cli.streams import warn
from ksched_cli.simulator import Simulator, parse_seconds

HELP = """Follows a live cluster: on a terminal one screen, elsewhere each pending pod's verdict whenever it changes.

The screen has the pending pods with cause and age, what changed in the last minute, the fullest nodes, and the nodes
that an autoscaler adds. Keys: j and k choose a pod, enter explains it, s sorts, / filters, q quits. -o json, --count
and a pipe get lines. When a pod is bound, the news is whether it went to the foreseen node. Nothing is written to the
cluster: it is read with list and watch. A server that goes away is waited for. Manifests of -f are placed as if they
were pending."""

EPILOG = """Examples:

  ksched watch
  ksched watch -n shop --for 10m
  ksched watch -f deployment.yaml -l app=web
  ksched watch -o json | jq -r 'select(.kind == "unschedulable") | .pod'

Exit codes: 0 the time is over or you stopped it, 2 the input or the command line is wrong, 3 the cluster could not be
read."""


@takes_groups
def watch(
    cluster: ClusterOptions,
    live: LiveClusterOptions,
    scheduler: SchedulerOptions,
    output: Annotated[str, options.FormatOption("News")] = "table",
    for_time: Annotated[str, typer.Option("--for", metavar="TIME", help="Stop after this long, as 90s or 10m.")] = "",
    count: Annotated[
        int, typer.Option(metavar="N", min=0, help="Print lines, and stop after so many; 0 is never.")
    ] = 0,
) -> None:
    own = ["watch follows the cluster of a kube context: leave --from out"] if cluster.sources else []
    seconds = parse_seconds(for_time, "--for") if for_time else None
    following = Simulator.watch(SchedulerRun(cluster, live, scheduler).read(*own), seconds)
    from ksched_cli.cli.live_screen import can_show, follow

    if output == "table" and not count and can_show():
        with suppress(KeyboardInterrupt):
            follow(following)
        return
    warned: tuple[str, ...] = ()
    news = following.news()
    try:
        for number, each in enumerate(news, 1):
            if following.warnings != warned:
                warned = following.warnings
                warn(warned)
            show(each, output)
            if number == count:
                return
    except KeyboardInterrupt:
        return
    finally:
        news.close()
