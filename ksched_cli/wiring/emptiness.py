"""Inputs with which a command would have nothing to do: an answer about nothing is not a success."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ksched_cli.errors import InputError, Problem
from ksched_cli.wiring.setup import RunOptions

if TYPE_CHECKING:
    from ksched_cli.sources.loaded import Loaded

_NAMED = 5


def check_not_empty(setup: RunOptions, cluster: Loaded, manifests: Loaded) -> None:
    """Raise InputError if there is no pod or workload to place, or nothing in the namespace of -n."""
    problems = [*_nothing_to_place(setup, cluster, manifests)]
    _refuse(setup, problems or [*_unknown_namespace(setup, (cluster, manifests))])


def check_nodes(setup: RunOptions, cluster: Loaded, manifests: Loaded) -> None:
    """Raise InputError if there is no node."""
    _refuse(setup, [*_no_node(setup, cluster, manifests)])


def check_namespace(setup: RunOptions, cluster: Loaded) -> None:
    """Raise InputError if nothing of the input is in the namespace of -n."""
    _refuse(setup, [*_unknown_namespace(setup, (cluster,))])


def _refuse(setup: RunOptions, problems: Sequence[Problem]) -> None:
    if problems and not setup.allow_empty:
        raise InputError(problems)


def _no_node(setup: RunOptions, cluster: Loaded, manifests: Loaded) -> Iterator[Problem]:
    from ksched_cli.api.core import Node
    from ksched_cli.whatif.edits.add_node import AddNode

    added = any(isinstance(edit, AddNode) for edit in setup.edits) or setup.scenario is not None
    if not cluster.of(Node) and not manifests.of(Node) and not added:
        text = f"the input has no Node: it has {counted_kinds(cluster) or 'no object that ksched reads'}"
        hint = "dump the nodes too: kubectl get nodes,pods -A -o json"
        yield Problem(text, ", ".join(setup.sources), hint=hint)


def _nothing_to_place(setup: RunOptions, cluster: Loaded, manifests: Loaded) -> Iterator[Problem]:
    """Manifests without pods and workloads may change where pending pods go."""
    from ksched_cli.api.core import Pod
    from ksched_cli.api.pod_facts import is_terminal
    from ksched_cli.whatif.manifests import WORKLOADS

    if not setup.has_manifests or setup.edits or setup.scenario is not None:
        return
    pending = any(not pod.spec.node_name and not is_terminal(pod) for pod in cluster.of(Pod))
    if not pending and not any(manifests.of(kind) for kind in (Pod, *WORKLOADS)):
        text = f"nothing to place: the manifests have {counted_kinds(manifests) or 'no object'} and no pod or workload"
        yield Problem(text, ", ".join(setup.filenames), hint="--allow-empty exits with code 0")


def _unknown_namespace(setup: RunOptions, inputs: Sequence[Loaded]) -> Iterator[Problem]:
    wanted = setup.namespace
    if not wanted:
        return
    known = {each for loaded in inputs for each in _namespaces(loaded)}
    if wanted not in known:
        close = difflib.get_close_matches(wanted, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {_listed(sorted(known))}"
        yield Problem(f"nothing of the input is in namespace {wanted}", f"-n {wanted}", hint=hint)


def _namespaces(loaded: Loaded) -> Iterator[str]:
    from ksched_cli.api.core import Namespace

    for kind, items in loaded.objects.items():
        for item in items:
            name: Any = item.metadata.name if kind is Namespace else item.metadata.namespace
            if name:
                yield name


def counted_kinds(loaded: Loaded) -> str:
    """`3 Service, 1 ConfigMap`."""
    return _listed([f"{count} {kind}" for kind, count in loaded.kinds().most_common()])


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
