"""Extenders that cannot be reached, are slow, or answer nonsense: each is the pod's error, or is passed over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksched_cli.engine.extenders import transport
from ksched_cli.errors import ConfigError
from tests.builders import make_pod
from tests.engine.extenders.runs import extender, feasible, node_of, only, run, scheduler_with
from tests.engine.extenders.service import Raw, Service, keep, nobody

SLOW = {"httpTimeout": "60ms"}
MISBEHAVIOURS = [
    pytest.param({"status": 500}, {}, "failed filter with extender at URL {url}/filter, code 500", id="status 500"),
    pytest.param({"status": 302}, {}, "failed filter with extender at URL {url}/filter, code 302", id="a redirect"),
    pytest.param({"hang_up": True}, {}, 'Post "{url}/filter": EOF', id="hangs up"),
    pytest.param(
        {"silent": True},
        SLOW,
        'Post "{url}/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
        id="silent",
    ),
    pytest.param(
        {"stalls": True},
        SLOW,
        "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
        id="stops in the middle",
    ),
]
NONSENSE = [
    pytest.param(Raw(b""), "EOF", id="an empty body"),
    pytest.param(Raw(b"<html>"), "the answer is not JSON: JSON is malformed", id="not JSON"),
    pytest.param(Raw(b"x" * 99), f"it begins with '{'x' * 60}'", id="not JSON, and long"),
    pytest.param(Raw(b"["), "the answer is not JSON: Input data was truncated", id="half of it"),
    pytest.param(Raw(b"[" * 100_000), "the answer is not JSON", id="very deep"),
    pytest.param(Raw(b'"\xff"'), "the answer is not JSON", id="not UTF-8"),
    pytest.param([], "the answer is not an object but []", id="a list"),
    pytest.param(7, "the answer is not an object but 7", id="a number"),
    pytest.param({"nodenames": "a"}, "nodenames: expected a list, got a string", id="a name for a list"),
    pytest.param({"nodenames": [None]}, "nodenames[0]: expected a string, got null", id="null for a name"),
    pytest.param({"failedNodes": {"a": 1}}, "failednodes.a: expected a string", id="a number for a reason"),
    pytest.param({"nodes": {"items": [{"spec": 5}]}}, "nodes.items[0].spec: expected an object", id="a broken node"),
    pytest.param({"error": "database is down"}, "database is down", id="an error of its own"),
    pytest.param(
        {"nodenames": ["a", "ghost"]},
        'extender "{url}" claims a filtered node "ghost" which is not found in the input node list',
        id="an unknown name",
    ),
    pytest.param(
        {"nodes": {"items": [{"metadata": {"name": "ghost"}}]}},
        'extender "{url}" returned the node "ghost", which is not in the cluster',
        id="an unknown node",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("behaviour", "settings", "message"), MISBEHAVIOURS)
def test_misbehaviour(behaviour: dict[str, Any], settings: dict[str, Any], message: str) -> None:
    with Service({"filter": keep("a")}, **behaviour) as service:
        decision = only(scheduler_with([extender(service.url, **settings)]))
        assert (decision.result, decision.message) == ("error", message.format(url=service.url))


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "message"), NONSENSE)
def test_nonsense(answer: Any, message: str) -> None:
    with Service({"filter": answer}) as service:
        decision = only(scheduler_with([extender(service.url)]))
        assert decision.result == "error"
        assert message.format(url=service.url) in decision.message


@pytest.mark.slow
@pytest.mark.parametrize(("behaviour", "settings", "message"), MISBEHAVIOURS)
def test_misbehaviour_that_may_be_passed_over(
    behaviour: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with Service({"filter": keep("a")}, **behaviour) as service, Service({"filter": keep("b")}) as other:
        chain = [extender(service.url, ignorable=True, **settings), extender(other.url, ignorable=True)]
        scheduler = scheduler_with(chain)
        assert feasible(scheduler, only(scheduler)) == ["b"]
        assert scheduler.extenders is not None
        assert scheduler.extenders.report()[0] == {
            "extender": service.url,
            "calls": {"filter": 1},
            "passedOver": [{"verb": "filter", "error": message.format(url=service.url), "times": 1}],
        }


@pytest.mark.parametrize(("answer", "message"), NONSENSE)
def test_nonsense_that_may_be_passed_over(answer: Any, message: str) -> None:
    with Service({"filter": answer}) as service:
        scheduler = scheduler_with([extender(service.url, ignorable=True)])
        assert feasible(scheduler, only(scheduler)) == ["a", "b", "c"]
        assert scheduler.extenders is not None
        ((failure,),) = (each["passedOver"] for each in scheduler.extenders.report())
        assert message.format(url=service.url) in failure["error"]


def test_nobody_is_there() -> None:
    url = nobody()
    decision = only(scheduler_with([extender(url)]))
    address = url.removeprefix("http://")
    assert decision.message == f'Post "{url}/filter": dial tcp {address}: connect: connection refused'


def test_a_host_that_does_not_exist() -> None:
    decision = only(scheduler_with([extender("http://extender.invalid")]))
    assert decision.message == 'Post "http://extender.invalid/filter": dial tcp: lookup extender.invalid: no such host'


def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nobody())
    with Service({"filter": keep("c")}) as service:
        scheduler = scheduler_with([extender(service.url)])
        assert node_of(scheduler, only(scheduler)) == "c"


def test_an_answer_a_byte_at_a_time_does_not_outlast_the_timeout() -> None:
    """Every read succeeds in time, and the whole does not."""
    with Service({"filter": keep("a")}, drips=True) as service:
        decision = only(scheduler_with([extender(service.url, **SLOW)]))
        assert decision.message.startswith("context deadline exceeded")


@pytest.mark.parametrize(("size", "problem"), [(2**20, ""), (2**20 + 1, "URL answers with more than 1 MiB")])
def test_an_answer_that_is_too_large(size: int, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_ANSWER", 2**20)
    text = b'{"nodenames": ["a"]}'
    with Service({"filter": Raw(text + b" " * (size - len(text)))}) as service:
        decision = only(scheduler_with([extender(service.url)]))
        assert decision.message.replace(service.url, "URL") == problem


def test_a_server_that_closes_idle_connections_is_asked_again() -> None:
    pods = [make_pod(name).obj() for name in ("p", "q", "r")]
    with Service({"filter": keep("c")}, close_idle=True) as service:
        scheduler = scheduler_with([extender(service.url)], None, pods)
        assert [node_of(scheduler, each) for each in run(scheduler).values()] == ["c", "c", "c"]
        assert (service.connections, len(service.asked)) == (3, 3)


def test_after_a_failure_the_next_pod_is_asked_about_on_a_new_connection() -> None:
    pods = [make_pod(name).obj() for name in ("p", "q")]
    answers = iter([Raw(b"nonsense"), {"nodenames": ["b"]}])
    with Service({"filter": lambda asked: next(answers)}) as service:
        scheduler = scheduler_with([extender(service.url)], None, pods)
        first, second = run(scheduler).values()
        assert (first.result, node_of(scheduler, second)) == ("error", "b")


def test_a_password_in_the_url_is_sent_and_not_shown() -> None:
    with Service({"filter": {"error": "no"}}) as service:
        url = service.url.replace("http://", "http://user:secret@")
        scheduler = scheduler_with([extender(url, ignorable=True)])
        only(scheduler)
        assert service.asked[0].headers["Authorization"] == "Basic dXNlcjpzZWNyZXQ="
        assert scheduler.extenders is not None
        assert "secret" not in json.dumps(scheduler.extenders.report())


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        pytest.param("extender:80", "expected http://HOST or https://HOST", id="no scheme"),
        pytest.param("ftp://h", "expected http://HOST or https://HOST", id="another scheme"),
        pytest.param("http://h:port", "Port could not be cast to integer value", id="no port"),
        pytest.param("http://", "expected http://HOST or https://HOST", id="no host"),
    ],
)
def test_urls_that_cannot_be_asked(url: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        scheduler_with([extender(url)])
    assert only(scheduler_with([extender(url)], called=False)).result == "scheduled"
