"""The line below a table with what the result does not take into account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from ksched_cli.report.visible import shows_visible


@shows_visible
def print_omissions(coverage: Mapping[str, Any], console: Console) -> None:
    omitted = omissions(coverage)
    if omitted:
        console.print(Text(f"not taken into account: {'; '.join(omitted)}", style="yellow"))


def omissions(coverage: Mapping[str, Any]) -> list[str]:
    """What the result does not take into account, the most important first."""
    version = coverage.get("kubeVersionNotModelled")
    found = [f"what is different in Kubernetes {version}"] if version else []
    found += [f"plugin {name}" for name in coverage.get("pluginsNotModelled", ())]
    found += [f"feature gate {name}" for name in coverage.get("featureGatesNotModelled", ())]
    found += [_uncalled(each) for each in coverage.get("extendersCouldChange", ())]
    found += [text for each in coverage.get("extenders", ()) for text in _unheard(each)]
    found += [f"{kind} ({reason})" for kind, reason in coverage.get("missing", {}).items()]
    found += coverage.get("admissionNotModelled", ())
    found += coverage.get("autoscalersNotModelled", ())
    found += coverage.get("jobsNotModelled", ())
    found += coverage.get("podGroupsNotModelled", ())
    return found + [f"{count} {kind}" for kind, count in coverage.get("notRead", {}).items()]


def _uncalled(extender: Mapping[str, Any]) -> str:
    managed = extender.get("podsThatAskFor")
    whose = f" for pods that ask for {' or '.join(managed)}" if managed else ""
    what = " and ".join(extender["couldChange"])
    decides = f" (decides on {what}{whose}; --allow-extenders calls it)" if what else ""
    return f"extender {extender['extender']}{decides}"


def _unheard(extender: Mapping[str, Any]) -> Iterator[str]:
    """The results of a called extender that were not used."""
    name = extender["extender"]
    for failure in extender.get("passedOver", ()):
        times = "once" if failure["times"] == 1 else f"{failure['times']} times"
        yield f"{failure['verb']} of extender {name}, which failed {times} ({failure['error']})"
    if "changedNodes" in extender:
        yield f"changes that extender {name} made to nodes"
    if "bind" in extender:
        yield f"bind of extender {name}, which is never called: it gets no placement"
