"""How far the results agree with the cluster: the share, and each difference with its cause (`Verification` of
`plan/verify/`). Pods that agree are counted, not listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ksched_cli.errors import counted
from ksched_cli.plan.verify.results import Agreement, Checked, Order, Verification
from ksched_cli.report.view.model import Figure, Line, Lines, Section, Step, Steps, Tone, View, counting

_ORDERS: Mapping[Order, str] = {
    Order.KNOWN: "known by their times",
    Order.FOUND: "found, among the orders that the times allow",
    Order.NOT_FOUND: "not found",
}
_MOST = 20
_SOURCES = {"condition": "condition:", "event": "event:    "}
_PARTLY = (Agreement.OTHER_NODE, Agreement.SAME_REASONS, Agreement.FITS)
_PLACED = (Agreement.OTHER_NODE, Agreement.REJECTED, Agreement.ERROR)


Document = Verification


def view(found: Verification) -> View:
    """`120 pods: 118 agree, 98.3 %`."""
    whole = found.agreeing == found.compared
    tone: Tone = "good" if whole and found.compared else "warn"
    subject, details = counted(found.compared, "pod"), []
    if found.compared:
        verdict = f"{found.agreeing} {'agrees' if found.agreeing == 1 else 'agree'}"
        details = [f"{100 * found.agreeing / found.compared:.1f} %"]
    else:
        subject, verdict = "nothing to compare", "no pod was placed or found unschedulable by a modelled profile"
    left = [Line(f"not compared: {why}: {count}", aside=True) for why, count in sorted(found.left_out.items())]
    title = "running pods, scheduled again in the order of their bindings"
    return View(
        "verify",
        subject,
        verdict,
        tone,
        details,
        figures=[
            counting(found.agreeing, "pod", "agree", tone),
            Figure("differ", f"{found.compared - found.agreeing:,}", "plain" if whole else "warn"),
        ],
        sections=[
            *_part("placements", title, found.placements, list(_about_orders(found))),
            *_part("pending", "pending pods, and what the scheduler wrote about them", found.pending, []),
            *([Section("left-out", "Not compared", Lines(left))] if left else []),
        ],
        rows=[(f"pod/{each.pod}", each.agreement.value) for each in (*found.placements, *found.pending)],
    )


def _about_orders(found: Verification) -> Iterator[Line]:
    """How the order of bindings was established, and other assumptions."""
    counts = [f"for {found.order[key]} {text}" for key, text in _ORDERS.items() if found.order.get(key)]
    if counts:
        yield Line(f"order of bindings: {'; '.join(counts)}", aside=True)
    assumed = Counter(each.assumed for each in found.placements if each.assumed)
    for assumption, pods in sorted(assumed.items()):
        yield Line(f"assumed for {counted(pods, 'pod')}: {assumption}", aside=True)


def _part(name: str, title: str, checked: Sequence[Checked], notes: list[Line]) -> list[Section]:
    """The differences among these pods."""
    if not checked:
        return []
    others = [each for each in checked if not each.agreement.agrees]
    heading = f"{title}: {len(checked) - len(others)} of {len(checked)} agree"
    sections = [Section(name, heading, Lines(notes), titled=True)]
    steps = [_step(each) for each in others]
    if steps:
        block = Steps(steps, most=_MOST, steps_are="difference", dense=True)
        sections.append(Section(f"{name}-differences", f"Differences: {title}", block, joined=True))
    return sections


def _step(each: Checked) -> Step:
    if each.agreement in _PLACED:
        lines = [Line(f"is on {each.actual}; ksched: {each.answer}")]
    else:
        lines = [Line(f"{_SOURCES.get(each.said_in, 'it says:  ')} {each.actual}"), Line(f"ksched:    {each.answer}")]
    if each.cause:
        lines.append(Line(f"cause: {each.cause}", aside=True))
    return Step(each.pod, lines, "", each.agreement.value, "warn" if each.agreement in _PARTLY else "bad")
