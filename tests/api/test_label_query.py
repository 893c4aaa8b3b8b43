"""kubectl's -l, by the rules of labels.Parse."""

from __future__ import annotations

import pytest

from ksched_cli.api.selectors import SelectorError, parse_query

WEB = {"app": "web", "tier": "front", "example.com/team": "a"}


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier = front", True),
        ("app=web,tier!=front", False),
        ("app!=db", True),
        ("missing!=x", True),
        ("app in (web, db)", True),
        ("app in (db),tier", False),
        ("app notin (db,cache)", True),
        ("missing notin (a)", True),
        ("tier", True),
        ("!tier", False),
        ("!missing,example.com/team=a", True),
        ("app=", False),
    ],
)
def test_query(query: str, matches: bool) -> None:
    assert parse_query(query).matches(WEB) is matches


@pytest.mark.parametrize("query", ["a=b=c", "app web", "app in web", "app=we b", "a,,b", "-x=1", "app in ()x", "a=!"])
def test_what_is_no_query_is_said(query: str) -> None:
    with pytest.raises(SelectorError):
        parse_query(query)
