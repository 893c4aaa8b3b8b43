"""How far the answers agree with the cluster: the share, and each disagreement with what it may come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.plan.verify_results import Agreement, Checked, Verification
from ksched_cli.report.document import API_VERSION
from ksched_cli.report.visible import shows_visible

# Nobody reads a thousand; the document has them all.
SHOWN = 20
_SAID = {"condition": "condition:", "event": "event:    "}
_COLOURS = {Agreement.OTHER_NODE: "yellow", Agreement.SAME_REASONS: "yellow", Agreement.FITS: "yellow"}


def verification_document(verification: Verification, coverage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Verification",
        "compared": verification.compared,
        "agreeing": verification.agreeing,
        "placements": [_entry(each) for each in verification.placements],
        "pending": [_entry(each) for each in verification.pending],
        "leftOut": dict(verification.left_out),
        "coverage": dict(coverage),
    }


def _entry(checked: Checked) -> dict[str, Any]:
    entry = {
        "pod": checked.pod,
        "agreement": checked.agreement.value,
        "actual": checked.actual,
        "answer": checked.answer,
        "cause": checked.cause,
        "saidIn": checked.said_in,
        "saidAt": checked.said_at,
    }
    return {key: value for key, value in entry.items() if value}


@shows_visible
def print_verification(verification: Verification, console: Console, *, wide: bool) -> None:
    _print_part("pods that run: tried again in the order they were placed", verification.placements, console, wide)
    _print_part("pods that wait: what the scheduler wrote down of them", verification.pending, console, wide)
    for why, count in sorted(verification.left_out.items()):
        console.print(Text(f"not compared: {why}: {count}", style="dim"))
    console.print(share(verification))


def _print_part(title: str, checked: Sequence[Checked], console: Console, wide: bool) -> None:
    if not checked:
        return
    agreeing = sum(each.agreement.agrees for each in checked)
    console.print(Text(f"{title}: {agreeing} of {len(checked)} agree", style="bold"))
    others = [each for each in checked if not each.agreement.agrees]
    for each in others if wide else others[:SHOWN]:
        console.print(_headline(each))
        console.print(Padding(Text(_comparison(each)), (0, 0, 0, 4)))
        if each.cause:
            console.print(Padding(Text(f"perhaps: {each.cause}", style="dim"), (0, 0, 0, 4)))
    if len(others) > SHOWN and not wide:
        console.print(Text(f"  and {len(others) - SHOWN} more; -o wide shows all", style="dim"))
    console.print()


def _headline(checked: Checked) -> Text:
    colour = _COLOURS.get(checked.agreement, "red")
    return Text.assemble("  ", (checked.pod, "bold"), "  ", (checked.agreement.value, colour))


def _comparison(checked: Checked) -> str:
    if checked.agreement in (Agreement.OTHER_NODE, Agreement.REJECTED, Agreement.ERROR):
        return f"is on {checked.actual}; ksched: {checked.answer}"
    return f"{_SAID.get(checked.said_in, 'it says:  ')} {checked.actual}\nksched:    {checked.answer}"


def share(verification: Verification) -> Text:
    if not verification.compared:
        return Text(
            "nothing to compare: no pod was placed or found unschedulable by a modelled profile", style="yellow"
        )
    percent = 100 * verification.agreeing / verification.compared
    whole = verification.agreeing == verification.compared
    text = f"{verification.agreeing} of {verification.compared} agree ({percent:.1f} %)"
    return Text(text, style="bold green" if whole else "bold yellow")
