"""The line that says how far the reading of a live cluster is."""

from __future__ import annotations

import io

from ksched_cli.report.progress import ListProgress

CLEAR = "\r\033[K"


def test_one_line_that_goes_away() -> None:
    out = io.StringIO()
    progress = ListProgress(out)
    progress("pods", 500, 1500)
    progress("nodes", 100, 0)
    progress("pods", 2000, 0)
    progress.close()
    assert out.getvalue().split(CLEAR)[1:] == [
        "reading pods: 500 of about 2,000 objects",
        "reading nodes: 600 of about 2,100 objects",
        "reading pods: 2,100 objects",
        "",
    ]


def test_nothing_is_written_where_nothing_was_read() -> None:
    out = io.StringIO()
    ListProgress(out).close()
    assert out.getvalue() == ""
