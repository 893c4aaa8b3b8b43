"""The parts of a page: a verdict, figures, and sections. All texts are data and are never read as markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from msgspec import Struct, field

from ksched_cli.report.html.words import noun
from ksched_cli.report.view.model import Bar as Bar
from ksched_cli.report.view.model import Figure as Figure
from ksched_cli.report.view.model import Tone as Tone

HeadingKind = Literal["text", "number", "badge", "share", "list", "amount"]
SectionKind = Literal["map", "pods", "pod", "table", "bars", "timeline", "steps", "facts", "chart"]


def counting(number: int, what: str, rest: str = "", tone: Tone = "plain") -> Figure:
    """The figure of a number of things: `1` with the label `node to add`, or `2` with `nodes to add`."""
    return Figure(f"{noun(number, what)} {rest}".rstrip(), f"{number:,}", tone)


class PageSection(Struct, frozen=True):
    """A part of the page. `kind` names the code of assets/ that draws `data`; `steps` and `facts` are drawn by the
    template. Sections of a page have different `name`s."""

    name: str
    title: str
    kind: SectionKind
    data: Mapping[str, Any]
    intro: str = ""
    folded: bool = False


class PageHeading(Struct, frozen=True):
    """A column of a table. `kind`: badge has the tone of its value, share is a number from 0 to 1, list has several
    values. `filters`: the reader may choose one of its values. `hides_zeros`: without a value but 0 the column is left
    out."""

    name: str
    kind: HeadingKind = "text"
    filters: bool = False
    wide: bool = False
    hides_zeros: bool = False


def headings(text: str) -> list[PageHeading]:
    """The columns that a line declares, each with its kind and the attributes that are true: `Pod; Why: list wide`."""
    return [_heading(*each.partition(":")[::2]) for each in text.split(";")]


def _heading(name: str, words: str) -> PageHeading:
    kinds: list[Any] = [word for word in words.split() if word in get_args(HeadingKind)]
    attributes: Any = dict.fromkeys(set(words.split()).difference(kinds), True)
    return PageHeading(name.strip(), *kinds, **attributes)


class PageStep(Struct, frozen=True):
    """One of several consecutive steps."""

    title: str
    lines: Sequence[tuple[Tone, str]] = ()
    about: str = ""


class Page(Struct, frozen=True):
    """A page. `verdict` is one sentence. `nodes` are those of the node map."""

    command: str
    tone: Tone
    verdict: str
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    sections: Sequence[PageSection] = ()
    nodes: Mapping[str, Any] = field(default_factory=dict)


def table(
    name: str,
    title: str,
    columns: Sequence[PageHeading],
    rows: Sequence[Sequence[Any]],
    *,
    intro: str = "",
    tones: Mapping[str, Tone] | None = None,
) -> PageSection:
    """A table that sorts, filters and searches. `tones` of the values of badges."""
    return PageSection(name, title, "table", table_data(title, columns, rows, tones), intro)


def table_data(
    caption: str, columns: Sequence[PageHeading], rows: Sequence[Sequence[Any]], tones: Mapping[str, Tone] | None = None
) -> dict[str, Any]:
    """A table for the code of the page, without columns that are empty in every row."""
    shown = [at for at, each in enumerate(columns) if not at or not rows or any(_counts(each, row[at]) for row in rows)]
    entries = [
        {"name": each.name, "kind": each.kind, **({"filters": True} if each.filters else {})}
        | ({"wide": True} if each.wide else {})
        for each in (columns[at] for at in shown)
    ]
    cells = rows if len(shown) == len(columns) else [[row[at] for at in shown] for row in rows]
    return {"caption": caption, "columns": entries, "rows": list(cells), "tones": dict(tones or {})}


def _counts(column: PageHeading, value: Any) -> bool:
    """Whether a column with this value is shown."""
    return bool(value) if column.hides_zeros else value not in ("", None, [], ())


def bars(
    name: str,
    title: str,
    rows: Sequence[Bar],
    *,
    whole: float | None = None,
    colours: Mapping[str, int] | None = None,
    intro: str = "",
) -> PageSection:
    """Stacked bars. `whole` is the amount of a full bar, 1 where the amounts are shares; without it the longest bar is
    full. `colours` by series, as numbers of the colours of style.css; without it every series has its own."""
    entries = [{"label": each.label, "segments": list(each.segments), "text": each.text} for each in rows]
    data = {"caption": title, "rows": entries, "whole": whole, "colours": dict(colours or {})}
    return PageSection(name, title, "bars", data, intro)


def steps(name: str, title: str, done: Sequence[PageStep], *, intro: str = "") -> PageSection:
    entries = [{"title": each.title, "about": each.about, "result": "", "lines": _lines(each)} for each in done]
    return PageSection(name, title, "steps", {"steps": entries}, intro)


def _lines(step: PageStep) -> list[tuple[Tone, str, bool]]:
    return [(tone, text, False) for tone, text in step.lines]


def facts(name: str, title: str, pairs: Sequence[tuple[str, str]], *, intro: str = "") -> PageSection:
    """A section of names and texts."""
    return PageSection(name, title, "facts", {"pairs": pairs}, intro)
