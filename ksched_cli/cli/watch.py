"""`ksched watch`."""

from __future__ import annotations

import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.cli.groups import ClusterOptions, LiveClusterOptions, SchedulerOptions, make_setup, takes_groups
from ksched_cli.cli.printing import print_text, warn
from ksched_cli.errors import UsageError
from ksched_cli.report.visible import visible

if TYPE_CHECKING:
    from ksched_cli.plan.watch import News

SHORT = "Follow a live cluster and say what becomes of its pending pods."
HELP = """Follows a live cluster, and prints each pending pod's verdict: at first, and whenever it changes.

When a pod is bound, the line says whether it went where it was foreseen. Nothing is written to the cluster: it is read
with list and watch. A server that goes away is waited for. Manifests of -f are placed as if they were pending."""

EPILOG = """Examples:

  ksched watch

  ksched watch -n shop --for 10m

  ksched watch -f deployment.yaml -l app=web

  ksched watch -o json | jq -r 'select(.kind == "unschedulable") | .pod'

Exit codes: 0 the time is over or you stopped it, 2 the input or the command line is wrong, 3 the cluster could not be
read."""


class Form(StrEnum):
    TABLE = "table"
    JSON = "json"


FormOption = Annotated[Form, typer.Option("-o", "--output", help="table for people, json for programs: one line each.")]
For = Annotated[
    str, typer.Option("--for", metavar="TIME", help="Stop after this long, as 90s or 10m.", show_default=False)
]
Count = Annotated[int, typer.Option("--count", metavar="N", min=0, help="Stop after so many lines; 0 is never.")]


@takes_groups
def watch(
    cluster: ClusterOptions,
    live: LiveClusterOptions,
    scheduler: SchedulerOptions,
    output: FormOption = Form.TABLE,
    for_time: For = "",
    count: Count = 0,
) -> None:
    if cluster.sources:
        raise UsageError("watch follows the cluster of a kube context: leave --from out")
    from ksched_cli.sources.live.options import parse_seconds
    from ksched_cli.wiring.following import Following, follow

    setup = make_setup(cluster, live, scheduler)
    following = Following()
    told = 0
    seen: tuple[str, ...] = ()
    news = follow(setup, parse_seconds(for_time, "--for") if for_time else None, following)
    try:
        for each in news:
            if following.warnings != seen:
                seen = following.warnings
                warn(seen)
            print_text(_line(each, output), flush=True)
            told += 1
            if told == count:
                return
    except KeyboardInterrupt:
        return
    finally:
        news.close()


def _line(news: News, output: Form) -> str:
    now = datetime.datetime.now().astimezone()
    if output is Form.JSON:
        from ksched_cli.report.encoding import json_text

        entry = {"time": now.isoformat(timespec="seconds"), "kind": news.kind.value, "pod": news.pod}
        entry |= {"node": news.node, "why": news.why}
        return json_text({key: value for key, value in entry.items() if value})
    return f"{now:%H:%M:%S}  {visible(sentence(news))}"


def sentence(news: News) -> str:
    """`shop/web-1  fits on node-2  (3 of 5 nodes fit)`."""
    from ksched_cli.plan.watch import Kind

    if news.kind is Kind.LOST:
        return f"the API server does not answer, trying again: {news.why}"
    if news.kind is Kind.BACK:
        return "the API server answers again"
    where = f" {_PREPOSITIONS.get(news.kind.value, 'on')} {news.node}" if news.node else ""
    return f"{news.pod}  {news.kind.value}{where}" + (f"  {news.why}" if news.why else "")


_PREPOSITIONS = {"bound": "to", "unschedulable": "but nominated for"}
