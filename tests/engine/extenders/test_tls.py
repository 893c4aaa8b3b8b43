"""enableHTTPS and tlsConfig, against a server with a CA of its own."""

from __future__ import annotations

import base64
import re
import ssl
import tempfile
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import ConfigError
from tests.engine.extenders.runs import extender, node_of, only, scheduler_with
from tests.engine.extenders.service import Service, keep

FILES = Path(__file__).parents[3] / "fixtures" / "extender-tls"
CA, CLIENT, CLIENT_KEY = (str(FILES / name) for name in ("ca.pem", "client.pem", "client.key"))


def in_base64(name: str) -> str:
    return base64.b64encode((FILES / name).read_bytes()).decode()


def serving(certificate: str = "server", *, asks_for_clients: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FILES / f"{certificate}.pem", FILES / f"{certificate}.key")
    if asks_for_clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(CA)
    return context


def ask(settings: dict[str, Any], **server: Any) -> str:
    """The node, or the message."""
    with Service({"filter": keep("b")}, tls=serving(**server)) as service:
        scheduler = scheduler_with([extender(service.url, **settings)])
        decision = only(scheduler)
        return node_of(scheduler, decision) or decision.message.replace(service.url, "URL")


REFUSED = 'Post "URL/filter": tls: failed to verify certificate: '


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "server", "answer"),
    [
        pytest.param({"enableHTTPS": True, "tlsConfig": {"caFile": CA}}, {}, "b", id="a CA in a file"),
        pytest.param({"enableHTTPS": True, "tlsConfig": {"caData": in_base64("ca.pem")}}, {}, "b", id="a CA as it is"),
        pytest.param({"tlsConfig": {"caFile": CA}}, {}, "b", id="the scheme decides on HTTPS"),
        pytest.param({"enableHTTPS": True}, {}, "b", id="enableHTTPS without a CA checks nothing"),
        pytest.param(
            {"tlsConfig": {"insecure": True}}, {"certificate": "elsewhere"}, "b", id="insecure checks nothing"
        ),
        pytest.param({}, {}, f"{REFUSED}unable to get local issuer certificate", id="unknown to the system"),
        pytest.param(
            {"tlsConfig": {"caFile": CA}},
            {"certificate": "elsewhere"},
            f"{REFUSED}IP address mismatch, certificate is not valid for '127.0.0.1'.",
            id="for another host",
        ),
        pytest.param(
            {"tlsConfig": {"caFile": CA, "serverName": "elsewhere.test"}},
            {"certificate": "elsewhere"},
            "b",
            id="serverName",
        ),
        pytest.param(
            {"tlsConfig": {"caFile": CA, "certFile": CLIENT, "keyFile": CLIENT_KEY}},
            {"asks_for_clients": True},
            "b",
            id="a client's certificate in files",
        ),
        pytest.param(
            {
                "tlsConfig": {
                    "caFile": CA,
                    "certData": in_base64("client.pem"),
                    "keyData": in_base64("client.key"),
                }
            },
            {"asks_for_clients": True},
            "b",
            id="a client's certificate as it is",
        ),
        pytest.param({"tlsConfig": {"caFile": CA, "certFile": CLIENT}}, {}, "b", id="a certificate without its key"),
        pytest.param({"tlsConfig": {"caFile": CA, "keyFile": CLIENT_KEY}}, {}, "b", id="a key without a certificate"),
    ],
)
def test_answers(settings: dict[str, Any], server: dict[str, Any], answer: str) -> None:
    assert ask(settings, **server) == answer


def test_a_server_that_wants_to_know_who_asks() -> None:
    assert ask({"tlsConfig": {"caFile": CA}}, asks_for_clients=True).startswith('Post "URL/filter": ')


def test_http_on_a_port_that_speaks_tls() -> None:
    with Service({"filter": keep("b")}, tls=serving()) as service:
        decision = only(scheduler_with([extender(service.url.replace("https", "http"))]))
        assert decision.result == "error"


def test_tls_on_a_port_that_speaks_http() -> None:
    with Service({"filter": keep("b")}) as service:
        decision = only(scheduler_with([extender(service.url.replace("http", "https"), enableHTTPS=True)]))
        assert decision.result == "error"
        assert re.match(r'Post "https://.*/filter": .*wrong version number', decision.message)


@pytest.mark.slow
def test_certificate_and_key_do_not_stay_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    given = {"caFile": CA, "certData": in_base64("client.pem"), "keyData": in_base64("client.key")}
    assert ask({"tlsConfig": given}, asks_for_clients=True) == "b"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("tls", "problem"),
    [
        pytest.param(
            {"insecure": True, "caFile": CA}, "insecure and a CA contradict each other", id="insecure and a CA"
        ),
        pytest.param({"caFile": "/nowhere/ca.pem"}, "tlsConfig.caFile: /nowhere/ca.pem: No such file", id="no file"),
        pytest.param({"caFile": CLIENT_KEY}, "tlsConfig.caFile: no certificate in it", id="a key for a CA"),
        pytest.param({"caData": "bm9uc2Vuc2U="}, "tlsConfig.caData: no certificate in it", id="nonsense for a CA"),
        pytest.param(
            {"certFile": CA, "keyFile": CLIENT_KEY}, "certificate and key cannot be used", id="another's certificate"
        ),
        pytest.param(
            {"certFile": CLIENT, "keyFile": "/nowhere/key"}, "tlsConfig.keyFile: /nowhere/key: No such", id="no key"
        ),
    ],
)
def test_settings_that_cannot_be_used(tls: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        scheduler_with([extender("https://h", tlsConfig=tls)])


def test_the_system_is_not_trusted_beside_an_own_ca() -> None:
    """A CA of one's own is for one's own extender."""
    from ksched_cli.engine.extenders.transport import tls_context

    context = tls_context(extender("https://h", tlsConfig={"caFile": CA}))
    assert [dict(part[0] for part in each["subject"])["commonName"] for each in context.get_ca_certs()] == [
        "ksched test CA"
    ]
