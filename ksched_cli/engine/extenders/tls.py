"""enableHTTPS and tlsConfig of an extender (makeTransport and client-go's TLSConfigFor)."""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from ksched_cli.config.extenders import extender_name
from ksched_cli.config.model import Extender, ExtenderTLSConfig
from ksched_cli.errors import ConfigError, Problem


def tls_context(extender: Extender) -> ssl.SSLContext:
    """How to talk to an https URL; ConfigError where the settings contradict each other or a file cannot be read."""
    given = extender.tls_config or ExtenderTLSConfig()
    has_ca = bool(given.ca_file or given.ca_data)
    insecure = given.insecure or (extender.enable_https and not has_ca)
    if insecure and has_ca:
        raise ConfigError(Problem("insecure and a CA contradict each other", path=_path(extender, "insecure")))
    context = ssl.create_default_context()
    # Go requires less of a CA's certificate than newer Pythons do, and more of a server's: its subject names no host.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.hostname_checks_common_name = False
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if has_ca:
        context = _trusting_only(context, extender, given)
    if (given.cert_file or given.cert_data) and (given.key_file or given.key_data):
        _load_certificate(context, extender, given)
    return context


def _trusting_only(context: ssl.SSLContext, extender: Extender, given: ExtenderTLSConfig) -> ssl.SSLContext:
    """Trust this CA and none of the system's."""
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    own.minimum_version, own.hostname_checks_common_name = context.minimum_version, False
    # caData wins over caFile, as in client-go.
    field = "caData" if given.ca_data else "caFile"
    data = _decoded(given.ca_data) if given.ca_data else _file(extender, field, given.ca_file)
    try:
        own.load_verify_locations(cadata=data.decode("ascii"))
    except (ssl.SSLError, ValueError) as problem:
        raise ConfigError(Problem(f"no certificate in it: {problem}", path=_path(extender, field))) from None
    return own


def _load_certificate(context: ssl.SSLContext, extender: Extender, given: ExtenderTLSConfig) -> None:
    certificate = _decoded(given.cert_data) if given.cert_data else _file(extender, "certFile", given.cert_file)
    key = _decoded(given.key_data) if given.key_data else _file(extender, "keyFile", given.key_file)
    with _on_disk(certificate) as certificate_file, _on_disk(key) as key_file:
        try:
            # A key with a passphrase is refused rather than prompted for on the terminal.
            context.load_cert_chain(certificate_file, key_file, password=lambda: "")
        except (ssl.SSLError, ValueError, OSError) as problem:
            text = f"certificate and key cannot be used: {problem}"
            raise ConfigError(Problem(text, path=_path(extender, ""))) from None


@contextmanager
def _on_disk(data: bytes) -> Iterator[str]:
    """ssl reads certificates and keys from files only. Only this user can read the file, and it is deleted at once."""
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        yield path
    finally:
        os.unlink(path)


def _decoded(text: str) -> bytes:
    return base64.b64decode("".join(text.split()))


def _file(extender: Extender, field: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as problem:
        text = f"{path}: {problem.strerror or problem}"
        raise ConfigError(Problem(text, path=_path(extender, field))) from None


def _path(extender: Extender, field: str) -> str:
    return ": ".join((f"extender {extender_name(extender)}", ".".join(filter(None, ("tlsConfig", field)))))
