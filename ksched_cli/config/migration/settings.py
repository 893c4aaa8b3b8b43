"""What is not in a profile: numbers, leader election, addresses, extenders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.config.migration.differing import differing
from ksched_cli.config.migration.notes import Notes
from ksched_cli.config.model import Extender
from ksched_cli.config.policy_profile import plugins_named
from ksched_cli.config.serving import LOCK

# With what v1 takes them for where the file does not have them.
_DEFAULTS: dict[str, Any] = {
    "parallelism": 16,
    "percentageOfNodesToScore": 0,
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 10,
    "enableProfiling": True,
    "enableContentionProfiling": True,
    "delayCacheUntilActive": False,
}
_WHOLE = ("leaderElection", "clientConnection")
_ADDRESSES = ("healthzBindAddress", "metricsBindAddress")


def settings(document: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """Of a configuration; sections that decide nothing here are taken as they are."""
    found = {name: own for name in _WHOLE if (own := _section(document.get(name)))}
    found |= {
        name: document[name]
        for name, default in _DEFAULTS.items()
        if document.get(name, default) not in (None, default)
    }
    if found.get("leaderElection", {}).get("resourceLock") not in (None, LOCK):
        lock = found["leaderElection"].pop("resourceLock")
        notes.tell(
            f"leader election knows {LOCK} only, no {lock}",
            ("leaderElection", "resourceLock"),
            f"let all replicas of today's scheduler come to {LOCK} before the first of the new ones starts",
            lost=True,
        )
    for name in _ADDRESSES:
        address = document.get(name)
        if address and not address.endswith(":0"):
            text = f"nothing is served at {address}: the port without encryption went away with Kubernetes 1.23"
            notes.tell(text, (name,), "use the flags --bind-address and --secure-port, and https", lost=True)
    return {name: own for name, own in found.items() if own != {}}


def _section(own: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (own or {}).items() if value is not None}


def settings_of_policy(policy: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """Of what a Policy says besides predicates, priorities and extenders nothing is said in a section of its own."""
    priorities = policy.get("priorities")
    named = [plugin for each in priorities or () for plugin in plugins_named(each)]
    if policy.get("hardPodAffinitySymmetricWeight") and priorities is not None and "InterPodAffinity" not in named:
        text = "this weight decides nothing, for InterPodAffinityPriority is not among the priorities"
        notes.tell(text, ("hardPodAffinitySymmetricWeight",))
    if policy.get("alwaysCheckAllPredicates"):
        text = "of a node that one filter has rejected, the others are not asked any more"
        hint = "pods go where they went, and fewer reasons are told; ksched explain shows all of them"
        notes.tell(text, ("alwaysCheckAllPredicates",), hint, lost=True)
    return {}


def extenders(listed: Sequence[Extender]) -> list[dict[str, Any]]:
    return [differing(each) for each in listed]
