from __future__ import annotations

import pytest

from ksched_cli.api.object_facts import (
    is_terminal,
    is_time,
    latest_time,
    parse_time,
    pod_key,
    pod_priority,
    ready_since,
)
from tests.builders import make_pod


def test_key_and_priority() -> None:
    pod = make_pod("web", "shop")
    assert pod_key(pod.obj()) == "shop/web"
    assert pod_priority(pod.obj()) == 0
    assert pod_priority(pod.priority(-5).obj()) == -5


@pytest.mark.parametrize(
    ("phase", "terminal"),
    [("", False), ("Pending", False), ("Running", False), ("Unknown", False), ("Succeeded", True), ("Failed", True)],
)
def test_is_terminal(phase: str, terminal: bool) -> None:
    assert is_terminal(make_pod().phase(phase).obj()) is terminal


@pytest.mark.parametrize(
    ("conditions", "seconds"),
    [
        pytest.param([], 0, id="no condition"),
        pytest.param(
            [{"type": "Ready", "status": "False", "lastTransitionTime": "1970-01-01T00:00:05Z"}], 0, id="unready"
        ),
        pytest.param([{"type": "Ready", "status": "True"}], 0, id="no time"),
        pytest.param(
            [
                {"type": "Initialized", "status": "True", "lastTransitionTime": "1970-01-01T00:00:05Z"},
                {"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:00:09Z"},
            ],
            9,
            id="ready after another condition",
        ),
    ],
)
def test_since_when_a_pod_is_ready(conditions: list[dict[str, str]], seconds: float) -> None:
    assert ready_since(make_pod().status(conditions=conditions).obj()) == seconds


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        pytest.param("1970-01-01T00:00:00Z", 0, id="the epoch"),
        pytest.param("2026-01-31T12:00:00Z", 1769860800, id="UTC"),
        pytest.param("2026-01-31T13:00:00+01:00", 1769860800, id="another zone"),
        pytest.param("2026-01-31T12:00:00.5Z", 1769860800.5, id="a fraction"),
        pytest.param("2026-01-31T12:00:00.250000000Z", 1769860800.25, id="nanoseconds"),
    ],
)
def test_parse_time(stamp: str, seconds: float) -> None:
    assert parse_time(stamp) == seconds
    assert is_time(stamp)


@pytest.mark.parametrize(
    "stamp",
    [
        pytest.param("", id="nothing"),
        pytest.param("yesterday", id="words"),
        pytest.param("2026-01-31", id="a day"),
        pytest.param("2026-01-31T12:00:00", id="no zone"),
        pytest.param("2026-01-31 12:00:00Z", id="no T"),
        pytest.param("20260131T120000Z", id="ISO 8601 without separators"),
        pytest.param("2026-01-31T12:00Z", id="no seconds"),
        pytest.param("2026-13-01T12:00:00Z", id="no such month"),
        pytest.param("2026-02-31T12:00:00Z", id="no such day"),
        pytest.param("2026-02-28T24:00:00Z", id="no such hour"),
        pytest.param("2026-02-31T12:00:00.5Z", id="a fraction of a second of no day"),
        pytest.param("2026-01-31T12:00:00Z ", id="something after it"),
    ],
)
def test_what_is_no_time(stamp: str) -> None:
    assert not is_time(stamp)
    with pytest.raises(ValueError, match=r"time|month|day|hour|isoformat"):
        parse_time(stamp)


@pytest.mark.parametrize("end", [":60Z", ":1Z", ":01", ":01Zz", ":01.5", "", "\uff11Z"])
def test_a_known_minute_does_not_make_a_time(end: str) -> None:
    assert is_time("2026-01-31T12:00:59Z")
    assert not is_time(f"2026-01-31T12:00{end}")


@pytest.mark.parametrize(
    "stamps",
    [
        [],
        ["2026-01-01T00:00:00Z"],
        ["2026-01-01T00:00:59Z", "2026-01-01T00:01:00Z", "2025-12-31T23:59:59Z"],
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z"],
        ["2026-01-01T00:00:01Z", "2026-01-01T01:00:00+02:00"],
        ["2026-01-01T00:00:01Z", "2026-01-01T01:00:00-02:00"],
        ["1969-01-01T00:00:00Z"],
    ],
)
def test_the_latest_time_is_that_of_all_times_parsed(stamps: list[str]) -> None:
    assert latest_time(stamps) == max(map(parse_time, stamps), default=0.0)
