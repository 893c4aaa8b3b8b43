"""Older files, and what becomes of them: for the tests of migration."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from msgspec.structs import replace

from ksched_cli.config.carrying import REMOVED_PLUGINS, UNORDERED, Minor
from ksched_cli.config.legacy.policy import Policy, policy_profile
from ksched_cli.config.load import load_config
from ksched_cli.config.migrate import Migration, migrate
from ksched_cli.config.model import KubeSchedulerProfile, ResolvedProfile, SchedulerConfiguration
from ksched_cli.config.plugin_args import (
    STRATEGY_OF,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ScoringStrategy,
)
from ksched_cli.config.reading import is_policy
from ksched_cli.releases.minors import DEFAULT, RELEASES
from tests.config.test_minors import GROUP, points

READERS = {"v1beta1": "1.22", "v1beta2": "1.27", "v1beta3": "1.28", "v1": DEFAULT.version}
SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
PRE_SCORERS = [name for name, where in points(DEFAULT).items() if "preScore" in where]
POLICY = {"kind": "Policy", "apiVersion": "v1"}


@cache
def minor(version: str, gates: str = "") -> Minor:
    release = RELEASES[version]
    return Minor(release, release.gates(gates), points(release))


def configuration(version: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **fields}


def reader(document: dict[str, Any]) -> str:
    return "1.22" if is_policy(document) else READERS[document["apiVersion"].rpartition("/")[2]]


def read(document: dict[str, Any], by: Minor) -> SchedulerConfiguration:
    return load_config(json.dumps(document), "c.yaml", by.release, by.gates, by.points)


def migrated(document: dict[str, Any], gates: str = "", by: str = "", to: str = DEFAULT.version) -> Migration:
    old = minor(by or reader(document), gates)
    return migrate(json.dumps(document), "c.yaml", old, minor(to), {})


def told(migration: Migration) -> list[str]:
    return [str(note.problem).removeprefix("c.yaml: ") for note in migration.notes]


def profiles_of(migration: Migration) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = migration.document["profiles"]
    return found


OLD_WEIGHTS = [("InterPodAffinity", 1), ("NodeAffinity", 1), ("TaintToleration", 1)]


def weighted(*plugins: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} for name, weight in plugins]


def score(*enabled: tuple[str, int], disabled: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "score": {
            **({"enabled": weighted(*enabled)} if enabled else {}),
            **({"disabled": [{"name": name} for name in disabled]} if disabled else {}),
        }
    }


def config_of(name: str, **args: Any) -> list[dict[str, Any]]:
    return [{"name": name, "args": args}]


def own(version: str, **plugins: tuple[str, ...]) -> Minor:
    """A minor with plugins of one's own."""
    known = minor(version)
    return Minor(known.release, known.gates, {**known.points, **plugins})


def in_new_terms(before: ResolvedProfile) -> tuple[dict[str, set[str]], dict[str, int], dict[str, Any]]:
    """Plugins by point, weights and arguments, with the strategies of NodeResourcesFit under its name."""
    where = {point: set(names) - set(REMOVED_PLUGINS) for point, names in before.points.items()}
    weights = {name: before.score_weights[name] for name in where["score"]}
    args: dict[str, Any] = {
        name: each and replace(each, api_version="", kind="")
        for name, each in before.args.items()
        if name not in REMOVED_PLUGINS
    }
    scorers = sorted(
        (name for name in where["score"] if name in STRATEGY_OF),
        key=lambda name: (-weights[name], name == "NodeResourcesLeastAllocated"),
    )
    if scorers:
        weights["NodeResourcesFit"] = weights[scorers[0]]
        own = args[scorers[0]]
        ratio = RequestedToCapacityRatioParam(own.shape) if scorers[0] == "RequestedToCapacityRatio" else None
        strategy = ScoringStrategy(STRATEGY_OF[scorers[0]], own.resources, ratio)
        fit = args.get("NodeResourcesFit", NodeResourcesFitArgs())
        args["NodeResourcesFit"] = replace(fit, scoring_strategy=strategy)
        where["score"] = where["score"] - set(scorers) | {"NodeResourcesFit"}
    names = set().union(*where.values())
    return (
        where,
        {k: v for k, v in weights.items() if k in where["score"]},
        {k: v for k, v in args.items() if k in names},
    )


def check_meaning(document: dict[str, Any], gates: str = "", to: str = DEFAULT.version) -> Migration:
    """The new document is valid, says what the old one said apart from what the notes name, and stays as it is."""
    old, new = minor(reader(document), gates), minor(to)
    given = read(document, old)
    migration = migrated(document, gates, to=to)
    now = read(migration.document, new)
    again = migrated(migration.document, by=to, to=to)
    assert (again.document, again.notes) == (migration.document, ())
    named = set(re.findall(r"\w+", " ".join(told(migration))))
    assert [each.scheduler_name for each in given.profiles] == [each.scheduler_name for each in now.profiles]
    for before, after in zip(given.profiles, now.profiles, strict=True):
        default = (
            policy_profile(Policy(), old.release, old.gates)[0]
            if is_policy(document)
            else KubeSchedulerProfile(config_version=before.config_version)
        )
        same_profile(
            old.resolve(before),
            new.resolve(after),
            old.resolve(default),
            named,
            exact=old is new,
            of_policy=is_policy(document),
        )
    return migration


def same_profile(
    before: ResolvedProfile,
    after: ResolvedProfile,
    default: ResolvedProfile,
    named: set[str],
    *,
    exact: bool,
    of_policy: bool,
) -> None:
    where, weights, args = in_new_terms(before)
    ran_by_default, _, _ = in_new_terms(default)
    for point, names in after.points.items():
        # A PreScore that nobody uses may be on or off.
        idle = set(PRE_SCORERS) - where["score"] if point == "preScore" and not exact else set()
        assert where[point] <= set(names) | idle, point
        if not of_policy:
            same_order([name for name in before.points[point] if name in names], names, default.points[point], point)
        for name in set(names) - where[point] - idle:
            new_part = name in args and name not in ran_by_default[point]
            assert name in named or new_part, (point, name)
    assert {name: after.score_weights[name] for name in weights} == weights
    for name, own in args.items():
        asks_for_labels = name == "NodeAffinity" and "NodeLabel" in before.args
        # VolumeBinding scores by default from 1.37 on, which a note says if the profile has it score.
        scores_now = name == "VolumeBinding" and (name in named or name not in after.points["score"])
        if not asks_for_labels and name in after.args:
            assert after.args[name] == (replace(own, shape=after.args[name].shape) if scores_now else own)
    gone = {name for name in before.args if name in REMOVED_PLUGINS and runs(name, before)}
    assert gone <= named | {"NodeLabel"}


def same_order(before: list[str], after: tuple[str, ...], default: tuple[str, ...], point: str) -> None:
    """An order of the user's own is kept; that of the defaults is that of the minor."""
    by_default = [name for name in default if name in before]
    usual = by_default + [name for name in before if name not in default]
    if point not in UNORDERED and before != usual:
        assert [name for name in after if name in before] == before


def runs(name: str, resolved: ResolvedProfile) -> bool:
    return any(name in names for names in resolved.points.values())
