"""Spans: every variant once, and as long as they should take."""

from __future__ import annotations

from ksched_cli.plan.run.each import Spans


def taken(spans: Spans) -> list[range]:
    return list(iter(spans.hand_out, None))


def test_every_variant_that_is_not_done_is_handed_out_once() -> None:
    done = bytearray(10)
    done[0] = done[4] = done[9] = 1
    spans = Spans(10, done)
    spans.measured(range(1), 0.01)
    assert [number for span in taken(spans) for number in span] == [1, 2, 3, 5, 6, 7, 8]


def test_the_first_spans_are_single_variants_and_the_next_take_two_seconds() -> None:
    spans = Spans(10_000)
    assert spans.hand_out() == range(1)
    spans.measured(range(1), 0.02)
    assert spans.hand_out() == range(1, 101)
    spans.measured(range(1, 101), 4.0)
    found = spans.hand_out()
    assert found is not None
    assert 60 < len(found) < 70


def test_what_is_left_is_estimated() -> None:
    spans = Spans(1001)
    assert spans.seconds_left() == 0
    span = spans.hand_out()
    assert span is not None
    spans.measured(span, 0.5)
    assert spans.seconds_left() == 500
