"""The line that says how far the reading of a live cluster is."""

from __future__ import annotations

import io

import pytest

from ksched_cli.report import progress as module
from ksched_cli.report.progress import ListProgress, RunProgress

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


def test_each_line_is_shown_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """stderr is where it is shown without another stream; what is written there is not kept back."""
    shown: list[str] = []
    out = io.StringIO()
    out.flush = lambda: shown.append(out.getvalue())  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", out)
    progress = ListProgress()
    progress("pods", 1, 0)
    progress.close()
    assert shown == [f"{CLEAR}reading pods: 1 objects", f"{CLEAR}reading pods: 1 objects{CLEAR}"]


@pytest.mark.parametrize(
    ("done", "seconds", "rate"),
    [
        pytest.param(5, 0.0, "0.0/s", id="no time"),
        pytest.param(19, 2.0, "9.5/s", id="a digit after the point"),
        pytest.param(10, 1.0, "10/s", id="whole"),
        pytest.param(2468, 2.0, "1,234/s", id="thousands"),
    ],
)
def test_the_rate_is_that_since_the_loop_began(done: int, seconds: float, rate: str) -> None:
    now = [100.0]
    progress = RunProgress(bar=False, clock=lambda: now[0])
    now[0] += 50
    assert progress.begin("pods", None)
    for _ in range(done):
        progress.advance()
    now[0] += seconds
    assert progress._rate() == rate


def test_a_bar_is_shown_after_a_second_and_eight_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now, shown = [100.0], list[float]()
    monkeypatch.setattr(module, "_OFTEN", 0.125)
    progress = RunProgress(bar=True, clock=lambda: now[0])
    monkeypatch.setattr(progress, "_show", lambda: shown.append(now[0] - 100))
    progress.begin("pods", 9)
    for step in (0.5, 0.4375, 0.0625, 0.0625, 0.0625, 0.0625, 0.0625):
        now[0] += step
        progress.advance()
    assert shown == [1.0, 1.125, 1.25]
    progress.close()
    now[0] += 9
    progress.advance()
    assert len(shown) == 3


@pytest.mark.parametrize(
    ("left", "summary"),
    [
        pytest.param([], "interrupted before the first result", id="nothing"),
        pytest.param([None, None], "interrupted: 2 pods", id="no total"),
        pytest.param([1999, 1998], "interrupted: 2 of 2,000 pods", id="with what is left"),
    ],
)
def test_what_was_counted_without_a_loop(left: list[int | None], summary: str) -> None:
    progress = RunProgress(bar=False)
    progress.count("nodes", None) if left else None
    for each in left:
        progress.count("pods", each)
    assert progress.summary() == summary


def test_an_inner_loop_counts_nothing() -> None:
    progress = RunProgress(bar=False)
    assert progress.begin("pods", 3)
    assert not progress.begin("nodes", 9)
    progress.count("trials", 4)
    progress.advance()
    assert progress.summary() == "interrupted: 1 of 3 pods"
    progress.end()
    assert progress.begin("nodes", None)
    assert progress.summary() == "interrupted before the first result"


def test_nothing_is_written_where_nothing_was_read() -> None:
    out = io.StringIO()
    ListProgress(out).close()
    assert out.getvalue() == ""
