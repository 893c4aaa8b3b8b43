"""The first line of every result, in one form: `SUBJECT: VERDICT, DETAIL, DETAIL (CONTEXT)`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

GOOD, FAIR, BAD = "bold green", "bold yellow", "bold red"


def summary_line(subject: str, verdict: str, style: str, details: Sequence[str] = (), context: str = "") -> Text:
    """The summary line, with the verdict in its colour."""
    line = Text.assemble((subject, "bold"), ": ", (verdict, style))
    for detail in details:
        line.append(f", {detail}")
    if context:
        line.append(f" ({context})", style="dim")
    return line


def counted(number: int, noun: str) -> str:
    """`1 node`, `12 nodes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def pending_line(pods: int, placed: int) -> str:
    """`7 pending pods in the queue; 1 of them is scheduled before the evicted pods.`, for a drain."""
    scheduled = "1 of them is" if placed == 1 else f"{placed:,} of them are"
    if pods == 1:
        scheduled = "it is" if placed else "it is not"
    return f"{counted(pods, 'pending pod')} in the queue; {scheduled} scheduled before the evicted pods."
