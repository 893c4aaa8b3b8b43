"""Options for reading: how dumps of a cluster and manifests are read, and the options of kubectl that select a cluster,
a user and a timeout. The command line imports it when it starts, so it imports nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.releases.served_versions import ServerRules
    from ksched_cli.sources.loaded import Autoscaler


class ReadOptions(Struct, frozen=True):
    """Options for directories and archives. With `layouts` only the objects of a must-gather are read."""

    recursive: bool = True
    exclude: Sequence[str] = ()
    layouts: bool = True


DUMPS = ReadOptions()


class ManifestReading(Struct, frozen=True):
    """Options for manifests. `namespace` is for objects that name none. With `collects` problems are findings and no
    error. `pod_templates` are the texts of --pod-template. `assumed_namespaces` count as existing, and with
    `creates_namespaces` all namespaces of the manifests. Files of `optional` need not be manifests. Installed tools
    render `kustomizations`, and `charts` with the files of `values`. Without `strict` unknown fields are ignored.
    `server_side` and `force_conflicts` are those of kubectl apply. `rules` are those of the API server, None if they
    are not known. `autoscalers` are those of the cluster."""

    namespace: str = ""
    recursive: bool = False
    exclude: Sequence[str] = ()
    stdin_name: str = "stdin"
    collects: bool = False
    pod_templates: Sequence[str] = ()
    assumed_namespaces: Sequence[str] = ()
    creates_namespaces: bool = False
    optional: Sequence[str] = ()
    kustomizations: Sequence[str] = ()
    charts: Sequence[str] = ()
    values: Sequence[str] = ()
    strict: bool = True
    server_side: bool = False
    force_conflicts: bool = False
    rules: ServerRules | None = None
    autoscalers: Sequence[Autoscaler] = ()


DEFAULT_TIMEOUT = 60.0


class LiveOptions(Struct, frozen=True):
    """`timeout` is for one request with its repetitions; None means no timeout."""

    context: str | None = None
    kubeconfig: str | None = None
    user: str = ""
    groups: tuple[str, ...] = field(default=())
    timeout: float | None = DEFAULT_TIMEOUT


def parse_timeout(text: str) -> float | None:
    """The seconds of kubectl's --request-timeout; None if it is 0, which means no timeout."""
    return parse_seconds(text, "--request-timeout") or None


def parse_seconds(text: str, flag: str) -> float:
    """The seconds of a number or of a Go duration."""
    from ksched_cli.config.model import parse_duration

    seconds = float(text) if text.replace(".", "", 1).isdigit() else parse_duration(text)
    if seconds is None or seconds < 0:
        raise UsageError(f"{flag} {text}: not a length of time; it is written 30s, 2m or 1m30s")
    return seconds
