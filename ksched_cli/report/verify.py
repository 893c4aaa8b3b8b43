"""Renders how far the results agree with the cluster: the share, and each difference with its cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.plan.verify.results import Agreement, Checked, Order, Verification
from ksched_cli.plan.verify.verify import VerifyResult
from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.entries import entry_of, filled
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.rows import write_row
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.summary_line import FAIR, GOOD, counted, summary_line
from ksched_cli.report.view.omissions import print_omissions
from ksched_cli.report.visible import shows_visible
from ksched_cli.sources.own_documents import API_VERSION

_ORDER_KEYS = {Order.KNOWN: "known", Order.FOUND: "found", Order.NOT_FOUND: "notFound"}
# The most differences that are shown. The document has all of them.
SHOWN = 20
_SOURCES = {"condition": "condition:", "event": "event:    "}
_COLOURS = {Agreement.OTHER_NODE: "yellow", Agreement.SAME_REASONS: "yellow", Agreement.FITS: "yellow"}


def verification_document(found: VerifyResult, options: RenderOptions) -> dict[str, Any]:
    verification = found.verification
    return {
        "apiVersion": API_VERSION,
        "kind": "Verification",
        **entry_of(verification, "compared agreeing"),
        "order": {_ORDER_KEYS[order]: count for order, count in verification.orders.items()},
        "placements": [_entry(each) for each in verification.placements],
        "pending": [_entry(each) for each in verification.pending],
        "leftOut": dict(verification.left_out),
        "coverage": dict(found.coverage),
    }


def _entry(checked: Checked) -> dict[str, Any]:
    entry = entry_of(checked, "pod agreement actual answer cause saidIn saidAt boundAt boundIn order assumed")
    order = _ORDER_KEYS[checked.order] if checked.order else ""
    return filled({**entry, "agreement": checked.agreement.value, "order": order})


def write_agreements(found: VerifyResult, out: TextIO, options: RenderOptions) -> None:
    for each in (*found.verification.placements, *found.verification.pending):
        write_row(out, f"pod/{each.pod}", each.agreement.value)


@shows_nodes
@shows_visible
def print_verification(found: VerifyResult, out: TextIO, options: RenderOptions) -> None:
    console, verification, wide = make_console(options.width, out), found.verification, options.wide
    print_hanging(console, share(verification))
    console.print()
    title = "running pods, scheduled again in the order of their bindings"
    _print_part(title, verification.placements, console, wide, _about_orders(verification))
    _print_part("pending pods, and what the scheduler wrote about them", verification.pending, console, wide)
    for why, count in sorted(verification.left_out.items()):
        console.print(Text(f"not compared: {why}: {count}", style="dim"))
    print_omissions(found.coverage, console)


def _about_orders(verification: Verification) -> Iterator[str]:
    """The lines about how the order of bindings was established, and about other assumptions."""
    orders = verification.orders
    texts = {
        Order.KNOWN: "known by their times",
        Order.FOUND: "found, among the orders that the times allow",
        Order.NOT_FOUND: "not found",
    }
    counts = [f"for {orders[order]} {text}" for order, text in texts.items() if orders[order]]
    if counts:
        yield f"order of bindings: {'; '.join(counts)}"
    assumed = Counter(each.assumed for each in verification.placements if each.assumed)
    for assumption, pods in sorted(assumed.items()):
        yield f"assumed for {pods} {'pod' if pods == 1 else 'pods'}: {assumption}"


def _print_part(
    title: str, checked: Sequence[Checked], console: Console, wide: bool, notes: Iterable[str] = ()
) -> None:
    if not checked:
        return
    agreeing = sum(each.agreement.agrees for each in checked)
    console.print(Text(f"{title}: {agreeing} of {len(checked)} agree", style="bold"))
    for note in notes:
        console.print(Text(f"  {note}", style="dim"))
    others = [each for each in checked if not each.agreement.agrees]
    for each in others if wide else others[:SHOWN]:
        console.print(_headline(each))
        console.print(Padding(Text(_comparison(each)), (0, 0, 0, 4)))
        if each.cause:
            console.print(Padding(Text(f"cause: {each.cause}", style="dim"), (0, 0, 0, 4)))
    if len(others) > SHOWN and not wide:
        console.print(Text(f"  and {len(others) - SHOWN} more; -o wide shows all", style="dim"))
    console.print()


def _headline(checked: Checked) -> Text:
    colour = _COLOURS.get(checked.agreement, "red")
    return Text.assemble("  ", (checked.pod, "bold"), "  ", (checked.agreement.value, colour))


def _comparison(checked: Checked) -> str:
    if checked.agreement in (Agreement.OTHER_NODE, Agreement.REJECTED, Agreement.ERROR):
        return f"is on {checked.actual}; ksched: {checked.answer}"
    return f"{_SOURCES.get(checked.said_in, 'it says:  ')} {checked.actual}\nksched:    {checked.answer}"


def share(verification: Verification) -> Text:
    """`120 pods: 118 agree, 98.3 %`."""
    if not verification.compared:
        return summary_line(
            "nothing to compare", "no pod was placed or found unschedulable by a modelled profile", FAIR
        )
    percent = 100 * verification.agreeing / verification.compared
    whole = verification.agreeing == verification.compared
    verdict = f"{verification.agreeing} {'agrees' if verification.agreeing == 1 else 'agree'}"
    return summary_line(counted(verification.compared, "pod"), verdict, GOOD if whole else FAIR, [f"{percent:.1f} %"])
