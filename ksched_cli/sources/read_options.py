"""Options for reading dumps of a cluster and manifests."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


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
    `server_side` and `force_conflicts` are those of kubectl apply; `minor` is that of the API server if it is given."""

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
    minor: int | None = None
