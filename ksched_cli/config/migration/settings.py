"""The settings outside the profiles: numbers, leader election, addresses, extenders."""

from __future__ import annotations

from typing import Any

from ksched_cli.config.migration.migration_notes import Notes
from ksched_cli.config.policy.profile import plugins_named
from ksched_cli.config.serving import ADDRESSES, LOCK
from ksched_cli.releases.plugin_names import INTER_POD_AFFINITY, INTER_POD_AFFINITY_PRIORITY
from ksched_cli.releases.removals import INSECURE_PORT

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
# The default lock object of a scheduler of the time of v1alpha1.
_ALPHA_LOCK = "endpoints"


def settings(document: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The settings of a configuration. Sections without an effect on scheduling are copied."""
    found = {name: own for name in _WHOLE if (own := _section(document.get(name)))}
    found |= {
        name: document[name]
        for name, default in _DEFAULTS.items()
        if document.get(name, default) not in (None, default)
    }
    election = found.get("leaderElection", {})
    if election.get("resourceLock", LOCK) != LOCK:
        _tell_lock(election.pop("resourceLock"), notes, lost=True)
    _tell_addresses(document, notes)
    return {name: own for name, own in found.items() if own != {}}


def settings_of_alpha(document: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The settings of a v1alpha1 file, which has other defaults, and another name for the field of the lock name."""
    election = _section(document.get("leaderElection"))
    for name in ("Namespace", "Name"):
        own = election.pop(f"lockObject{name}", None)
        if own and not election.get(f"resource{name}"):
            election[f"resource{name}"] = own
    if election.get("leaderElect") is not False and not election.get("resourceLock"):
        _tell_lock(_ALPHA_LOCK, notes, lost=False)
    profiling = {name: document.get(name) or False for name in ("enableProfiling", "enableContentionProfiling")}
    if not profiling["enableProfiling"]:
        del profiling["enableContentionProfiling"]
        notes.add("profiling was off by default, and this is written out: enableProfiling: false")
    kept = {name: document.get(name) for name in ("clientConnection", "percentageOfNodesToScore")}
    addresses = {name: document.get(name) for name in ADDRESSES}
    return settings({**kept, **addresses, **profiling, "leaderElection": election}, notes)


def _tell_lock(lock: str, notes: Notes, *, lost: bool) -> None:
    default = "" if lost else ", its default then"
    notes.add(
        f"leader election knows {LOCK} only, no {lock}{default}",
        ("leaderElection", "resourceLock"),
        f"let all replicas of today's scheduler come to {LOCK} before the first of the new ones starts",
        lost=lost,
    )


def _tell_addresses(document: dict[str, Any], notes: Notes) -> None:
    for name in ADDRESSES:
        address = document.get(name)
        if address and not address.endswith(":0"):
            text = f"nothing is served at {address}: the port without encryption went away with {INSECURE_PORT}"
            notes.add(text, (name,), "use the flags --bind-address and --secure-port, and https", lost=True)


def _section(own: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (own or {}).items() if value is not None}


def tell_of_policy(policy: dict[str, Any], notes: Notes) -> None:
    priorities = policy.get("priorities")
    named = [plugin for each in priorities or () for plugin in plugins_named(each)]
    if policy.get("hardPodAffinitySymmetricWeight") and priorities is not None and INTER_POD_AFFINITY not in named:
        text = f"this weight decides nothing, for {INTER_POD_AFFINITY_PRIORITY} is not among the priorities"
        notes.add(text, ("hardPodAffinitySymmetricWeight",))


def tell_of_all_filters(notes: Notes) -> None:
    text = "the other filters do not run any more for a node that one filter has rejected"
    hint = "pods go where they went, and fewer reasons are shown; ksched explain shows all of them"
    notes.add(text, ("alwaysCheckAllPredicates",), hint, lost=True)
