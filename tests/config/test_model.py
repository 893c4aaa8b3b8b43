"""Durations as Go reads and writes them, and how an extender is named."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.config.model import Extender, duration_text, extender_name, parse_duration, seconds
from ksched_cli.config.plugin_args import ARGS_OF


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", 0.0, id="nothing"),
        pytest.param("-0", 0.0, id="nothing with a sign"),
        pytest.param("0s", 0.0, id="no seconds"),
        pytest.param("90s", 90.0, id="seconds"),
        pytest.param("+1m", 60.0, id="a sign"),
        pytest.param("-1m30s", -90.0, id="negative"),
        pytest.param("1h1m1s", 3661.0, id="several units"),
        pytest.param("1.5h", 5400.0, id="a fraction"),
        pytest.param(".5s", 0.5, id="a fraction alone"),
        pytest.param("1.s", 1.0, id="a point at the end"),
        pytest.param("2ms", 0.002, id="milliseconds"),
        pytest.param("3us", 3e-6, id="microseconds"),
        pytest.param("3\u00b5s", 3e-6, id="microseconds with the sign"),
        pytest.param("4ns", 4e-9, id="nanoseconds"),
        pytest.param("", None, id="empty"),
        pytest.param("+", None, id="a sign alone"),
        pytest.param("1", None, id="no unit"),
        pytest.param("1d", None, id="an unknown unit"),
        pytest.param("1s ", None, id="a blank"),
        pytest.param("--1s", None, id="two signs"),
        pytest.param("x1s", None, id="a letter first"),
    ],
)
def test_a_duration_is_read(text: str, expected: float | None) -> None:
    found = parse_duration(text)
    assert found == (None if expected is None else pytest.approx(expected))
    assert seconds(text) == pytest.approx(max(expected or 0.0, 0.0))


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        pytest.param(0, "0s", id="nothing"),
        pytest.param(5_000_000_000, "5s", id="seconds"),
        pytest.param(60_000_000_000, "1m0s", id="a minute"),
        pytest.param(90_000_000_000, "1m30s", id="a minute and seconds"),
        pytest.param(3_600_000_000_000, "1h0m0s", id="an hour"),
        pytest.param(3_661_000_000_000, "1h1m1s", id="hour, minute and second"),
        pytest.param(100_000_000, "100ms", id="milliseconds"),
        pytest.param(1_000_000_000, "1s", id="a second"),
        pytest.param(61_500_000_000, "1m1.5s", id="a minute, a second and a half"),
        pytest.param(999_000_000, "999ms", id="less than a second"),
        pytest.param(1_500_000, "1.5ms", id="a millisecond and a half"),
        pytest.param(1_500, "1.5µs", id="a microsecond and a half"),
        pytest.param(999, "999ns", id="nanoseconds"),
        pytest.param(-5_000_000_000, "-5s", id="negative"),
        pytest.param(-1, "-1ns", id="a negative nanosecond"),
    ],
)
def test_a_duration_is_written(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text
    assert parse_duration(text) == pytest.approx(nanoseconds / 10**9)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        pytest.param("http://host/x", "http://host/x", id="no user"),
        pytest.param("http://user@host/x", "http://user@host/x", id="a user without a password"),
        pytest.param("http://user:secret@host:80/x", "http://user:xxxxx@host:80/x", id="a password"),
        pytest.param("http://user:p@ss@host/x", "http://user:xxxxx@host/x", id="a password with an @"),
        pytest.param("http://user:secret@[host/x", "[host/x", id="no URL"),
        pytest.param("http://[host/x", "http://[host/x", id="no URL and no user"),
    ],
)
def test_the_name_of_an_extender_has_no_password(url: str, name: str) -> None:
    assert extender_name(Extender(url_prefix=url)) == name


@pytest.mark.parametrize(
    ("plugin", "defaults"),
    [
        pytest.param(
            "DefaultPreemption", {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100}, id="preemption"
        ),
        pytest.param(
            "InterPodAffinity",
            {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False},
            id="affinity of pods",
        ),
        pytest.param("VolumeBinding", {"bindTimeoutSeconds": 600}, id="volumes"),
        pytest.param("PodTopologySpread", {"defaultingType": "System"}, id="spread"),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})},
            id="balanced resources",
        ),
    ],
)
def test_arguments_by_default(plugin: str, defaults: dict[str, Any]) -> None:
    """pkg/scheduler/apis/config/v1/defaults.go."""
    found = msgspec.to_builtins(ARGS_OF[plugin]())
    assert {name: found[name] for name in defaults} == defaults
