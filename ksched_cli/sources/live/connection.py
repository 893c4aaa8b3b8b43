"""Makes the connection to an API server, from a kubeconfig or from the service account of ksched's own pod.

Only this module imports the Kubernetes client, which reads kubeconfigs, runs exec plugins, refreshes tokens, and makes
the pool of connections with certificates and proxy. `api_server` sends the requests.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.errors import ClusterUnreadable, Problem, did_you_mean
from ksched_cli.sources.live.api_server import LiveApiServer, one_line
from ksched_cli.sources.live.cluster import READ
from ksched_cli.sources.read_options import LiveOptions

_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def connect(options: LiveOptions) -> LiveApiServer:
    """The API server of the options. No request is sent yet. ClusterUnreadable if the Kubernetes client, which only a
    live cluster needs, is not installed."""
    try:
        from kubernetes.client import ApiClient, Configuration
    except ImportError as missing:
        hint = "pip install kubernetes; --from FILE reads a dump or a snapshot without it"
        text = f"a live cluster needs the Python package kubernetes: {one_line(missing)}"
        raise ClusterUnreadable(Problem(text, hint=hint)) from None

    configuration = Configuration()
    with _complaints() as complaints:
        in_pod = _runs_in_a_pod(options)
        entry = _configure_in_cluster(configuration) if in_pod else _configure_from_kubeconfig(configuration, options)
    if not options.user:
        options = replace(options, user=entry.user, groups=entry.groups)
    configuration.connection_pool_maxsize = 2 * len(READ)  # every kind has a connection of its own while it is watched
    configuration.socket_options = _keepalive()
    try:
        pool = ApiClient(configuration).rest_client.pool_manager
    except (OSError, ValueError) as mistake:
        raise ClusterUnreadable(Problem(one_line(mistake), configuration.host)) from None
    return LiveApiServer(
        host=configuration.host,
        pool=pool,
        headers=lambda: _headers(configuration, options),
        timeout=options.timeout,
        namespace=entry.namespace,
        hint="; ".join(complaints),
        insecure=_is_insecure(configuration),
    )


def _is_insecure(configuration: Any) -> bool:
    """Whether insecure-skip-tls-verify holds. ksched warns of it once; urllib3 would warn at every request."""
    import urllib3

    insecure = not configuration.verify_ssl and configuration.host.startswith("https:")
    if insecure:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return insecure


def _keepalive() -> list[tuple[int, int, int]]:
    """Options of sockets with which the system detects within a minute that the server of a quiet watch is gone."""
    import socket

    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    wanted = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
    known = {name: seconds for name, seconds in wanted.items() if hasattr(socket, name)}
    return [*options, *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in known.items())]


class _Entry(Struct, frozen=True):
    """The fields of a kubeconfig's context that the Kubernetes client does not use."""

    context: str
    namespace: str
    user: str = ""
    groups: tuple[str, ...] = ()


def _runs_in_a_pod(options: LiveOptions) -> bool:
    """Whether there is a service account and no option, variable or file names another cluster, as kubectl decides."""
    given = options.context or options.kubeconfig or os.environ.get("KUBECONFIG") or _default_kubeconfig().exists()
    return not given and "KUBERNETES_SERVICE_HOST" in os.environ and _TOKEN.exists()


def _configure_in_cluster(configuration: Any) -> _Entry:
    from kubernetes.config import ConfigException, load_incluster_config

    try:
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]  # the client has no types
        return _Entry("", (_TOKEN.parent / "namespace").read_text().strip())
    except ConfigException as mistake:
        raise ClusterUnreadable(Problem(one_line(mistake), "service account")) from None
    except OSError:
        return _Entry("", "")


def _configure_from_kubeconfig(configuration: Any, options: LiveOptions) -> _Entry:
    import yaml
    from kubernetes.config import ConfigException, load_kube_config

    path = options.kubeconfig or os.environ.get("KUBECONFIG") or str(_default_kubeconfig())
    _must_exist(path, options)
    try:
        entry = _entry(path, options.context)
        load_kube_config(path, context=entry.context, client_configuration=configuration)  # type: ignore[no-untyped-call]  # the client has no types
    except ConfigException as mistake:
        raise ClusterUnreadable(Problem(one_line(mistake), path, hint="see `kubectl config get-contexts`")) from None
    except yaml.YAMLError as mistake:
        mark = getattr(mistake, "problem_mark", None)
        line = mark.line + 1 if mark else None
        text = f"not YAML: {getattr(mistake, 'problem', None) or one_line(mistake)}"
        raise ClusterUnreadable(Problem(text, path, line)) from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as mistake:
        # The client does not check the form of a kubeconfig; the exception that it raises is the only description.
        raise ClusterUnreadable(Problem(f"not a kubeconfig that can be used: {one_line(mistake)}", path)) from None
    return entry


def _entry(path: str, wanted: str | None) -> _Entry:
    """The context of that name, or the current one. The client merges the files of $KUBECONFIG."""
    from kubernetes.config import ConfigException
    from kubernetes.config.kube_config import KubeConfigMerger

    merged = KubeConfigMerger(path).config  # type: ignore[no-untyped-call]  # the client has no types
    if merged is None:
        raise ConfigException("no configuration found")
    contexts = {node.value["name"]: node.value.get("context") or {} for node in merged.value["contexts"]}
    users = {node.value["name"]: node.value.get("user") or {} for node in merged.value["users"]}
    name = wanted or merged.value.get("current-context")
    if not name:
        raise ConfigException("there is no current-context in it; name one with --context")
    if name not in contexts:
        raise _no_context(name, list(contexts), path)
    context = contexts[name]
    user = users.get(context.get("user"), {})
    return _Entry(
        name, str(context.get("namespace") or ""), str(user.get("as") or ""), tuple(user.get("as-groups") or ())
    )


def _default_kubeconfig() -> Path:
    return Path("~/.kube/config").expanduser()


def _must_exist(path: str, options: LiveOptions) -> None:
    """Raise ClusterUnreadable if no file of the path exists. $KUBECONFIG may list files that do not exist."""
    if any(Path(each).expanduser().is_file() for each in path.split(os.pathsep) if each):
        return
    if options.kubeconfig or os.environ.get("KUBECONFIG"):
        raise ClusterUnreadable(Problem("no such kubeconfig", path))
    hint = "give --from FILE to read a dump or a snapshot, or --kubeconfig FILE"
    raise ClusterUnreadable(Problem("no kubeconfig, so there is no cluster to read", path, hint=hint))


def _no_context(wanted: str, names: list[str], path: str) -> ClusterUnreadable:
    hint = did_you_mean(wanted, names, f"there are {', '.join(names) or 'none'}")
    return ClusterUnreadable(Problem(f"no context {wanted}", path, hint=hint))


def _headers(configuration: Any, options: LiveOptions) -> list[tuple[str, str]]:
    """The credentials. They are read for every request: the client may have to renew a token first."""
    headers = [(each["key"], each["value"]) for each in configuration.auth_settings().values() if each["value"]]
    if options.user:
        headers.append(("Impersonate-User", options.user))
    headers += [("Impersonate-Group", group) for group in options.groups]
    return headers


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """Collects what the client logs, such as the failure of an exec plugin, after which it goes on without a token."""
    messages: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(one_line(record.getMessage()))

    root, listener = logging.getLogger(), Listener(logging.WARNING)
    root.addHandler(listener)
    try:
        yield messages
    finally:
        root.removeHandler(listener)
