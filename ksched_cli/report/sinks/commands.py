"""Folds the line of a shell command so that it can be copied from a terminal.

A line breaks between the words of the command, with a backslash, and inside a quoted JSON document between its tokens,
where white space has no meaning. A word that is too long by itself stays whole: the terminal wraps it."""

from __future__ import annotations

from collections.abc import Iterator

_PROGRAMS = ("kubectl ", "ksched ", "echo '")
_INDENT = "  "


def fold_command(line: str, width: int) -> str:
    """The line if it fits or is no command, else several lines that a shell reads as the same command."""
    if len(line) <= width or not line.startswith(_PROGRAMS):
        return line
    lines: list[str] = []
    current = mark = ""
    for piece, ends in _pieces(line):
        room = width - len(ends)
        if current and len(current) + 1 + len(piece) > room:
            lines.append(current + mark)
            current = _INDENT + piece
        else:
            current = f"{current} {piece}" if current else piece
        mark = ends
    return "\n".join([*lines, current])


def _pieces(line: str) -> Iterator[tuple[str, str]]:
    """The parts between which the line may break, each with what a break after it needs."""
    start, quoted, text = 0, False, False
    for at, letter in enumerate(line):
        if letter == "'" and not (text and not quoted):
            quoted = not quoted
            text = False
        elif letter == '"' and line[at - 1] != "\\":
            text = not text
        elif letter == " " and not text:
            yield line[start:at], "" if quoted else " \\"
            start = at + 1
    yield line[start:], ""
