"""How files are read: dumps of a cluster, and manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ReadOptions:
    """How directories and archives are read. `layouts`: of a must-gather only its objects are. `exclude` are globs."""

    recursive: bool = True
    exclude: Sequence[str] = ()
    layouts: bool = True


DUMPS = ReadOptions()


@dataclass(frozen=True)
class ManifestReading:
    """How manifests are read. `namespace` is for objects that name none. With `collects` a problem ends nothing: it
    becomes a finding. `pod_templates` are the texts of --pod-template.
    `assumed_namespaces` exist, and with `creates_namespaces` all others do that the manifests name.
    Files of `optional` need not be manifests.
    `kustomizations` and `charts` are rendered by installed tools, charts with the files of `values`.
    `strict` makes unknown fields errors; None warns of them, False ignores them."""

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
    strict: bool | None = None
