"""Namespaces of the manifests that the cluster does not have."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.api.kinds import CLUSTER_SCOPED
from ksched_cli.errors import Problem
from ksched_cli.sources.input_codes import UNKNOWN_NAMESPACE
from ksched_cli.sources.loaded import Loaded

# They exist in every cluster, whether the input names them or not.
_BUILT_IN = ("default", "kube-system", "kube-public", "kube-node-lease")


def unknown_namespaces(existing: Iterable[Namespace], pods: Iterable[Pod], manifests: Loaded) -> Iterator[Problem]:
    """A warning for each namespace that neither the cluster nor the manifests have, and that is not assumed to exist.
    Where the input has no Namespace objects, the namespaces of its pods are those that exist. An input with neither
    does not warn."""
    names = {each.metadata.name for each in existing}
    missing = "the input has no namespace {}"
    if not names:
        names = {pod.metadata.namespace for pod in pods}
        missing = "the input has no Namespace objects, and no pod in namespace {}"
    known = {*names, *(each.metadata.name for each in manifests.of(Namespace)), *_BUILT_IN}
    known |= manifests.assumed_namespaces
    for kind, items in manifests.objects.items() if names else ():
        for item in items if kind not in CLUSTER_SCOPED else ():
            namespace = item.metadata.namespace
            if namespace not in known:
                known.add(namespace)
                origin = manifests.origins[id(item)]
                text = f"{missing.format(namespace)}: it is assumed to exist, without quotas and limits"
                hint = f"--create-namespace, or --assume-namespace {namespace}, if that is meant"
                close = difflib.get_close_matches(namespace, names, 1, 0.75)
                hint = f"did you mean {close[0]}? Else {hint}" if close else hint
                yield Problem(text, origin.source, origin.line, "", hint, UNKNOWN_NAMESPACE, "warning")
