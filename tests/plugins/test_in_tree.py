"""The registry of kube-scheduler's plugins, made from the rooms."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from ksched_cli.config.load import configuration_schema, load_config
from ksched_cli.engine.registry import Registry
from ksched_cli.errors import ConfigError
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.plugins.in_tree import IN_TREE, column_of, spec_of
from ksched_cli.releases.default_plugins import MULTI_POINT
from ksched_cli.releases.minors import NEWEST
from tests.package_source import PACKAGE


@dataclass
class RoomArgs:
    limit: int = 3

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError("limit must not be negative")


class Room(ScorePlugin[None]):
    """A plugin of kube-scheduler whose room has its arguments."""

    name = "Room"
    args_model = RoomArgs

    def score(self, state: Any, pod: Any, nodes: Any) -> Any:
        raise NotImplementedError


def document(**args: Any) -> dict[str, Any]:
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"enabled": [{"name": "Room"}]}},
        "pluginConfig": [{"name": "Room", "args": args}],
    }
    return {"apiVersion": NEWEST.config.read[0], "kind": "KubeSchedulerConfiguration", "profiles": [profile]}


REGISTRY = Registry([*IN_TREE, Room])


def load(**args: Any) -> Any:
    points, models = REGISTRY.points(), REGISTRY.models()
    made = load_config(json.dumps(document(**args)), "c", NEWEST, NEWEST.gates(), points, models)
    return made.profiles[0].args["Room"]


@pytest.mark.parametrize(
    ("plugin", "column"),
    [
        ("NodeResourcesBalancedAllocation", "Balance"),
        ("NodeResourcesLeastAllocated", "Least"),
        ("NodePorts", "NodePorts"),
        ("Mine", "Mine"),
    ],
)
def test_the_heading_over_the_scores_of_a_plugin(plugin: str, column: str) -> None:
    assert column_of(plugin) == column


@pytest.mark.parametrize(
    ("plugin", "room"),
    [
        pytest.param("VolumeBinding", "VolumeBinding", id="a plugin of today"),
        pytest.param("GCEPDLimits", "EBSLimits", id="a plugin that shares its room"),
        pytest.param("NodeLabel", "NodeLabel", id="a plugin that was removed"),
        pytest.param("NodeResourceLimits", "NodeResourceLimits", id="another that was removed"),
        pytest.param("CheckNodeDiskPressure", "CheckNodeCondition", id="a predicate with a room of its own"),
        pytest.param("PodFitsHostPorts", "NodePorts", id="a predicate that is a plugin under another name"),
        pytest.param("ServiceSpreadingPriority", "SelectorSpread", id="a priority that is a plugin under another name"),
        pytest.param("Mine", None, id="none of kube-scheduler's"),
    ],
)
def test_the_room_of_a_plugin(plugin: str, room: str | None) -> None:
    found = spec_of(plugin)
    assert (found.plugins[0].name if found else None) == room


def test_every_file_and_folder_of_plugins_is_a_room() -> None:
    rooms = {path.stem for path in (PACKAGE / "plugins").iterdir() if not path.stem.startswith("_")}
    found = {plugin.__module__.split(".")[2] for plugin in IN_TREE}
    assert found == rooms - {"in_tree", "legacy", "lib"}


def test_plugins_of_today_are_in_the_order_of_the_defaults() -> None:
    today = [plugin.name for plugin in IN_TREE if not plugin.until]
    assert today == list(dict.fromkeys(each.name for each in MULTI_POINT if each.name in today))


def test_rooms_may_declare_their_arguments() -> None:
    handle: Any = None
    assert REGISTRY.make("Room", None, handle).args == RoomArgs(3)
    assert load(limit=5) == RoomArgs(5)
    with pytest.raises(ConfigError, match="limit must not be negative"):
        load(limit=-1)


def test_the_schema_has_the_arguments_of_rooms() -> None:
    schema = jsonschema.Draft202012Validator(configuration_schema(NEWEST, REGISTRY.in_tree_models()))
    assert schema.is_valid(document(limit=5))
    assert not schema.is_valid(document(limit="5"))
