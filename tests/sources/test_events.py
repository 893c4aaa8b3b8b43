"""Events of schedulers in every form in which clusters and dumps have them; and that nobody else reads them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.errors import InputError
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.events import FailedScheduling, PreemptionEvent, ScheduledPod
from ksched_cli.sources.manifests import load_manifests
from tests.builders import make_node, make_pod, write_list
from tests.failed_scheduling import in_its_own_group, of_old, written_now
from tests.scheduler_events import bound_event, bound_event_of_its_group, bound_event_of_old, preempted_event

NODE = make_node("n1").doc()
SAID, LATER = "2026-01-01T00:10:00.123456Z", "2026-01-01T00:20:00Z"
TEXT = "0/1 nodes are available: 1 Insufficient cpu."


def failure(said: str = SAID, *, again: bool = False, text: str = TEXT) -> FailedScheduling:
    return FailedScheduling("default", "p", "", "default-scheduler", text, said, again)


def read(tmp_path: Path, *documents: Any, name: str = "dump.json") -> list[FailedScheduling]:
    path = tmp_path / name
    listed = {"apiVersion": "v1", "kind": "List", "items": [NODE, *documents]}
    path.write_text(json.dumps(listed) if name.endswith("json") else yaml.safe_dump(listed))
    return load_dump([str(path)], events=True).failures


@pytest.mark.parametrize("name", ["dump.json", "dump.yaml"])
@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(written_now("p", TEXT, SAID), failure(), id="as it is written now"),
        pytest.param(written_now("p", TEXT, SAID, again=LATER), failure(again=True), id="a series keeps its first text"),
        pytest.param(in_its_own_group("p", TEXT, SAID), failure(), id="events.k8s.io"),
        pytest.param(
            {**in_its_own_group("p", TEXT, SAID), "apiVersion": "events.k8s.io/v1beta1"}, failure(), id="its beta"
        ),
        pytest.param(of_old("p", TEXT, LATER, count=9), failure(LATER), id="of old, with the last time of the text"),
        pytest.param(written_now("p", TEXT, "", eventTime=None), failure(""), id="without a time"),
        pytest.param(written_now("p", TEXT, SAID, eventTime=None), failure(), id="with its creation as the only time"),
        pytest.param(written_now("p", TEXT, SAID, again=LATER, lastTimestamp=LATER), failure(LATER), id="a series with a last time"),
        pytest.param(
            in_its_own_group("p", TEXT, SAID) | {
                "eventTime": None,
                "reportingController": "",
                "deprecatedSource": {"component": "default-scheduler"},
                "deprecatedLastTimestamp": LATER,
            },
            failure(LATER),
            id="of old in events.k8s.io",
        ),
        pytest.param(written_now("p", TEXT, "yesterday"), failure(""), id="with a time that is none"),
        pytest.param(written_now("p", TEXT, SAID, reason="Scheduled"), None, id="another reason"),
        pytest.param(
            written_now("p", TEXT, SAID, involvedObject={"kind": "DaemonSet", "name": "p"}), None, id="of another kind"
        ),
    ],
)  # fmt: skip
def test_forms(event: dict[str, Any], expected: FailedScheduling | None, name: str, tmp_path: Path) -> None:
    assert read(tmp_path, event, name=name) == ([expected] if expected else [])


EXACT = ScheduledPod("default", "p", "u", "n1", SAID, 1767226200.123456, exact=True)
CUT = ScheduledPod("default", "p", "", "n1", LATER, 1767226800.0, exact=False)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(bound_event("p", "n1", SAID, uid="u"), EXACT, id="as it is written now"),
        pytest.param(bound_event_of_its_group("p", "n1", SAID, uid="u"), EXACT, id="events.k8s.io"),
        pytest.param(bound_event_of_old("p", "n1", LATER), CUT, id="of old"),
        pytest.param(
            bound_event("p", "n1", "") | {"eventTime": None, "metadata": {"name": "p", "creationTimestamp": LATER}},
            CUT,
            id="with its creation as the only time",
        ),
        pytest.param(
            bound_event("p", "n1", SAID) | {"involvedObject": {"kind": "Node", "name": "p"}}, None, id="of another kind"
        ),
        pytest.param(bound_event("p", "n1", "soon"), None, id="with a time that is none"),
        pytest.param({**bound_event("p", "n1", SAID), "message": "Placed"}, None, id="in other words"),
    ],
)
def test_bindings(event: dict[str, Any], expected: ScheduledPod | None, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    write_list(path, NODE, event)
    assert load_dump([str(path)], events=True).bindings == ([expected] if expected else [])


@pytest.mark.parametrize("text", ["Preempted by pod u on node n1", "Preempted by default/high on node n1"])
def test_preemptions(text: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({**preempted_event("low", "high", "n1", uid="u"), "message": text}))
    loaded = load_dump([str(path)], events=True)
    assert loaded.preemptions == [PreemptionEvent("u", "default/high", "n1")]
    assert loaded.has_events


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"related": {"kind": "Pod"}}, id="no preemptor"),
        pytest.param({"message": "Preempted by something"}, id="no node"),
        pytest.param({"reason": "Evicted"}, id="another reason"),
    ],
)
def test_no_preemption(changed: dict[str, Any], tmp_path: Path) -> None:
    path = write_list(tmp_path / "dump.json", NODE, preempted_event("low", "high", "n1", uid="u") | changed)
    assert load_dump([path], events=True).preemptions == []


def bare(event: dict[str, Any]) -> dict[str, Any]:
    """As an item of a typed list, which does not say what it is."""
    return {key: value for key, value in event.items() if key not in ("apiVersion", "kind")}


EVENTS = {"kind": "EventList", "apiVersion": "v1", "items": [bare(written_now("p", TEXT, SAID))]}
GATHERED = {
    "must-gather/cluster-scoped-resources/core/nodes/n1.yaml": yaml.safe_dump(NODE),
    "must-gather/namespaces/default/core/events.yaml": yaml.safe_dump(EVENTS),
}
CLUSTER_INFO = {"nodes.json": json.dumps(NODE), "default/events.json": json.dumps(EVENTS)}


@pytest.mark.parametrize(
    "files", [pytest.param(GATHERED, id="must-gather"), pytest.param(CLUSTER_INFO, id="cluster-info")]
)
def test_collections(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        path = tmp_path / "dump" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert load_dump([str(tmp_path / "dump")], events=True).failures == [failure()]


def test_events_alone_are_something() -> None:
    loaded = load_dump(["-"], io.BytesIO(json.dumps(EVENTS).encode()), events=True)
    assert loaded.failures == [failure()]
    assert len(loaded) == 0


def test_events_that_are_asked_for_do_not_count_as_not_read(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    widget = {"apiVersion": "example.com/v1", "kind": "Event", "metadata": {"name": "of another group"}}
    others = [written_now("p", "Pulled", SAID, reason="Pulled"), widget]
    write_list(path, NODE, *others)
    asked, others_do_not = load_dump([str(path)], events=True), load_dump([str(path)])
    assert (asked.failures, dict(asked.unknown)) == ([], {"example.com/v1/Event": 1})
    assert (others_do_not.failures, dict(others_do_not.unknown)) == ([], {"example.com/v1/Event": 1, "v1/Event": 1})


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("series", 5),
        ("eventTime", 5),
        ("lastTimestamp", 5),
        ("deprecatedLastTimestamp", 5),
        ("reason", 5),
        ("message", 5),
        ("involvedObject", {"uid": 5}),
        ("source", {"component": 5}),
    ],
)
def test_a_wrong_type_in_a_field_that_is_read(field: str, wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, written_now("p", TEXT, SAID, **{field: wrong}))
    (problem,) = caught.value.problems
    assert f"Event default/p.{SAID}: items[1].{field}" in str(problem)


# The type of a field that nothing reads is checked in manifests only.
UNREAD_OF_EVENTS: dict[str, Any] = {
    "count": "many",
    "deprecatedCount": "many",
    "firstTimestamp": 5,
    "series": {"count": "many", "lastObservedTime": 5},
}
UNREAD_OF_PODS: dict[str, Any] = {"dnsConfig": 5, "enableServiceLinks": "many", "shareProcessNamespace": 5}


def test_a_wrong_type_in_a_field_that_nothing_reads(tmp_path: Path) -> None:
    pod = make_pod("p").doc()
    pod["spec"].update(UNREAD_OF_PODS)
    assert read(tmp_path, pod, written_now("p", TEXT, SAID, **UNREAD_OF_EVENTS)) == [failure(again=True)]
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(pod))
    with pytest.raises(InputError) as caught:
        load_manifests([str(path)])
    assert len(caught.value.problems) == len(UNREAD_OF_PODS)
